// One report, whole: timeline, all threads (alike ones folded), scripts, calls, keys, images, downloads.

import { useState } from "preact/hooks";
import { request, useLoad } from "../api";
import { useApp, useLink, useTitle } from "../app";
import { baseName, duration, many, visible } from "../format";
import { CopyButton, Cut, Empty, Icon, Panel, Search, shortened, Shown, Tag, Time } from "../parts/basic";
import { Stack } from "../parts/stack";
import { Timeline } from "../parts/timeline";
import type { Report, Thread } from "../types";

const FORMS: [string, string][] = [
    ["text", "Text"], ["json", "JSON"], ["crash", "Apple .crash"], ["collapsed", "Collapsed stacks"], ["speedscope", "speedscope"], ["pprof", "pprof"], ["firefox", "Firefox Profiler"], ["raw", "As it came"],
];

/** Linux's letters for what a thread was doing. */
const STATES: Record<string, string> = { R: "running", S: "sleeping", D: "waiting for a device", T: "stopped", t: "stopped by a debugger", Z: "ended", I: "idle" };

interface Folded { thread: Thread; alike: Thread[] }

/** Watched and main threads first, the busy ones before those with nothing to show; alike ones under the first. */
function folded(threads: Thread[]): Folded[] {
    const alike = new Map<number, Thread[]>();
    threads.forEach((t) => { if (t.same_as !== undefined && t.same_as !== null) alike.set(t.same_as, [...(alike.get(t.same_as) ?? []), t]); });
    const rank = (t: Thread) => (t.watched ? 0 : t.main ? 1 : t.frames.length ? 2 : 3);
    return threads.map((thread, i) => ({ thread, alike: alike.get(i) ?? [], i })).filter((f) => f.thread.same_as === undefined || f.thread.same_as === null)
        .sort((a, b) => rank(a.thread) - rank(b.thread) || a.alike.length - b.alike.length || a.i - b.i);
}

function ThreadBlock({ of: { thread: t, alike }, open }: { of: Folded; open: boolean }) {
    return <details class="thread" open={open}>
        <summary><span class="thread-name"><Cut s={t.name || (t.main ? "main" : "no name")} class="fn" /> <span class="muted num">{t.id}</span></span>
            {t.watched && <Tag tone="bad" title="The thread that hung">watched</Tag>}{t.main && <Tag>main</Tag>}
            {alike.length > 0 && <Tag title={alike.map((a) => `${a.name || "no name"} ${a.id}`).join("\n").slice(0, 2000)}>× {alike.length + 1} alike</Tag>}
            {t.state && <Cut s={STATES[t.state] ?? t.state} class="muted" />}
            {t.frames[0] && <Cut s={t.frames[0].function ?? baseName(t.frames[0].image)} class="muted fn lead" />}</summary>
        {t.unavailable ? <p class="pad">No stack: <Cut s={t.unavailable} /></p> : <Stack frames={t.frames} label={`Stack of thread ${shortened(t.name) || t.id}`} source={t.watched || t.main} />}
        {t.end && t.end !== "root" && t.end !== "complete" && <p class="muted pad small">The stack ends here: <Cut s={t.end} /></p>}
    </details>;
}

