// Blocked time of each day, stacked by version: uPlot draws, we stack. The same numbers are in a table.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import type { Day } from "../types";
import { count, dayName, duration } from "../format";
import { Cut, shortened } from "./basic";

const MOST_VERSIONS = 5;
const DAY = 86400;

interface Series { name: string; values: number[]; reports: number[] }

/** One series a version, the newest first; what is beyond the colours is "older". Days without reports are zero. */
function seriesOf(days: Day[], order: string[]): { days: string[]; series: Series[] } {
    if (!days.length) return { days: [], series: [] };
    const names = days.map((d) => d.day).sort();
    const all: string[] = [];
    for (let t = Date.parse(`${names[0]}T00:00:00Z`); t <= Date.parse(`${names[names.length - 1]}T00:00:00Z`) && all.length < 400; t += DAY * 1000)
        all.push(new Date(t).toISOString().slice(0, 10));
    const versions = [...new Set(days.map((d) => d.version ?? "all versions"))];
    versions.sort((a, b) => (order.indexOf(a) + 1 || 1e6) - (order.indexOf(b) + 1 || 1e6) || (a < b ? 1 : -1));
    const kept = versions.length > MOST_VERSIONS ? versions.slice(0, MOST_VERSIONS - 1) : versions;
    const series = (kept.length < versions.length ? [...kept, "older"] : kept).map((name) => ({ name, values: all.map(() => 0), reports: all.map(() => 0) }));
    for (const d of days) {
        const s = series.find((one) => one.name === (d.version ?? "all versions")) ?? series[series.length - 1];
        const i = all.indexOf(d.day);
        if (i < 0) continue;
        s.values[i] += d.blocked_ns;
        s.reports[i] += d.reports;
    }
    return { days: all, series };
}

export function DaysChart({ days, order, label }: { days: Day[]; order: string[]; label: string }) {
    const box = useRef<HTMLDivElement>(null);
    const { days: names, series } = useMemo(() => seriesOf(days, order), [days, order]);
    const [over, setOver] = useState<number | null>(null);
    useEffect(() => {
        const element = box.current;
        if (!element || !names.length) return;
        let plot: uPlot | undefined;
        const make = () => {
            plot?.destroy();
            const style = getComputedStyle(element);
            const color = (name: string) => style.getPropertyValue(name).trim();
            const stacked: number[][] = []; // each with all below it; drawn from the tallest
            const sums = names.map(() => 0);
            for (let i = series.length - 1; i >= 0; i--) stacked.unshift(names.map((_, d) => (sums[d] += series[i].values[d])));
            const bars = uPlot.paths.bars!({ size: [0.72, 34], radius: 0.12 });
            const text = color("--muted"), line = color("--line");
            const font = `11px ${style.fontFamily}`;
            const seconds = names.map((d) => Date.parse(`${d}T00:00:00Z`) / 1000);
            const first = seconds[0], last = seconds[seconds.length - 1]; // for one day alone uPlot would take 1,000
            plot = new uPlot({
                width: element.clientWidth, height: 190, legend: { show: false },
                cursor: { y: false, points: { show: false }, drag: { x: false, y: false } },
                scales: { x: { time: true, range: () => [first - DAY * 0.6, last + DAY * 0.6] }, y: { range: (_, __, high) => [0, Math.max(high * 1.08, 1)] } },
                axes: [
                    { stroke: text, font, grid: { show: false }, ticks: { show: false }, size: 26, incrs: [1, 2, 7, 14, 30, 60].map((n) => n * DAY),
                        values: (_, at) => at.map((t) => dayName(new Date(t * 1000).toISOString().slice(0, 10))) },
                    { stroke: text, font, grid: { stroke: line, width: 1 }, ticks: { show: false }, size: 64, splits: (_, __, ___, high) => nice(high),
                        values: (_, at) => at.map((v) => duration(v)) },
                ],
                series: [{}, ...series.map((_, i) => ({ paths: bars, fill: color(`--series-${i}`), stroke: color("--panel"), width: 0.5, points: { show: false } }))],
                hooks: { setCursor: [(u) => setOver(u.cursor.idx ?? null)] },
                tzDate: (t) => uPlot.tzDate(new Date(t * 1000), "UTC"),
            }, [seconds, ...stacked] as uPlot.AlignedData, element);
        };
        make();
        const watch = new ResizeObserver(() => plot && plot.width !== element.clientWidth && plot.setSize({ width: element.clientWidth, height: 190 }));
        watch.observe(element);
        const dark = matchMedia("(prefers-color-scheme: dark)");
        dark.addEventListener("change", make);
        addEventListener("themechange", make);
        return () => { watch.disconnect(); dark.removeEventListener("change", make); removeEventListener("themechange", make); plot?.destroy(); };
    }, [names, series]);
    if (!names.length) return <p class="muted pad">No hangs on any of these days.</p>;
    if (!series.some((s) => s.values.some((v) => v > 0))) return <p class="muted pad">The reports of these days do not say how long they lasted.</p>;
    const totals = names.map((_, i) => series.reduce((sum, s) => sum + s.values[i], 0));
    return <div class="days">
        <div class="legend" aria-hidden="true">
            {series.map((s, i) => <span key={s.name}><i class={`swatch s${i}`} />{shortened(s.name, 24) || "unknown version"}
                {over !== null && over < names.length && <b class="num">{duration(s.values[over])}</b>}</span>)}
            <span class="spring" /><span class="muted">{over !== null && names[over] ? `${dayName(names[over])} (UTC): ${duration(totals[over])}` : ""}</span>
        </div>
        <div ref={box} class="plot" aria-hidden="true" />
        <details class="as-table"><summary>As table</summary>
            <div class="scroll" tabIndex={0} role="region" aria-label={label}><table class="list dense"><thead><tr><th scope="col">Day (UTC)</th>{series.map((s) => <th key={s.name} scope="col" class="right"><Cut s={s.name || "unknown version"} /></th>)}<th scope="col" class="right">Reports</th></tr></thead>
                <tbody>{names.map((d, i) => <tr key={d}><th scope="row">{dayName(d)}</th>{series.map((s) => <td key={s.name} class="right num">{s.values[i] ? duration(s.values[i]) : "–"}</td>)}
                    <td class="right num">{count(series.reduce((sum, s) => sum + s.reports[i], 0))}</td></tr>)}</tbody></table></div>
        </details>
    </div>;
}

/** Steps of time that people count in. */
function nice(high: number): number[] {
    const steps = [1e6, 1e7, 1e8, 5e8, 1e9, 5e9, 10e9, 30e9, 60e9, 300e9, 600e9, 1800e9, 3600e9, 2 * 3600e9, 6 * 3600e9, 12 * 3600e9, 24 * 3600e9, 96 * 3600e9, 240 * 3600e9];
    const step = steps.find((s) => high / s <= 5) ?? high / 4;
    return Array.from({ length: Math.floor(high / step) + 1 }, (_, i) => i * step);
}
