// The samples of one hang from left to right: one lane a stack, so that "99 ms here, 1 ms there" is seen.

import { useState } from "preact/hooks";
import type { Frame, Report } from "../types";
import { duration, many, share } from "../format";
import { Cut } from "./basic";
import { frameName, Stack } from "./stack";

const MOST_LANES = 12;

interface Lane { stack: number; frames: Frame[]; weight: number; parts: { at: number; weight: number }[] }

/** What tells a stack from the others: its innermost frame of the app, else its innermost. */
const telling = (frames: Frame[]) => frames.find((f) => f.app) ?? frames[0];

function lanesOf(report: Report): { lanes: Lane[]; from: number; to: number } {
    const lanes = new Map<number, Lane>();
    let from = Infinity, to = -Infinity;
    for (const s of report.samples) {
        let lane = lanes.get(s.stack);
        if (!lane) lanes.set(s.stack, (lane = { stack: s.stack, frames: report.stacks[s.stack] ?? [], weight: 0, parts: [] }));
        lane.weight += s.weight_ns;
        const last = lane.parts[lane.parts.length - 1];
        if (last && last.at + last.weight >= s.at_ns - 1e6) last.weight = s.at_ns + s.weight_ns - last.at;
        else lane.parts.push({ at: s.at_ns, weight: s.weight_ns });
        from = Math.min(from, s.at_ns);
        to = Math.max(to, s.at_ns + s.weight_ns);
    }
    return { lanes: [...lanes.values()].sort((a, b) => b.weight - a.weight), from, to: Math.max(to, from + 1) };
}

export function Timeline({ report }: { report: Report }) {
    const { lanes, from, to } = lanesOf(report);
    const [chosen, choose] = useState<number>();
    if (!lanes.length) return <p class="muted pad">No samples: the report has the stack at one moment only.</p>;
    const lane = lanes.find((l) => l.stack === chosen) ?? lanes[0];
    const whole = lanes.reduce((sum, l) => sum + l.weight, 0);
    const marks = [0, 0.25, 0.5, 0.75, 1];
    return <div class="timeline">
        <div class="lanes" role="group" aria-label="Stacks over time; choosing one shows it below">
            {lanes.slice(0, MOST_LANES).map((l) => <button key={l.stack} type="button" class="lane" aria-pressed={l === lane} onClick={() => choose(l.stack)}>
                <span class="lane-name"><Cut s={l.frames.length ? frameName(telling(l.frames)) : "no frames"} class="fn" />{l.frames.length > 0 && telling(l.frames) !== l.frames[0] && <Cut s={`in ${frameName(l.frames[0])}`} class="muted small" />}</span>
                <span class="num">{duration(l.weight)} <span class="muted">{share(l.weight, whole)}</span></span>
                <svg class="strip" viewBox="0 0 1000 10" preserveAspectRatio="none" aria-hidden="true">
                    {l.parts.map((p, i) => <rect key={i} x={(1000 * (p.at - from)) / (to - from)} width={Math.max((1000 * p.weight) / (to - from), 2)} height="10" />)}
                </svg>
            </button>)}
            <div class="ticks num muted" aria-hidden="true">{marks.map((m) => <span key={m}>{duration((to - from) * m)}</span>)}</div>
            {lanes.length > MOST_LANES && <p class="muted small pad">{many(lanes.length - MOST_LANES, "stack")} with less time not shown.</p>}
        </div>
        <div class="scroll short" tabIndex={0} role="region" aria-label="The chosen stack"><Stack frames={lane.frames} label="The chosen stack, innermost frame first" source={false} /></div>
    </div>;
}
