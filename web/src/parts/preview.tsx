// What other rules would do: which hangs become which, and the frames whose judgement changes.

import { useLink } from "../app";
import { count, duration, many } from "../format";
import type { Example, Preview as Data, Why, WhyFrame } from "../types";
import { Cut, Empty, Tag } from "./basic";

/** What the roles of frames mean (docs/grouping.md). */
export const ROLES: Record<string, string> = {
    leaf: "what it did when it hung", app: "code of the app", wrapper: "passes calls on", system: "of the system", root: "every stack begins so", skipped: "not looked at",
};

interface Judged { now: WhyFrame | undefined; then: WhyFrame | undefined; changed: boolean }

function judged(now: Why | null, then: Why | null): Judged[] {
    const later = new Map((then?.frames ?? []).map((f) => [f.frame, f]));
    const rows = (now?.frames ?? []).map((f) => ({ now: f, then: later.get(f.frame) }));
    return rows.map(({ now, then }) => ({ now, then, changed: now.role !== then?.role || now.in_key !== then?.in_key }));
}

const Role = ({ f }: { f: WhyFrame | undefined }) => (f ? <span title={ROLES[f.role]}>{f.role}{f.in_key && <> <Tag tone="good">in the key</Tag></>}</span> : <span class="muted">–</span>);

function ExampleRow({ e }: { e: Example }) {
    const rows = judged(e.why_now, e.why_then), decides = rows.filter((r) => r.changed), first = decides[0]?.then ?? decides[0]?.now;
    const shown = rows.filter((r) => r.changed || r.now?.in_key || r.then?.in_key).slice(0, 30);
    return <details class="thread"><summary><Cut s={e.from.title} class="fn" /> <span aria-hidden="true">→</span><span class="hidden">becomes</span> <Cut s={e.to?.title ?? e.then} class="fn" /><span class="muted num lead">{many(e.reports, "report")}, {duration(e.blocked_ns)}</span></summary>
        {first ? <p class="pad small">Decided by frame {first.frame}, <b><Cut s={first.function ?? "no name"} class="fn" /></b>: {decides[0].now?.role ?? "nothing"} becomes {decides[0].then?.role ?? "nothing"}{decides[0].then?.rule && <>, by <Cut s={decides[0].then.rule} class="mono" /></>}.</p>
            : <p class="pad small">No frame is judged otherwise; the parts of the key are joined in another way.</p>}
        <div class="scroll" tabIndex={0} role="region" aria-label="Frames that decide"><table class="list dense"><caption class="hidden">Frames that decide, now and then</caption>
            <thead><tr><th scope="col" class="right">Frame</th><th scope="col">Function</th><th scope="col">Now</th><th scope="col">Then</th><th scope="col">By</th></tr></thead>
            <tbody>{shown.map((r) => <tr key={r.now!.frame} class={r.changed ? "chosen" : ""}><td class="right num">{r.now!.frame}</td><th scope="row"><Cut s={r.now!.function ?? "no name"} class="fn" /></th><td><Role f={r.now} /></td><td><Role f={r.then} />{r.changed && <> <Tag tone="warn">changes</Tag></>}</td><td><Cut s={(r.then ?? r.now)!.rule} class="mono muted" /></td></tr>)}</tbody></table></div>
    </details>;
}

export function Preview({ data: p }: { data: Data }) {
    const link = useLink();
    return <div class="preview" role="status">
        <dl class="tiles"><div><dt>Groups now</dt><dd>{count(p.groups_now)}</dd></div><div><dt>Groups then</dt><dd>{count(p.groups_then)}</dd></div><div><dt>Reports that move</dt><dd>{count(p.moved_reports)}</dd><dd class="muted small">of {count(p.examined_reports)} looked at</dd></div></dl>
        {p.examined_stacks < p.stacks && <p class="muted small">Tried on the {count(p.examined_stacks)} stacks with the most blocked time, of {count(p.stacks)}.</p>}
        {p.moves.length === 0 ? <Empty title="Nothing would change"><p>Every report stays in the hang that it is in.</p></Empty> : <>
            <h3>Before and after</h3>
            <div class="scroll" tabIndex={0} role="region" aria-label="Hangs that change"><table class="list"><caption class="hidden">Hangs that change, most reports first</caption>
                <thead><tr><th scope="col">Now in</th><th scope="col">Then in</th><th scope="col" class="right" aria-sort="descending">Reports ↓</th><th scope="col" class="right">Stacks</th><th scope="col" class="right">Blocked</th></tr></thead>
                <tbody>{p.moves.map((m, i) => <tr key={i}><th scope="row"><a href={link(`groups/${encodeURIComponent(m.from.id)}`)}><Cut s={m.from.title} class="fn" /></a></th>
                    <td>{m.to ? <a href={link(`groups/${encodeURIComponent(m.to.id)}`)}><Cut s={m.to.title} class="fn" /></a> : <><Cut s={m.then} class="fn" /><Tag tone="warn" title="There is no such hang yet">new</Tag></>}</td>
                    <td class="right num">{count(m.reports)}</td><td class="right num">{count(m.stacks)}</td><td class="right num">{duration(m.blocked_ns)}</td></tr>)}</tbody></table></div>
            {p.moves_of > p.moves.length && <p class="muted small pad">The {count(p.moves.length)} with the most reports of {count(p.moves_of)}.</p>}
            {p.merged.length > 0 && <><h3>Become one</h3><ul class="plain-list">{p.merged.slice(0, 20).map((m, i) => <li key={i}><Cut s={m.title} class="fn" /> <span class="muted">of {many(m.groups, "hang")}</span></li>)}</ul></>}
            {p.examples.length > 0 && <><h3>Stacks that move, and the frame that decides</h3><div class="examples">{p.examples.map((e, i) => <ExampleRow key={i} e={e} />)}</div></>}
        </>}
    </div>;
}
