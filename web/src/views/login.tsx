// Signing in: a token makes a session of this browser.

import { useState } from "preact/hooks";
import { send } from "../api";
import { Button, ErrorBox, useAction } from "../parts/basic";
import type { Session } from "../types";

export function Login({ onSession }: { onSession: (s: Session) => void }) {
    const [token, setToken] = useState("");
    const action = useAction();
    const submit = (e: Event) => {
        e.preventDefault();
        const trimmed = token.trim();
        action.run(async () => {
            if (!trimmed) throw new Error("Paste a token first.");
            if (trimmed.startsWith("fwk_")) throw new Error("This is an ingest key: it can send reports and nothing else. Use a token (fwt_…).");
            onSession(await send<Session>("POST", "/api/v1/session", { token: trimmed }));
        });
    };
    return <main class="login">
        <form onSubmit={submit} class="panel">
            <h1><svg viewBox="0 0 20 16" width="26" height="21" aria-hidden="true"><rect class="l0" width="20" height="4" rx="1" /><rect class="l1" y="6" width="14" height="4" rx="1" /><rect class="l2" y="12" width="8" height="4" rx="1" /></svg>Framewalk</h1>
            <label class="field"><span>Token</span>
                <input type="password" value={token} onInput={(e) => setToken(e.currentTarget.value)} placeholder="fwt_…" autocomplete="current-password" spellcheck={false} autofocus aria-describedby="token-help" /></label>
            {action.error && <ErrorBox error={action.error} />}
            <Button kind="primary" type="submit" disabled={action.busy}>{action.busy ? "Signing in…" : "Sign in"}</Button>
            <p class="muted small" id="token-help">The server printed the first token once, when it was started. Further ones are made under Settings, by whoever has the scope “admin”, or by <code>framewalk serve --new-token</code> on the server.</p>
        </form>
    </main>;
}
