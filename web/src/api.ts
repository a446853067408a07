// Requests to the server. Every string of a reply has its hidden characters written out (format.ts) before any view
// sees it; `raw` is for text that goes back to the server unchanged.

import { useEffect, useRef, useState } from "preact/hooks";
import { visibleAll } from "./format";

export class ApiError extends Error {
    constructor(readonly status: number, message: string, readonly retryAfter = 0) {
        super(message);
    }
}

let csrf = "";
let whenSignedOut: () => void = () => {};
export const setCsrf = (token: string) => { csrf = token; };
export const getCsrf = () => csrf;
export const onSignedOut = (run: () => void) => { whenSignedOut = run; };

/** What a failed reply says, in its own words when it has any. */
async function failure(reply: Response): Promise<ApiError> {
    let text = "";
    try {
        text = (await reply.json()).error ?? "";
    } catch { /* no JSON: a proxy's page */ }
    const byStatus: Record<number, string> = {
        401: "You are signed out.",
        403: "Your token does not allow this.",
        404: "There is no such thing here, or no longer.",
        413: "That is larger than the server takes.",
        429: "Too many requests: wait a moment.",
        503: "The server's database or store does not answer now.",
        507: "The server's disk is full: it takes nothing more until there is room.",
    };
    return new ApiError(reply.status, text || byStatus[reply.status] || `The server answered ${reply.status}.`,
        Number(reply.headers.get("Retry-After")) || 0);
}

export async function request(method: string, url: string, body?: BodyInit, headers: Record<string, string> = {}): Promise<Response> {
    let reply: Response;
    try {
        reply = await fetch(url, {
            method, body, credentials: "same-origin",
            headers: { Accept: "application/json", ...(method === "GET" ? {} : { "X-CSRF-Token": csrf }), ...headers },
        });
    } catch {
        throw new ApiError(0, "The server cannot be reached.");
    }
    if (!reply.ok) {
        const error = await failure(reply);
        if (reply.status === 401 && url !== "/api/v1/session") whenSignedOut();
        throw error;
    }
    return reply;
}

async function parsed<T>(reply: Response, raw: boolean): Promise<T> {
    if (reply.status === 204) return undefined as T;
    try {
        const value = await reply.json();
        return raw ? value : visibleAll(value);
    } catch {
        throw new ApiError(reply.status, "The server's answer was no JSON: is a proxy in between?");
    }
}

export const get = async <T>(url: string, raw = false): Promise<T> => parsed<T>(await request("GET", url), raw);
export const send = async <T>(method: string, url: string, value?: unknown): Promise<T> =>
    parsed<T>(await request(method, url, value === undefined ? undefined : JSON.stringify(value),
        value === undefined ? {} : { "Content-Type": "application/json" }), false);

/** "?a=1&b=2" of what is set. */
export function query(values: Record<string, string | number | null | undefined>): string {
    const q = new URLSearchParams();
    for (const [name, value] of Object.entries(values))
        if (value !== null && value !== undefined && value !== "") q.set(name, String(value));
    const text = q.toString();
    return text ? `?${text}` : "";
}

interface Loaded<T> {
    data: T | undefined;
    error: ApiError | undefined;
    /** True while a request is under way; `data` is then the one before. */
    loading: boolean;
    reload: () => void;
    set: (value: T) => void;
}

/** The answers of this visit, shown at once when a view comes back, while a newer one is fetched. */
const seen = new Map<string, unknown>();
const SEEN_MOST = 60;

export const forgetAnswers = () => seen.clear();

export function useLoad<T>(url: string | null, raw = false): Loaded<T> {
    const [state, setState] = useState<{ url: string | null; data?: T; error?: ApiError; loading: boolean }>(
        () => ({ url, data: url ? (seen.get(url) as T) : undefined, loading: !!url }));
    const [round, setRound] = useState(0);
    const current = useRef(url);
    current.current = url;
    useEffect(() => {
        if (!url) return;
        setState((s) => ({ url, data: (seen.get(url) as T) ?? s.data, loading: true }));
        get<T>(url, raw).then(
            (data) => {
                seen.set(url, data);
                if (seen.size > SEEN_MOST) seen.delete(seen.keys().next().value!);
                if (current.current === url) setState({ url, data, loading: false });
            },
            (error) => { if (current.current === url) setState((s) => ({ ...s, error, loading: false })); });
    }, [url, round]);
    return {
        data: state.data, error: state.error, loading: state.loading,
        reload: () => setRound((n) => n + 1),
        set: (data) => setState({ url, data, loading: false }),
    };
}
