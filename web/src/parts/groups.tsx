// Groups as rows, and the filters that all views of them share.

import type { Group, Overview } from "../types";
import { FILTERS, useLink, useQuery } from "../app";
import { compact, count, duration, many, place, share } from "../format";
import { Blocked, Button, Cut, Select, shortened, Spark, Tag, Time } from "./basic";

/** What a thread was doing when it hung, by the leaf of its stack. */
export const LEAVES: Record<string, [string, string]> = {
    cpu: ["runs", "The thread was computing"],
    lock: ["waits: lock", "The thread waited for a lock that another thread held"],
    semaphore: ["waits: semaphore", "The thread waited for work of another thread"],
    ipc: ["waits: process", "The thread waited for the answer of another process"],
    disk: ["waits: disk", "The thread read or wrote files"],
    network: ["waits: network", "The thread waited for the network"],
    wait: ["waits", "The thread waited"],
    timer: ["sleeps", "The thread slept for a time"],
    idle: ["idle", "The thread had nothing to do"],
};

export function Leaf({ leaf }: { leaf: string }) {
    const known = LEAVES[leaf];
    return leaf && leaf !== "unknown" ? <Tag tone={`leaf ${known ? leaf : ""}`} title={known?.[1]}>{known?.[0] ?? shortened(leaf, 30)}</Tag> : null;
}

/** "fixed in 2.2.0", "fixed after 2.1.0". */
export const fixedText = (g: { resolved_version: string | null; resolved_after: boolean }, word: string, most = 60) =>
    g.resolved_version ? `${word} ${g.resolved_after ? "after" : "in"} ${shortened(g.resolved_version, most)}` : word;

/** The first and the last version of what the filters choose. */
export const versionsOf = (g: { first_version: string | null; last_version: string | null }) =>
    !g.first_version && !g.last_version ? "an unknown version" : g.first_version === g.last_version ? g.last_version! : `${g.first_version || "unknown"} – ${g.last_version || "unknown"}`;

export function Status({ g }: { g: Group }) {
    return <>
        {g.reopened && <Tag tone="bad" title={`It was resolved and came back${g.resolved_version ? `: ${fixedText(g, "fixed")}` : ""}`}>came back</Tag>}
        {g.status === "ignored" && <Tag title="Not ranked">ignored</Tag>}
        {g.status === "resolved" && <Tag tone="good" title={fixedText(g, "Fixed")}>{fixedText(g, "fixed", 24)}</Tag>}
        {g.status === "merged" && <Tag>merged</Tag>}
        {g.killed > 0 && <Tag tone="bad" title="So many ended with the process killed">{count(g.killed)} killed</Tag>}
        {g.section === "system" && <Tag title="No frame of the app is in the stack">system only</Tag>}
        {g.section === "unnamed" && <Tag tone="warn" title="Debug files are missing">no names yet</Tag>}
    </>;
}

export function GroupTable({ groups, whole, start = 0, label, isNew }: { groups: Group[]; whole: number; start?: number; label: string; isNew?: Set<string> }) {
    const link = useLink();
    const most = Math.max(...groups.map((g) => g.blocked_ns), 1);
    return <>
        <div class="groups-head" aria-hidden="true"><span /><span>Hang</span><span>Blocked</span><span>By day</span><div class="facts"><span>Reports</span><span>Installs</span><span>Longest</span><span>Versions</span><span>Last seen</span></div></div>
        <ol class="groups" aria-label={label} start={start + 1}>
        {groups.map((g, i) => <li key={g.id}>
            <span class="rank num" aria-hidden="true">{start + i + 1}</span>
            <div class="main">
                <a href={link(`groups/${encodeURIComponent(g.id)}`)} class="title"><Cut s={g.title} class="fn" /></a>
                <div class="sub">
                    <Cut s={place(g.file, g.line) || g.image} class="mono" title={g.file ? `${g.file}:${g.line}` : g.image} />
                    <Leaf leaf={g.leaf} />{isNew?.has(g.id) && <Tag tone="warn" title="Not seen before this time">new</Tag>}<Status g={g} />
                    {g.note && <Cut s={g.note} class="note muted" />}
                </div>
            </div>
            <div class="cost">
                <b><Blocked ns={g.blocked_ns} /></b><span class="muted num">{share(g.blocked_ns, whole)}</span>
                <meter class="bar hot" min={0} max={most} value={g.blocked_ns} aria-label={`${share(g.blocked_ns, whole)} of all blocked time`} />
            </div>
            <Spark values={g.trend} label={`Blocked time of each of ${g.trend.length} days, oldest first; last day ${duration(g.trend[g.trend.length - 1] ?? 0)}`} />
            <dl class="facts">
                <div><dt>Reports</dt><dd class="num">{compact(g.reports)}</dd></div>
                <div><dt>Installs</dt><dd class="num">{g.installs ? compact(g.installs) : "unknown"}</dd></div>
                <div><dt>Longest</dt><dd class="num">{duration(g.longest_ns)}</dd></div>
                <div class="wide-only"><dt>Versions</dt><dd><Cut s={versionsOf(g)} /></dd></div>
                <div><dt>Last seen</dt><dd>{g.last_ms === null ? "–" : <Time ms={g.last_ms} />}</dd></div>
            </dl>
        </li>)}
    </ol></>;
}

export const DAYS: [string, string][] = [["1", "24 hours"], ["7", "7 days"], ["14", "14 days"], ["30", "30 days"], ["90", "90 days"], ["400", "400 days"]];

/** Days, version, OS, device; choices come from the overview. `platforms` false: days and version alone. */
export function Filters({ from, platforms = true }: { from: Overview | undefined; platforms?: boolean }) {
    const [q, set] = useQuery();
    const choice = (name: string, all: string, values: string[]): [string, string][] => {
        const known = [...new Set(q[name] && !values.includes(q[name]) ? [q[name], ...values] : values)];
        return [["", all], ...known.filter(Boolean).map((v): [string, string] => [v, v])];
    };
    const any = FILTERS.some((name) => q[name] && (platforms || name === "days" || name === "version"));
    return <div class="filters" role="group" aria-label="Filters">
        <Select label="Time" bare value={q.days ?? "14"} options={DAYS} onValue={(days) => set({ days: days === "14" ? null : days, after: null })} />
        <Select label="Version" bare value={q.version ?? ""} options={choice("version", "All versions", from?.versions.map(versionLabel) ?? [])} onValue={(version) => set({ version, after: null })} />
        {platforms && <><Select label="OS" bare value={q.os ?? ""} options={choice("os", "All systems", from?.platforms.os.map((o) => o.name) ?? [])} onValue={(os) => set({ os, after: null })} />
        <Select label="Device" bare value={q.device ?? ""} options={choice("device", "All devices", from?.platforms.devices.map((d) => d.name) ?? [])} onValue={(device) => set({ device, after: null })} /></>}
        {any && <Button kind="small" onClick={() => set({ days: null, version: null, os: null, device: null, after: null })}>Clear</Button>}
    </div>;
}

/** As the API's other answers name a version: "2.1 (7)". */
export const versionLabel = (v: { version: string; build: string }) => (v.build && !v.version.endsWith(`(${v.build})`) ? `${v.version} (${v.build})` : v.version);

/** Programs that tell no installation id have none. */
export const reportsText = (g: { reports: number; installs: number }) => many(g.reports, "report") + (g.installs ? ` of ${many(g.installs, "install")}` : "");
