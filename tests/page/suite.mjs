// What the test files share: one browser and one mock server each, and a test that fails when the page did what it must
// not (browser.mjs), whatever else it checks.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { startMock } from "../../web/mock.mjs";
import { files, open, signIn, startBrowser } from "./browser.mjs";

export const shared = { browser: null, mock: null };

export function withMock() {
    before(async () => {
        shared.browser = await startBrowser();
        shared.mock = await startMock({ files });
    });
    after(async () => {
        await shared.browser?.close();
        shared.mock?.close();
    });
}

/** A test with a page that is signed in; `at` is an address inside the project "default" unless it begins with a slash. */
export function pageTest(name, run, { at = "overview", size, dark, token, expected = [] } = {}) {
    test(name, { timeout: 120000 }, async () => {
        const page = await open(shared.browser, shared.mock.url, { size, dark });
        page.expected.push("401", ...expected); // before signing in there is no session
        try {
            await signIn(page, shared.mock.url, { path: at.startsWith("/") ? at : `/p/default/${at}`, token });
            await run(page, shared.mock);
            assert.deepEqual(page.wrong, [], "errors, violations of the policy, requests outside");
        } finally {
            await page.browserContext().close();
        }
    });
}

/** Ids as the mock has them. */
export async function firstIds(page) {
    return page.evaluate(async () => {
        const first = async (what) => (await (await fetch(`/api/v1/projects/default/${what}`)).json()).items[0].id;
        return { group: await first("groups"), report: await first("reports") };
    });
}

export const VIEWS = (ids) => ({
    overview: "overview", groups: "groups", group: `groups/${ids.group}`, "group-table": `groups/${ids.group}?table=1`, reports: "reports", report: `reports/${ids.report}`,
    calls: "calls", "calls-diff": "calls?tab=diff", "calls-allow": "calls?tab=allow", symbols: "symbols", symbolicate: "symbolicate",
    "settings-tokens": "settings", "settings-rules": "settings?tab=rules", "settings-retention": "settings?tab=retention", "settings-projects": "settings?tab=projects", "settings-audit": "settings?tab=audit",
});
