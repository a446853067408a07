// Debug files: which are missing and what that costs, sending some, and what is there.

import { useEffect, useRef, useState } from "preact/hooks";
import { get, query, send, useLoad } from "../api";
import { can, useApp, useQuery } from "../app";
import { pushDebugFiles } from "../commands";
import { bytes, compact, count, dayName, many, baseName } from "../format";
import { Button, Command, Cut, Empty, ErrorBox, Panel, Search, shortened, Shown, Tag, Time, useAction } from "../parts/basic";
import { Pages } from "../parts/pages";
import { fileOfFolder, filesOfDrop } from "../dropped";
import { sendFile, type Sending } from "../tus";
import type { List, MissingImage, SymbolFile, Upload } from "../types";

interface Entry { key: number; file: File; sent: number; sending?: Sending; upload?: Upload; error?: Error }
const LOOK_EVERY = 1000; // milliseconds between looks at a conversion

let nextKey = 1;

const stateText = (e: Entry): string => {
    if (e.error) return "stopped";
    if (!e.upload) return e.sent >= e.file.size ? "waiting for the server" : `sending, ${bytes(e.sent)} of ${bytes(e.file.size)}`;
    switch (e.upload.state) {
        case "queued": return "received; waits for its turn";
        case "converting": return e.upload.message || "being read";
        case "failed": return e.upload.message || "not usable";
        case "done": return e.upload.files.length ? many(e.upload.files.length, "file") + " taken" : e.upload.message || "nothing usable in it";
        default: return "sending";
    }
};

function Send({ onDone }: { onDone: () => void }) {
    const { server } = useApp();
    const [entries, setEntries] = useState<Entry[]>([]);
    const [over, setOver] = useState(false);
    const input = useRef<HTMLInputElement>(null), folder = useRef<HTMLInputElement>(null);
    const alive = useRef(true);
    useEffect(() => () => { alive.current = false; }, []);
    const change = (key: number, to: Partial<Entry>) => setEntries((all) => all.map((e) => (e.key === key ? { ...e, ...to } : e)));
    const follow = async (key: number, id: string) => {
        for (;;) {
            const upload = await get<Upload>(`/api/v1/uploads/${encodeURIComponent(id)}`);
            if (!alive.current) return;
            change(key, { upload });
            if (upload.state === "done" || upload.state === "failed") break;
            await new Promise((done) => setTimeout(done, LOOK_EVERY));
        }
        onDone();
    };
    const begin = (key: number, file: File) => {
        const most = server?.limits.upload_bytes;
        if (most && file.size > most) return change(key, { error: new Error(`It has ${bytes(file.size)}; this server takes ${bytes(most)} at most.`) });
        if (!file.size) return change(key, { error: new Error("It is empty.") });
        const sending = sendFile(file, (sent) => change(key, { sent }));
        change(key, { sending, error: undefined });
        sending.done.then((id) => follow(key, id)).catch((error) => change(key, { error }));
    };
    const add = (file: File) => {
        const entry: Entry = { key: nextKey++, file, sent: 0 };
        setEntries((all) => [...all, entry]);
        begin(entry.key, file);
    };
    const unreadable = (error: Error) => setEntries((all) => [...all, { key: nextKey++, file: new File([], "?"), sent: 0, error }]);
    const drop = (transfer: DataTransfer) => { for (const file of filesOfDrop(transfer)) file.then(add, unreadable); };
    const chosen = (input: HTMLInputElement, asFolder: boolean) => {
        const files = [...(input.files ?? [])];
        input.value = ""; // the same one may be chosen again
        try {
            if (asFolder && files.length) add(fileOfFolder(files));
            else files.forEach(add);
        } catch (error) {
            unreadable(error as Error);
        }
    };
    return <>
        <div class={`drop ${over ? "over" : ""}`} onDragOver={(e) => { e.preventDefault(); setOver(true); }} onDragLeave={() => setOver(false)}
            onDrop={(e) => { e.preventDefault(); setOver(false); if (e.dataTransfer) drop(e.dataTransfer); }}>
            <p><b>Drop debug files here</b> or <button type="button" class="link" onClick={() => input.current!.click()}>choose files</button> or <button type="button" class="link" onClick={() => folder.current!.click()}>a folder</button></p>
            <p class="muted small">ELF and Mach-O files, dSYMs, .xcarchives, other folders, archives of them, symbol maps. Identity is read from the file; names do not matter.{server && ` Up to ${bytes(server.limits.upload_bytes)} each.`}</p>
            <input ref={input} type="file" multiple hidden aria-label="Debug files" onChange={(e) => chosen(e.currentTarget, false)} />
            <input ref={folder} type="file" {...{ webkitdirectory: true }} hidden aria-label="A folder of debug files" onChange={(e) => chosen(e.currentTarget, true)} />
        </div>
        {entries.length > 0 && <ul class="uploads" aria-label="Files being sent">{entries.map((e) => {
            const converting = e.upload && (e.upload.state === "converting" || e.upload.state === "queued");
            const failed = !!e.error || e.upload?.state === "failed";
            return <li key={e.key}>
                <div class="row"><Cut s={e.file.name} class="mono" /><span class={failed ? "bad-text" : "muted"} role="status">{stateText(e)}</span>
                    {e.error && <Button kind="small" onClick={() => begin(e.key, e.file)}>Go on</Button>}
                    {!e.error && !e.upload && <Button kind="small" aria-label={`Stop sending ${e.file.name}`} onClick={() => e.sending?.stop()}>Stop</Button>}</div>
                {!failed && e.upload?.state !== "done" && <progress aria-label={`${e.file.name}: ${stateText(e)}`} max={converting ? e.upload!.total || 1 : e.file.size || 1} value={converting && !e.upload!.total ? undefined : converting ? e.upload!.done : e.sent} />}
                {e.error && <p class="small bad-text">{e.error.message}</p>}
                {e.upload && e.upload.files.length > 0 && <ul class="plain-list small">{e.upload.files.slice(0, 50).map((f, i) => <li key={i}><Cut s={f.name} class="mono" /> <span class="muted">{f.arch} {f.kind}</span> <Tag tone={f.state === "unusable" || f.state === "failed" ? "bad" : "good"}>{f.state}</Tag>{f.message && <Cut s={f.message} class="muted" />}</li>)}</ul>}
            </li>;
        })}</ul>}
    </>;
}