export function ReportView({ id }: { id: string }) {
    const { api } = useApp();
    const link = useLink();
    const url = `${api}/reports/${encodeURIComponent(id)}`;
    const data = useLoad<Report>(url);
    const [text, setText] = useState("");
    useTitle(data.data?.group ? `Report of ${data.data.group.title}` : `Report ${id.slice(0, 12)}`);
    const download = (to: string) => `${url}/download?to=${to}`;
    return <>
        <nav class="trail" aria-label="Where you are"><a href={link("reports")}>Reports</a> <span aria-hidden="true">/</span> <span class="mono">{id.slice(0, 12)}</span></nav>
        <Shown of={data} lines={20}>{(r) => {
            const all = folded(r.threads);
            const wanted = text.toLowerCase();
            const shown = wanted ? all.filter((f) => [f.thread, ...f.alike].some((t) => `${t.name} ${t.id}`.toLowerCase().includes(wanted)) || f.thread.frames.some((fr) => `${fr.function ?? ""} ${fr.image} ${fr.file ?? ""}`.toLowerCase().includes(wanted))) : all;
            const facts: [string, string | null][] = [
                ["App", [r.app || r.executable, r.version && `${r.version}${r.build && !r.version.includes(r.build) ? ` (${r.build})` : ""}`].filter(Boolean).join(" ")], ["System", [r.os, r.arch].filter(Boolean).join(", ")], ["Device", r.device],
                ["Process age", r.process_age_ms ? duration(r.process_age_ms * 1e6) : null], ["Kind", r.kind], ["Ended", r.ending],
            ];
            return <>
                <div class="page-head group-head"><div class="grow"><h1>{r.duration_ns ? <>{duration(r.duration_ns)} blocked</> : "Report"}</h1>
                    <p class="where">{r.group ? <a href={link(`groups/${encodeURIComponent(r.group.id)}`)}><Cut s={r.group.title} class="fn" /></a> : <span class="muted">in no group</span>}
                        {r.ending === "killed" && <Tag tone="bad">killed</Tag>}{!r.complete && <Tag tone="warn">partial</Tag>}</p></div>
                    {r.body !== false && <div class="actions">
                        <CopyButton label="Copy as text" text={async () => visible(await (await request("GET", download("text"), undefined, { Accept: "text/plain" })).text())} />
                        <details class="menu-list"><summary class="button"><Icon name="down" />Download</summary><ul>{FORMS.map(([to, name]) => <li key={to}><a href={download(to)} download>{name}</a></li>)}</ul></details>
                    </div>}</div>
                {r.veto && <p class="notice"><Icon name="warn" /><span>Not counted as a hang: {shortened(r.veto, 400)}</span></p>}
                {r.note && r.body !== false && <p class="notice"><Icon name="warn" /><span>{shortened(r.note, 2000)}</span></p>}
                {!r.complete && <p class="notice"><Icon name="warn" /><span>The process ended before this report was whole: what is here is what was on the disk.</span></p>}
                {r.body === false && <p class="notice"><Icon name="reports" /><span>The body of this report is no longer kept (Settings, Retention): its stacks remain in the sums of its hang.</span></p>}
                {r.truncated && <p class="notice"><Icon name="warn" /><span>There is more in this report than is shown here; the download has all of it.</span></p>}
                <dl class="facts-row">{facts.filter(([, v]) => v).map(([name, v]) => <div key={name}><dt>{name}</dt><dd><Cut s={v} /></dd></div>)}
                    <div><dt>Started</dt><dd><Time ms={r.started_ms || r.received_ms} exact /></dd></div></dl>
                {(r.samples.length > 0 || r.stacks.length > 0) && <Panel title="Timeline" aside={<span class="muted small">{many(r.samples.length, "sample")}, {many(r.stacks.length, "distinct stack")}</span>}><Timeline report={r} /></Panel>}
                {r.body !== false && <Panel title={many(r.threads.length, "thread")} aside={<Search label="Search threads" placeholder="Thread, function, file" value={text} onValue={setText} />}>
                    {r.threads.length === 0 ? <p class="muted pad">This report has the stack of the watched thread only; it is in the timeline.</p>
                        : shown.length === 0 ? <p class="muted pad">No thread has that.</p>
                        : shown.map((f, i) => <ThreadBlock key={`${f.thread.id}-${wanted}`} of={f} open={i < 1 || f.thread.watched || f.thread.main || (!!wanted && i < 5)} />)}
                </Panel>}
                {r.scripts.length > 0 && <Panel title="Scripts">{r.scripts.map((s, i) => <ol key={i} class="stack">{s.frames.map((f, j) => <li key={j} class="frame app named"><span class="index num">{j}</span><span class="what"><Cut s={f.function} class="fn" /></span><span class="where"><Cut s={`${f.file}:${f.line}`} class="mono" /></span></li>)}</ol>)}</Panel>}
                {r.calls.length > 0 && <Panel title="Watched calls">{r.calls.map((c, i) => <details key={i} class="thread"><summary><Cut s={c.api ?? "call"} class="fn" />{c.count !== undefined && <Tag>× {c.count}</Tag>}</summary><Stack frames={c.frames ?? []} label={`Caller of ${c.api}`} /></details>)}</Panel>}
                {r.body !== false && <div class="two">
                    <Panel title="Keys">{r.keys.length ? <dl class="keys">{r.keys.map((k, i) => <div key={i}><dt><Cut s={k.key} /></dt><dd><Cut s={k.value} class="mono" /></dd></div>)}</dl> : <Empty title="No keys"><p>A program sets them with <code>fw_report_key</code>; they are shown here.</p></Empty>}</Panel>
                    <Panel title={many(r.images.length, "image")}><div class="scroll tall" tabIndex={0} role="region" aria-label="Images"><table class="list dense"><caption class="hidden">Images of the report</caption><thead><tr><th scope="col">Image</th><th scope="col">Debug file</th><th scope="col">Id</th></tr></thead>
                        <tbody>{r.images.map((m, i) => <tr key={i}><th scope="row"><Cut s={baseName(m.name || m.path || "unknown")} title={m.path} /></th><td>{m.has_map ? <Tag tone="good">there</Tag> : <Tag tone="warn">missing</Tag>}</td><td class="mono muted"><Cut s={m.debug_id} /></td></tr>)}</tbody></table></div></Panel>
                </div>}
            </>;
        }}</Shown>
    </>;
}
