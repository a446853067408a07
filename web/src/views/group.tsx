// One hang: what it costs, where the time goes, on what, and why these reports are together.

import { useState } from "preact/hooks";
import { changed, query, useLoad } from "../api";
import { useApp, useLink, useQuery, useTitle } from "../app";
import { compact, count, duration, many, share, visible } from "../format";
import { Actions, groupUrl } from "../parts/actions";
import { Blocked, CopyButton, Cut, Empty, Panel, Select, Shares, shortened, Shown, Skeleton, Tag, Time } from "../parts/basic";
import { DaysChart } from "../parts/days";
import { FlamePanel } from "../parts/flame_panel";
import { Leaf, Status, Filters, LEAVES, versionLabel } from "../parts/groups";
import { ROLES } from "../parts/preview";
import { Stack, stackText } from "../parts/stack";
import { Timeline } from "../parts/timeline";
import type { GroupDetail, GroupEvent, List, Overview, Report, ReportLine } from "../types";

function Why({ g }: { g: GroupDetail }) {
    const frames = g.why.frames;
    return <>
        <p class="pad small">Reports are together when their key is the same. It is made of {g.why.parts.length ? "" : "nothing: these stacks have no names yet"}</p>
        <ol class="key">{g.why.parts.map((p, i) => <li key={i}><Cut s={typeof p === "string" ? p : JSON.stringify(p)} class="fn" /></li>)}</ol>
        <details><summary>How each frame was judged (rules, version {g.why.rules})</summary>
            <div class="scroll" tabIndex={0} role="region" aria-label="How each frame was judged"><table class="list dense"><thead><tr><th scope="col">Frame</th><th scope="col">Judged as</th><th scope="col">By</th></tr></thead>
                <tbody>{frames.map((f) => <tr key={f.frame} class={f.in_key ? "strong" : ""}><td><Cut s={f.function ?? "no name"} class="fn" />{f.in_key && <> <Tag tone="good">in the key</Tag></>}</td>
                    <td title={ROLES[f.role]}>{shortened(f.role, 30)}</td><td class="muted"><Cut s={f.rule} class="mono" /></td></tr>)}</tbody></table></div></details>
    </>;
}

function Histogram({ bins }: { bins: GroupDetail["histogram"] }) {
    const most = Math.max(...bins.map((b) => b.reports), 1);
    if (!bins.some((b) => b.reports)) return <p class="muted pad">No durations.</p>;
    let before = 0;
    return <div class="histogram"><ol aria-label="Reports by how long they lasted">{bins.map((b) => {
        const name = b.below_ns ? `${duration(before)} to ${duration(b.below_ns)}` : `${duration(before)} or longer`;
        const short = String(before / 1e9);
        before = b.below_ns ?? before;
        return <li key={name} title={`${name}: ${many(b.reports, "report")}`}><span class="hidden">{name}: {count(b.reports)}</span>
            <svg viewBox="0 0 10 60" preserveAspectRatio="none" aria-hidden="true"><rect x="0" width="10" y={60 - (58 * b.reports) / most - (b.reports ? 1 : 0)} height={(58 * b.reports) / most + (b.reports ? 1 : 0)} /></svg>
            <span class="num muted" aria-hidden="true">{short}</span></li>;
    })}</ol></div>;
}

