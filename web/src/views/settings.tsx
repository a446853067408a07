// Settings: projects, tokens and keys, rules with preview, retention and deletion, the audit log.

import { useEffect, useState } from "preact/hooks";
import { query, send, useLoad } from "../api";
import { can, useApp, useQuery } from "../app";
import { pushReports } from "../commands";
import { bytes, count, many, share, visible } from "../format";
import { Button, Choice, Command, CopyButton, Cut, Dialog, Empty, ErrorBox, Panel, Select, Shown, Tag, Time, useAction } from "../parts/basic";
import { Pages } from "../parts/pages";
import { Preview } from "../parts/preview";
import { afterJobs, say } from "../parts/notice";
import type { AuditLine, List, Preview as PreviewData, Project, Retention as Due, Rules, Settings, Token } from "../types";
import { VersionsEditor } from "./versions";

const SCOPES: [string, string][] = [
    ["read", "See everything the page shows"], ["triage", "Ignore, resolve, merge; rules and allow list"], ["symbols:read", "Fetch debug files (gdb, profilers)"],
    ["symbols:write", "Send debug files"], ["reports:write", "Send reports"], ["admin", "Tokens, projects, retention, deletion"],
];
const DAY = 86400000;

function NewToken({ onMade }: { onMade: () => void }) {
    const { project, projects } = useApp();
    const [kind, setKind] = useState<"token" | "key">("key");
    const [label, setLabel] = useState(""), [scopes, setScopes] = useState<string[]>(["read"]), [days, setDays] = useState(""), [only, setOnly] = useState(project);
    const [made, setMade] = useState<Token>();
    const action = useAction();
    const submit = (e: Event) => {
        e.preventDefault();
        action.run(async () => {
            if (kind === "token" && !scopes.length) throw new Error("Choose at least one scope.");
            setMade(await send<Token>("POST", "/api/v1/tokens", {
                kind, label, scopes: kind === "key" ? ["reports:write"] : scopes, project: only || null, expires_ms: days ? Date.now() + Number(days) * DAY : null,
            }));
            setLabel("");
            onMade();
        });
    };
    return <form onSubmit={submit} class="form">
        <Choice label="Kind" value={kind} options={[["key", "Ingest key, for an app"], ["token", "Token, for people and tools"]]} onValue={(v) => { setKind(v as "key"); setDays(v === "key" ? "" : "90"); }} />
        <div class="fields">
            <label class="field"><span>Label</span><input required maxLength={63} value={label} onInput={(e) => setLabel(e.currentTarget.value)} placeholder={kind === "key" ? "iOS app" : "CI: debug files"} /></label>
            <Select label="Project" value={only} options={[...(kind === "token" ? [["", "All projects"] as [string, string]] : []), ...projects.map((p): [string, string] => [p.slug, p.name || p.slug])]} onValue={setOnly} />
            <Select label="Expires" value={days} options={[["", "never"], ["30", "in 30 days"], ["90", "in 90 days"], ["365", "in a year"]]} onValue={setDays} />
        </div>
        {kind === "token" && <fieldset><legend>It may</legend>{SCOPES.map(([scope, means]) => <label key={scope} class="check"><input type="checkbox" checked={scopes.includes(scope)} onChange={(e) => setScopes(e.currentTarget.checked ? [...scopes, scope] : scopes.filter((s) => s !== scope))} /><code>{scope}</code> <span class="muted">{means}</span></label>)}</fieldset>}
        {kind === "key" && <p class="muted small">It can send reports to this project and nothing else, so it may be inside an app.</p>}
        {action.error && <ErrorBox error={action.error} />}
        <div><Button kind="primary" type="submit" disabled={action.busy}>Create</Button></div>
        {made?.secret && <div class="secret" role="status"><p><b>{made.label}</b>: copy it now. It is not shown again, and only its hash is kept.</p><div class="command"><code>{made.secret}</code><CopyButton text={made.secret} /></div>
            {made.kind === "key" && <><p class="small">Kept in a file that only you can read, it sends reports:</p><Command text={pushReports()} /></>}</div>}
    </form>;
}

