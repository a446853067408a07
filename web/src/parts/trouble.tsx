// What one should know of the server, above every view: that it does not answer, that its clock is doubted.

import { changed, send } from "../api";
import { can, type App } from "../app";
import { many, when } from "../format";
import { Button, ErrorBox, Icon, useAction } from "./basic";

export function Trouble({ app }: { app: App }) {
    const action = useAction();
    const clock = app.server?.clock, damaged = app.server?.damaged ?? 0;
    if (app.lost) return <div class="error" role="alert"><Icon name="warn" /><div>
        <p><strong>The server has not answered since {when(app.lost)}</strong></p><p>What is shown is from before. The page asks again every few seconds and goes on when it answers.</p></div></div>;
    const confirm = async () => { await send("POST", "/api/v1/server/clock", {}); changed(); };
    return <>{damaged > 0 && <div class="error" role="alert"><Icon name="warn" /><div>
        <p><strong>{many(damaged, "stored thing")} damaged</strong></p>
        <p><a href="/api/v1/damaged">Which they are</a>. Debug files are mended by sending them again; bodies come back from a backup.</p>
    </div></div>}{clock && !clock.believed && <div class="error" role="alert"><Icon name="warn" /><div>
        <p><strong>Nothing old is removed: the server’s clock may be wrong</strong></p><p>{clock.message}</p>
        {can(app, "admin") && <Button kind="small" disabled={action.busy} onClick={() => action.run(confirm)}>The clock is right</Button>}
        {action.error && <ErrorBox error={action.error} />}
    </div></div>}</>;
}
