// What is shown when there is nothing, when something fails, and while it loads.

import assert from "node:assert/strict";
import { test } from "node:test";
import { click, go, open, picture, settled, textOf } from "./browser.mjs";
import { firstIds, pageTest, shared, VIEWS, withMock } from "./suite.mjs";

withMock();

pageTest("a new project says what to do next, with the address to do it at", async (page, mock) => {
    assert.match(await textOf(page), new RegExp(`No hangs yet[\\s\\S]*framewalk run --to ${mock.url} [\\s\\S]*framewalk push --to ${mock.url} `));
    await picture(page, "empty");
    for (const [view, says] of [["groups", /No open hangs/], ["reports", /No reports yet[\s\S]*framewalk push/], ["calls", /No calls yet[\s\S]*framewalk run --calls/], ["symbols", /No debug file is missing/]]) {
        await go(page, `${mock.url}/p/fresh/${view}`);
        assert.match(await textOf(page), says);
    }
}, { at: "/p/fresh/overview" });

pageTest("what is damaged, and a clock that is doubted, stand above every view, and who may confirms it", async (page, mock) => {
    const some = await page.evaluate(async () => (await fetch("/api/v1/server")).json());
    const body = JSON.stringify({ ...some, damaged: 3, clock: { believed: false, message: "this machine's clock says <b>1970</b>", now_ms: 0 } });
    const asked = [];
    await page.setRequestInterception(true);
    page.on("request", (r) => {
        const path = new URL(r.url()).pathname;
        if (path === "/api/v1/server/clock") asked.push(r.method());
        if (/^\/api\/v1\/server/.test(path)) r.respond({ status: 200, contentType: "application/json", body });
        else r.continue();
    });
    for (const view of ["overview", "symbols"]) {
        await go(page, `${mock.url}/p/default/${view}`);
        await page.waitForSelector("main .error");
        assert.match(await textOf(page, "main"), /3 stored things damaged[\s\S]*Nothing old is removed[\s\S]*clock says <b>1970<\/b>/);
    }
    await click(page, "button", "The clock is right");
    await settled(page);
    assert.deepEqual(asked, ["POST"]);
});

pageTest("reports that name no version are of an unknown one, and no choice is empty", async (page, mock) => {
    const some = await page.evaluate(async () => (await fetch("/api/v1/projects/default/overview")).json());
    const body = JSON.stringify({ ...some, versions: [{ ...some.versions[0], version: "", build: "" }], days: [{ ...some.days[0], version: "" }] });
    await page.setRequestInterception(true);
    page.on("request", (r) => (/^\/api\/.*\/overview$/.test(new URL(r.url()).pathname) ? r.respond({ status: 200, contentType: "application/json", body }) : r.continue()));
    await go(page, `${mock.url}/p/default/overview`);
    assert.match(await textOf(page), /blocked in an hour of use, unknown/);
    assert.match(await textOf(page, ".days .legend"), /unknown version/);
    assert.match(await textOf(page, "[aria-label=Versions] tbody th"), /^unknown$/);
    assert.deepEqual(await page.$$eval(".filters option", (all) => all.filter((o) => !o.label).length), 0);
});

for (const [status, says] of [[403, /scope/], [500, /is out of order/], [503, /acknowledged are safe/], [507, /Free space/]]) pageTest(`${status} from the server: its words, and what to do`, async (page, mock) => {
    const ids = await firstIds(page);
    for (const path of ["overview", "groups", `groups/${ids.group}`, `reports/${ids.report}`, "calls", "symbols", "settings"]) {
        for (const part of ["overview", "groups", "reports", "calls", "symbols", "tokens"]) mock.state.fail.set(part, [status, "this is out of order <b>now</b>"]);
        await page.goto(`${mock.url}/p/default/${path}`);
        await page.waitForSelector("main .error");
        assert.match(await textOf(page, "main .error"), /this is out of order <b>now<\/b>/, path);
        assert.match(await textOf(page, "main .error"), says, path);
        mock.state.fail.clear();
        await click(page, "button", "Try again");
        await page.waitForFunction(() => document.querySelectorAll("main .error").length < 2);
    }
}, { expected: [`status of ${status}`] });

