// What people do to hangs, on a real server: ignore, resolve, note, merge, split, and taking each back; rules before they count.

import assert from "node:assert/strict";
import { test } from "node:test";
import { click, go, open, picture, settled, signIn, textOf } from "./browser.mjs";
import { browser, onServer, server, skip } from "./on_server.mjs";
import { sendReports, shopReports } from "./shop.mjs";

onServer((server) => sendReports(server, shopReports()));

/** A test with a page that is signed in and shows the hang of that title. */
function hangTest(name, title, run, { expected = [] } = {}) {
    test(name, { skip, timeout: 120000 }, async () => {
        const page = await open(browser, server.url);
        page.expected.push("401", ...expected);
        try {
            const { id } = await hang(title);
            await signIn(page, server.url, { token: server.token, path: `/p/default/groups/${id}` });
            await page.waitForSelector(".actions");
            await settled(page);
            await run(page, id);
            assert.deepEqual(page.wrong, []);
        } finally {
            await page.browserContext().close();
        }
    });
}

const hangs = async (query = "status=all") => (await server.api(`groups?${query}`)).items;
const hang = async (title) => (await hangs()).find((g) => g.title === title);
const said = (page, pattern) => page.waitForFunction((p) => new RegExp(p).test(document.querySelector(".said")?.innerText ?? ""), { timeout: 20000 }, pattern);
const heading = (page, title) => page.waitForFunction((t) => document.querySelector("main h1")?.innerText === t, { timeout: 20000 }, title);
const tagged = (page, tag) => page.waitForFunction((t) => [...document.querySelectorAll(".group-head .tag")].some((e) => e.innerText === t), {}, tag);
const untagged = (page, tag) => page.waitForFunction((t) => document.querySelector(".group-head") && ![...document.querySelectorAll(".group-head .tag")].some((e) => e.innerText === t), { timeout: 20000 }, tag);
const inDialog = async (page, name) => {
    await page.waitForFunction((n) => [...document.querySelectorAll("dialog[open] button")].some((b) => b.innerText.startsWith(n) && !b.disabled), {}, name);
    await page.evaluate((n) => [...document.querySelectorAll("dialog[open] button")].find((b) => b.innerText.startsWith(n)).click(), name);
};
const undo = async (page) => {
    await page.waitForSelector(".said button");
    await click(page, "button", "Undo");
    await page.waitForFunction(() => !document.querySelector(".said .done"), { timeout: 60000 });
};

hangTest("ignored, and the line that says so takes it back", "Canvas::fill", async (page, id) => {
    await click(page, "button", "Ignore");
    await tagged(page, "ignored");
    assert.match(await textOf(page, ".said"), /“Canvas::fill” is ignored: it leaves the ranking\./);
    assert.ok(!(await hangs("status=open")).some((g) => g.id === id));
    await undo(page);
    await untagged(page, "ignored");
    assert.equal((await hang("Canvas::fill")).status, "open");
});

hangTest("fixed in a version that has not come out, opened again, and that taken back; all of it in the history", "File::sync", async (page) => {
    await click(page, "button", "Resolve…");
    await page.waitForFunction(() => document.querySelectorAll("dialog[open] datalist option").length === 2);
    assert.deepEqual(await page.$$eval("dialog[open] datalist option", (all) => all.map((o) => o.value)), ["2.0 (20)", "1.0 (10)"]);
    await page.type("dialog[open] input.mono", "2.5.0");
    await inDialog(page, "Resolve");
    await tagged(page, "fixed in 2.5.0");
    assert.equal((await hang("File::sync")).resolved_version, "2.5.0");
    await click(page, "button", "Open again");
    await untagged(page, "fixed in 2.5.0");
    await undo(page);
    await tagged(page, "fixed in 2.5.0");
    await click(page, "button", "Open again");
    await untagged(page, "fixed in 2.5.0");
    await click(page, "button", "Resolve…");
    await inDialog(page, "The next version");
    await inDialog(page, "Resolve");
    await tagged(page, "fixed after 2.0");
    const { resolved_version, resolved_after } = await hang("File::sync");
    assert.deepEqual([resolved_version, resolved_after], ["2.0", true]);
    await click(page, "button", "Open again");
    await untagged(page, "fixed after 2.0");
    const history = await page.$$eval(".history li", (all) => all.map((li) => li.innerText));
    assert.match(history[0], /opened it/);
    assert.ok(history.some((line) => line.includes("fixed in 2.5.0")) && history.some((line) => line.includes("fixed after 2.0")), history.join("; "));
});

