// Forward and back through a long list; the cursor is in the URL.

import { useQuery } from "../app";
import { Button } from "./basic";

export function Pages({ next, shown, total, text }: { next: string | null; shown: number; total?: number; text: (n: number) => string }) {
    const [q, set] = useQuery();
    const from = Number(q.from) || 0;
    if (!next && !q.after) return total !== undefined && total > 5 ? <p class="pages muted">{text(total)}</p> : null;
    return <nav class="pages" aria-label="Pages">
        <span class="muted num">{from + 1} – {from + shown}{total !== undefined && ` of ${text(total)}`}</span>
        {q.after && <Button kind="small" onClick={() => set({ after: null, from: null })}>To the beginning</Button>}
        {next && <Button kind="small" onClick={() => set({ after: next, from: from + shown })}>Next</Button>}
    </nav>;
}
