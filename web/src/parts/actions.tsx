// What one does with a group: ignore, resolve in a version, merge, split, note. Each can be taken back from the line that
// says what was done (notice.tsx).

import { useState } from "preact/hooks";
import { useLocation } from "preact-iso";
import { query, send, useLoad } from "../api";
import { can, filtersOf, useApp, useLink } from "../app";
import { count, duration, many } from "../format";
import type { Group, GroupDetail, GroupName, List, Overview } from "../types";
import { Button, Choice, Cut, Dialog, ErrorBox, Search, shortened, useAction } from "./basic";
import { versionLabel } from "./groups";
import { afterJobs, say } from "./notice";
import { SplitChoice } from "./split";

const named = (title: string) => `“${shortened(title, 80)}”`;

function Merge({ g, chosen, choose }: { g: GroupDetail; chosen: GroupName | undefined; choose: (into: GroupName | undefined) => void }) {
    const { api } = useApp();
    const [text, setText] = useState("");
    const list = useLoad<List<Group>>(`${api}/groups${query({ status: "all", q: text, limit: 12, days: 400 })}`);
    if (chosen) return <>
        <p><b><Cut s={g.title} class="fn" /></b> goes into <b><Cut s={chosen.title} class="fn" /></b>.</p>
        <p class="muted">Its {many(g.reports, "report")}, and those still to come, count for that hang. Nothing is lost: it can be taken back.</p>
        <p><Button kind="small" onClick={() => choose(undefined)}>Choose another</Button></p>
    </>;
    const found = (list.data?.items ?? []).filter((o) => o.id !== g.id && o.status !== "merged").slice(0, 8);
    const row = (o: GroupName, detail: string) => <li key={o.id}><button type="button" onClick={() => choose(o)}><Cut s={o.title} class="fn" /><span class="muted">{detail}</span></button></li>;
    return <>
        <p class="muted">Its reports, and those still to come, count for the hang that you choose.</p>
        {!text && g.similar.length > 0 && <><h3>Alike</h3><ul class="choose">{g.similar.slice(0, 4).map((o) => row(o, "same function or file"))}</ul><h3>All</h3></>}
        <Search label="Search hangs" placeholder="Function, file or image" value={text} onValue={setText} />
        {list.error && <ErrorBox error={list.error} retry={list.reload} />}
        <ul class="choose" aria-label="Hangs to merge into">{found.map((o) => row(o, `${many(o.reports, "report")}, ${duration(o.blocked_ns)}`))}</ul>
        {list.data && found.length === 0 && <p class="muted">{text ? "No hang has that in its stack." : "There is no other hang."}</p>}
    </>;
}

