// Small things of which every view is made.

import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { ApiError } from "../api";
import { ago, duration, share, utc, visible, when } from "../format";

const MOST_SHOWN = 300;
const MOST_TITLE = 2000;

/** Cut to `most` characters; for attributes and labels. */
export const shortened = (text: string | null | undefined, most = 200) => (!text ? "" : text.length > most ? `${text.slice(0, most)}…` : text);

/** A foreign string on one line, cut where there is no more room; whole in its title. */
export function Cut({ s, class: name = "", title }: { s: string | null | undefined; class?: string; title?: string | null }) {
    const text = s ?? "";
    return <span class={`cut ${name}`} title={shortened(title ?? text, MOST_TITLE)}>{shortened(text, MOST_SHOWN)}</span>;
}

export function Time({ ms, exact = false }: { ms: number | null | undefined; exact?: boolean }) {
    if (!ms) return <span class="muted">never</span>;
    return <time dateTime={new Date(ms).toISOString()} title={`${when(ms)} here\n${utc(ms)}`}>{exact ? when(ms) : ago(ms)}</time>;
}

export function Blocked({ ns }: { ns: number }) {
    return <span class="num" title={`${(ns / 1e9).toFixed(3)} s blocked`}>{duration(ns)}</span>;
}

export function Tag({ tone = "", children, title }: { tone?: string; children: ComponentChildren; title?: string }) {
    return <span class={`tag ${tone}`} title={title}>{children}</span>;
}

const paths: Record<string, string> = {
    overview: "M2 13V8m4 5V3m4 10V6m4 7v-3",
    groups: "M2 3.5h12M2 8h9M2 12.5h5",
    reports: "M4 1.5h5.5L13 5v9.5H4zM9 1.5V5.5h4",
    calls: "M2.5 2.5h4v4h-4zm7 0h4v4h-4zm-7 7h4v4h-4zm7 0h4v4h-4z",
    symbols: "M8 1.5l5.5 3v7L8 14.5l-5.5-3v-7zM2.5 4.5L8 7.7l5.5-3.2M8 7.7v6.8",
    symbolicate: "M2 4h6M2 8h4M2 12h6m3-9l3 5-3 5",
    flame: "M2 3h12v3H2zm2 3h8v3H4zm2 3h4v4H6z",
    settings: "M2 4.5h6m4 0h2M2 11.5h2m4 0h6M10 2.7v3.6M6 9.7v3.6",
    sun: "M8 5a3 3 0 100 6 3 3 0 000-6M8 1v1.5M8 13.5V15M1 8h1.5M13.5 8H15M3 3l1 1m8 8l1 1M13 3l-1 1M4 12l-1 1",
    copy: "M5.5 5.5v-3h8v8h-3M2.5 5.5h8v8h-8z",
    down: "M8 2v8m-3.5-3L8 10.5 11.5 7M2.5 13.5h11",
    search: "M7 2.5a4.5 4.5 0 100 9 4.5 4.5 0 000-9M10.5 10.5L14 14",
    menu: "M2 4h12M2 8h12M2 12h12",
    out: "M6.5 2.5h-4v11h4M10 5l3 3-3 3M6 8h7",
    warn: "M8 2L14.5 13.5h-13zM8 6.5v3.2m0 1.6v.6",
};
export function Icon({ name }: { name: string }) {
    return <svg class="icon" viewBox="0 0 16 16" width="16" height="16" aria-hidden="true"><path d={paths[name]} /></svg>;
}

export function Button({ children, kind = "", ...rest }: { children: ComponentChildren; kind?: string } & Omit<JSX.IntrinsicElements["button"], "class">) {
    return <button type="button" {...rest} class={`button ${kind}`}>{children}</button>;
}

export function CopyButton({ text, label = "Copy" }: { text: string | (() => Promise<string>); label?: string }) {
    const [said, say] = useState("");
    const copy = async () => {
        try {
            await navigator.clipboard.writeText(typeof text === "string" ? text : await text());
            say("Copied");
        } catch {
            say("Not copied: the browser did not allow it");
        }
        setTimeout(() => say(""), 2500);
    };
    return <Button onClick={copy} kind="small"><Icon name="copy" /><span aria-live="polite">{said || label}</span></Button>;
}

/** A command to paste into a terminal. */
export function Command({ text }: { text: string }) {
    return <div class="command"><code>{text}</code><CopyButton text={text} /></div>;
}

