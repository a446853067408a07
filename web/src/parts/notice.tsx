// What was just done, and how to take it back: one line above the view, which stays when the view changes.

import { useEffect, useState } from "preact/hooks";
import { changed, get } from "../api";
import type { Server } from "../types";
import { Button, ErrorBox, useAction } from "./basic";

export interface Done {
    text: string;
    /** Takes it back, and says where to look then. */
    undo?: () => Promise<void>;
}

let current: Done | undefined;
const watchers = new Set<() => void>();
export function say(done: Done | undefined) {
    current = done;
    for (const watcher of watchers) watcher();
}

const LOOK_EVERY = 500, MOST_LOOKS = 120; // milliseconds; a large project may need longer, and then the views are not waited for

/** Until the server has no job of that kind any more; then all that is shown is asked for again. */
export async function afterJobs(kind: string): Promise<void> {
    for (let looks = 0; looks < MOST_LOOKS; looks++) {
        const { jobs } = await get<Server>("/api/v1/server");
        if (!jobs.some((j) => j.kind === kind)) break;
        await new Promise((done) => setTimeout(done, LOOK_EVERY));
    }
    changed();
}

export function Notice() {
    const [, draw] = useState(0);
    const action = useAction();
    useEffect(() => {
        const watcher = () => { action.clear(); draw((n) => n + 1); };
        watchers.add(watcher);
        return () => { watchers.delete(watcher); };
    }, []);
    const done = current;
    return <div class="said" role="status">
        {done && <p class="done"><span class="grow">{action.busy ? "Taking it back…" : done.text}</span>
            {done.undo && <Button kind="small" disabled={action.busy} onClick={() => action.run(async () => { await done.undo!(); if (current === done) say(undefined); })}>Undo</Button>}
            <Button kind="small" aria-label="Close this line" onClick={() => say(undefined)}>✕</Button></p>}
        {action.error && <ErrorBox error={action.error} />}
    </div>;
}
