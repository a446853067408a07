// Settings: projects, tokens and keys, rules with preview, retention and deletion, the audit log.

import { useEffect, useState } from "preact/hooks";
import { query, send, useLoad } from "../api";
import { can, useApp, useLink, useQuery } from "../app";
import { pushReports } from "../commands";
import { count, many, visible } from "../format";
import { Button, Choice, Command, CopyButton, Cut, Empty, ErrorBox, Panel, Select, Shown, Tag, Time, useAction } from "../parts/basic";
import { Pages } from "../parts/pages";
import type { AuditLine, List, Preview, Project, Rules, Settings, Token } from "../types";

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
        <div><Button kind="primary" type="submit" disabled={action.busy}>Make</Button></div>
        {made?.secret && <div class="secret" role="status"><p><b>{made.label}</b>: copy it now. It is not shown again, and only its hash is kept.</p><div class="command"><code>{made.secret}</code><CopyButton text={made.secret} /></div>
            {made.kind === "key" && <><p class="small">Kept in a file that only you can read, it sends reports:</p><Command text={pushReports()} /></>}</div>}
    </form>;
}

function Tokens() {
    const list = useLoad<List<Token>>("/api/v1/tokens");
    const action = useAction();
    return <>
        <Panel title="New"><NewToken onMade={list.reload} /></Panel>
        <Panel title="Tokens and keys">{action.error && <ErrorBox error={action.error} />}
            <Shown of={list} lines={5}>{(d) => d.items.length === 0 ? <Empty title="None" /> : <div class="scroll" tabIndex={0} role="region" aria-label="Tokens and keys"><table class="list"><caption class="hidden">Tokens and keys</caption>
                <thead><tr><th scope="col">Label</th><th scope="col">Kind</th><th scope="col">May</th><th scope="col">Project</th><th scope="col">Expires</th><th scope="col">Last use</th><th scope="col"><span class="hidden">Actions</span></th></tr></thead>
                <tbody>{d.items.map((t) => <tr key={t.id}><th scope="row"><Cut s={t.label} /></th><td>{t.kind === "key" ? "ingest key" : "token"}</td><td>{t.scopes.map((s) => <Tag key={s}>{s}</Tag>)}</td><td>{t.project ?? "all"}</td>
                    <td>{t.expires_ms ? t.expires_ms < Date.now() ? <span class="bad-text">over</span> : <time dateTime={new Date(t.expires_ms).toISOString()}>{many(Math.ceil((t.expires_ms - Date.now()) / DAY), "day")}</time> : "never"}</td><td><Time ms={t.used_ms} /></td>
                    <td class="right"><Button kind="small" aria-label={`Revoke ${t.label}`} onClick={() => { if (confirm(`Revoke ${t.label}? What uses it is refused from now on.`)) action.run(async () => { await send("DELETE", `/api/v1/tokens/${encodeURIComponent(t.id)}`); list.reload(); }); }}>Revoke</Button></td></tr>)}</tbody></table></div>}</Shown></Panel>
    </>;
}

const exampleText = (x: unknown): string => visible(typeof x === "string" ? x : JSON.stringify(x));

