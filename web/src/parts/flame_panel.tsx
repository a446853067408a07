// Where the time goes: the flame graph of one choice of reports, or of how one version's became another's.

import { query, useLoad } from "../api";
import { filtersOf, useQuery } from "../app";
import { count, duration, share } from "../format";
import type { Flame } from "../types";
import { Choice, Empty, Panel, Select, Shown, Skeleton } from "./basic";
import { FlameGraph, type View } from "./flame";

/** `url`: of the API, without a query. `known`: versions, newest first, once they are. */
export function FlamePanel({ url, known, title = "Where the time goes", aside }: { url: string; known: string[] | undefined; title?: string; aside?: string }) {
    const [q, set] = useQuery();
    const comparing = q.compare === "1", versions = known ?? [];
    const is = q.to_version ?? q.version ?? versions[0] ?? "", was = q.from_version ?? versions[versions.indexOf(is) + 1] ?? versions.find((v) => v !== is) ?? "";
    const of = (version: string | undefined) => url + query({ ...filtersOf(q), ...(version ? { version } : {}) });
    const possible = versions.length > 1;
    const data = useLoad<Flame>(!comparing ? of(undefined) : possible ? of(is) : null);
    const from = useLoad<Flame>(comparing && possible ? of(was) : null);
    const view: View = { text: q.flame ?? "", invert: q.invert === "1", appOnly: q.app === "1", table: q.table === "1" };
    const onView = (v: Partial<View>) => set({ ...("text" in v ? { flame: v.text! } : {}), ...("invert" in v ? { invert: v.invert ? 1 : null } : {}), ...("appOnly" in v ? { app: v.appOnly ? 1 : null } : {}), ...("table" in v ? { table: v.table ? 1 : null } : {}) }, true);
    const options = versions.map((v): [string, string] => [v, v]);
    const coverage = data.data?.coverage;
    return <Panel title={title} aside={<><span class="muted small">{aside}</span>
        <Choice label="Show" value={comparing ? "1" : ""} options={[["", "All together"], ["1", "Compare versions"]]} onValue={(v) => set({ compare: v || null, ...(v ? {} : { from_version: null, to_version: null }) })} /></>}>
        {comparing && possible && <div class="tools"><Select label="From" value={was} options={options} onValue={(v) => set({ from_version: v })} /><Select label="to" value={is} options={options} onValue={(v) => set({ to_version: v })} />
            <span class="muted small">{from.data && data.data && `${duration(from.data.root.value)} and ${duration(data.data.root.value)} of blocked time; each counts as 100 %.`}</span></div>}
        {comparing && !known ? <Skeleton lines={12} /> : comparing && !possible ? <Empty title="There is one version only"><p>When a second one has sent reports, what changed from one to the other is shown here.</p></Empty>
            : <Shown of={data} lines={12}>{(f) => !comparing
                ? f.root.value > 0 ? <FlameGraph data={f} view={view} onView={onView} /> : <Empty title="No blocked time here"><p>No report fits the time and the filters, or those that do tell no duration, as most crash reports: their stacks are below Reports.</p></Empty>
                : <Shown of={from} lines={12}>{(first) => !f.root.value || !first.root.value
                    ? <Empty title={`${f.root.value ? was : is} has no blocked time here`}><p>There is nothing to compare with: take another version, a longer time or fewer filters.</p></Empty>
                    : <FlameGraph data={f} from={first} names={{ was, is }} view={view} onView={onView} />}</Shown>}</Shown>}
        {!comparing && coverage && coverage.blocked_share < 0.995 && <p class="muted pad small">{count(coverage.stacks)} of {count(coverage.of)} stacks, {share(coverage.blocked_share, 1)} of the blocked time: the newest reports, and their heaviest stacks.</p>}
    </Panel>;
}
