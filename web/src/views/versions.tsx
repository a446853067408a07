// Versions in the server's order: when each came out, whether it is a release. What somebody says here counts at once.

import { useState } from "preact/hooks";
import { changed, send, useLoad } from "../api";
import { can, useApp } from "../app";
import { count } from "../format";
import { Button, Cut, Empty, ErrorBox, Panel, Select, shortened, Shown, Tag, useAction, useMore } from "../parts/basic";
import type { VersionRow, VersionRows } from "../types";

const dayOf = (ms: number) => new Date(ms).toISOString().slice(0, 10);

function Row({ v }: { v: VersionRow }) {
    const app = useApp();
    const action = useAction();
    const [day, setDay] = useState(dayOf(v.released_ms));
    const label = v.label || "no version";
    const put = (change: Record<string, number | boolean | null>) => action.run(async () => {
        await send("POST", `${app.api}/versions`, { version: v.label, ...change });
        changed();
    });
    const triage = can(app, "triage") && !!v.label;
    const kind = v.prerelease_set === null ? "" : v.prerelease_set ? "pre" : "release";
    return <tr>
        <th scope="row"><Cut s={label} class="mono" /> {v.prerelease && <Tag title="Gates compare with releases">pre-release</Tag>}{!v.numbered && <Tag title="No numbers to be sorted by: its date decides">by date</Tag>}
            {action.error && <ErrorBox error={action.error} />}</th>
        <td><Cut s={v.line} /></td>
        <td>{triage ? <form class="inline" onSubmit={(e) => { e.preventDefault(); put({ released_ms: Date.parse(`${day}T00:00:00Z`) }); }}>
            <input type="date" aria-label={`${shortened(label)} came out on`} value={day} required onInput={(e) => setDay(e.currentTarget.value)} />
            {day !== dayOf(v.released_ms) && <Button kind="small" type="submit" disabled={action.busy}>Set date</Button>}
            {v.released_set && <Button kind="small" disabled={action.busy} onClick={() => put({ released_ms: null })}>Find out</Button>}</form> : dayOf(v.released_ms)}</td>
        <td>{triage ? <Select label={`${shortened(label)} is`} bare value={kind} options={[["", "as its name says"], ["release", "a release"], ["pre", "a pre-release"]]}
            onValue={(is) => put({ prerelease: is === "" ? null : is === "pre" })} /> : v.prerelease ? "pre-release" : "release"}</td>
    </tr>;
}

function Table({ rows }: { rows: VersionRow[] }) {
    const [most, more] = useMore(rows.length, 50, "versions");
    return <><div class="scroll" tabIndex={0} role="region" aria-label="Versions"><table class="list"><caption class="hidden">Versions, newest first</caption>
        <thead><tr><th scope="col">Version</th><th scope="col">Product</th><th scope="col">Came out</th><th scope="col">Release</th></tr></thead>
        <tbody>{rows.slice(0, most).map((v) => <Row key={`${v.version}\n${v.build}\n${v.released_ms}`} v={v} />)}</tbody></table></div>{more}</>;
}

export function VersionsEditor() {
    const { api } = useApp();
    const list = useLoad<VersionRows>(`${api}/versions`);
    return <Panel title="Versions"><p class="pad small muted">Sorted by their numbers and builds, what has none by its date. The page, <code>--check-calls</code> and hangs that are fixed in a version go by this order.</p>
        <Shown of={list} lines={10}>{(d) => d.items.length === 0 ? <Empty title="No version has sent anything" />
            : <>{d.truncated && <p class="notice">The newest {count(d.items.length)} of {count(d.total)} are listed.</p>}<Table rows={d.items} /></>}</Shown></Panel>;
}
