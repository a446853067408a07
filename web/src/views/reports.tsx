// Reports as they came, newest first.

import { query, useLoad } from "../api";
import { useApp, useLink, useQuery } from "../app";
import { pushReports } from "../commands";
import { Blocked, Command, Cut, Empty, Panel, Search, Shown, Tag, Time, Button } from "../parts/basic";
import { Pages } from "../parts/pages";
import type { List, ReportLine } from "../types";

export function Reports() {
    const { api } = useApp();
    const [q, set] = useQuery();
    const link = useLink();
    const list = useLoad<List<ReportLine>>(`${api}/reports${query({ q: q.q, group: q.group, version: q.version, after: q.after })}`);
    return <>
        <div class="page-head"><h1>Reports</h1></div>
        <div class="tools"><Search label="Search reports" placeholder="Id of a report" value={q.q ?? ""} onValue={(text) => set({ q: text, after: null }, true)} />
            {q.group && <Button kind="small" onClick={() => set({ group: null, after: null })}>Only of hang {q.group.slice(0, 8)} ✕</Button>}
            {q.version && <Button kind="small" onClick={() => set({ version: null, after: null })}>Only {q.version.slice(0, 30)} ✕</Button>}</div>
        <Shown of={list} lines={16}>{(d) => d.items.length === 0
            ? <Empty title={q.q || q.group || q.version ? "No report matches" : "No reports yet"}>{q.q || q.group || q.version ? <p>Clear the search; bodies are removed after their time (Settings, Retention).</p>
                : <><p>Send one:</p><Command text={pushReports()} /></>}</Empty>
            : <Panel><div class="scroll" tabIndex={0} role="region" aria-label="Reports"><table class="list"><caption class="hidden">Reports, newest first</caption>
                <thead><tr><th scope="col">Report</th><th scope="col">Hang</th><th scope="col" class="right">Blocked</th><th scope="col">Ended</th><th scope="col">Version</th><th scope="col">OS</th><th scope="col">Device</th><th scope="col">Received</th></tr></thead>
                <tbody>{d.items.map((r) => <tr key={r.id}><th scope="row"><a class="mono" href={link(`reports/${encodeURIComponent(r.id)}`)}>{r.id.slice(0, 8)}</a>{!r.complete && <> <Tag tone="warn" title="The process ended before the report was whole">partial</Tag></>}</th>
                    <td class="wide">{r.group ? <a href={link(`groups/${encodeURIComponent(r.group.id)}`)}><Cut s={r.group.title} class="fn" /></a> : <span class="muted">none</span>}</td>
                    <td class="right"><Blocked ns={r.duration_ns} /></td><td>{r.ending === "killed" ? <span class="bad-text">killed</span> : <Cut s={r.ending} />}</td><td><Cut s={r.version} /></td><td><Cut s={r.os} /></td><td><Cut s={r.device} /></td><td><Time ms={r.received_ms} /></td></tr>)}</tbody></table></div>
                <Pages next={d.next} shown={d.items.length} total={d.total} text={(n) => `${n} reports`} /></Panel>}
        </Shown>
    </>;
}