function Tokens() {
    const list = useLoad<List<Token>>("/api/v1/tokens");
    const [asked, setAsked] = useState<Token>();
    const action = useAction();
    const close = () => { setAsked(undefined); action.clear(); };
    return <>
        <Panel title="New token or key"><NewToken onMade={list.reload} /></Panel>
        <Panel title="Tokens and keys">
            <Shown of={list} lines={5}>{(d) => d.items.length === 0 ? <Empty title="No tokens or keys yet" /> : <div class="scroll" tabIndex={0} role="region" aria-label="Tokens and keys"><table class="list"><caption class="hidden">Tokens and keys</caption>
                <thead><tr><th scope="col">Label</th><th scope="col">Kind</th><th scope="col">May</th><th scope="col">Project</th><th scope="col">Expires</th><th scope="col">Last use</th><th scope="col"><span class="hidden">Actions</span></th></tr></thead>
                <tbody>{d.items.map((t) => <tr key={t.id}><th scope="row"><Cut s={t.label} /></th><td>{t.kind === "key" ? "ingest key" : "token"}</td><td class="scopes">{t.scopes.map((s) => <Tag key={s}>{s}</Tag>)}</td><td>{t.project ?? "all"}</td>
                    <td>{t.expires_ms ? t.expires_ms < Date.now() ? <span class="bad-text">over</span> : <time dateTime={new Date(t.expires_ms).toISOString()}>{many(Math.ceil((t.expires_ms - Date.now()) / DAY), "day")}</time> : "never"}</td><td><Time ms={t.used_ms} /></td>
                    <td class="right"><Button kind="small" aria-label={`Revoke ${t.label}…`} onClick={() => setAsked(t)}>Revoke…</Button></td></tr>)}</tbody></table></div>}</Shown></Panel>
        <Dialog title="Revoke" open={!!asked} onClose={close}>{asked && <>
            <p><b><Cut s={asked.label} /></b> ({asked.kind === "key" ? "ingest key" : "token"}): what uses it is refused from now on. Last use: <Time ms={asked.used_ms} />.</p><p class="muted">That cannot be undone; a new one can be made.</p>
            {action.error && <ErrorBox error={action.error} />}
            <div class="dialog-foot"><Button onClick={close}>Cancel</Button><Button kind="danger" disabled={action.busy} onClick={() => action.run(async () => { await send("DELETE", `/api/v1/tokens/${encodeURIComponent(asked.id)}`); setAsked(undefined); say({ text: `“${asked.label}” is revoked.` }); list.reload(); })}>Revoke</Button></div></>}</Dialog>
    </>;
}

