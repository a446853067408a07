// Who calls what: sensitive API against caller, what is allowed, and what changed between two versions.

import { useMemo, useState } from "preact/hooks";
import { changed, get, query, send, useLoad } from "../api";
import { callFilters, can, useApp, useQuery } from "../app";
import { checkCalls, runWatched } from "../commands";
import { baseName, compact, count, many, place, visible } from "../format";
import { Button, Choice, Command, Cut, Dialog, Empty, ErrorBox, Icon, Panel, Search, Select, shortened, Shown, Skeleton, Tag, Time, useAction, useMore } from "../parts/basic";
import { Filters, versionLabel } from "../parts/groups";
import { say } from "../parts/notice";
import { Stack } from "../parts/stack";
import type { AllowRule, CallRow, Calls as Data, CallsDiff, CallStack, List, Overview } from "../types";

const callerName = (r: CallRow) => r.caller.function ?? `${baseName(r.caller.image || "unknown image")}`;
const rowKey = (r: CallRow) => `${r.api}\n${r.caller.image}\n${r.caller.function ?? ""}\n${r.caller.line ?? ""}`;

function Matrix({ data, onCell }: { data: Data; onCell: (rows: CallRow[]) => void }) {
    const images = useMemo(() => {
        const byImage = new Map<string, Map<string, CallRow[]>>();
        for (const r of data.rows) {
            const image = baseName(r.caller.image || "unknown image");
            const of = byImage.get(image) ?? new Map<string, CallRow[]>();
            of.set(r.api, [...(of.get(r.api) ?? []), r]);
            byImage.set(image, of);
        }
        const total = (m: Map<string, CallRow[]>) => [...m.values()].flat().reduce((s, r) => s + r.count, 0);
        return [...byImage].sort((a, b) => total(b[1]) - total(a[1]));
    }, [data]);
    return <div class="scroll tall" tabIndex={0} role="region" aria-label="Matrix of calls"><table class="matrix">
        <caption class="hidden">Calls of each API (columns) by each image (rows); a cell opens its callers</caption>
        <thead><tr><th scope="col">Caller's image</th>{data.apis.map((a) => <th key={a} scope="col"><Cut s={a} class="mono" /></th>)}</tr></thead>
        <tbody>{images.map(([image, of]) => <tr key={image}><th scope="row"><Cut s={image} class="mono" /></th>
            {data.apis.map((a) => {
                const rows = of.get(a);
                if (!rows) return <td key={a} class="none"><span class="hidden">none</span></td>;
                const open = rows.filter((r) => !r.allowed).length, n = rows.reduce((s, r) => s + r.count, 0);
                return <td key={a}><button type="button" class={open ? "cell bad" : "cell good"} onClick={() => onCell(rows)}
                    aria-label={`${shortened(image)} calls ${shortened(a)} ${compact(n)} ${n === 1 ? "time" : "times"}, ${open ? many(open, "caller not allowed", "callers not allowed") : "all allowed"}`}>
                    <span class="num">{compact(n)}</span><span class="mark" aria-hidden="true">{open ? "!" : "✓"}</span></button></td>;
            })}</tr>)}</tbody>
    </table></div>;
}

/** A pattern that allows this row and what is alike. */
const patternOf = (r: CallRow) => `${baseName(r.caller.image || "*")}!${r.caller.function ?? "*"}`;

/** What is done with a row: allowing it asks for a pattern; forbidding takes the pattern away that allows it. */
interface Judge { allow: (r: CallRow) => void; forbid: (r: CallRow) => void }

/** Counts by version, those with the most first: "4.2: 410, 4.1: 300". */
const perVersion = (r: CallRow) => Object.entries(r.versions ?? {}).sort(([, a], [, b]) => b - a);

