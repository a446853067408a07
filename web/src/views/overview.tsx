// Overview: which hang costs most, where and why; whether versions get better; what is new.

import { query, useLoad } from "../api";
import { filtersOf, useApp, useLink, useQuery } from "../app";
import { pushReports, runWatched } from "../commands";
import { compact, count, duration, many, place, share } from "../format";
import { Blocked, Command, Cut, Empty, Icon, Panel, Shares, Shown, Skeleton, Spark, Tag, Time } from "../parts/basic";
import { DaysChart } from "../parts/days";
import { DAYS, Filters, GroupTable, Leaf, reportsText, versionLabel, versionsOf } from "../parts/groups";
import { Stack } from "../parts/stack";
import type { Frame, GroupDetail, Limit, Overview as Data, Version } from "../types";

const HERO_FRAMES = 4;

/** The leaf, and from the blamed frame upwards what of the app called it. */
function telling(heaviest: Frame[], title: string): Frame[] {
    const app = heaviest.filter((f) => f.app);
    const blamed = heaviest.findIndex((f) => f.function === title);
    if (!app.length) return heaviest.slice(0, HERO_FRAMES);
    const from = blamed >= 0 ? heaviest.slice(blamed).filter((f) => f.app) : app;
    return [...(heaviest[0] && !from.includes(heaviest[0]) ? [heaviest[0]] : []), ...from].slice(0, HERO_FRAMES);
}

function Costliest({ data, whole, days }: { data: Data; whole: number; days: string }) {
    const { api } = useApp();
    const [q] = useQuery();
    const link = useLink();
    const g = data.top[0];
    const detail = useLoad<GroupDetail>(`${api}/groups/${encodeURIComponent(g.id)}${query(filtersOf(q))}`);
    return <section class="panel costliest" aria-labelledby="costliest">
        <div class="cost-main">
            <h2 id="costliest">Costs most in {days}</h2>
            <a class="big" href={link(`groups/${encodeURIComponent(g.id)}`)}><Cut s={g.title} class="fn" /></a>
            <p class="mono where"><Cut s={place(g.file, g.line) || g.image} title={g.file ? `${g.file}:${g.line}` : g.image} /> <Leaf leaf={g.leaf} /></p>
            <dl class="figures">
                <div class="lead"><dt>Blocked in total</dt><dd><Blocked ns={g.blocked_ns} /></dd></div>
                <div><dt>Of all blocked time</dt><dd class="num">{share(g.blocked_ns, whole)}</dd></div>
                <div><dt>On average</dt><dd class="num">{duration(g.reports ? g.blocked_ns / g.reports : 0)}</dd></div>
                <div><dt>Longest</dt><dd class="num">{duration(g.longest_ns)}</dd></div>
            </dl>
            <Spark wide values={g.trend} label={`Blocked time of each of ${g.trend.length} days, oldest first`} />
            <p class="muted">{reportsText(g)}, in {versionsOf(g)}{g.killed > 0 && <>; <b class="bad-text">{count(g.killed)} ended with the process killed</b></>}. First seen <Time ms={g.since_ms} />{g.last_ms !== null && <>, last <Time ms={g.last_ms} /></>}.</p>
        </div>
        <div class="cost-stack">
            <h3>Where it hangs</h3>
            {detail.data ? <Stack frames={telling(detail.data.heaviest, g.title)} label="Heaviest stack, its telling frames" /> : detail.error ? <p class="muted">The stack is not to be had now.</p> : <Skeleton lines={5} />}
        </div>
    </section>;
}

function Classes({ classes }: { classes: Data["classes"] }) {
    const rows: [string, number, string][] = [
        ["< 0.5 s", classes.below_500ms, "c0"], ["0.5 – 2 s", classes.below_2s, "c1"], ["2 – 8 s", classes.below_8s, "c2"], ["> 8 s", classes.above, "c3"], ["killed", classes.killed, "c4"],
    ];
    const slow = rows.slice(0, 4).reduce((sum, r) => sum + r[1], 0);
    return <div class="classes">
        <svg class="split" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
            {rows.slice(0, 4).reduce<{ x: number; bars: preact.JSX.Element[] }>((at, [name, n, tone]) => {
                const w = slow ? (100 * n) / slow : 0;
                at.bars.push(<rect key={name} class={tone} x={at.x} width={w} height="10" />);
                return { x: at.x + w, bars: at.bars };
            }, { x: 0, bars: [] }).bars}
        </svg>
        <dl>{rows.map(([name, n, tone]) => <div key={name}><dt><i class={`swatch ${tone}`} />{name}</dt><dd class="num">{compact(n)} <span class="muted">{share(n, slow)}</span></dd></div>)}</dl>
    </div>;
}

