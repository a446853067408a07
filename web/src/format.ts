// Numbers, times and foreign strings as people read them.

/** What changes how its neighbours are shown, or shows nothing at all: control characters, bidirectional controls,
 * zero-width ones, tags. Line feeds and tabs stay. */
const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u115f\u1160\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\ufff9-\ufffb]|\udb40[\udc00-\udfff]/g;

/** `text` with every such character written out: a carriage return becomes ␍, U+202E becomes ⟨202E⟩. */
export function visible(text: string): string {
    return text.replace(HIDDEN, (c) => {
        const code = c.codePointAt(0)!;
        if (code < 0x20) return String.fromCodePoint(0x2400 + code);
        if (code === 0x7f) return "\u2421";
        return `⟨${code.toString(16).toUpperCase().padStart(4, "0")}⟩`;
    });
}

/** The same for every string of a reply, keys included. */
export function visibleAll<T>(value: T): T {
    if (typeof value === "string") return visible(value) as T;
    if (Array.isArray(value)) return value.map(visibleAll) as T;
    if (value && typeof value === "object")
        return Object.fromEntries(Object.entries(value).map(([k, v]) => [visible(k), visibleAll(v)])) as T;
    return value;
}

const digits3 = (value: number): string => {
    const places = value >= 100 ? 0 : value >= 10 ? 1 : 2;
    return String(Number(value.toFixed(places)));
};

/** "870 µs", "1.4 s", "3 h 12 min", "4 d 6 h". */
export function duration(ns: number): string {
    if (!Number.isFinite(ns)) return "–";
    if (ns < 0) return `−${duration(-ns)}`;
    if (ns === 0) return "0 s";
    if (ns < 1e3) return `${Math.round(ns)} ns`;
    if (ns < 1e6) return `${digits3(ns / 1e3)} µs`;
    if (ns < 999.5e6) return `${Math.round(ns / 1e6) || digits3(ns / 1e6)} ms`;
    const seconds = ns / 1e9;
    if (seconds < 59.95) return `${Number(seconds.toFixed(seconds < 10 ? 2 : 1))} s`;
    const parts = (big: number, bigName: string, small: number, smallName: string) =>
        small ? `${big} ${bigName} ${small} ${smallName}` : `${big} ${bigName}`;
    const s = Math.round(seconds);
    if (s < 3600) return parts(Math.floor(s / 60), "min", s % 60, "s");
    const minutes = Math.round(seconds / 60);
    if (minutes < 24 * 60) return parts(Math.floor(minutes / 60), "h", minutes % 60, "min");
    const hours = Math.round(seconds / 3600);
    return parts(Math.floor(hours / 24), "d", hours % 24, "h");
}

const counts = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const short = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 });

export const count = (n: number): string => counts.format(n);
/** "12.3K", where there is little room. */
export const compact = (n: number): string => (n < 10000 ? counts.format(n) : short.format(n));
/** "1 report", "12 reports". */
export const many = (n: number, one: string, more = `${one}s`): string => `${count(n)} ${n === 1 ? one : more}`;

export function share(part: number, whole: number): string {
    if (!whole) return "0 %";
    const percent = (100 * part) / whole;
    if (percent > 0 && percent < 0.1) return "< 0.1 %";
    return `${percent < 10 ? Number(percent.toFixed(1)) : Math.round(percent)} %`;
}

export function bytes(n: number): string {
    const units = ["B", "KB", "MB", "GB", "TB"];
    let unit = 0;
    while (n >= 999.5 && unit < units.length - 1) {
        n /= 1000;
        unit++;
    }
    return `${digits3(n)} ${units[unit]}`;
}

const moment = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
const dateOnly = new Intl.DateTimeFormat(undefined, { month: "short", day: "numeric" });
const dateYear = new Intl.DateTimeFormat(undefined, { month: "short", day: "numeric", year: "numeric" });

export const when = (ms: number): string => moment.format(ms);
export const utc = (ms: number): string => `${new Date(ms).toISOString().slice(0, 19).replace("T", " ")} UTC`;
/** A day of the server's sums, "2026-11-22": of UTC, so it must not move with the viewer's zone. */
export const dayName = (day: string): string =>
    new Intl.DateTimeFormat(undefined, { month: "short", day: "numeric", timeZone: "UTC" }).format(Date.parse(`${day}T00:00:00Z`));

export function ago(ms: number, now = Date.now()): string {
    const s = Math.round((now - ms) / 1000);
    if (s < -300) return dateOnly.format(ms); // the clock of who sent it goes ahead
    if (s < 60) return "just now";
    if (s < 3600) return `${Math.floor(s / 60)} min ago`;
    if (s < 86400) return `${Math.floor(s / 3600)} h ago`;
    if (s < 14 * 86400) return many(Math.floor(s / 86400), "day") + " ago";
    return new Date(ms).getFullYear() === new Date(now).getFullYear() ? dateOnly.format(ms) : dateYear.format(ms);
}

/** The last part of a path; "" when there is none. */
export const baseName = (path: string | null | undefined): string => (path ? path.slice(path.search(/[^/\\]*[/\\]*$/)) : "");

export const place = (file: string | null | undefined, line: number | null | undefined): string =>
    file ? (line ? `${baseName(file)}:${line}` : baseName(file)) : "";
