// Who calls what: sensitive API against caller, what is allowed, and what changed between two versions.

import { useMemo, useState } from "preact/hooks";
import { changed, get, query, send, useLoad } from "../api";
import { callFilters, can, useApp, useQuery } from "../app";
import { checkCalls, runWatched } from "../commands";
import type { ComponentChildren } from "preact";
import { baseName, compact, count, dayName, many, place, visible } from "../format";
import { Button, Choice, Command, Cut, Dialog, Empty, ErrorBox, Icon, Panel, Search, Select, shortened, Shown, Skeleton, Tag, useAction, useMore } from "../parts/basic";
import { Filters } from "../parts/groups";
import { say } from "../parts/notice";
import { Stack } from "../parts/stack";
import type { AllowRule, CallCell, CallRow, Calls as Data, CallsDiff, CallStack, CallVersions, List, Overview, Privacy, PrivacyGroup, VersionRow, VersionRows } from "../types";

const callerName = (r: CallRow) => r.caller.function ?? imageName(r.caller.image);
const rowKey = (r: CallRow) => `${r.api}\n${r.caller.image}\n${r.caller.function ?? ""}\n${r.caller.line ?? ""}`;

const imageName = (image: string | null) => baseName(image || "unknown image");

/** What a privacy manifest names, or the key of Info.plist; the system asks for some without one. */
const codesOf = (g: PrivacyGroup) => (g.category ? g.reasons : g.permissions).join(", ") || "asked by the system";

/** The groups that an API is of: the reasons that may be declared for it, or the permission that guards it. */
function Groups({ api, privacy }: { api: string; privacy: Privacy }) {
    return <>{privacy.groups.map((g) => {
        const one = g.apis.find((a) => a.api === api);
        return one && <div key={g.name} class="sub" title={g.category ?? "Guarded with a permission"}>{`${g.title}${one.by_key ? " (by key)" : ""}: ${codesOf(g)}`}</div>;
    })}</>;
}

/** The callers' images with the most calls first; each cell has its sums from the server. */
function Matrix({ data, onCell }: { data: Data; onCell: (cell: CallCell) => void }) {
    const images = useMemo(() => {
        const byImage = new Map<string, CallCell[]>();
        for (const c of data.cells) byImage.set(c.image ?? "", [...(byImage.get(c.image ?? "") ?? []), c]);
        const total = (cells: CallCell[]) => cells.reduce((s, c) => s + c.count, 0);
        return [...byImage].sort((a, b) => total(b[1]) - total(a[1]));
    }, [data]);
    const [most, more] = useMore(images.length, 100, "images");
    return <><div class="scroll tall" tabIndex={0} role="region" aria-label="Matrix of calls"><table class="matrix">
        <caption class="hidden">Calls of each API (columns) by each image (rows); a cell opens its callers</caption>
        <thead><tr><th scope="col">Caller's image</th>{data.apis.map((a) => <th key={a} scope="col"><Cut s={a} class="mono" /></th>)}</tr></thead>
        <tbody>{images.slice(0, most).map(([image, cells]) => <tr key={image}><th scope="row"><Cut s={imageName(image)} class="mono" /></th>
            {data.apis.map((a) => {
                const cell = cells.find((c) => c.api === a);
                if (!cell) return <td key={a} class="none"><span class="hidden">none</span></td>;
                const open = cell.not_allowed, n = cell.count;
                return <td key={a}><button type="button" class={open ? "cell bad" : "cell good"} onClick={() => onCell(cell)}
                    aria-label={`${shortened(imageName(image))} calls ${shortened(a)} ${compact(n)} ${n === 1 ? "time" : "times"}, ${open ? many(open, "caller not allowed", "callers not allowed") : "all allowed"}`}>
                    <span class="num">{compact(n)}</span><span class="mark" aria-hidden="true">{open ? "!" : "✓"}</span></button></td>;
            })}</tr>)}</tbody>
    </table></div>{more}</>;
}

/** Something is missing: said wherever it could be taken for the whole. */
const Truncated = ({ children }: { children: ComponentChildren }) => <p class="notice bad" role="status"><Icon name="warn" /><span>{children}</span></p>;