function Reports({ g }: { g: GroupDetail }) {
    const { api } = useApp();
    const [q, set] = useQuery();
    const link = useLink();
    const list = useLoad<List<ReportLine>>(groupUrl(api, g.id, "/reports", q, { limit: 20 }));
    const chosen = q.report ?? list.data?.items[0]?.id;
    const report = useLoad<Report>(chosen ? `${api}/reports/${encodeURIComponent(chosen)}` : null);
    return <Panel title="Reports" id="reports" aside={list.data && list.data.items.length > 0 && <Select label="Timeline of" value={chosen ?? ""} onValue={(id) => set({ report: id }, true)}
        options={(list.data.items.some((r) => r.id === chosen) || !chosen ? list.data.items : [{ id: chosen, duration_ns: NaN, version: "" } as ReportLine, ...list.data.items]).map((r): [string, string] => [r.id, `${duration(r.duration_ns)} · ${shortened(r.version, 30) || "unknown version"} · ${r.id.slice(0, 8)}`])} />}>
        <Shown of={list} lines={6}>{(d) => d.items.length === 0 ? <Empty title="No reports are kept"><p>Their time is over, or the filters leave none; the sums remain.</p></Empty> : <>
            {report.data && report.data.id === chosen && report.data.body !== false ? <>
                <Timeline report={report.data} key={chosen} />
                <p class="pad small"><a href={link(`reports/${encodeURIComponent(chosen!)}`)}>All threads of this report</a></p>
            </> : report.error || report.data?.body === false ? <p class="muted pad">The body of this report is no longer kept.</p> : <Skeleton lines={8} />}
            <div class="scroll" tabIndex={0} role="region" aria-label="Reports of this hang"><table class="list"><caption class="hidden">Reports of this hang, newest first</caption>
                <thead><tr><th scope="col">Report</th><th scope="col" class="right">Blocked</th><th scope="col">Ended</th><th scope="col">Version</th><th scope="col">OS</th><th scope="col">Device</th><th scope="col">Started</th></tr></thead>
                <tbody>{d.items.map((r) => <tr key={r.id} class={r.id === chosen ? "chosen" : ""}><th scope="row"><a class="mono" href={link(`reports/${encodeURIComponent(r.id)}`)}>{r.id.slice(0, 8)}</a>{!r.complete && <> <Tag tone="warn" title="The process ended before the report was whole">partial</Tag></>}</th>
                    <td class="right"><Blocked ns={r.duration_ns} /></td><td>{r.ending === "killed" ? <span class="bad-text">killed</span> : <Cut s={r.ending} />}</td><td><Cut s={r.version} /></td><td><Cut s={r.os} /></td><td><Cut s={r.device} /></td><td><Time ms={r.started_ms || r.received_ms} /></td></tr>)}</tbody></table></div>
            {d.next && <p class="pad small"><a href={link("reports", { group: g.id })}>All reports of this hang</a></p>}
        </>}</Shown>
    </Panel>;
}

/** "Resolved, fixed in 2.2.0", "Opened again by a report of 2.2.1". */
function eventText(e: GroupEvent): string {
    const detail = shortened(visible(e.detail), 120);
    switch (e.action) {
        case "resolve": return `resolved it: fixed ${detail}`;
        case "reopened": return `A report of ${detail || "an unknown version"} opened it again`;
        case "open": return "opened it";
        case "ignore": return "ignored it";
        case "note": return "changed the note";
        default: return `${e.action === "merge" ? "merged" : "split"}: ${detail}`;
    }
}
function History({ events }: { events: GroupEvent[] }) {
    return <ol class="plain-list history" aria-label="History">{events.map((e, i) => <li key={i}><Time ms={e.at_ms} /> {e.who && <b><Cut s={visible(e.who)} /></b>} {eventText(e)}</li>)}</ol>;
}