const rateText = (rate: number | null) => (rate === null ? "–" : rate < 10 ? `${Number(rate.toFixed(2))} s/h` : `${Math.round(rate)} s/h`);

function Change({ now, before }: { now: number | null; before: number | null }) {
    if (now === null || before === null || !before) return null;
    const change = (now - before) / before;
    if (Math.abs(change) < 0.02) return <Tag>same</Tag>;
    return <Tag tone={change > 0 ? "bad" : "good"} title="Against the last release before it">{change > 0 ? "+" : "−"}{share(Math.abs(change), 1)}</Tag>;
}

/** What a version is compared with: the last release before it, of its line; without one the last pre-release. The
 * server's order is the order. */
function versionBefore(versions: Version[], i: number): Version | undefined {
    const earlier = versions.slice(i + 1).filter((v) => v.line === versions[i].line && v.version !== versions[i].version);
    return earlier.find((v) => !v.prerelease) ?? earlier[0];
}

function Versions({ versions }: { versions: Version[] }) {
    const link = useLink();
    if (!versions.length) return <p class="muted pad">No version has sent anything in this time.</p>;
    const observed = versions.reduce((sum, v) => sum + (v.observed_ns ?? 0), 0);
    const most = Math.max(...versions.map((v) => v.rate ?? 0), 0.001);
    return <div class="scroll" tabIndex={0} role="region" aria-label="Versions"><table class="list">
        <caption class="hidden">Versions, newest first</caption>
        <thead><tr><th scope="col">Version</th><th scope="col" title="Seconds blocked in an observed hour">Rate</th><th scope="col" class="right">Blocked</th><th scope="col" class="right">Reports</th><th scope="col" class="right">Killed</th><th scope="col" class="right" title="Share of the observed time">Use</th><th scope="col">Came out</th></tr></thead>
        <tbody>{versions.slice(0, 12).map((v, i) => <tr key={versionLabel(v)}>
            <th scope="row">{versionLabel(v) ? <a href={link("groups", { version: versionLabel(v) })}><Cut s={versionLabel(v)} /></a> : "unknown"}{v.prerelease && <> <Tag title="Not a release">pre-release</Tag></>}</th>
            <td class="rate"><span class="num">{rateText(v.rate)}</span> <Change now={v.rate} before={versionBefore(versions, i)?.rate ?? null} />
                <meter class="bar" min={0} max={most} value={v.rate ?? 0} aria-label="Rate beside other versions" /></td>
            <td class="right"><Blocked ns={v.blocked_ns} /></td><td class="right num">{compact(v.reports)}</td>
            <td class={`right num ${v.killed ? "bad-text" : "muted"}`}>{compact(v.killed)}</td><td class="right num">{v.observed_ns === null ? "–" : share(v.observed_ns, observed)}</td><td><Time ms={v.released_ms} /></td>
        </tr>)}</tbody>
    </table></div>;
}