function RulesEditor() {
    const app = useApp();
    const rules = useLoad<Rules>(`${app.api}/rules`, true); // raw: the text goes back as it came
    const [text, setText] = useState<string>();
    const [preview, setPreview] = useState<PreviewData>();
    const [said, setSaid] = useState("");
    const look = useAction(), keep = useAction();
    useEffect(() => { if (rules.data && text === undefined) setText(rules.data.text); }, [rules.data]);
    const changed = rules.data && text !== rules.data.text;
    return <Shown of={rules} lines={12}>{(d) => <>
        <Panel title="Grouping rules" aside={<span class="muted small">version {d.version}</span>}>
            <p class="pad small">One rule a line, tried before the built-in ones. See what a change does before it counts; nothing is lost by a change, groups are made again from the stacks.</p>
            <label class="field pad"><span class="hidden">Rules</span><textarea class="mono" rows={10} spellcheck={false} value={text ?? d.text} onInput={(e) => { setText(e.currentTarget.value); setPreview(undefined); setSaid(""); }} readOnly={!can(app, "triage")} /></label>
            <div class="tools pad"><Button disabled={look.busy} onClick={() => look.run(async () => { setPreview(await send<PreviewData>("POST", `${app.api}/rules/preview`, { text: text ?? d.text })); })}>{look.busy ? "Trying on reports…" : "Preview"}</Button>
                <Button kind="primary" disabled={!changed || keep.busy || !can(app, "triage")} onClick={() => keep.run(async () => { const r = await send<{ version: number }>("PUT", `${app.api}/rules`, { text: text ?? d.text }); setSaid(`Version ${r.version} counts from now on; reports are grouped again in the background.`); rules.reload(); })}>Apply</Button>
                <span role="status" class="small good-text">{said}</span></div>
            {(look.error || keep.error) && <ErrorBox error={(look.error ?? keep.error)!} />}
            {preview && <Preview data={preview} />}
        </Panel>
        <Panel title="Built-in rules"><details><summary class="pad">Show</summary><pre class="answer" tabIndex={0} aria-label="Built-in rules">{visible(d.builtin)}</pre></details></Panel>
        <Panel title="History">{d.history.length ? <table class="list"><caption class="hidden">Versions of the rules</caption><thead><tr><th scope="col">Version</th><th scope="col">When</th><th scope="col">By</th></tr></thead><tbody>{d.history.map((h) => <tr key={h.version}><th scope="row" class="num">{h.version}</th><td><Time ms={h.created_ms} /></td><td><Cut s={visible(h.created_by)} /></td></tr>)}</tbody></table> : <p class="muted pad">The built-in rules have counted from the start.</p>}</Panel>
    </>}</Shown>;
}

function Retention() {
    const app = useApp();
    const settings = useLoad<Settings>(`${app.api}/settings`);
    const [edit, setEdit] = useState<Settings>();
    const [install, setInstall] = useState("");
    const [said, setSaid] = useState(""), [forgot, setForgot] = useState("");
    const [asked, setAsked] = useState(false);
    const keep = useAction(), forget = useAction();
    useEffect(() => { if (settings.data) setEdit(settings.data); }, [settings.data]);
    const admin = can(app, "admin");
    const days = (name: keyof Settings, label: string, help: string, most: number) => edit && <label class="field"><span>{label}</span><input type="number" min={1} max={most} required value={edit[name]} disabled={!admin} onInput={(e) => setEdit({ ...edit, [name]: Number(e.currentTarget.value) })} /><span class="muted small">{help}</span></label>;
    return <>
        <Panel title="What is kept"><Shown of={settings} lines={6}>{() => edit && <form class="form" onSubmit={(e) => { e.preventDefault(); keep.run(async () => { await send("PUT", `${app.api}/settings`, edit); setSaid(`Saved at ${new Date().toLocaleTimeString()}. The next clean-up goes by it.`); }); }}>
            <div class="fields">{days("body_days", "Report bodies, days", "All threads and downloads of a report", 3650)}{days("row_days", "Hangs and trends, days", "What a report counted for, without its body", 3650)}{days("symbols_days", "Unused debug files, days", "Since a report last needed one", 3650)}
                <label class="field"><span>Disk share, percent</span><input type="number" min={10} max={99} required value={Math.round(edit.disk_share * 100)} disabled={!admin} onInput={(e) => setEdit({ ...edit, disk_share: Number(e.currentTarget.value) / 100 })} /><span class="muted small">Above it the oldest bodies go first</span></label></div>
            {keep.error && <ErrorBox error={keep.error} />}
            <div class="tools"><Button kind="primary" type="submit" disabled={!admin || keep.busy}>Save</Button><span role="status" class="small good-text">{said}</span></div></form>}</Shown></Panel>
        {admin && <CleanUp after={said} />}
        <Panel title="Forget an installation"><form class="form" onSubmit={(e) => { e.preventDefault(); setAsked(true); }}>
            <label class="field"><span>Installation id, as the app shows it to its user</span><input class="mono" required maxLength={1024} value={install} disabled={!admin} onInput={(e) => setInstall(e.currentTarget.value)} /></label>
            <p class="muted small">Its reports, their bodies and their part of all sums are removed. The server keeps a hash of the id only, so nobody can look here which installations there are.</p>
            <div class="tools"><Button kind="danger" type="submit" disabled={!admin || forget.busy}>Remove its reports…</Button><span role="status" class="small">{forgot}</span></div></form>
            <Dialog title="Forget this installation" open={asked} onClose={() => { setAsked(false); forget.clear(); }}>
                <p>All reports of <b class="mono"><Cut s={install} /></b> are removed from this project.</p><p class="muted">That cannot be undone.</p>
                {forget.error && <ErrorBox error={forget.error} />}
                <div class="dialog-foot"><Button onClick={() => { setAsked(false); forget.clear(); }}>Cancel</Button><Button kind="danger" disabled={forget.busy} onClick={() => forget.run(async () => { await send("POST", `${app.api}/forget`, { install }); setInstall(""); setAsked(false); setForgot("Its reports are being removed; the audit log says when it is done."); await afterJobs("forget"); })}>Remove its reports</Button></div>
            </Dialog></Panel>
    </>;
}