function Rows({ rows, judge, change = false, label }: { rows: CallRow[]; judge?: Judge; change?: boolean; label: string }) {
    const { api } = useApp();
    const [q] = useQuery();
    const [open, setOpen] = useState("");
    const row = rows.find((r) => rowKey(r) === open);
    const [most, more] = useMore(rows.length, 50, "callers");
    const stacks = useLoad<List<CallStack>>(row ? `${api}/calls/stacks${query({ ...callFilters(q), api: row.api, caller: row.caller.function, image: row.caller.image })}` : null);
    return <><div class="scroll" tabIndex={0} role="region" aria-label={label}><table class="list calls"><caption class="hidden">{label}</caption>
        <thead><tr><th scope="col">API</th><th scope="col">Caller</th><th scope="col" class="right">{change ? "Before → after" : "Calls"}</th><th scope="col">First in</th><th scope="col">Last</th><th scope="col">Allowed</th></tr></thead>
        <tbody>{rows.slice(0, most).map((r) => <>
            <tr key={rowKey(r)} class={rowKey(r) === open ? "chosen" : ""}>
                <th scope="row"><Cut s={r.api} class="mono" /></th>
                <td class="wide"><button type="button" class="link" aria-expanded={rowKey(r) === open} onClick={() => setOpen(rowKey(r) === open ? "" : rowKey(r))}><Cut s={callerName(r)} class="fn" /></button>
                    <div class="sub">{r.caller.file && <Cut s={place(r.caller.file, r.caller.line)} class="mono" title={r.caller.file} />}{r.caller.function && <Cut s={baseName(r.caller.image || "")} title={r.caller.image} />}</div></td>
                <td class="right num" title={shortened(perVersion(r).map(([v, n]) => `${v}: ${count(n)}`).join("\n"), 1000)}>{change ? `${compact(r.before ?? 0)} → ${compact(r.after ?? 0)}` : compact(r.count)}</td>
                <td><Cut s={r.first_version} /> <span class="muted small"><Time ms={r.first_ms} /></span></td><td><Time ms={r.last_ms} /></td>
                <td>{r.allowed ? <Tag tone="good">allowed</Tag> : <Tag tone="bad">not allowed</Tag>} {judge && (r.allowed
                    ? <Button kind="small" onClick={() => judge.forbid(r)} aria-label={`Forbid ${shortened(r.api)} in ${shortened(callerName(r))}`}>Forbid</Button>
                    : <Button kind="small" onClick={() => judge.allow(r)} aria-label={`Allow ${shortened(r.api)} in ${shortened(callerName(r))}…`}>Allow…</Button>)}</td>
            </tr>
            {rowKey(r) === open && <tr key={`${rowKey(r)} stacks`}><td colSpan={6} class="inside">{perVersion(r).length > 0 && <p class="small">Calls by version: {perVersion(r).slice(0, 12).map(([v, n], i) => <span key={v}>{i > 0 && ", "}<b>{shortened(v, 40)}</b> {count(n)}</span>)}{perVersion(r).length > 12 && " …"}</p>}<Shown of={stacks} lines={4}>{(d) => <>{d.items.slice(0, 5).map((s, i) => <div key={i}><p class="muted small">{many(s.count, "call")} in {s.version}</p><Stack frames={s.frames} label={`Stack of ${r.api}`} source={false} /></div>)}{d.items.length === 0 && <p class="muted">No stack is kept.</p>}</>}</Shown></td></tr>}
        </>)}</tbody></table></div>{more}</>;
}

/** Takes a pattern away; adding it again is the undo. */
async function removeRule(api: string, rule: AllowRule) {
    await send("DELETE", `${api}/calls/allow/${encodeURIComponent(rule.id)}`);
    changed();
    say({ text: `No longer allowed: ${shortened(visible(rule.api), 60)} in ${shortened(visible(rule.caller), 80)}, and all that this pattern allowed.`,
        undo: async () => { await send("POST", `${api}/calls/allow`, { api: rule.api, caller: rule.caller, note: rule.note }); changed(); } });
}