export function GroupView({ id }: { id: string }) {
    const { api } = useApp();
    const [q] = useQuery();
    const link = useLink();
    const detail = useLoad<GroupDetail>(groupUrl(api, id, "", q));
    const from = useLoad<Overview>(`${api}/overview${query({ days: q.days })}`);
    const [source, setSource] = useState(true);
    useTitle(detail.data?.title ?? "Hang");
    return <>
        <nav class="trail" aria-label="Where you are"><a href={link("groups")}>Hangs</a> <span aria-hidden="true">/</span> <span class="mono">{id.slice(0, 12)}</span></nav>
        <Shown of={detail} lines={20}>{(g) => <>
            <div class="page-head group-head">
                <div class="grow"><h1><Cut s={g.title} class="fn wrap" /></h1>
                    <p class="mono where"><Cut s={g.file ? `${g.file}${g.line ? `:${g.line}` : ""}` : g.image} /> <Leaf leaf={g.leaf} /> <Status g={g} /></p></div>
                <Actions g={g} key={`${g.status}${g.note}`} onChange={changed} />
            </div>
            {g.status === "merged" && g.merged_into && <p class="notice"><span>This hang was merged into <a href={link(`groups/${encodeURIComponent(g.merged_into)}`)}>another one</a>: its reports count there.</span></p>}
            {g.note && <p class="notice"><b>Note</b> <span class="prewrap">{g.note}</span></p>}
            <Filters from={from.data} />
            <dl class="tiles">
                <div><dt>Blocked in total</dt><dd>{duration(g.blocked_ns)}</dd><dd class="muted small">{share(g.blocked_ns, from.data?.days.reduce((s, d) => s + d.blocked_ns, 0) ?? 0)} of all blocked time</dd></div>
                <div><dt>Reports</dt><dd>{compact(g.reports)}</dd><dd class="muted small">{g.installs ? many(g.installs, "install") : "of unknown installs"}</dd></div>
                <div><dt>On average</dt><dd>{duration(g.reports ? g.blocked_ns / g.reports : 0)}</dd><dd class="muted small">longest {duration(g.longest_ns)}</dd></div>
                <div><dt>Seen</dt><dd>{g.last_ms === null ? "–" : <Time ms={g.last_ms} />}</dd><dd class="muted small">first ever <Time ms={g.since_ms} /> in <Cut s={g.since_version || "an unknown version"} /></dd></div>
            </dl>
            <FlamePanel url={groupUrl(api, id, "/flame", {})} known={q.version ? from.data?.versions.filter((v) => v.reports > 0).map(versionLabel) : g.versions.map((v) => v.version)} aside={LEAVES[g.leaf]?.[1]} />
            <div class="two wide-left">
                <div class="column"><Panel title="Heaviest stack" aside={<>{g.coverage.of > 1 && <span class="muted small">{share(g.coverage.blocked_share, 1)} of the time, one of {count(g.coverage.of)} stacks</span>}<label class="check"><input type="checkbox" checked={source} onChange={(e) => setSource(e.currentTarget.checked)} />Source</label><CopyButton label="Copy as text" text={stackText(g.heaviest)} /></>}>
                    <Stack frames={g.heaviest} source={source} label="Heaviest stack, innermost frame first" /></Panel>
                <Panel title="Why this hang"><Why g={g} /></Panel>
                <Panel title="Similar">{g.similar.length ? <ul class="plain-list">{g.similar.map((s) => <li key={s.id}><a href={link(`groups/${encodeURIComponent(s.id)}`)}><Cut s={s.title} class="fn" /></a></li>)}</ul> : <p class="muted pad">No other hang shares its leading frames.</p>}</Panel></div>
                <div class="column">
                    <Panel title="How long" aside={<span class="muted small">from so many seconds</span>}><Histogram bins={g.histogram} /></Panel>
                    <Panel title="Versions"><Shares empty="None." rows={g.versions.map((v) => ({ name: v.version, value: v.blocked_ns, text: duration(v.blocked_ns), detail: many(v.reports, "report") }))} href={(version) => link(`groups/${id}`, { version })} /></Panel>
                    <Panel title="Systems"><Shares empty="None." rows={g.os.map((v) => ({ name: v.name, value: v.blocked_ns, text: duration(v.blocked_ns) }))} href={(os) => link(`groups/${id}`, { os })} /></Panel>
                    {g.devices.length > 0 && <Panel title="Devices"><Shares empty="None." rows={g.devices.map((v) => ({ name: v.name, value: v.blocked_ns, text: duration(v.blocked_ns) }))} href={(device) => link(`groups/${id}`, { device })} /></Panel>}
                </div>
            </div>
            {g.history.length > 0 && <Panel title="History"><History events={g.history} /></Panel>}
            <Reports g={g} />
            <Panel title="Blocked time a day"><DaysChart days={g.days} order={g.versions.map((v) => v.version)} label="Blocked time a day" /></Panel>
        </>}</Shown>
    </>;
}
