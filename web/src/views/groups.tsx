// All groups of hangs, ranked; search and filters live in the URL.

import { query, useLoad } from "../api";
import { filtersOf, useApp, useQuery } from "../app";
import { count, many } from "../format";
import { Choice, Empty, Panel, Search, Select, Shown } from "../parts/basic";
import { Filters, GroupTable } from "../parts/groups";
import { Pages } from "../parts/pages";
import type { Group, List, Overview } from "../types";

export function Groups() {
    const { api } = useApp();
    const [q, set] = useQuery();
    const status = q.status ?? "open", sort = q.sort ?? "blocked";
    const from = useLoad<Overview>(`${api}/overview${query({ days: q.days })}`);
    const list = useLoad<List<Group>>(`${api}/groups${query({ ...filtersOf(q), status, section: q.section, sort, q: q.q, after: q.after })}`);
    const whole = from.data?.days.reduce((sum, d) => sum + d.blocked_ns, 0) ?? 0;
    return <>
        <div class="page-head"><h1>Hangs</h1><Filters from={from.data} /></div>
        <div class="tools">
            <Search label="Search hangs" placeholder="Function, file, image or text of a note" value={q.q ?? ""} onValue={(text) => set({ q: text, after: null }, true)} />
            <Choice label="Status" value={status} options={[["open", "Open"], ["resolved", "Resolved"], ["ignored", "Ignored"], ["all", "All"]]} onValue={(v) => set({ status: v === "open" ? null : v, after: null })} />
            <span class="spring" />
            <Select label="Section" bare value={q.section ?? ""} options={[["", "App and system"], ["app", "With app frames"], ["system", "System only"], ["unnamed", "No names yet"]]} onValue={(section) => set({ section, after: null })} />
            <Select label="Sort by" value={sort} options={[["blocked", "Blocked time"], ["reports", "Reports"], ["installs", "Installs"], ["longest", "Longest"], ["last", "Last seen"], ["first", "First seen"]]} onValue={(v) => set({ sort: v === "blocked" ? null : v, after: null })} />
        </div>
        <Shown of={list} lines={16}>{(d) => d.items.length === 0
            ? <Empty title={q.q || Object.keys(filtersOf(q)).length || q.section ? "No hang matches" : status === "open" ? "No open hangs" : `No ${status} hangs`}>
                <p>{q.q ? "Names are searched as parts of words, in all functions and files of a stack. Try a shorter part, or clear the filters." : "Take a longer time, or another status."}</p></Empty>
            : <Panel><p class="hidden" role="status">{many(d.total ?? d.items.length, "hang")}</p>
                <GroupTable groups={d.items} whole={whole} start={Number(q.from) || 0} label="Hangs" />
                <Pages next={d.next} shown={d.items.length} total={d.total} text={(n) => `${count(n)} hangs`} /></Panel>}
        </Shown>
    </>;
}
