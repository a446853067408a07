// Lines of source around a frame's place, fetched when somebody opens them.

import type { Frame, SourceLines } from "../types";
import { useLoad } from "../api";
import { useApp } from "../app";
import { frameName } from "./frames";
import { shortened } from "./basic";

const LONGEST = 500;

/** Whether the server has sources of the frame's image; of its very file it knows when it is asked. */
export const hasSource = (f: Frame): boolean => !!f.sources && !!f.file && !!f.line;

/** Of the compiler or the system, as far as the path tells: such files are sent on demand only. */
export const isOfSystem = (f: Frame): boolean => /^\/usr\/(include|lib|local\/include)|\.sdk\/|\.xctoolchain\/|^\/rustc\//.test(f.file ?? "");

const url = (f: Frame, project: string): string =>
    `/api/v1/symbols/source?${new URLSearchParams({ project, image: f.sources!, file: f.file!, line: String(f.line) })}`;

export function Source({ frame, id }: { frame: Frame; id: string }) {
    const { project } = useApp();
    const { data, error } = useLoad<SourceLines>(url(frame, project));
    if (error) return <p class="source none muted" id={id} role="status">{error.message}</p>;
    if (!data) return <p class="source none muted" id={id} role="status" aria-busy="true">Fetching the source…</p>;
    const first = data.line - data.pre_context.length;
    return <div class="source" id={id} role="group" aria-label={`Source of ${shortened(frameName(frame))}`} tabIndex={0}><div>
        {[...data.pre_context, data.context_line, ...data.post_context].map((text, i) =>
            <p key={i} class={first + i === data.line ? "here" : ""} aria-current={first + i === data.line ? "true" : undefined}><span class="num muted">{first + i}</span><code>{shortened(text, LONGEST)}</code></p>)}
    </div></div>;
}
