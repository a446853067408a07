// A call stack as a list: what was called, where, and what kind of frame it is.

import { useId, useState } from "preact/hooks";
import type { Frame } from "../types";
import { baseName, place } from "../format";
import { Cut, Tag } from "./basic";
import { frameName } from "./frames";
import { hasSource, isOfSystem, Source } from "./source";

export { frameName };

const missing: Record<Frame["status"], string> = {
    named: "",
    no_map: "no debug file for this image yet: it is named when one comes",
    unknown: "the debug file does not know this address",
    gap: "frames are missing here: the stack could not be followed",
};

/** As engineers paste it. */
export const stackText = (frames: Frame[]): string =>
    frames.map((f, i) => {
        const where = f.file ? `  ${f.file}${f.line ? `:${f.line}` : ""}` : "";
        const marks = `${f.inlined ? " [inlined]" : ""}${f.tail_call ? " [tail call]" : ""}`;
        return `${String(i).padStart(3)}  ${baseName(f.image || "?").padEnd(24)} ${f.function ?? f.offset}${marks}${where}`;
    }).join("\n") + "\n";

function Row({ f, index, source, first }: { f: Frame; index: number; source: boolean; first: boolean }) {
    const [open, setOpen] = useState(first);
    const id = useId();
    const can = source && hasSource(f), where = f.file ? `${f.file}${f.line ? `:${f.line}` : ""}` : "";
    return <li class={`frame ${f.app ? "app" : "system"} ${f.status}`}>
        <span class="index num" aria-hidden="true">{index}</span>
        <span class="what">
            <Cut s={frameName(f)} class="fn" title={`${frameName(f)}\n${f.image ?? "unknown image"} + ${f.offset}${missing[f.status] ? `\n${missing[f.status]}` : ""}`} />
            {f.inlined && <Tag tone="inline" title="The compiler put this function into its caller">inlined</Tag>}
            {f.tail_call && <Tag tone="tail" title="It called the frame above as its last act, so it has no frame of its own; found from the debug information">tail call</Tag>}
            {f.status === "no_map" && <Tag tone="warn" title={missing.no_map}>no debug file</Tag>}
            {f.status === "unknown" && <Tag title={missing.unknown}>no name</Tag>}
        </span>
        <span class="where">
            {f.file && (can
                ? <button type="button" class="open-source" aria-expanded={open} aria-controls={open ? id : undefined} onClick={() => setOpen(!open)}><Cut s={place(f.file, f.line)} class="mono" title={`${where}\n${open ? "hides" : "shows"} the lines around it`} /></button>
                : <Cut s={place(f.file, f.line)} class="mono" title={where} />)}
            {f.function !== null && <Cut s={baseName(f.image || "")} class="image muted" title={f.image} />}
        </span>
        {can && open && <Source frame={f} id={id} />}
    </li>;
}

/** With `source`, frames of which the server has sources can be opened; the app's innermost is open from the start. */
export function Stack({ frames, source = true, label, most = 200 }: { frames: Frame[]; source?: boolean; label: string; most?: number }) {
    if (!frames.length) return <p class="muted pad">No frames.</p>;
    const first = frames.findIndex((f) => f.app && hasSource(f) && !isOfSystem(f));
    return <ol class="stack" aria-label={label} start={0}>
        {frames.slice(0, most).map((f, i) => <Row key={`${i} ${f.function} ${f.offset}`} f={f} index={i} source={source} first={i === first} />)}
        {frames.length > most && <li class="muted pad">… and {frames.length - most} more frames; the download has them all.</li>}
    </ol>;
}
