// What a frame is called.

import type { Frame } from "../types";
import { baseName } from "../format";

export const frameName = (f: Frame): string =>
    f.status === "gap" ? (f.omitted ? `${f.omitted} frames left out` : "frames missing") : f.function ?? `${f.image ? baseName(f.image) : "unknown image"} + ${f.offset}`;
