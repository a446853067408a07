// What every view needs to know: the session, the project, and the part of the state that is in the URL.

import { createContext } from "preact";
import { useContext, useEffect } from "preact/hooks";
import { useLocation } from "preact-iso";
import type { Project, Server, Session } from "./types";
import { query } from "./api";

export interface App {
    session: Session;
    /** Since when the server has not answered, in milliseconds. */
    lost: number | undefined;
    server: Server | undefined; projects: Project[]; project: string; api: string;
}
export const AppContext = createContext<App>(null!);
export const useApp = () => useContext(AppContext);
export const can = (app: App, scope: string) => app.session.scopes.includes(scope);

/** Of the browser's tab. */
export const titleOf = (what: string, project: string) => [what, project, "Framewalk"].filter(Boolean).join(" · ");
/** Of a view of one thing, which knows what it is called; the others are called as in the list of views. */
export function useTitle(what: string) {
    const { project } = useApp();
    useEffect(() => { document.title = titleOf(what.slice(0, 200), project); }, [what, project]);
}

/** Parameters of the URL's query, and how to change some: {q: null} removes one. Typing replaces the entry of the
 * browser's history; choosing makes a new one. */
export function useQuery(): [Record<string, string>, (change: Record<string, string | number | null>, replace?: boolean) => void] {
    const { path, query: now, route } = useLocation();
    return [now as Record<string, string>, (change, replace = false) =>
        route(path + query({ ...now, ...(change.after === null ? { from: null } : {}), ...change }), replace)];
}

export const FILTERS = ["days", "version", "os", "device"] as const;

/** The common filters, as the API takes them. */
export const filtersOf = (q: Record<string, string>) =>
    Object.fromEntries(FILTERS.filter((name) => q[name]).map((name) => [name, q[name]]));

/** Of those what calls know: they are not kept by system and device. */
export const callFilters = (q: Record<string, string>) => ({ days: q.days, version: q.version });

/** A link inside the project that keeps the filters. */
export function useLink(): (to: string, extra?: Record<string, string | number | null>) => string {
    const { project } = useApp();
    const { query: now } = useLocation();
    return (to, extra = {}) => `/p/${encodeURIComponent(project)}/${to}${query({ ...filtersOf(now as Record<string, string>), ...extra })}`;
}