hangTest("a note, and the one before it back", "File::sync", async (page) => {
    for (const text of ["fsync on the main thread", "ask Kim"]) {
        await click(page, "button", text === "ask Kim" ? "Edit note…" : "Note…");
        await page.waitForSelector("dialog[open] textarea");
        await page.$eval("dialog[open] textarea", (e) => e.select());
        await page.type("dialog[open] textarea", text);
        await inDialog(page, "Save");
        await page.waitForFunction((t) => document.querySelector("main")?.innerText.includes(t), {}, text);
    }
    await undo(page);
    await page.waitForFunction(() => document.querySelector("main").innerText.includes("fsync on the main thread") && !document.querySelector("main").innerText.includes("ask Kim"));
});

hangTest("merged into one that is searched for, after a look at what that means; then split by stacks; both taken back", "Words::split", async (page, id) => {
    await click(page, "button", "Merge…");
    await page.waitForSelector("dialog[open] .choose button");
    assert.ok(await page.$$eval("dialog[open] .dialog-foot button", (all) => all[1].disabled), "nothing is chosen yet");
    await page.type("dialog[open] input[type=search]", "index::");
    await page.waitForFunction(() => document.querySelectorAll("dialog[open] .choose button").length === 1);
    assert.match(await textOf(page, "dialog[open] .choose"), /Index::sort\s+10 reports, 6\.6 s/);
    await page.click("dialog[open] .choose button");
    assert.match(await textOf(page, "dialog[open]"), /Words::split goes into Index::sort[\s\S]*5 reports/);
    await inDialog(page, "Merge");
    await heading(page, "Index::sort");
    await said(page, "Words::split. was merged into this hang");
    assert.equal((await hang("Index::sort")).reports, 15);

    await click(page, "button", "Split…");
    await page.waitForSelector("dialog[open] .pick input");
    const rows = await page.$$eval("dialog[open] .pick label", (all) => all.map((e) => e.innerText.replace(/\s+/g, " ")));
    assert.match(rows[0], /^Index::sort .*index\.cc:\d+ .*by hand 6\.6 s 65 % 10 reports$/);
    assert.match(rows[1], /^Words::split .*words\.cc:\d+ .*by hand 3\.5 s 35 % 5 reports$/);
    await picture(page, "split-dialog", { whole: false });
    await page.click("dialog[open] .pick li:nth-child(2) input");
    assert.match(await textOf(page, "dialog[open]"), /1 stack with 5 reports would leave/);
    assert.ok(await page.$eval("dialog[open] .pick li:nth-child(1) input", (e) => e.disabled), "one must stay");
    await inDialog(page, "Split off 1");
    await heading(page, "Words::split");
    await said(page, "1 stack of .Index::sort. is this hang now");
    assert.equal((await hang("Index::sort")).reports, 10);
    await undo(page);
    await server.quiet();

    await go(page, `${server.url}/p/default/groups/${id}`);
    await page.waitForSelector(".notice a");
    assert.match(await textOf(page, ".notice"), /merged into another one/, "the merge still holds");
    await click(page, "button", "Unmerge…");
    await inDialog(page, "Unmerge");
    await said(page, "is as the rules have it");
    await server.quiet();
    assert.deepEqual((await hangs()).map((g) => [g.title, g.reports, g.status]).sort(), [["Canvas::fill", 3, "open"], ["File::sync", 3, "open"], ["Index::sort", 10, "open"], ["Words::split", 5, "open"]]);
});

