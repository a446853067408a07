// Settings and calls on a real server: tokens, what is kept, forgetting an installation, the allow list and the comparison
// of versions.

import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { click, go, open, picture, settled, signIn, textOf } from "./browser.mjs";
import { browser, onServer, server, skip } from "./on_server.mjs";
import { INSTALL, sendReports, shopReports } from "./shop.mjs";

onServer((server) => sendReports(server, shopReports()));

function pageTest(name, path, run, { expected = [], ...options } = {}) {
    test(name, { skip, timeout: 120000 }, async () => {
        const page = await open(browser, server.url, options);
        page.expected.push("401", ...expected);
        try {
            await signIn(page, server.url, { token: server.token, path: `/p/default/${path}` });
            await page.browserContext().overridePermissions(server.url, ["clipboard-read", "clipboard-write", "clipboard-sanitized-write"]);
            await run(page);
            assert.deepEqual(page.wrong, []);
        } finally {
            await page.browserContext().close();
        }
    });
}
const rows = (page, label) => page.$$eval(`[aria-label="${label}"] tbody tr`, (all) => all.map((e) => e.innerText.replace(/\s+/g, " ").trim()));
const has = (page, text) => page.waitForFunction((t) => document.querySelector("main").innerText.includes(t), { timeout: 20000 }, text);
const inDialog = (page, name) => page.evaluate((n) => [...document.querySelectorAll("dialog[open] button")].find((b) => b.innerText === n).click(), name);
const works = async (token, path) => (await fetch(`${server.url}/api/v1/${path}`, { headers: { Authorization: `Bearer ${token}` } })).status;

pageTest("a token with scopes and an end is shown once, copied, works, and is revoked", "settings", async (page) => {
    await click(page, "button", "Token, for people and tools");
    await page.type("form input:not([type=checkbox])", "CI reader");
    await click(page, "checkbox", "triage");
    await page.$$eval("form select", (all) => { const e = all.find((s) => [...s.options].some((o) => o.text === "in 30 days")); e.value = "30"; e.dispatchEvent(new Event("change", { bubbles: true })); });
    await click(page, "button", "Create");
    await page.waitForSelector(".secret code");
    const secret = await page.$eval(".secret code", (e) => e.innerText.trim());
    assert.match(secret, /^fwt_/);
    await page.click(".secret .command button");
    await page.waitForFunction(() => document.querySelector(".secret").innerText.includes("Copied"));
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), secret);
    assert.equal(await works(secret, "projects/default/overview"), 200);
    assert.equal(await works(secret, "tokens"), 403);
    await go(page, `${server.url}/p/default/settings`);
    const line = (await rows(page, "Tokens and keys")).find((r) => r.startsWith("CI reader"));
    assert.match(line, /^CI reader token ?read ?triage default 30 days .* Revoke…$/);
    assert.ok(!(await textOf(page)).includes(secret), "not shown again");
    await picture(page, "tokens");
    await click(page, "button", "Revoke CI reader");
    await page.waitForSelector("dialog[open]");
    assert.match(await textOf(page, "dialog[open]"), /CI reader \(token\): what uses it is refused from now on/);
    await inDialog(page, "Cancel");
    assert.equal(await works(secret, "projects/default/overview"), 200, "cancelled");
    await click(page, "button", "Revoke CI reader");
    await page.waitForSelector("dialog[open]");
    await inDialog(page, "Revoke");
    await has(page, "“CI reader” is revoked");
    await page.waitForFunction(() => !document.querySelector("[aria-label='Tokens and keys']").innerText.includes("CI reader"));
    assert.equal(await works(secret, "projects/default/overview"), 401);
});

pageTest("calls: API, caller, first version, count; allowed and forbidden again by a button, with a way back", "calls?days=30", async (page) => {
    await page.waitForSelector("table.calls");
    const list = await rows(page, "Callers");
    assert.match(list.find((r) => r.includes("Ads::track")), /^open Ads::track ads\.cc:\d+ 7 2\.0 \(20\) .* not allowed Allow…$/);
    assert.match(await textOf(page, ".notice"), /\d callers not allowed, of \d/);
    await click(page, "button", "Allow open in Ads::track");
    await page.waitForSelector("dialog[open] form");
    await page.evaluate(() => document.querySelector("dialog[open] form").requestSubmit());
    await page.waitForFunction(() => document.querySelector(".said")?.innerText.includes("Allowed: open"));
    await page.waitForFunction(() => [...document.querySelectorAll("[aria-label=Callers] tbody tr")].some((r) => r.innerText.includes("Ads::track") && r.innerText.includes("Forbid")));
    await picture(page, "calls-real");
    assert.equal((await server.api("calls/allow")).items.length, 1);
    await click(page, "button", "Forbid open in Ads::track");
    await page.waitForFunction(() => document.querySelector(".said")?.innerText.includes("No longer allowed: open"));
    assert.equal((await server.api("calls/allow")).items.length, 0);
    await click(page, "button", "Undo");
    await page.waitForFunction(() => !document.querySelector(".said .done"));
    assert.equal((await server.api("calls/allow")).items.length, 1);
    await click(page, "button", "Allow list");
    await page.waitForSelector("[aria-label='What is allowed'] tbody tr");
    assert.match((await rows(page, "What is allowed"))[0], /^open .*Ads::track .*Remove$/);
    await click(page, "button", "Remove open");
    await page.waitForFunction(() => document.querySelector("main").innerText.includes("Nothing is allowed yet"));
});

