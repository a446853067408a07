// The stacks of a group as a list to choose from: what tells each from the others, and what it costs.

import { useMemo } from "preact/hooks";
import { query, useLoad } from "../api";
import { useApp } from "../app";
import { count, duration, many, place, share } from "../format";
import type { Frame, GroupDetail, GroupStacks } from "../types";
import { Cut, Shown, Tag } from "./basic";
import { frameName, Stack } from "./stack";

const MOST = 100;

const keyOf = (f: Frame) => `${f.image}\n${f.function ?? f.offset}\n${f.line}`;

/** Of each stack the frames that not all of them have, innermost first. */
export function differences(stacks: Frame[][]): Frame[][] {
    const seen = new Map<string, number>();
    for (const frames of stacks) for (const key of new Set(frames.map(keyOf))) seen.set(key, (seen.get(key) ?? 0) + 1);
    return stacks.map((frames) => frames.filter((f) => seen.get(keyOf(f))! < stacks.length));
}

/** The app's innermost one of those, else the innermost. */
const telling = (different: Frame[], frames: Frame[]): Frame | undefined => different.find((f) => f.app && f.function) ?? different[0] ?? frames.find((f) => f.app) ?? frames[0];

export function SplitChoice({ g, chosen, choose, onPart }: { g: GroupDetail; chosen: number[]; choose: (stacks: number[]) => void; onPart: () => void }) {
    const { api } = useApp();
    const list = useLoad<GroupStacks>(`${api}/groups/${encodeURIComponent(g.id)}/stacks${query({ limit: MOST })}`);
    const different = useMemo(() => differences(list.data?.items.map((s) => s.frames) ?? []), [list.data]);
    return <Shown of={list} lines={6}>{(d) => {
        const part = d.items.some((s) => s.by_hand) && <p class="small"><button type="button" class="link" onClick={onPart}>Take back what was merged or split by hand…</button></p>;
        if (d.total < 2) return <><p>All its reports hang in one stack, so there is nothing to split.</p>{part}</>;
        const reports = d.items.filter((s) => chosen.includes(s.id)).reduce((sum, s) => sum + s.reports, 0);
        return <>
            <p class="muted">Choose the stacks that are another hang. They leave this one, with their reports and those still to come. For all that are alike, now and later, a rule under Settings does the same.</p>
            <ul class="pick" aria-label="Stacks of this hang">{d.items.map((s, i) => {
                const frame = telling(different[i], s.frames), on = chosen.includes(s.id), last = !on && chosen.length === d.total - 1;
                return <li key={s.id} class={on ? "chosen" : ""}>
                    <label><input type="checkbox" checked={on} disabled={last} onChange={() => choose(on ? chosen.filter((id) => id !== s.id) : [...chosen, s.id])} />
                        <span class="pick-main"><Cut s={frame ? frameName(frame) : "no frames"} class="fn" />
                            <span class="sub">{frame?.file && <Cut s={place(frame.file, frame.line)} class="mono" />}{s.frames[0] && s.frames[0] !== frame && <Cut s={`in ${frameName(s.frames[0])}`} />}{s.by_hand && <Tag title="Somebody put this stack here">by hand</Tag>}</span></span>
                        <span class="num">{duration(s.blocked_ns)} <span class="muted">{share(s.blocked_ns, d.blocked_ns)}</span><br /><span class="muted small">{many(s.reports, "report")}</span></span></label>
                    <details><summary class="small">Whole stack</summary><Stack frames={s.frames} label={`Stack ${i + 1}`} source={false} /></details>
                </li>;
            })}</ul>
            {d.total > d.items.length && <p class="muted small">The {count(d.items.length)} with the most blocked time of {count(d.total)}.</p>}
            <p class="small" role="status">{chosen.length ? `${many(chosen.length, "stack")} with ${many(reports, "report")} would leave.` : "None chosen."}</p>{part}
        </>;
    }}</Shown>;
}