/** A pattern that allows this row and what is alike. */
const patternOf = (r: CallRow) => `${baseName(r.caller.image || "*")}!${r.caller.function ?? "*"}`;

/** What is done with a row: allowing it asks for a pattern; forbidding takes the pattern away that allows it. */
interface Judge { allow: (r: CallRow) => void; forbid: (r: CallRow) => void }

/** In which versions a caller was seen, the newest first. */
function InVersions({ of }: { of: CallVersions }) {
    if (!of.items.length) return null;
    return <p class="small">Calls by version: {of.items.slice(0, 12).map((v, i) => <span key={v.version}>{i > 0 && ", "}<b>{shortened(v.version, 40)}</b> {count(v.count)}</span>)}{of.total > 12 && <> and {many(of.total - 12, "more version")}</>}</p>;
}

function Rows({ rows, privacy, judge, change = false, label }: { rows: CallRow[]; privacy: Privacy; judge?: Judge; change?: boolean; label: string }) {
    const { api } = useApp();
    const [q] = useQuery();
    const [open, setOpen] = useState("");
    const row = rows.find((r) => rowKey(r) === open);
    const [most, more] = useMore(rows.length, 50, "callers");
    const versions = useLoad<CallVersions>(row ? `${api}/calls/versions${query({ ...(change ? { days: 400 } : callFilters(q)), api: row.api, caller: row.caller.function, image: row.caller.image })}` : null);
    const stacks = useLoad<List<CallStack>>(row ? `${api}/calls/stacks${query({ ...callFilters(q), api: row.api, caller: row.caller.function, image: row.caller.image })}` : null);
    return <><div class="scroll" tabIndex={0} role="region" aria-label={label}><table class="list calls"><caption class="hidden">{label}</caption>
        <thead><tr><th scope="col">API</th><th scope="col">Caller</th><th scope="col" class="right">{change ? "Before → after" : "Calls"}</th><th scope="col">First in</th><th scope="col">Last</th><th scope="col">Allowed</th></tr></thead>
        <tbody>{rows.slice(0, most).map((r) => <>
            <tr key={rowKey(r)} class={rowKey(r) === open ? "chosen" : ""}>
                <th scope="row"><Cut s={r.api} class="mono" /><Groups api={r.api} privacy={privacy} /></th>
                <td class="wide"><button type="button" class="link" aria-expanded={rowKey(r) === open} onClick={() => setOpen(rowKey(r) === open ? "" : rowKey(r))}><Cut s={callerName(r)} class="fn" /></button>
                    <div class="sub">{r.caller.file && <Cut s={place(r.caller.file, r.caller.line)} class="mono" title={r.caller.file} />}{r.caller.function && <Cut s={baseName(r.caller.image || "")} title={r.caller.image ?? ""} />}</div></td>
                <td class="right num">{change ? `${compact(r.before ?? 0)} → ${compact(r.after ?? 0)}` : compact(r.count)}</td>
                <td><Cut s={r.first_version || "unknown"} /></td><td>{dayName(r.last_day)}</td>
                <td>{r.allowed ? <Tag tone="good">allowed</Tag> : <Tag tone="bad">not allowed</Tag>} {judge && (r.allowed
                    ? <Button kind="small" onClick={() => judge.forbid(r)} aria-label={`Forbid ${shortened(r.api)} in ${shortened(callerName(r))}`}>Forbid</Button>
                    : <Button kind="small" onClick={() => judge.allow(r)} aria-label={`Allow ${shortened(r.api)} in ${shortened(callerName(r))}…`}>Allow…</Button>)}</td>
            </tr>
            {rowKey(r) === open && <tr key={`${rowKey(r)} stacks`}><td colSpan={6} class="inside">{versions.data && <InVersions of={versions.data} />}<Shown of={stacks} lines={4}>{(d) => <>{d.items.slice(0, 5).map((s, i) => <div key={i}><p class="muted small">{many(s.count, "call")} in {s.version}</p><Stack frames={s.frames} label={`Stack of ${r.api}`} source={false} /></div>)}{d.items.length === 0 && <p class="muted">No stack is kept.</p>}</>}</Shown></td></tr>}
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

/** Whether the server has something to compare a version with when nobody names it. */
function hasBefore(rows: VersionRow[], to: string): boolean {
    const at = rows.findIndex((v) => v.label === to || v.version === to);
    return at >= 0 && rows.slice(at + 1).some((v) => v.line === rows[at].line && v.numbered === rows[at].numbered && v.version !== rows[at].version);
}

function Diff({ rows, judge }: { rows: VersionRow[]; judge?: Judge }) {
    const { api } = useApp();
    const [q, set] = useQuery();
    const versions = rows.map((v) => v.label).filter(Boolean);
    const to = q.to_version ?? versions[0] ?? "";
    const alone = !q.from_version && !hasBefore(rows, to), same = q.from_version === to;
    const diff = useLoad<CallsDiff>(to && !alone && !same ? `${api}/calls/diff${query({ from: q.from_version, to, wait: 0 })}` : null);
    const from = q.from_version ?? diff.data?.from ?? "";
    if (versions.length < 2) return <Empty title="There is one version only"><p>When a second one has sent calls, what is new in it is shown here.</p></Empty>;
    const options = versions.map((v): [string, string] => [v, v]);
    return <>
        <div class="tools"><Select label="From" value={q.from_version ?? ""} options={[["", "the last release before"], ...options]} onValue={(v) => set({ from_version: v || null })} /><Select label="to" value={to} options={options} onValue={(v) => set({ to_version: v })} /></div>
        {alone ? <Empty title={`No version came before ${shortened(to, 40)}`}><p>Choose one to compare it with.</p></Empty>
            : same ? <Empty title="The same version on both sides"><p>Choose another one to compare it with.</p></Empty> : <Shown of={diff} lines={8}>{(d) => <>
            <p class="muted">{d.to} compared with <b><Cut s={d.from ?? ""} /></b>{d.from_named ? "" : d.from_prerelease ? ", a pre-release: no release came before it" : ", the last release before it"}.</p>
            {d.truncated && <Truncated><b>Not all callers are known or listed</b>: a build that checks fails.</Truncated>}
            {d.waiting_reports > 0 && <Truncated><b>{many(d.waiting_reports, "report")} not processed yet</b>: a build that checks waits for them.</Truncated>}
            {d.failed_reports > 0 && <Truncated><b>{many(d.failed_reports, "report")} could not be processed</b>, and nobody knows of which version: a build that checks fails until they are tried again or deleted (docs/operations.md).</Truncated>}
            {!d.to_calls && <Truncated><b>No watched calls of {shortened(d.to, 40)} were recorded</b>: a build that checks fails. Run it with --calls.</Truncated>}
            {!d.from_calls && <Truncated>No watched calls of {shortened(d.from ?? "", 40)} were recorded: all callers are new.</Truncated>}
            {d.unnamed.length > 0 && <Truncated><b>New callers cannot be told apart in images without names</b> ({[...new Set(d.unnamed.map((r) => imageName(r.caller.image ?? "")))].slice(0, 5).map((s) => shortened(s, 40)).join(", ")}): a build that checks fails.</Truncated>}
            {(d.passes || d.not_allowed.length > 0) && <p class={d.not_allowed.length ? "notice bad" : "notice good"} role="status"><Icon name={d.not_allowed.length ? "warn" : "calls"} /><span>{d.not_allowed.length ? <><b>{many(d.totals.not_allowed, "new caller")} not allowed</b>: a build that checks (below) fails.</> : <><b>Nothing new that is not allowed.</b> A build that checks passes.</>}</span></p>}
            {([["new", "New", d.new], ["gone", "Gone", d.gone], ["changed", "More or fewer calls", d.changed]] as ["new" | "gone" | "changed", string, CallRow[]][]).map(([id, name, rows]) => <Panel key={id} title={`${name} (${d.totals[id]})`}>
                {rows.length ? <Rows rows={rows} privacy={d.privacy} judge={judge} change={id === "changed"} label={name} /> : <p class="muted pad">None.</p>}</Panel>)}
            <Panel title="In CI"><p class="pad small">Exits with 9 when a version has new callers that are not allowed:</p><Command text={checkCalls(from, to)} /></Panel>
        </>}</Shown>}
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
    /** The server filters what it knows in whole, and cuts after that. */
    const chosen = { ...callFilters(q), api: q.api, image: q.api ? q.image ?? "" : undefined, q: q.q, allowed: q.open === "1" ? "no" : undefined, group: q.group || undefined };
    const address = `${app.api}/calls${query(chosen)}${q.api && !q.image ? "&image=" : ""}`;
    const data = useLoad<Data>(address);
    const known = useLoad<VersionRows>(`${app.api}/versions`);
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
    return <>
        <div class="page-head"><h1>Calls</h1>{tab === "matrix" && <Filters from={from.data} platforms={false} />}</div>
        <div class="tools"><Choice label="Show" value={tab} options={[["matrix", "Matrix"], ["diff", "Between versions"], ["allow", "Allow list"]]} onValue={(v) => set({ tab: v === "matrix" ? null : v })} />
            <span class="spring" /><a class="button" href={address.replace("/calls", "/calls.csv")} download><Icon name="down" />CSV</a></div>
        {action.error && <ErrorBox error={action.error} />}
        {tab === "allow" ? <Panel title="Allow list"><AllowList /></Panel>
            : tab === "diff" ? known.data ? <Diff rows={known.data.items} judge={judge} /> : known.error ? <ErrorBox error={known.error} retry={known.reload} /> : <Skeleton lines={8} />
            : <Shown of={data} lines={14}>{(d) => {
                if (!d.callers) return <Empty title={(q.days || q.version) ? "No calls match these filters" : "No calls yet"}>
                    <p>Watch calls of a program; what it notes is sent here:</p><Command text={runWatched("--calls @privacy ")} /></Empty>;
                const open = d.not_allowed, rows = d.rows, group = d.privacy.groups.find((g) => g.name === q.group);
                const groups = [["", "All groups"], ...d.privacy.groups.map((g) => [g.name, g.title])] as [string, string][];
                if (q.group && !group) groups.push([q.group, q.group]);
                return <>
                    {d.truncated && <Truncated><b>{rows.length < d.total ? `The ${count(rows.length)} with the most calls are listed, of ${count(d.total)}.` : "Not all callers are known."}</b></Truncated>}
                    <p class={open ? "notice bad" : "notice good"}><Icon name={open ? "warn" : "calls"} /><span><b>{open ? `${many(open, "caller")} not allowed` : "All callers are allowed"}</b>, of {count(d.callers)} that call {many(d.apis.length, "watched API")}.</span></p>
                    <Panel title="API by image"><Matrix data={group ? { ...d, apis: d.apis.filter((a) => group.apis.some((one) => one.api === a)), cells: d.cells.filter((c) => group.apis.some((one) => one.api === c.api)) } : d} onCell={(cell) => set({ api: cell.api, image: cell.image })} /></Panel>
                    <Panel title="Callers" aside={<span class="muted small num">{count(d.total)} of {count(d.callers)}</span>}>
                        <div class="tools"><Search label="Search callers" placeholder="API, function, image or file" value={q.q ?? ""} onValue={(v) => set({ q: v }, true)} />
                            {groups.length > 1 && <Select label="Group" bare value={q.group ?? ""} options={groups} onValue={(v) => set({ group: v || null })} />}
                            <label class="check"><input type="checkbox" checked={q.open === "1"} onChange={(e) => set({ open: e.currentTarget.checked ? 1 : null })} />Not allowed only</label>
                            {q.api && <Button kind="small" onClick={() => set({ api: null, image: null })}>Only {q.api} of {imageName(q.image ?? "")} ✕</Button>}</div>
                        {group && <p class="pad small">{group.title}: {group.category ?? "guarded with a permission"}, <span class="mono">{codesOf(group)}</span>. <span class="muted">List {d.privacy.version} of {d.privacy.date}.</span></p>}
                        {rows.length ? <Rows rows={rows} privacy={d.privacy} judge={judge} label="Callers" /> : <p class="muted pad">No caller matches.</p>}</Panel>
                </>;
            }}</Shown>}
        <AllowDialog row={allow} onClose={() => setAllow(undefined)} onDone={() => setAllow(undefined)} />
    </>;
}