function AllowDialog({ row, onClose, onDone }: { row: CallRow | undefined; onClose: () => void; onDone: () => void }) {
    return <Dialog title="Allow calls" open={!!row} onClose={onClose}>{row && <AllowForm row={row} onClose={onClose} onDone={onDone} />}</Dialog>;
}
function AllowForm({ row, onClose, onDone }: { row: CallRow; onClose: () => void; onDone: () => void }) {
    const { api } = useApp();
    const [name, setName] = useState(row.api), [caller, setCaller] = useState(patternOf(row)), [note, setNote] = useState("");
    const action = useAction();
    return <form onSubmit={(e) => { e.preventDefault(); action.run(async () => { const made = await send<AllowRule>("POST", `${api}/calls/allow`, { api: name, caller, note }); onDone(); changed();
        say({ text: `Allowed: ${shortened(name, 60)} in ${shortened(caller, 80)}.`, undo: async () => { await send("DELETE", `${api}/calls/allow/${encodeURIComponent(made.id)}`); changed(); } }); }); }}>
        <label class="field"><span>API (* stands for anything)</span><input class="mono" value={name} required onInput={(e) => setName(e.currentTarget.value)} /></label>
        <label class="field"><span>Caller: image!function</span><input class="mono" value={caller} required onInput={(e) => setCaller(e.currentTarget.value)} /></label>
        <label class="field"><span>Why it is allowed</span><input value={note} onInput={(e) => setNote(e.currentTarget.value)} placeholder="NSPrivacyAccessedAPICategoryFileTimestamp, C617.1" /></label>
        {action.error && <ErrorBox error={action.error} />}
        <div class="dialog-foot"><Button onClick={onClose}>Cancel</Button><Button kind="primary" type="submit" disabled={action.busy}>Allow</Button></div>
    </form>;
}

function Diff({ versions, judge }: { versions: string[]; judge?: Judge }) {
    const { api } = useApp();
    const [q, set] = useQuery();
    const from = q.from_version ?? versions[1] ?? "", to = q.to_version ?? versions[0] ?? "";
    const diff = useLoad<CallsDiff>(from && to ? `${api}/calls/diff${query({ from, to })}` : null);
    if (versions.length < 2) return <Empty title="There is one version only"><p>When a second one has sent calls, what is new in it is shown here.</p></Empty>;
    const options = versions.map((v): [string, string] => [v, v]);
    return <>
        <div class="tools"><Select label="From" value={from} options={options} onValue={(v) => set({ from_version: v })} /><Select label="to" value={to} options={options} onValue={(v) => set({ to_version: v })} /></div>
        <Shown of={diff} lines={8}>{(d) => <>
            <p class={d.not_allowed.length ? "notice bad" : "notice good"} role="status"><Icon name={d.not_allowed.length ? "warn" : "calls"} /><span>{d.not_allowed.length ? <><b>{many(d.not_allowed.length, "new caller")} not allowed</b>: a build that checks (below) fails.</> : <><b>Nothing new that is not allowed.</b> A build that checks passes.</>}</span></p>
            {([["new", "New", d.new], ["gone", "Gone", d.gone], ["changed", "More or fewer calls", d.changed]] as [string, string, CallRow[]][]).map(([id, name, rows]) => <Panel key={id} title={`${name} (${rows.length})`}>
                {rows.length ? <Rows rows={rows} judge={judge} change={id === "changed"} label={name} /> : <p class="muted pad">None.</p>}</Panel>)}
            <Panel title="In CI"><p class="pad small">Exits with 9 when a version has new callers that are not allowed:</p><Command text={checkCalls(from, to)} /></Panel>
        </>}</Shown>
    </>;
}

function AllowList() {
    const app = useApp();
    const list = useLoad<List<AllowRule>>(`${app.api}/calls/allow`, true); // raw: Undo sends it back
    const action = useAction();
    return <Shown of={list} lines={4}>{(d) => d.items.length === 0
        ? <Empty title="Nothing is allowed yet"><p>Use “Allow…” beside a caller; a pattern may have * in it.</p></Empty>
        : <>{action.error && <ErrorBox error={action.error} />}<div class="scroll" tabIndex={0} role="region" aria-label="What is allowed"><table class="list"><caption class="hidden">What is allowed</caption><thead><tr><th scope="col">API</th><th scope="col">Caller</th><th scope="col">Why</th><th scope="col"><span class="hidden">Actions</span></th></tr></thead>
            <tbody>{d.items.map((r) => <tr key={r.id}><th scope="row" class="mono"><Cut s={visible(r.api)} /></th><td class="mono"><Cut s={visible(r.caller)} /></td><td><Cut s={visible(r.note)} /></td>
                <td class="right">{can(app, "triage") && <Button kind="small" aria-label={`Remove ${visible(r.api)}, ${visible(r.caller)}`} onClick={() => action.run(() => removeRule(app.api, r))}>Remove</Button>}</td></tr>)}</tbody></table></div></>}</Shown>;
}