/** What a clean-up would remove now, and doing it at once. */
function CleanUp({ after }: { after: string }) {
    const app = useApp();
    const due = useLoad<Due>(`${app.api}/retention`);
    const [asked, setAsked] = useState(false);
    const now = useAction();
    useEffect(() => { if (after) due.reload(); }, [after]);
    const rows = (d: Due): [string, number, string][] => [
        ["Reports, with their sums", d.reports, ""], ["Bodies of reports", d.bodies, bytes(d.body_bytes)], ["Debug files", d.symbols, bytes(d.symbol_bytes)],
        ["Processes that ran", d.sessions, ""], ["Callers of watched functions", d.calls, ""], ["Stacks that no report has", d.stacks, ""], ["Reports that nobody could read", d.unreadable, ""], ["Lines of the audit log", d.audit_log, ""],
    ];
    return <Panel title="What goes at the next clean-up" aside={due.data && due.data.disk_used > 0 && <span class="muted small num">The store's disk is {share(due.data.disk_used, 1)} full</span>}>
        <Shown of={due} lines={5}>{(d) => <>
            {rows(d).some(([, n]) => n > 0) ? <table class="list due"><caption class="hidden">What a clean-up would remove now</caption><tbody>{rows(d).filter(([, n]) => n > 0).map(([name, n, size]) => <tr key={name}><th scope="row">{name}</th><td class="right num">{count(n)}</td><td class="right num muted">{size}</td></tr>)}</tbody></table>
                : <p class="muted pad">Nothing is old enough.</p>}
            <div class="tools"><Button disabled={now.busy} onClick={() => setAsked(true)}>{now.busy ? "Cleaning up…" : "Clean up now…"}</Button><span class="muted small">It is done every hour by itself.</span></div></>}</Shown>
        {now.error && !asked && <ErrorBox error={now.error} />}
        <Dialog title="Clean up now" open={asked} onClose={() => { setAsked(false); now.clear(); }}>
            <p>What is older than the settings say is removed now, in all projects. That cannot be undone.</p>
            {now.error && <ErrorBox error={now.error} />}
            <div class="dialog-foot"><Button onClick={() => { setAsked(false); now.clear(); }}>Cancel</Button><Button kind="danger" disabled={now.busy} onClick={() => now.run(async () => { await send("POST", `${app.api}/retention`); setAsked(false); say({ text: "The clean-up was started; the audit log tells what went." }); await afterJobs("retention"); })}>Clean up</Button></div>
        </Dialog>
    </Panel>;
}

/** What the audit log's words mean; the word itself is in the title. */
const DEEDS: Record<string, string> = {
    "session.create": "signed in", "token.create": "made a token or key", "token.revoke": "revoked a token or key", "project.create": "made a project",
    "group.ignore": "ignored a hang", "group.open": "opened a hang again", "group.resolve": "resolved a hang", "group.merge": "merged a hang", "group.split": "split a hang", "group.note": "wrote a note",
    "rules.put": "changed the grouping rules", "calls.allow": "allowed a caller", "calls.forbid": "took a caller off the allow list", "version.set": "said of a version when it came out, or what it is", "settings.put": "changed what is kept",
    "retention.run": "asked for a clean-up", "retention.remove": "cleaned up", "install.forget": "asked to forget an installation", "install.forget.part": "is forgetting an installation", "install.forgotten": "forgot an installation",
    "symbols.upload": "sent debug files", "symbols.remove": "removed a debug file",
};

function Audit() {
    const [q] = useQuery();
    const list = useLoad<List<AuditLine>>(`/api/v1/audit${query({ after: q.after })}`);
    return <Panel title="Audit log"><Shown of={list} lines={10}>{(d) => d.items.length === 0 ? <Empty title="Nothing has been done yet" /> : <><div class="scroll" tabIndex={0} role="region" aria-label="Audit log"><table class="list"><caption class="hidden">Who did what, newest first</caption><thead><tr><th scope="col">When</th><th scope="col">Who</th><th scope="col">Did</th><th scope="col">To</th><th scope="col">Detail</th></tr></thead>
        <tbody>{d.items.map((a, i) => <tr key={i}><td><Time ms={a.at_ms} exact /></td><td><Cut s={a.label} /></td><td><Cut s={DEEDS[a.action] ?? a.action} title={a.action} /></td><td><Cut s={a.subject} class="mono" /></td><td><Cut s={a.detail} class="muted" /></td></tr>)}</tbody></table></div><Pages next={d.next} shown={d.items.length} text={(n) => `${n}`} /></>}</Shown></Panel>;
}

function Projects() {
    const app = useApp();
    const [slug, setSlug] = useState(""), [name, setName] = useState("");
    const action = useAction();
    return <>
        <Panel title="Projects"><table class="list"><caption class="hidden">Projects</caption><thead><tr><th scope="col">Name</th><th scope="col">In addresses</th><th scope="col">Made</th></tr></thead><tbody>{app.projects.map((p) => <tr key={p.slug}><th scope="row"><a href={`/p/${encodeURIComponent(p.slug)}/overview`}>{p.name || p.slug}</a></th><td class="mono">{p.slug}</td><td><Time ms={p.created_ms} /></td></tr>)}</tbody></table></Panel>
        {can(app, "admin") && <Panel title="New project"><form class="form" onSubmit={(e) => { e.preventDefault(); action.run(async () => { await send<Project>("POST", "/api/v1/projects", { slug, name }); location.assign(`/p/${encodeURIComponent(slug)}/overview`); }); }}>
            <div class="fields"><label class="field"><span>Name</span><input required value={name} onInput={(e) => { setName(e.currentTarget.value); setSlug(e.currentTarget.value.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "").slice(0, 40)); }} /></label>
                <label class="field"><span>In addresses</span><input class="mono" required pattern="[a-z0-9][a-z0-9-]*" value={slug} onInput={(e) => setSlug(e.currentTarget.value)} /></label></div>
            {action.error && <ErrorBox error={action.error} />}
            <div><Button kind="primary" type="submit" disabled={action.busy}>Create</Button></div></form></Panel>}
    </>;
}

export function SettingsView() {
    const app = useApp();
    const [q, set] = useQuery();
    const admin = can(app, "admin");
    const tab = q.tab ?? (admin ? "tokens" : "rules");
    return <>
        <div class="page-head"><h1>Settings</h1></div>
        <div class="tools"><Choice label="Settings of" value={tab} options={[["tokens", "Tokens"], ["rules", "Rules"], ["versions", "Versions"], ["retention", "Retention"], ["projects", "Projects"], ["audit", "Audit log"]]} onValue={(v) => set({ tab: v, after: null })} /></div>
        {!admin && (tab === "tokens" || tab === "audit") ? <Empty title="This needs the scope “admin”"><p>Sign in with a token that has it.</p></Empty>
            : tab === "tokens" ? <Tokens /> : tab === "rules" ? <RulesEditor /> : tab === "versions" ? <VersionsEditor /> : tab === "retention" ? <Retention /> : tab === "projects" ? <Projects /> : <Audit />}
    </>;
}