function RulesEditor() {
    const app = useApp();
    const link = useLink();
    const rules = useLoad<Rules>(`${app.api}/rules`, true); // raw: the text goes back as it came
    const [text, setText] = useState<string>();
    const [preview, setPreview] = useState<Preview>();
    const [said, say] = useState("");
    const look = useAction(), keep = useAction();
    useEffect(() => { if (rules.data && text === undefined) setText(rules.data.text); }, [rules.data]);
    const changed = rules.data && text !== rules.data.text;
    return <Shown of={rules} lines={12}>{(d) => <>
        <Panel title="Grouping rules" aside={<span class="muted small">version {d.version}</span>}>
            <p class="pad small">One rule a line, tried before the built-in ones. See what a change does before it counts; nothing is lost by a change, groups are made again from the stacks.</p>
            <label class="field pad"><span class="hidden">Rules</span><textarea class="mono" rows={10} spellcheck={false} value={text ?? d.text} onInput={(e) => { setText(e.currentTarget.value); setPreview(undefined); say(""); }} readOnly={!can(app, "triage")} /></label>
            <div class="tools pad"><Button disabled={look.busy} onClick={() => look.run(async () => { setPreview(await send<Preview>("POST", `${app.api}/rules/preview`, { text: text ?? d.text })); })}>{look.busy ? "Trying on reports…" : "Preview"}</Button>
                <Button kind="primary" disabled={!changed || keep.busy || !can(app, "triage")} onClick={() => keep.run(async () => { const r = await send<{ version: number }>("PUT", `${app.api}/rules`, { text: text ?? d.text }); say(`Version ${r.version} counts from now on; reports are grouped again in the background.`); rules.reload(); })}>Put in force</Button>
                <span role="status" class="small good-text">{said}</span></div>
            {(look.error || keep.error) && <ErrorBox error={(look.error ?? keep.error)!} />}
            {preview && <div class="preview" role="status">
                <dl class="tiles"><div><dt>Groups now</dt><dd>{count(preview.groups_now)}</dd></div><div><dt>Groups then</dt><dd>{count(preview.groups_then)}</dd></div><div><dt>Reports that move</dt><dd>{count(preview.moved_reports)}</dd><dd class="muted small">of {count(preview.examined_reports)} looked at</dd></div></dl>
                {preview.split.length > 0 && <><h3>Split</h3><ul class="plain-list">{preview.split.slice(0, 20).map((s) => <li key={s.group}><a href={link(`groups/${encodeURIComponent(s.group)}`)}><Cut s={s.group} class="mono" /></a> into {s.into}</li>)}</ul></>}
                {preview.merged.length > 0 && <><h3>Merged</h3><ul class="plain-list">{preview.merged.slice(0, 20).map((m, i) => <li key={i}><Cut s={exampleText(m)} class="mono" /></li>)}</ul></>}
                {preview.examples.length > 0 && <><h3>Examples</h3><ul class="plain-list">{preview.examples.slice(0, 20).map((m, i) => <li key={i}><Cut s={exampleText(m)} class="mono" /></li>)}</ul></>}
            </div>}
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
    const [said, say] = useState(""), [forgot, setForgot] = useState("");
    const keep = useAction(), forget = useAction();
    useEffect(() => { if (settings.data) setEdit(settings.data); }, [settings.data]);
    const admin = can(app, "admin");
    const days = (name: keyof Settings, label: string, help: string, most: number) => edit && <label class="field"><span>{label}</span><input type="number" min={1} max={most} required value={edit[name]} disabled={!admin} onInput={(e) => setEdit({ ...edit, [name]: Number(e.currentTarget.value) })} /><span class="muted small">{help}</span></label>;
    return <>
        <Panel title="What is kept"><Shown of={settings} lines={6}>{() => edit && <form class="form" onSubmit={(e) => { e.preventDefault(); keep.run(async () => { await send("PUT", `${app.api}/settings`, edit); say("Kept. The next clean-up goes by it."); }); }}>
            <div class="fields">{days("body_days", "Report bodies, days", "All threads and downloads of a report", 3650)}{days("row_days", "Rows and sums, days", "Hangs, trends, versions", 3650)}{days("symbols_days", "Unused debug files, days", "Since a report last needed one", 3650)}
                <label class="field"><span>Disk share, percent</span><input type="number" min={10} max={99} required value={Math.round(edit.disk_share * 100)} disabled={!admin} onInput={(e) => setEdit({ ...edit, disk_share: Number(e.currentTarget.value) / 100 })} /><span class="muted small">Above it the oldest bodies go first</span></label></div>
            {keep.error && <ErrorBox error={keep.error} />}
            <div class="tools"><Button kind="primary" type="submit" disabled={!admin || keep.busy}>Keep</Button><span role="status" class="small good-text">{said}</span></div></form>}</Shown></Panel>
        <Panel title="Forget an installation"><form class="form" onSubmit={(e) => { e.preventDefault(); if (confirm("All reports of this installation are removed. That cannot be undone.")) forget.run(async () => { await send("POST", `${app.api}/forget`, { install }); setInstall(""); setForgot("Its reports are being removed; the audit log says when it is done."); }); }}>
            <label class="field"><span>Installation id, as the app shows it to its user</span><input class="mono" required value={install} disabled={!admin} onInput={(e) => setInstall(e.currentTarget.value)} /></label>
            {forget.error && <ErrorBox error={forget.error} />}
            <div class="tools"><Button kind="danger" type="submit" disabled={!admin || forget.busy}>Remove its reports</Button><span role="status" class="small">{forgot}</span></div></form></Panel>
    </>;
}

function Audit() {
    const [q] = useQuery();
    const list = useLoad<List<AuditLine>>(`/api/v1/audit${query({ after: q.after })}`);
    return <Panel title="Audit log"><Shown of={list} lines={10}>{(d) => d.items.length === 0 ? <Empty title="Nothing has been done yet" /> : <><div class="scroll" tabIndex={0} role="region" aria-label="Audit log"><table class="list"><caption class="hidden">Who did what, newest first</caption><thead><tr><th scope="col">When</th><th scope="col">Who</th><th scope="col">Did</th><th scope="col">To</th><th scope="col">Detail</th></tr></thead>
        <tbody>{d.items.map((a, i) => <tr key={i}><td><Time ms={a.at_ms} exact /></td><td><Cut s={a.label} /></td><td><Cut s={a.action} /></td><td><Cut s={a.subject} class="mono" /></td><td><Cut s={a.detail} class="muted" /></td></tr>)}</tbody></table></div><Pages next={d.next} shown={d.items.length} text={(n) => `${n}`} /></>}</Shown></Panel>;
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
            <div><Button kind="primary" type="submit" disabled={action.busy}>Make</Button></div></form></Panel>}
    </>;
}

export function SettingsView() {
    const app = useApp();
    const [q, set] = useQuery();
    const admin = can(app, "admin");
    const tab = q.tab ?? (admin ? "tokens" : "rules");
    return <>
        <div class="page-head"><h1>Settings</h1></div>
        <div class="tools"><Choice label="Settings of" value={tab} options={[["tokens", "Tokens"], ["rules", "Rules"], ["retention", "Retention"], ["projects", "Projects"], ["audit", "Audit log"]]} onValue={(v) => set({ tab: v, after: null })} /></div>
        {!admin && (tab === "tokens" || tab === "audit") ? <Empty title="This needs the scope “admin”"><p>Sign in with a token that has it.</p></Empty>
            : tab === "tokens" ? <Tokens /> : tab === "rules" ? <RulesEditor /> : tab === "retention" ? <Retention /> : tab === "projects" ? <Projects /> : <Audit />}
    </>;
}