function Missing({ list }: { list: ReturnType<typeof useLoad<List<MissingImage>>> }) {
    return <Shown of={list} lines={8}>{(d) => d.items.length === 0
        ? <Empty title="No debug file is missing"><p>Every image in the stacks of kept reports has one. When an image comes in without, it is listed here.</p></Empty>
        : <>
            <p class="pad small">Reports are kept as addresses: when a debug file comes, their names and groups are updated automatically. Send a folder or an .xcarchive; only what the server lacks is sent. TOKEN is a file with a token that has the scope symbols:write.</p>
            <Command text={pushDebugFiles()} />
            <div class="scroll" tabIndex={0} role="region" aria-label="Missing debug files"><table class="list"><caption class="hidden">Missing debug files, by the reports they hold up</caption>
                <thead><tr><th scope="col">Image</th><th scope="col" class="right" aria-sort="descending">Reports ↓</th><th scope="col" class="right">Frames</th><th scope="col">Last</th><th scope="col">Debug id</th><th scope="col"><span class="hidden">Command</span></th></tr></thead>
                <tbody>{d.items.map((m) => <tr key={m.debug_id + m.arch}><th scope="row"><Cut s={m.name || baseName(m.path) || "unknown"} title={m.path} class="mono" />{m.app ? <Tag tone="bad" title="Its frames decide how hangs are grouped">app</Tag> : <Tag>system</Tag>} <span class="muted small">{m.arch}</span></th>
                    <td class="right num">{compact(m.reports)}</td><td class="right num">{compact(m.frames)}</td><td>{m.last_day ? dayName(m.last_day) : ""}</td><td class="mono muted"><Cut s={m.debug_id} /></td>
                    <td class="right"><PushCommand m={m} /></td></tr>)}</tbody></table></div>
        </>}</Shown>;
}

