// The page: who is signed in, what is around every view, and which view a path shows.
//
// /p/PROJECT/VIEW[/ID]; everything else of a view's state is in the query, so that a link shows what its sender saw.

import "uplot/dist/uPlot.min.css";
import "./style.css";

import { Component, render, type ComponentChildren } from "preact";
import { LocationProvider, useLocation } from "preact-iso";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { ApiError, changed, forgetAnswers, get, onSignedOut, send, setCsrf, useLoad } from "./api";
import { AppContext, can, titleOf, type App } from "./app";
import { count, many } from "./format";
import { Cut, Empty, ErrorBox, Icon, shortened, Skeleton } from "./parts/basic";
import { Notice } from "./parts/notice";
import { Trouble } from "./parts/trouble";
import type { List, Project, Server, Session } from "./types";
import { Calls } from "./views/calls";
import { FlameView } from "./views/flame";
import { GroupView } from "./views/group";
import { Groups } from "./views/groups";
import { Login } from "./views/login";
import { Overview } from "./views/overview";
import { ReportView } from "./views/report";
import { Reports } from "./views/reports";
import { SettingsView } from "./views/settings";
import { Symbolicate } from "./views/symbolicate";
import { Symbols } from "./views/symbols";

const VIEWS: [string, string, () => preact.JSX.Element][] = [
    ["overview", "Overview", Overview], ["groups", "Hangs", Groups], ["flame", "Flame graph", FlameView], ["reports", "Reports", Reports], ["calls", "Calls", Calls],
    ["symbols", "Symbols", Symbols], ["symbolicate", "Symbolicate", Symbolicate], ["settings", "Settings", SettingsView],
];

/** An error of ours in a view does not take the page away. */
class Boundary extends Component<{ children: ComponentChildren }, { error?: Error }> {
    override state: { error?: Error } = {};
    override componentDidCatch(error: Error) {
        console.error(error);
        this.setState({ error });
    }
    override render() {
        return this.state.error
            ? <ErrorBox error={new Error(`This view broke: ${this.state.error.message}. That is a mistake of the page; the data is safe.`)} retry={() => this.setState({ error: undefined })} />
            : this.props.children;
    }
}

type Theme = "auto" | "light" | "dark";
const THEMES: Theme[] = ["auto", "light", "dark"];
const storedTheme = (): Theme => {
    try {
        const t = localStorage.getItem("theme") as Theme;
        return THEMES.includes(t) ? t : "auto";
    } catch {
        return "auto";
    }
};

function applyTheme(theme: Theme) {
    document.documentElement.dataset.theme = theme;
    dispatchEvent(new Event("themechange"));
}

function ThemeSwitch() {
    const [theme, setTheme] = useState(storedTheme);
    const next = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
    return <button type="button" class="nav-button" title={`Switch to ${next}`} onClick={() => {
        try {
            localStorage.setItem("theme", next);
        } catch { /* private windows: it lasts as long as the page */ }
        setTheme(next);
        applyTheme(next);
    }}><Icon name="sun" /><span>Theme: {theme}</span></button>;
}

/** What the server is doing in the background. */
function Work({ server }: { server: Server | undefined }) {
    if (!server) return null;
    const of = (state: string) => server.jobs.filter((j) => j.state === state);
    const running = of("running"), queued = of("queued").length, failed = of("failed");
    if (!server.jobs.length && !server.waiting_reports && !server.failed_reports) return <p class="work muted">Nothing is waiting</p>;
    return <div class="work" role="status">
        {server.waiting_reports > 0 && <p class="muted">{many(server.waiting_reports, "report")} to process</p>}
        {server.failed_reports > 0 && <p class="muted" title="GET /api/v1/projects/P/failed lists them with the reason (docs/operations.md)">{many(server.failed_reports, "report")} could not be processed</p>}
        {running.slice(0, 3).map((j) => <p key={j.kind + j.subject}><Cut s={j.message || `${j.kind} ${j.subject}`} />
            {j.total > 0 && <progress max={j.total} value={j.done} aria-label={`${j.kind}: ${count(j.done)} of ${count(j.total)}`} />}</p>)}
        {queued > 0 && <p class="muted">{many(queued, "job")} queued</p>}
        {failed.length > 0 && <p class="bad-text" title={shortened(failed.map((j) => `${j.kind} ${j.subject}: ${j.message}`).join("\n"), 1000)}>{many(failed.length, "job")} failed</p>}
    </div>;
}