hangTest("a merge is taken back by Undo", "File::sync", async (page) => {
    await click(page, "button", "Merge…");
    await page.waitForSelector("dialog[open] .choose button");
    await page.evaluate(() => [...document.querySelectorAll("dialog[open] .choose button")].find((b) => b.innerText.includes("Canvas::fill")).click());
    await inDialog(page, "Merge");
    await heading(page, "Canvas::fill");
    await undo(page);
    await heading(page, "File::sync");
    await page.waitForFunction(() => /Reports\s+3/.test(document.querySelector(".tiles")?.innerText ?? ""), { timeout: 20000 });
    assert.equal((await hang("File::sync")).reports, 3);
    assert.equal((await hang("Canvas::fill")).reports, 3);
});

hangTest("what the server refuses is said where one asked for it, and the dialog stays", "File::sync", async (page) => {
    await page.setRequestInterception(true);
    page.on("request", (r) => (r.method() === "POST" ? r.respond({ status: 503, contentType: "application/json", body: '{"error":"the database is <b>away</b>"}' }) : r.continue()));
    await click(page, "button", "Split…");
    await page.waitForSelector("dialog[open]");
    assert.match(await textOf(page, "dialog[open]"), /hang in one stack, so there is nothing to split/);
    await page.keyboard.press("Escape");
    await page.waitForFunction(() => !document.querySelector("dialog[open]"));
    await click(page, "button", "dit note…");
    await page.waitForSelector("dialog[open] textarea");
    await page.type("dialog[open] textarea", "x");
    await inDialog(page, "Save");
    await page.waitForSelector("dialog[open] .error");
    assert.match(await textOf(page, "dialog[open] .error"), /the database is <b>away<\/b>[\s\S]*acknowledged are safe/);
    assert.equal(await page.$(".said .done"), null);
}, { expected: ["status of 503"] });

test("rules: what moves where, how many reports, and the frame that decides", { skip, timeout: 120000 }, async () => {
    const page = await open(browser, server.url);
    page.expected.push("401");
    await signIn(page, server.url, { token: server.token, path: "/p/default/settings?tab=rules" });
    await page.type("textarea", "function:Index::* -> system\nfunction:Words::* -> system\n");
    await click(page, "button", "Preview");
    await page.waitForSelector(".preview table");
    const rows = await page.$$eval(".preview [aria-label='Hangs that change'] tbody tr", (all) => all.map((e) => e.innerText.replace(/\s+/g, " ").trim()));
    assert.match(rows[0], /^Index::sort Catalog::search ?new 10 1 6\.6 s$/);
    assert.match(rows[1], /^Words::split Catalog::search ?new 5 1 3\.5 s$/);
    assert.match(await textOf(page, ".preview"), /Become one\s+Catalog::search\s+of 2 hangs/);
    await page.click(".preview details summary");
    assert.match(await textOf(page, ".preview details"), /Decided by frame 0, Index::sort: app becomes system, by line 1: function:Index::\*/);
    const frames = await page.$$eval(".preview details[open] tbody tr", (all) => all.map((e) => e.innerText.replace(/\s+/g, " ").trim()));
    assert.match(frames[0], /^0 Index::sort app in the key system changes/);
    await picture(page, "rules-preview");
    await page.focus("textarea");
    await page.evaluate(() => { const t = document.querySelector("textarea"); t.value = "# nothing\n"; t.dispatchEvent(new Event("input", { bubbles: true })); });
    await click(page, "button", "Preview");
    await page.waitForFunction(() => document.querySelector(".preview")?.innerText.includes("Nothing would change"));
    assert.deepEqual(page.wrong, []);
    await page.browserContext().close();
});