function PushCommand({ m }: { m: MissingImage }) {
    const [said, say] = useState("");
    const text = pushDebugFiles(m.path || m.name || "PATH-TO-DEBUG-FILES");
    return <Button kind="small" title={text} aria-label={`${said || "Copy command"} that sends the debug file of ${shortened(m.name)}`} onClick={() => navigator.clipboard.writeText(text).then(() => say("Copied"), () => say(text))}>{said || "Copy command"}</Button>;
}

function Files({ list }: { list: ReturnType<typeof useLoad<List<SymbolFile>>> }) {
    const app = useApp();
    const [q, set] = useQuery();
    const action = useAction();
    return <>
        <div class="tools"><Search label="Search debug files" placeholder="Name or debug id" value={q.q ?? ""} onValue={(v) => set({ q: v, after: null }, true)} /></div>
        {action.error && <ErrorBox error={action.error} />}
        <Shown of={list} lines={8}>{(d) => d.items.length === 0 ? <Empty title={q.q ? "No file has that in its name or id" : "No debug files yet"}>{!q.q && <p>Drop some above, or send them from a build: <code>framewalk push</code>.</p>}</Empty>
            : <><div class="scroll" tabIndex={0} role="region" aria-label="Debug files"><table class="list"><caption class="hidden">Debug files</caption>
                <thead><tr><th scope="col">Name</th><th scope="col">Kind</th><th scope="col" class="right">Size</th><th scope="col">State</th><th scope="col">Has</th><th scope="col">Sent</th><th scope="col">Last use</th><th scope="col"><span class="hidden">Actions</span></th></tr></thead>
                <tbody>{d.items.map((f) => <tr key={f.id}><th scope="row"><Cut s={f.name} class="mono" /><div class="sub"><Cut s={f.debug_id} class="mono muted" /></div></th><td>{f.kind} <span class="muted">{f.arch}</span></td><td class="right num">{bytes(f.size)}</td>
                    <td><Tag tone={f.state === "mapped" ? "good" : f.state === "unusable" ? "bad" : "warn"} title={f.message ?? ""}>{f.state}</Tag>{f.state === "unusable" && f.message && <div class="sub"><Cut s={f.message} /></div>}</td><td class="muted"><Cut s={f.features.join(", ")} /></td>
                    <td><Time ms={f.uploaded_ms} /> <span class="muted small"><Cut s={f.uploaded_by} /></span></td><td><Time ms={f.used_ms} /></td>
                    <td class="right">{can(app, "symbols:write") && <Button kind="small" aria-label={`Remove ${f.name}`} onClick={() => { if (confirm(`Remove ${f.name}? Names that came from it go until it is sent again.`)) action.run(async () => { await send("DELETE", `/api/v1/symbols/files/${encodeURIComponent(f.id)}`); list.reload(); }); }}>Remove</Button>}</td></tr>)}</tbody></table></div>
                <Pages next={d.next} shown={d.items.length} total={d.total} text={(n) => `${count(n)} files`} /></>}</Shown>
    </>;
}

export function Symbols() {
    const app = useApp();
    const [q] = useQuery();
    const missing = useLoad<List<MissingImage>>(`/api/v1/symbols/missing${query({ project: app.project })}`);
    const files = useLoad<List<SymbolFile>>(`/api/v1/symbols/files${query({ q: q.q, after: q.after })}`);
    return <>
        <div class="page-head"><h1>Symbols</h1></div>
        {can(app, "symbols:write") && <Panel title="Send debug files"><Send onDone={() => { missing.reload(); files.reload(); }} /></Panel>}
        <Panel title="Missing" aside={missing.data && <span class="muted small num">{many(missing.data.total ?? missing.data.items.length, "image")}</span>}><Missing list={missing} /></Panel>
        <Panel title="Files"><Files list={files} /></Panel>
    </>;
}