export function Overview() {
    const { api, project, server } = useApp();
    const [q] = useQuery();
    const link = useLink();
    const data = useLoad<Data>(`${api}/overview${query(filtersOf(q))}`);
    const limits = useLoad<{ items: Limit[] }>(`${api}/limits`);
    const days = DAYS.find(([d]) => d === (q.days ?? "14"))?.[1] ?? `${q.days} days`;
    return <>
        <div class="page-head"><h1>Overview</h1><Filters from={data.data} /></div>
        <Shown of={data} lines={18}>{(d) => {
            const whole = d.days.reduce((sum, day) => sum + day.blocked_ns, 0) || d.versions.reduce((sum, v) => sum + v.blocked_ns, 0);
            const reports = d.days.reduce((sum, day) => sum + day.reports, 0);
            const killed = d.days.reduce((sum, day) => sum + day.killed, 0);
            const isNew = new Set(d.new.map((g) => g.id)), fresh = d.new.filter((g) => !d.top.some((t) => t.id === g.id));
            const at = Math.max(d.versions.findIndex((v) => !v.prerelease), 0), newest = d.versions[at], before = newest && versionBefore(d.versions, at);
            if (!reports && !d.top.length) return <>
                {d.waiting.reports > 0 && <p class="notice" role="status">{many(d.waiting.reports, "report")} came in and {d.waiting.reports === 1 ? "is" : "are"} being processed.</p>}
                <Empty title={Object.keys(filtersOf(q)).length ? "No hangs match these filters" : "No hangs yet"}>
                    {Object.keys(filtersOf(q)).length ? <p>Take a longer time, or clear the filters above.</p> : <>
                        <p>Run a program under watch; what it notes is sent here. KEY is a file with an ingest key, which is made under <a href={link("settings", { tab: "tokens" })}>Settings</a>.</p>
                        <Command text={runWatched()} />
                        <p>Or send reports that are there already:</p>
                        <Command text={pushReports()} /></>}
                </Empty></>;
            return <>
                {limits.data?.items.filter((l) => l.near).map((l) => <p key={l.kind} class="notice bad" role="status"><Icon name="warn" /><span><b>{count(l.made)} of {count(l.most)} {l.kind}</b> have come in; what comes beyond that counts as “(other)”.</span></p>)}
                {d.waiting.images > 0 && <p class="notice"><Icon name="symbols" /><span>{many(d.waiting.images, "image")} without a debug file: names are missing in some stacks. <a href={link("symbols")}>See which, and how to send them</a></span></p>}
                {d.waiting.reports > 0 && <p class="notice" role="status"><Icon name="reports" /><span>{many(d.waiting.reports, "report")} came in and {d.waiting.reports === 1 ? "is" : "are"} being processed.</span></p>}
                <dl class="tiles">
                    <div><dt>Blocked in total</dt><dd>{duration(whole)}</dd><dd class="muted small">in {days}</dd></div>
                    <div><dt>Reports</dt><dd>{compact(reports)}</dd><dd class="muted small">{duration(reports ? whole / reports : 0)} on average</dd></div>
                    <div><dt>Ended with a kill</dt><dd class={killed ? "bad-text" : ""}>{compact(killed)}</dd><dd class="muted small">{share(killed, reports)} of reports</dd></div>
                    <div><dt>Newest version</dt><dd>{newest ? rateText(newest.rate) : "–"} {newest && before && <Change now={newest.rate} before={before.rate} />}</dd><dd class="muted small" title="Seconds blocked in an hour of use">{newest ? <>blocked in an hour of use, <Cut s={versionLabel(newest) || "unknown"} /></> : "none"}</dd></div>
                </dl>
                {d.top.length > 0 && <Costliest key={d.top[0].id} data={d} whole={whole} days={days} />}
                <div class="two wide-left">
                    <Panel title="Blocked time a day"><DaysChart days={d.days} order={d.versions.map(versionLabel)} label="Blocked time a day" /></Panel>
                    <Panel title="How long they last"><Classes classes={d.classes} /></Panel>
                </div>
                <Panel title="Costliest hangs" aside={<a href={link("groups")}>All hangs</a>}><GroupTable groups={d.top} whole={whole} label="Costliest hangs" isNew={isNew} /></Panel>
                <Panel title={`New in ${days}`} aside={<a href={link("groups", { sort: "first" })}>All, newest first</a>}>
                    {fresh.length ? <GroupTable groups={fresh} whole={whole} label="New hangs" /> : <p class="muted pad">{d.new.length ? "All that is new is among the costliest above, where it says so." : "Nothing new in this time."}</p>}</Panel>
                <Panel title="Versions" aside={<>{d.versions_in_all > 12 && <span class="muted small">the newest 12 of {count(d.versions_in_all)} </span>}<a href={link("settings", { tab: "versions" })}>Order and dates</a></>}><Versions versions={d.versions} /></Panel>
                <div class="two">
                    <Panel title="Systems"><Shares empty="None." rows={d.platforms.os.map((o) => ({ name: o.name, value: whole ? o.blocked_ns : o.reports, text: whole ? duration(o.blocked_ns) : many(o.reports, "report") }))} href={(os) => link("groups", { os })} /></Panel>
                    <Panel title="Devices"><Shares empty="No report named its device." rows={d.platforms.devices.map((o) => ({ name: o.name, value: whole ? o.blocked_ns : o.reports, text: whole ? duration(o.blocked_ns) : many(o.reports, "report") }))} href={(device) => link("groups", { device })} /></Panel>
                </div>
                <p class="muted small foot">{project} · collector {server?.version} · {server?.database}, {server?.store} · <a href="/licences.txt">licences</a></p>
            </>;
        }}</Shown>
    </>;
}