function Shell({ app, view, children, signOut }: { app: App; view: string; children: ComponentChildren; signOut: () => void }) {
    const [open, setOpen] = useState(false);
    const { url, route } = useLocation();
    const base = `/p/${encodeURIComponent(app.project)}`;
    useEffect(() => setOpen(false), [url]);
    return <div class={`shell ${open ? "open" : ""}`}>
        <a class="skip" href="#main" onClick={(e) => { e.preventDefault(); document.getElementById("main")!.focus(); }}>Skip to content</a>
        <header class="side">
            <div class="brand">
                <a href={`${base}/overview`} class="logo"><svg viewBox="0 0 20 16" width="20" height="16" aria-hidden="true"><rect class="l0" width="20" height="4" rx="1" /><rect class="l1" y="6" width="14" height="4" rx="1" /><rect class="l2" y="12" width="8" height="4" rx="1" /></svg>Framewalk</a>
                <button type="button" class="menu" aria-expanded={open} aria-controls="nav" onClick={() => setOpen(!open)}><Icon name="menu" /><span class="hidden">Menu</span></button>
            </div>
            <div class="side-rest" id="nav">
                <label class="project"><span class="hidden">Project</span>
                    <select value={app.project} onChange={(e) => route(`/p/${encodeURIComponent(e.currentTarget.value)}/overview`)}>
                        {app.projects.map((p) => <option key={p.slug} value={p.slug}>{p.name || p.slug}</option>)}
                    </select></label>
                <nav aria-label="Views"><ul>
                    {VIEWS.map(([id, name]) => <li key={id}><a href={`${base}/${id}`} aria-current={view === id ? "page" : undefined}><Icon name={id} /><span>{name}</span></a></li>)}
                </ul></nav>
                <div class="side-foot">
                    <Work server={app.server} />
                    <ThemeSwitch />
                    <button type="button" class="nav-button" onClick={signOut}><Icon name="out" /><span class="cut">Sign out ({app.session.label})</span></button>
                </div>
            </div>
        </header>
        <main id="main" tabIndex={-1}><Trouble app={app} /><Notice key={app.project} /><Boundary key={url.split("?")[0]}>{children}</Boundary></main>
    </div>;
}

const WORK_EVERY = 10000; // milliseconds between looks at what the server does

/** Since when the server has not answered: what is shown is from before. When it answers again, all is asked for anew. */
function useLost(error: Error | undefined, loading: boolean): number | undefined {
    const [since, setSince] = useState<number>();
    useEffect(() => {
        if (loading) return;
        if (error && since === undefined) setSince(Date.now());
        if (!error && since !== undefined) {
            setSince(undefined);
            changed();
        }
    }, [error, loading]);
    return since;
}

function SignedIn({ session, signOut }: { session: Session; signOut: () => void }) {
    const { path, route } = useLocation();
    const projects = useLoad<List<Project>>("/api/v1/projects");
    const server = useLoad<Server>("/api/v1/server");
    const reloadServer = useRef(server.reload);
    reloadServer.current = server.reload;
    useEffect(() => {
        const timer = setInterval(() => { if (!document.hidden) reloadServer.current(); }, WORK_EVERY);
        return () => clearInterval(timer);
    }, []);
    const [, p, slug, view = "", id = ""] = path.split("/").map(decodePart);
    const items = projects.data?.items;
    const project = p === "p" && slug ? slug : items?.[0]?.slug ?? "default";
    const lost = useLost(server.error, server.loading);
    const app = useMemo<App>(() => ({ session, lost, server: server.data, projects: items ?? [], project, api: `/api/v1/projects/${encodeURIComponent(project)}` }),
        [session, lost, server.data, items, project]);
    useEffect(() => {
        if (p !== "p" && items) route(`/p/${encodeURIComponent(project)}/overview`, true);
        const found = VIEWS.find(([v]) => v === view);
        if (!id) document.title = titleOf(found?.[1] ?? "", project);
        document.getElementById("main")?.scrollTo(0, 0);
    }, [path, items]);
    if (projects.error) return <main class="alone"><ErrorBox error={projects.error} retry={projects.reload} /></main>;
    if (!items) return <main class="alone"><Skeleton /></main>;
    const View = VIEWS.find(([v]) => v === view)?.[2];
    const known = items.some((one) => one.slug === project);
    return <AppContext.Provider value={app}>
        <Shell app={app} view={view} signOut={signOut}>
            {!known ? <Empty title={`There is no project “${project}” that your token reaches`}><p><a href={`/p/${encodeURIComponent(items[0]?.slug ?? "default")}/overview`}>Go to the first that it does</a>{can(app, "admin") && ", or make it under Settings"}.</p></Empty>
                : view === "groups" && id ? <GroupView id={id} key={id} />
                : view === "reports" && id ? <ReportView id={id} key={id} />
                : View ? <View key={view + project} />
                : <Empty title="There is nothing at this address"><p><a href={`/p/${encodeURIComponent(project)}/overview`}>Go to the overview</a></p></Empty>}
        </Shell>
    </AppContext.Provider>;
}

function decodePart(part: string): string {
    try {
        return decodeURIComponent(part);
    } catch {
        return part;
    }
}

function Page() {
    const [session, setSession] = useState<Session | null | undefined>(undefined);
    const [error, setError] = useState<Error>();
    const take = (s: Session) => {
        setCsrf(s.csrf);
        setError(undefined);
        setSession(s);
    };
    const look = () => get<Session>("/api/v1/session").then(take, (e) => (e instanceof ApiError && e.status === 401 ? setSession(null) : setError(e)));
    useEffect(() => {
        onSignedOut(() => setSession(null));
        look();
    }, []);
    const signOut = async () => {
        try {
            await send("DELETE", "/api/v1/session");
        } catch { /* it is gone either way */ }
        forgetAnswers();
        setSession(null);
    };
    if (error) return <main class="alone"><ErrorBox error={error} retry={look} /></main>;
    if (session === undefined) return <main class="alone"><Skeleton /></main>;
    if (session === null) return <Login onSession={take} />;
    return <SignedIn session={session} signOut={signOut} />;
}

applyTheme(storedTheme());
render(<LocationProvider><Page /></LocationProvider>, document.getElementById("page")!);
