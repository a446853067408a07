// What one does with a group: ignore, resolve in a version, merge, split, note.

import { useState } from "preact/hooks";
import { query, send, useLoad } from "../api";
import { can, filtersOf, useApp } from "../app";
import { many } from "../format";
import type { Group, GroupDetail, List, Overview } from "../types";
import { Button, Cut, Dialog, ErrorBox, Search, Select, useAction } from "./basic";
import { versionLabel } from "./groups";

function Merge({ g, done }: { g: Group; done: (into: string) => void }) {
    const { api } = useApp();
    const [text, setText] = useState("");
    const list = useLoad<List<Group>>(`${api}/groups${query({ status: "all", q: text, limit: 8, days: 400 })}`);
    return <>
        <p class="muted">Its reports, and those still to come, count for the hang that you choose.</p>
        <Search label="Search hangs" value={text} onValue={setText} />
        <ul class="choose">{(list.data?.items ?? []).filter((o) => o.id !== g.id && o.status !== "merged").map((o) => <li key={o.id}>
            <button type="button" onClick={() => done(o.id)}><Cut s={o.title} class="fn" /><span class="muted">{many(o.reports, "report")}</span></button></li>)}</ul>
        {list.data && list.data.items.length === 0 && <p class="muted">None found.</p>}
    </>;
}

export function Actions({ g, onChange }: { g: GroupDetail; onChange: () => void }) {
    const app = useApp();
    const [open, setOpen] = useState<"" | "resolve" | "merge" | "split" | "note">("");
    const [version, setVersion] = useState("");
    const [note, setNote] = useState(g.note ?? "");
    const action = useAction();
    const from = useLoad<Overview>(open === "resolve" ? `${app.api}/overview${query({ days: 400 })}` : null);
    const act = (body: Record<string, unknown>) => action.run(async () => {
        await send("POST", `${app.api}/groups/${encodeURIComponent(g.id)}`, body);
        setOpen("");
        onChange();
    });
    const close = () => { setOpen(""); action.clear(); };
    if (!can(app, "triage")) return <p class="muted small">Your token may read only; triage needs the scope “triage”.</p>;
    const versions = from.data?.versions.map(versionLabel) ?? [g.last_version];
    return <>
        <div class="actions" role="group" aria-label="Actions">
            {g.status === "open"
                ? <><Button kind="primary" onClick={() => { setVersion(g.last_version); setOpen("resolve"); }}>Resolve…</Button><Button onClick={() => act({ action: "ignore" })} disabled={action.busy}>Ignore</Button></>
                : <Button kind="primary" onClick={() => act({ action: "open" })} disabled={action.busy}>Open again</Button>}
            <Button onClick={() => setOpen("note")}>{g.note ? "Edit note…" : "Note…"}</Button>
            <Button onClick={() => setOpen("merge")}>Merge…</Button>
            <Button onClick={() => setOpen("split")}>Split…</Button>
        </div>
        {action.error && !open && <ErrorBox error={action.error} />}
        <Dialog title="Resolve this hang" open={open === "resolve"} onClose={close}>
            <p class="muted">It leaves the ranking. When a report of a later version than this comes in, it opens again and says so.</p>
            <Select label="Resolved in" value={version} options={versions.map((v): [string, string] => [v, v])} onValue={setVersion} />
            {action.error && <ErrorBox error={action.error} />}
            <div class="dialog-foot"><Button onClick={close}>Cancel</Button><Button kind="primary" disabled={action.busy} onClick={() => act({ action: "resolve", version })}>Resolve</Button></div>
        </Dialog>
        <Dialog title="Merge into another hang" open={open === "merge"} onClose={close}>
            <Merge g={g} done={(into) => act({ action: "merge", into })} />
            {action.error && <ErrorBox error={action.error} />}
            <div class="dialog-foot"><Button onClick={close}>Cancel</Button></div>
        </Dialog>
        <Dialog title="Split this hang" open={open === "split"} onClose={close}>
            <p class="muted">Each distinct stack in it becomes a hang of its own, named after where it differs. Use it when one title hides several causes; a rule under Settings does the same for all that are alike.</p>
            {action.error && <ErrorBox error={action.error} />}
            <div class="dialog-foot"><Button onClick={close}>Cancel</Button><Button kind="primary" disabled={action.busy} onClick={() => act({ action: "split", stacks: null })}>Split</Button></div>
        </Dialog>
        <Dialog title="Note" open={open === "note"} onClose={close}>
            <label class="field"><span>For everybody who looks at this hang</span><textarea rows={4} maxLength={2000} value={note} onInput={(e) => setNote(e.currentTarget.value)} /></label>
            {action.error && <ErrorBox error={action.error} />}
            <div class="dialog-foot"><Button onClick={close}>Cancel</Button><Button kind="primary" disabled={action.busy} onClick={() => act({ action: "note", note })}>Keep</Button></div>
        </Dialog>
    </>;
}

/** Address of a part of a group's data, with the view's filters. */
export const groupUrl = (api: string, id: string, rest: string, q: Record<string, string>, more: Record<string, string | number> = {}) =>
    `${api}/groups/${encodeURIComponent(id)}${rest}${query({ ...filtersOf(q), ...more })}`;
