// A call stack as a list: what was called, where, and what kind of frame it is.

import type { Frame } from "../types";
import { baseName, place } from "../format";
import { Cut, shortened, Tag } from "./basic";

const missing: Record<Frame["status"], string> = {
    named: "",
    no_map: "no debug file for this image yet: it is named when one comes",
    unknown: "the debug file does not know this address",
    gap: "frames are missing here: the stack could not be followed",
};

export const frameName = (f: Frame): string =>
    f.status === "gap" ? (f.omitted ? `${f.omitted} frames left out` : "frames missing") : f.function ?? `${f.image ? baseName(f.image) : "unknown image"} + ${f.offset}`;

/** As engineers paste it. */
export const stackText = (frames: Frame[]): string =>
    frames.map((f, i) => {
        const where = f.file ? `  ${f.file}${f.line ? `:${f.line}` : ""}` : "";
        const marks = `${f.inlined ? " [inlined]" : ""}${f.tail_call ? " [tail call]" : ""}`;
        return `${String(i).padStart(3)}  ${baseName(f.image || "?").padEnd(24)} ${f.function ?? f.offset}${marks}${where}`;
    }).join("\n") + "\n";

export function Stack({ frames, source = true, label, most = 200 }: { frames: Frame[]; source?: boolean; label: string; most?: number }) {
    if (!frames.length) return <p class="muted pad">No frames.</p>;
    return <ol class="stack" aria-label={label} start={0}>
        {frames.slice(0, most).map((f, i) => <li key={i} class={`frame ${f.app ? "app" : "system"} ${f.status}`}>
            <span class="index num" aria-hidden="true">{i}</span>
            <span class="what">
                <Cut s={frameName(f)} class="fn" title={`${frameName(f)}\n${f.image} + ${f.offset}${missing[f.status] ? `\n${missing[f.status]}` : ""}`} />
                {f.inlined && <Tag tone="inline" title="The compiler put this function into its caller">inlined</Tag>}
                {f.tail_call && <Tag tone="tail" title="It called the frame above as its last act, so it has no frame of its own; found from the debug information">tail call</Tag>}
                {f.status === "no_map" && <Tag tone="warn" title={missing.no_map}>no debug file</Tag>}
                {f.status === "unknown" && <Tag title={missing.unknown}>no name</Tag>}
            </span>
            <span class="where">
                {f.file && <Cut s={place(f.file, f.line)} class="mono" title={`${f.file}${f.line ? `:${f.line}` : ""}`} />}
                {f.function !== null && <Cut s={baseName(f.image || "")} class="image muted" title={f.image} />}
            </span>
            {source && f.source && f.source.length > 0 && <div class="source" role="group" aria-label={`Source of ${shortened(frameName(f))}`} tabIndex={0}><div>
                {f.source.map((l) => <p key={l.line} class={l.line === f.line ? "here" : ""}><span class="num muted">{l.line}</span><code>{shortened(l.text, 500)}</code></p>)}
            </div></div>}
        </li>)}
        {frames.length > most && <li class="muted pad">… and {frames.length - most} more frames; the download has them all.</li>}
    </ol>;
}
