// Where the time of all hangs goes, or what changed in that between two versions.

import { query, useLoad } from "../api";
import { useApp, useQuery } from "../app";
import { FlamePanel } from "../parts/flame_panel";
import { Filters, versionLabel } from "../parts/groups";
import type { Overview } from "../types";

export function FlameView() {
    const { api } = useApp();
    const [q] = useQuery();
    const from = useLoad<Overview>(`${api}/overview${query({ days: q.days })}`);
    return <>
        <div class="page-head"><h1>Flame graph</h1><Filters from={from.data} /></div>
        <FlamePanel url={`${api}/flame`} known={from.data?.versions.filter((v) => v.reports > 0).map(versionLabel)} title="Where the time of all hangs goes" />
    </>;
}