pageTest("calls: what is new from one version to another, chosen by selects, in the address", "calls?tab=diff", async (page) => {
    await page.waitForSelector(".tools select");
    await settled(page);
    assert.deepEqual(await page.$$eval(".tools select", (all) => all.map((e) => e.value)), ["", "2.0 (20)"]);
    assert.match(await textOf(page), /2\.0 \(20\) compared with 1\.0, the last release before it/);
    assert.match(await textOf(page, ".notice"), /1 new caller not allowed/);
    assert.match((await rows(page, "New"))[0], /^open Ads::track .* 7 /);
    assert.match(await textOf(page), /framewalk push --to \S+ --key-file TOKEN --check-calls '1\.0\.\.2\.0 \(20\)'/);
    await page.evaluate(() => { const [from, to] = document.querySelectorAll(".tools select"); from.value = "2.0 (20)"; from.dispatchEvent(new Event("change", { bubbles: true })); });
    await page.waitForFunction(() => location.search.includes("from_version=2.0"));
    await has(page, "The same version on both sides");
    await page.evaluate(() => { const [, to] = document.querySelectorAll(".tools select"); to.value = "1.0 (10)"; to.dispatchEvent(new Event("change", { bubbles: true })); });
    await page.waitForFunction(() => location.search.includes("to_version=1.0"));
    await settled(page);
    assert.match((await rows(page, "Gone")).join("\n"), /^open Ads::track/);
    const address = page.url();
    await go(page, address);
    assert.deepEqual(await page.$$eval(".tools select", (all) => all.map((e) => e.value)), ["2.0 (20)", "1.0 (10)"]);
});

pageTest("calls: the file for a spreadsheet", "calls?days=30", async (page) => {
    const folder = mkdtempSync(join(tmpdir(), "framewalk-page-"));
    try {
        const client = await page.createCDPSession();
        await client.send("Browser.setDownloadBehavior", { behavior: "allow", browserContextId: page.browserContext().id, downloadPath: folder, eventsEnabled: true });
        const done = new Promise((ended) => client.on("Browser.downloadProgress", (e) => e.state === "completed" && ended()));
        await page.waitForSelector("a[download]");
        await page.click("a[download]");
        await done;
        const text = readFileSync(join(folder, readdirSync(folder)[0]), "utf8").split("\r\n");
        assert.match(text[0], /^api,/);
        assert.ok(text.some((line) => line.startsWith('"open",') && line.includes("Ads::track")), text.join("\n"));
    } finally {
        rmSync(folder, { recursive: true });
    }
});

// The last ones: they remove reports.
pageTest("what is kept: by age and by disk, refused when it cannot be, and what a clean-up would take", "settings?tab=retention", async (page) => {
    await page.waitForSelector("input[type=number]");
    const set = async (number, value) => {
        const field = (await page.$$("input[type=number]"))[number];
        await field.evaluate((e) => e.select());
        await field.type(String(value));
    };
    assert.deepEqual(await page.$$eval("input[type=number]", (all) => all.map((e) => e.value)), ["30", "400", "180", "85"]);
    await has(page, "Nothing is old enough");
    await set(0, 500);
    await click(page, "button", "Save");
    await page.waitForSelector("main .error");
    assert.match(await textOf(page, "main .error"), /body_days|row_days/);
    await set(0, 3);
    await set(1, 3);
    await set(3, 70);
    await click(page, "button", "Save");
    await has(page, "The next clean-up goes by it");
    const kept = await server.api("settings");
    assert.deepEqual([kept.body_days, kept.row_days, kept.disk_share], [3, 3, 0.7]);
    await page.waitForSelector("table.due");
    assert.match(await textOf(page, "table.due"), /Reports, with their sums\s+1\d/);
    await picture(page, "retention");
    await click(page, "button", "Clean up now");
    await page.waitForSelector("dialog[open]");
    assert.equal((await server.api("reports?limit=100")).items.length, 23, "asked before");
    await inDialog(page, "Clean up");
    await has(page, "Nothing is old enough");
    assert.equal((await server.api("reports?limit=100")).items.length, 13, "those of five days ago are gone");
}, { expected: ["status of 400"] });

pageTest("an installation is forgotten when one is sure, and the log says so in words", "settings?tab=retention", async (page) => {
    assert.ok((await server.api("groups")).items.some((g) => g.title === "Canvas::fill"));
    await page.waitForSelector("input.mono");
    await page.type("input.mono", INSTALL);
    await click(page, "button", "Remove its reports…");
    await page.waitForSelector("dialog[open]");
    assert.match(await textOf(page, "dialog[open]"), new RegExp(`All reports of ${INSTALL} are removed[\\s\\S]*cannot be undone`));
    await inDialog(page, "Cancel");
    await page.waitForFunction(() => !document.querySelector("dialog[open]"));
    assert.equal(await page.$eval("input.mono", (e) => e.value), INSTALL, "it is still there to be sent");
    await click(page, "button", "Remove its reports…");
    await page.waitForSelector("dialog[open]");
    await inDialog(page, "Remove its reports");
    await has(page, "the audit log says when it is done");
    await server.quiet();
    assert.ok(!(await server.api("groups")).items.some((g) => g.title === "Canvas::fill"), "all its reports were this installation's");
    await go(page, `${server.url}/p/default/settings?tab=audit`);
    await has(page, "forgot an installation");
    assert.ok(!(await textOf(page)).includes(INSTALL));
});