export function Panel({ title, aside, children, class: name = "", id }: {
    title?: ComponentChildren; aside?: ComponentChildren; children: ComponentChildren; class?: string; id?: string;
}) {
    return <section class={`panel ${name}`} id={id}>
        {title && <header><h2>{title}</h2>{aside && <div class="aside">{aside}</div>}</header>}
        {children}
    </section>;
}

export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
    return <div class="empty"><p class="empty-title">{title}</p>{children}</div>;
}

const advice: Record<number, string> = {
    0: "Check that the server runs and that this computer reaches it; nothing is lost meanwhile.",
    403: "Sign in with a token that has the scope, or ask who runs this server for one.",
    404: "It may have been merged, or removed after its time. Go back to the list and look from there.",
    429: "The page asks again when you do.",
    503: "It recovers by itself. Reports that were acknowledged are safe.",
    507: "Free space on the server, or shorten what is kept under Settings.",
};

export function ErrorBox({ error, retry }: { error: Error; retry?: () => void }) {
    const status = error instanceof ApiError ? error.status : -1;
    return <div class="error" role="alert">
        <Icon name="warn" />
        <div><p><strong>{visible(error.message)}</strong></p>{advice[status] && <p>{advice[status]}</p>}
            {retry && <Button kind="small" onClick={retry}>Try again</Button>}</div>
    </div>;
}

/** Holds the room of what is to come, so that nothing jumps. */
export function Skeleton({ lines = 6 }: { lines?: number }) {
    return <div class="skeleton" aria-busy="true" role="status"><span class="hidden">Loading</span>
        {Array.from({ length: lines }, (_, i) => <div key={i} class={`bone w${(i * 3) % 5}`} />)}</div>;
}

/** What a loaded answer looks like in each of its states. */
export function Shown<T>({ of, lines, children }: {
    of: { data: T | undefined; error: Error | undefined; loading: boolean; reload: () => void }; lines?: number; children: (data: T) => ComponentChildren;
}) {
    if (of.error) return <ErrorBox error={of.error} retry={of.reload} />;
    if (of.data === undefined) return <Skeleton lines={lines} />;
    return <div class={of.loading ? "stale" : "fresh"} aria-busy={of.loading}>{children(of.data)}</div>;
}

/** Blocked time of each day as bars; its numbers for those who cannot see it. */
export function Spark({ values, label, wide = false }: { values: number[]; label: string; wide?: boolean }) {
    const most = Math.max(...values, 1), width = wide ? 420 : 84, height = wide ? 44 : 22;
    const step = width / Math.max(values.length, 1);
    return <svg class={wide ? "spark wide" : "spark"} viewBox={`0 0 ${width} ${height}`} width={wide ? undefined : width} height={height} preserveAspectRatio="none" role="img" aria-label={label}>
        <title>{label}</title>
        {values.map((v, i) => {
            const h = v ? Math.max(1.5, (height - 1) * v / most) : 0.75;
            return <rect key={i} class={v ? "" : "none"} x={i * step} y={height - h} width={Math.max(step - (wide ? 3 : 1.2), 0.6)} height={h} rx="0.6" />;
        })}
    </svg>;
}

const SHARES_MOST = 6;

/** Names with bars: a distribution, its first rows until one asks for all. */
export function Shares({ rows, empty, what = "blocked", href }: {
    rows: { name: string; value: number; text: string; detail?: string }[]; empty: string; what?: string; href?: (name: string) => string;
}) {
    const [all, setAll] = useState(false);
    const most = Math.max(...rows.map((r) => r.value), 1);
    const whole = rows.reduce((sum, r) => sum + r.value, 0);
    if (!rows.length) return <p class="muted pad">{empty}</p>;
    const shown = all || rows.length <= SHARES_MOST + 1 ? rows : rows.slice(0, SHARES_MOST);
    const rest = rows.slice(shown.length).reduce((sum, r) => sum + r.value, 0);
    return <ul class="shares">
        {shown.map((r) => <li key={r.name}>
            {href ? <a href={href(r.name)} class="cut" title={`Only ${shortened(r.name)}`}>{shortened(r.name) || "unknown"}</a> : <Cut s={r.name || "unknown"} />}
            <span class="num">{r.text}</span>
            <meter class="bar" min={0} max={most} value={r.value} aria-label={`${shortened(r.name)}: ${share(r.value, whole)} of what is ${what}`} />
            <span class="muted num">{r.detail ?? share(r.value, whole)}</span>
        </li>)}
        {shown.length < rows.length && <li class="rest"><button type="button" class="link" onClick={() => setAll(true)}>{rows.length - shown.length} more, {share(rest, whole)}</button></li>}
    </ul>;
}