export function Calls() {
    const app = useApp();
    const [q, set] = useQuery();
    const tab = q.tab ?? "matrix";
    const from = useLoad<Overview>(`${app.api}/overview${query({ days: 400 })}`);
    const data = useLoad<Data>(`${app.api}/calls${query(callFilters(q))}`);
    const [allow, setAllow] = useState<CallRow>();
    const action = useAction();
    /** The pattern may allow others too: the line that says so names it. */
    const forbid = (r: CallRow) => action.run(async () => {
        const { items } = await get<List<AllowRule>>(`${app.api}/calls/allow`, true); // raw: it may go back
        const rule = items.find((one) => String(one.id) === String(r.rule));
        if (!rule) throw new Error("What allowed it is gone already. Load the page again.");
        await removeRule(app.api, rule);
    });
    const judge = can(app, "triage") ? { allow: setAllow, forbid } : undefined;
    const known = from.data?.versions.map(versionLabel) ?? [];
    const versions = [...known, ...[...new Set((data.data?.rows ?? []).flatMap((r) => Object.keys(r.versions)))].filter((v) => !known.includes(v))];
    return <>
        <div class="page-head"><h1>Calls</h1>{tab === "matrix" && <Filters from={from.data} platforms={false} />}</div>
        <div class="tools"><Choice label="Show" value={tab} options={[["matrix", "Matrix"], ["diff", "Between versions"], ["allow", "Allow list"]]} onValue={(v) => set({ tab: v === "matrix" ? null : v })} />
            <span class="spring" /><a class="button" href={`${app.api}/calls.csv${query(callFilters(q))}`} download><Icon name="down" />CSV</a></div>
        {action.error && <ErrorBox error={action.error} />}
        {tab === "allow" ? <Panel title="Allow list"><AllowList /></Panel>
            : tab === "diff" ? from.data ? <Diff versions={versions} judge={judge} /> : from.error ? <ErrorBox error={from.error} retry={from.reload} /> : <Skeleton lines={8} />
            : <Shown of={data} lines={14}>{(d) => {
                if (!d.rows.length) return <Empty title={(q.days || q.version) ? "No calls match these filters" : "No calls yet"}>
                    <p>Watch calls of a program; what it notes is sent here:</p><Command text={runWatched("--calls @privacy ")} /></Empty>;
                const text = (q.q ?? "").toLowerCase();
                const rows = d.rows.filter((r) => (!q.api || r.api === q.api) && (!q.image || baseName(r.caller.image || "unknown image") === q.image) && (q.open !== "1" || !r.allowed)
                    && (!text || `${r.api} ${r.caller.function ?? ""} ${r.caller.image} ${r.caller.file ?? ""}`.toLowerCase().includes(text)));
                const open = d.rows.filter((r) => !r.allowed).length;
                return <>
                    <p class={open ? "notice bad" : "notice good"}><Icon name={open ? "warn" : "calls"} /><span><b>{open ? `${many(open, "caller")} not allowed` : "All callers are allowed"}</b>, of {count(d.rows.length)} that call {many(d.apis.length, "watched API")}.</span></p>
                    <Panel title="API by image"><Matrix data={d} onCell={(cell) => set({ api: cell[0].api, image: baseName(cell[0].caller.image || "unknown image") })} /></Panel>
                    <Panel title="Callers" aside={<span class="muted small num">{count(rows.length)} of {count(d.rows.length)}</span>}>
                        <div class="tools"><Search label="Search callers" placeholder="API, function, image or file" value={q.q ?? ""} onValue={(v) => set({ q: v }, true)} />
                            <label class="check"><input type="checkbox" checked={q.open === "1"} onChange={(e) => set({ open: e.currentTarget.checked ? 1 : null })} />Not allowed only</label>
                            {q.api && <Button kind="small" onClick={() => set({ api: null, image: null })}>Only {q.api} of {q.image} ✕</Button>}</div>
                        {rows.length ? <Rows rows={rows} judge={judge} label="Callers" /> : <p class="muted pad">No caller matches.</p>}</Panel>
                </>;
            }}</Shown>}
        <AllowDialog row={allow} onClose={() => setAllow(undefined)} onDone={() => setAllow(undefined)} />
    </>;
}