export function Actions({ g, onChange }: { g: GroupDetail; onChange: () => void }) {
    const app = useApp();
    const link = useLink();
    const { route } = useLocation();
    const [open, setOpen] = useState<"" | "resolve" | "merge" | "split" | "note" | "part">("");
    const [version, setVersion] = useState("");
    const [fixed, setFixed] = useState<"version" | "next">("version");
    const [note, setNote] = useState(g.note ?? "");
    const [into, setInto] = useState<GroupName>();
    const [stacks, setStacks] = useState<number[]>([]);
    const action = useAction();
    const from = useLoad<Overview>(open === "resolve" ? `${app.api}/overview${query({ days: 400 })}` : null);
    const post = (id: string | number, body: Record<string, unknown>) => send<Group>("POST", `${app.api}/groups/${encodeURIComponent(id)}`, body);
    const show = (id: string | number) => route(link(`groups/${encodeURIComponent(id)}`));
    const close = () => { setOpen(""); setInto(undefined); setStacks([]); action.clear(); };
    /** Does it and says so; `back` undoes it. */
    const act = (body: Record<string, unknown>, text: string, back: Record<string, unknown>) => action.run(async () => {
        await post(g.id, body);
        close();
        say({ text, undo: async () => { await post(g.id, back); onChange(); } });
        onChange();
    });
    const status = () => (g.status === "resolved" ? { action: "resolve", [g.resolved_after ? "after" : "version"]: g.resolved_version } : { action: g.status === "ignored" ? "ignore" : "open" });
    const merge = (to: GroupName) => action.run(async () => {
        await post(g.id, { action: "merge", into: to.id });
        close();
        say({ text: `${named(g.title)} was merged into this hang. Undo parts all that was merged into it by hand.`, undo: async () => { await post(g.id, { action: "open" }); await afterJobs("rules"); show(g.id); } });
        show(to.id);
    });
    const split = () => action.run(async () => {
        const made = await post(g.id, { action: "split", stacks });
        close();
        say({ text: `${many(stacks.length, "stack")} of ${named(g.title)} ${stacks.length === 1 ? "is" : "are"} this hang now.`, undo: async () => { await post(made.id, { action: "split", stacks: null }); await afterJobs("rules"); show(g.id); } });
        show(made.id);
    });
    const part = () => action.run(async () => {
        await post(g.id, g.status === "merged" ? { action: "open" } : { action: "split", stacks: null });
        close();
        say({ text: "What was merged or split by hand is as the rules have it. Its reports move in the background." });
        await afterJobs("rules");
    });
    if (!can(app, "triage")) return <p class="muted small">Your token may read only; triage needs the scope “triage”.</p>;
    const versions = from.data?.versions.map(versionLabel) ?? [];
    return <>
        <div class="actions" role="group" aria-label="Actions">
            {g.status === "merged" ? <Button kind="primary" onClick={() => setOpen("part")}>Unmerge…</Button> : g.status === "open"
                ? <><Button kind="primary" onClick={() => { setVersion(""); setFixed("version"); setOpen("resolve"); }}>Resolve…</Button><Button onClick={() => act({ action: "ignore" }, `${named(g.title)} is ignored: it leaves the ranking.`, { action: "open" })} disabled={action.busy}>Ignore</Button></>
                : <Button kind="primary" onClick={() => act({ action: "open" }, `${named(g.title)} is open again.`, status())} disabled={action.busy}>Open again</Button>}
            <Button onClick={() => { setNote(g.note ?? ""); setOpen("note"); }}>{g.note ? "Edit note…" : "Note…"}</Button>
            {g.status !== "merged" && <><Button onClick={() => setOpen("merge")}>Merge…</Button><Button onClick={() => setOpen("split")}>Split…</Button></>}
        </div>
        {action.error && !open && <ErrorBox error={action.error} />}
        <Dialog title="Resolve this hang" open={open === "resolve"} onClose={close}>
            <p class="muted">It leaves the ranking. A report of the version in which it is fixed, or of a later one, opens it again; reports of older versions do not.</p>
            <Choice label="Fixed in" value={fixed} options={[["version", "A version"], ["next", "The next version"]]} onValue={(v) => setFixed(v as "version" | "next")} />
            {fixed === "version" ? <label class="field"><span>Version, also one that has not come out; “2.2.0” is all its builds</span><input class="mono" value={version} list="versions-known" required maxLength={255} onInput={(e) => setVersion(e.currentTarget.value)} />
                <datalist id="versions-known">{versions.map((v) => <option key={v} value={v} />)}</datalist></label>
                : <p>Any version after the newest there is{from.data?.versions[0] ? <>, <Cut s={versionLabel(from.data.versions[0])} />,</> : null} opens it again.</p>}
            {action.error && <ErrorBox error={action.error} />}
            <div class="dialog-foot"><Button onClick={close}>Cancel</Button><Button kind="primary" disabled={action.busy || (fixed === "version" && !version.trim())} onClick={() => act(fixed === "version" ? { action: "resolve", version: version.trim() } : { action: "resolve" }, `${named(g.title)} is fixed in ${fixed === "version" ? shortened(version, 40) : "the next version"}.`, { action: "open" })}>Resolve</Button></div>
        </Dialog>
        <Dialog title="Merge into another hang" open={open === "merge"} onClose={close}>
            <Merge g={g} chosen={into} choose={setInto} />
            {action.error && <ErrorBox error={action.error} />}
            <div class="dialog-foot"><Button onClick={close}>Cancel</Button><Button kind="primary" disabled={action.busy || !into} onClick={() => into && merge(into)}>Merge</Button></div>
        </Dialog>
        <Dialog title="Split this hang" open={open === "split"} onClose={close} wide>
            <SplitChoice g={g} chosen={stacks} choose={setStacks} onPart={() => { close(); setOpen("part"); }} />
            {action.error && <ErrorBox error={action.error} />}
            <div class="dialog-foot"><Button onClick={close}>Cancel</Button><Button kind="primary" disabled={action.busy || !stacks.length} onClick={split}>{stacks.length ? `Split off ${count(stacks.length)}` : "Split off"}</Button></div>
        </Dialog>
        <Dialog title="Unmerge what was put together by hand" open={open === "part"} onClose={close}>
            <p class="muted">Every merge and split by hand around this hang is taken back: its stacks go where the rules put them, and hangs that were merged into it are open again. This itself has no undo.</p>
            {action.error && <ErrorBox error={action.error} />}
            <div class="dialog-foot"><Button onClick={close}>Cancel</Button><Button kind="danger" disabled={action.busy} onClick={part}>Unmerge</Button></div>
        </Dialog>
        <Dialog title="Note" open={open === "note"} onClose={close}>
            <label class="field"><span>For everybody who looks at this hang</span><textarea rows={4} maxLength={2000} value={note} onInput={(e) => setNote(e.currentTarget.value)} /></label>
            {action.error && <ErrorBox error={action.error} />}
            <div class="dialog-foot"><Button onClick={close}>Cancel</Button><Button kind="primary" disabled={action.busy} onClick={() => act({ action: "note", note }, note ? "The note is saved." : "The note is gone.", { action: "note", note: g.note ?? "" })}>Save</Button></div>
        </Dialog>
    </>;
}

/** Address of a part of a group's data, with the view's filters. */
export const groupUrl = (api: string, id: string, rest: string, q: Record<string, string>, more: Record<string, string | number> = {}) =>
    `${api}/groups/${encodeURIComponent(id)}${rest}${query({ ...filtersOf(q), ...more })}`;
