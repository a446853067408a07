// Strings of reports are anybody's: every view shows them as text, with what is hidden in them made visible.

import assert from "node:assert/strict";
import { HOSTILE } from "../../web/mock.mjs";
import { go, PHONE, picture, textOf } from "./browser.mjs";
import { firstIds, pageTest, withMock } from "./suite.mjs";

withMock();

const views = ({ group, report }) => ["overview", "groups", `groups/${group}`, `groups/${group}?table=1`, "reports", `reports/${report}`, "calls"];

for (const [size, label] of [[undefined, "wide"], [PHONE, "phone"]]) pageTest(`scripts, bidi controls, control characters and endless names, ${label}`, async (page, mock) => {
    for (const path of views(await firstIds(page))) {
        await go(page, `${mock.url}/p/hostile/${path}`);
        await page.waitForSelector("main h1");
        const text = await textOf(page);
        assert.ok(!page.wrong.length, page.wrong.join());
        assert.ok(text.includes("<script>document.title='owned'</script>"), `${path}: the script is shown as text`);
        assert.ok(/user⟨202E⟩gnp\.exe⟨2066⟩/.test(text), `${path}: bidi controls are shown`);
        const html = await page.evaluate(() => [document.documentElement.outerHTML, document.title, document.querySelectorAll("main script, main img, main [onerror]").length, document.documentElement.scrollWidth - innerWidth]);
        assert.ok(!/[\u202a-\u202e\u2066-\u2069\u200b\ufeff\u0000-\u0008\u001b]/.test(html[0]), `${path}: none is left in the document, titles included`);
        assert.doesNotMatch(html[1], /^owned/, "a name may be in the title, as text; a script makes the title \"owned\"");
        assert.equal(html[2], 0);
        assert.ok(html[3] <= 0, `${path} is ${html[3]} pixels too wide`);
        const longest = await page.evaluate(() => Math.max(...[...document.querySelectorAll("main *")].flatMap((e) => [e.title ?? "", e.ariaLabel ?? "", ...[...e.childNodes].filter((n) => n.nodeType === 3).map((n) => n.data)]).map((s) => (typeof s === "string" ? s.length : 0))));
        assert.ok(longest < 2500, `${path}: endless names are cut, in titles too: ${longest}`);
    }
    await picture(page, `hostile-${label}`);
}, { size });

pageTest("an address cannot carry a script either", async (page, mock) => {
    for (const bad of [`/p/${encodeURIComponent(HOSTILE.script.replaceAll(".", ""))}/overview`, `/p/default/${encodeURIComponent(HOSTILE.script.replaceAll(".", ""))}`, `/p/default/groups?q=${encodeURIComponent(HOSTILE.script)}&version=${encodeURIComponent(HOSTILE.script)}`, "/p/default/groups/%zz"]) {
        await page.goto(mock.url + bad);
        await page.waitForSelector("main h1, main .empty, main .error");
        assert.doesNotMatch(await page.title(), /^owned/);
        assert.equal(await page.$$eval("main script, main img", (all) => all.length), 0);
    }
}, { expected: ["404", "400"] });