/** The first rows of a long list, and a button for more of them. */
export function useMore(total: number, step: number, what: string): [number, JSX.Element | null] {
    const [most, setMost] = useState(step);
    return [Math.min(most, total), total > most
        ? <p class="pages"><span class="muted num">{most} of {total}</span><Button kind="small" onClick={() => setMost(most + step)}>{Math.min(step, total - most)} more {what}</Button></p> : null];
}

/** A text field whose value goes up when typing pauses. */
export function Search({ value, onValue, label, placeholder }: { value: string; onValue: (v: string) => void; label: string; placeholder?: string }) {
    const [text, setText] = useState(value);
    const timer = useRef(0);
    useEffect(() => setText(value), [value]);
    return <label class="search"><Icon name="search" /><span class="hidden">{label}</span>
        <input type="search" value={text} placeholder={placeholder ?? label} spellcheck={false} autocomplete="off"
            onInput={(e) => {
                const next = e.currentTarget.value;
                setText(next);
                clearTimeout(timer.current);
                timer.current = window.setTimeout(() => onValue(next), 250);
            }} /></label>;
}

export function Select({ label, value, options, onValue, bare = false }: {
    label: string; value: string; options: [string, string][]; onValue: (v: string) => void; bare?: boolean;
}) {
    return <label class="select"><span class={bare ? "hidden" : "muted"}>{label}</span>
        <select value={value} onChange={(e) => onValue(e.currentTarget.value)}>
            {options.map(([v, name]) => <option key={v} value={v}>{shortened(name, 60)}</option>)}
        </select></label>;
}

/** One of few: buttons of which one is pressed. */
export function Choice({ label, value, options, onValue }: { label: string; value: string; options: [string, string][]; onValue: (v: string) => void }) {
    return <div class="choice" role="group" aria-label={label}>
        {options.map(([v, name]) => <button key={v} type="button" aria-pressed={v === value} onClick={() => onValue(v)}>{name}</button>)}
    </div>;
}

/** A heading of a column that can be sorted by. */
export function SortHead({ id, now, children, onSort, class: name, down = true }: {
    id: string; now: string; children: ComponentChildren; onSort: (id: string) => void; class?: string; down?: boolean;
}) {
    return <th scope="col" class={name} aria-sort={now === id ? (down ? "descending" : "ascending") : undefined}>
        <button type="button" class="sort" onClick={() => onSort(id)}>{children}<span aria-hidden="true">{now === id ? (down ? " ↓" : " ↑") : ""}</span></button></th>;
}

export function Dialog({ title, open, onClose, children, wide = false }: { title: string; open: boolean; onClose: () => void; children: ComponentChildren; wide?: boolean }) {
    const ref = useRef<HTMLDialogElement>(null);
    useEffect(() => {
        const dialog = ref.current!;
        if (open && !dialog.open) dialog.showModal();
        if (!open && dialog.open) dialog.close();
    }, [open]);
    return <dialog ref={ref} onClose={onClose} aria-label={title} class={wide ? "wide" : undefined}>
        {open && <><h2>{title}</h2>{children}</>}
    </dialog>;
}

/** Runs something that may fail, keeps its error for showing. */
export function useAction(): { run: (work: () => Promise<void>) => Promise<void>; busy: boolean; error: Error | undefined; clear: () => void } {
    const [state, set] = useState<{ busy: boolean; error?: Error }>({ busy: false });
    return {
        busy: state.busy, error: state.error, clear: () => set({ busy: false }),
        run: async (work) => {
            set({ busy: true });
            try {
                await work();
                set({ busy: false });
            } catch (error) {
                set({ busy: false, error: error as Error });
            }
        },
    };
}

/** Hands the browser a file made here. */
export function saveFile(name: string, type: string, text: string) {
    const url = URL.createObjectURL(new Blob([text], { type }));
    const link = document.createElement("a");
    link.href = url;
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(url), 10000);
}