pageTest("something that is gone, and an address of nothing", async (page, mock) => {
    await page.goto(`${mock.url}/p/default/groups/00000000`);
    await page.waitForSelector("main .error");
    assert.match(await textOf(page, "main .error"), /no such group[\s\S]*merged, or removed/);
    await go(page, `${mock.url}/p/default/nowhere`);
    assert.match(await textOf(page), /nothing at this address/);
    await go(page, `${mock.url}/p/unknown/overview`);
    assert.match(await textOf(page), /no project “unknown”/);
}, { expected: ["status of 404"] });

pageTest("a server that does not answer is said, and asked again by the button", async (page) => {
    await page.setOfflineMode(true);
    await page.click('nav a[href$="/calls"]');
    await page.waitForSelector("main .error");
    assert.match(await textOf(page, "main .error"), /cannot be reached/);
    await page.setOfflineMode(false);
    await click(page, "button", "Try again");
    await page.waitForSelector(".matrix");
}, { expected: ["ERR_INTERNET_DISCONNECTED"] });

pageTest("while it loads there is room held, and no jump of what is above", async (page, mock) => {
    await page.setRequestInterception(true);
    const held = [];
    let released = false; // a request may be told of after the skeleton is seen, and after its release
    page.on("request", (r) => (!released && r.url().includes("/groups?") ? held.push(r) : r.continue()));
    await page.click('nav a[href$="/groups"]');
    await page.waitForSelector("main .skeleton");
    assert.equal(await page.$eval("main .skeleton", (e) => e.ariaBusy), "true");
    const y = await page.$eval("main .tools", (e) => e.getBoundingClientRect().y);
    released = true;
    for (const r of held) r.continue();
    await page.waitForSelector(".groups");
    assert.equal(await page.$eval("main .tools", (e) => e.getBoundingClientRect().y), y);
});

pageTest("a session that ends leads to the form, and back to the same view", async (page, mock) => {
    mock.state.sessions.clear();
    await page.click('nav a[href$="/calls"]');
    await page.waitForSelector("input[type=password]");
    await page.type("input[type=password]", "fwt_mock");
    await page.keyboard.press("Enter");
    await page.waitForSelector(".matrix");
    assert.ok(page.url().endsWith("/p/default/calls"));
    await click(page, "button", "Sign out");
    await page.waitForSelector("input[type=password]");
});

pageTest("who may only read is shown no buttons that would fail", async (page, mock) => {
    const { group } = await firstIds(page);
    await go(page, `${mock.url}/p/default/groups/${group}`);
    assert.match(await textOf(page), /Your token may read only/);
    assert.equal(await page.$(".actions button"), null);
    for (const path of ["symbols", "calls", "calls?tab=allow"]) {
        await go(page, `${mock.url}/p/default/${path}`);
        assert.doesNotMatch(await textOf(page), /Drop debug files|Allow…|Remove/);
    }
    await go(page, `${mock.url}/p/default/settings?tab=tokens`);
    assert.match(await textOf(page), /needs the scope “admin”/);
}, { token: "fwt_reader" });

test("a wrong token and an ingest key are refused in words", { timeout: 60000 }, async () => {
    const page = await open(shared.browser, shared.mock.url);
    page.expected.push("401");
    await page.goto(shared.mock.url);
    await page.waitForSelector("input[type=password]");
    for (const [token, says] of [["fwt_wrong", /no such token/], ["fwk_abc", /ingest key/], ["", /Paste a token/]]) {
        await page.$eval("input[type=password]", (e) => e.select());
        await page.keyboard.press("Backspace");
        if (token) await page.type("input[type=password]", token);
        await page.keyboard.press("Enter");
        await page.waitForFunction((s) => new RegExp(s).test(document.querySelector(".error")?.innerText ?? ""), {}, says.source);
    }
    assert.deepEqual(page.wrong, []);
    await page.browserContext().close();
});

pageTest("changes carry the session's CSRF token, and no view changes anything by itself", async (page, mock) => {
    const ids = await firstIds(page);
    mock.state.requests.length = 0;
    for (const path of Object.values(VIEWS(ids))) await go(page, `${mock.url}/p/default/${path}`);
    await settled(page);
    assert.deepEqual(mock.state.requests.filter((r) => !/^GET /.test(r)), []);
});
