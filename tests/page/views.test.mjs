// Every view as a person opens it: what is visible, in which order, and that its state is in the address.

import assert from "node:assert/strict";
import { click, go, PHONE, picture, settled, textOf } from "./browser.mjs";
import { firstIds, pageTest, withMock } from "./suite.mjs";

withMock();

const lines = (page, selector) => page.$$eval(selector, (all) => all.map((e) => e.innerText.replace(/\s+/g, " ").trim()));

pageTest("overview says which hang costs most, where, and how much", async (page) => {
    await page.waitForSelector(".costliest .source .here");
    const text = await textOf(page, ".costliest");
    for (const part of ["AlbumStore.albums(matching:)", "AlbumStore.swift:214", "3 h 12 min", "14.2 s", "4,210 reports of 1,873 installs", "while let row = try statement.next()", "96 ended with the process killed"])
        assert.ok(text.includes(part), `“${part}” in: ${text}`);
    const titles = await lines(page, ".groups:first-of-type .title");
    assert.equal(titles[0], "AlbumStore.albums(matching:)");
    assert.ok(titles.indexOf("ThumbnailCache.image(for:)") < titles.indexOf("Sticker.init(named:)"));
    assert.match(await textOf(page), /3 images without a debug file/);
    assert.match((await lines(page, "[aria-label=Versions] tbody tr"))[0], /4\.2 \(1180\).*8 s\/h \+142 %/);
    await picture(page, "overview-light");
});

pageTest("dark overview", async (page) => {
    assert.equal(await page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor), "rgb(17, 18, 20)");
    await picture(page, "overview-dark");
}, { dark: true });

pageTest("the switch changes the theme, and it stays", async (page, mock) => {
    const ground = () => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
    const light = await ground();
    await click(page, "button", "Theme: auto");
    assert.equal(await ground(), light, "light chosen on a light system");
    await click(page, "button", "Theme: light");
    assert.notEqual(await ground(), light);
    await go(page, `${mock.url}/p/default/groups`);
    assert.notEqual(await ground(), light);
});

pageTest("hangs: search and filters live in the address", async (page, mock) => {
    await page.type("input[type=search]", "sync");
    await page.waitForFunction(() => location.search.includes("q=sync"));
    await settled(page);
    assert.deepEqual(await lines(page, ".groups .title"), ["SyncClient.send(_:)"]);
    await go(page, `${mock.url}/p/default/groups?q=thumb&days=30`);
    assert.deepEqual(await lines(page, ".groups .title"), ["ThumbnailCache.image(for:)"]);
    assert.equal(await page.$eval("input[type=search]", (e) => e.value), "thumb");
    assert.equal(await page.$eval(".filters select", (e) => e.value), "30");
    assert.ok(mock.state.requests.some((r) => r.includes("/groups?days=30&") && r.includes("q=thumb")));
    await page.goBack();
    await settled(page);
    assert.equal(await page.$eval("input[type=search]", (e) => e.value), "sync");
}, { at: "groups" });

pageTest("hangs: sorted by what one chooses", async (page) => {
    const sort = async (value) => {
        await page.evaluate((v) => {
            const select = [...document.querySelectorAll("select")].find((s) => [...s.options].some((o) => o.value === "longest"));
            select.value = v;
            select.dispatchEvent(new Event("change", { bubbles: true }));
        }, value);
        await page.waitForFunction((v) => location.search.includes(`sort=${v}`), {}, value);
        await settled(page);
    };
    await sort("longest");
    assert.equal((await lines(page, ".groups .title"))[0], "SyncClient.send(_:)");
    await click(page, "button", "Resolved");
    await page.waitForFunction(() => location.search.includes("status=resolved"));
    await settled(page);
    assert.deepEqual(await lines(page, ".groups .title"), ["Theme.apply(to:)"]);
    await picture(page, "hangs");
}, { at: "groups" });

pageTest("hang: heaviest stack with source, inlined and tail-called frames marked", async (page) => {
    await page.evaluate(() => document.querySelector(".groups .title").click());
    await page.waitForSelector(".flame canvas");
    await settled(page);
    const stack = await lines(page, "ol.stack:first-of-type > li");
    assert.match(stack[0], /^0 pread libsystem_kernel\.dylib/);
    assert.match(stack[2], /sqlite3BtreeNext tail call/);
    assert.match(stack[4], /Statement\.next\(\) inlined Statement\.swift:88/);
    await page.waitForSelector(".stack .source .here");
    assert.match(await page.$eval(".source .here", (e) => e.innerText), /88\s+switch sqlite3_step\(handle\)/);
    const text = await textOf(page);
    for (const part of ["43 % of all blocked time", "25 of 412 stacks", "LumenKit!AlbumStore.albums(matching:)", "iPhone 13 (iPhone14,5)", "iOS 26.1", "longest 14.2 s"]) assert.ok(text.includes(part), part);
    assert.equal(await page.$$eval(".histogram li", (all) => all.length), 9);
    const bars = await page.$$eval(".histogram li", (all) => all.map((li) => [li.title.split(":")[0], li.querySelector(".num").textContent]));
    assert.ok(text.includes("from so many seconds"));
    assert.deepEqual([bars[0], bars[4], bars[8]], [["0 s to 250 ms", "0"], ["2 s to 4 s", "2"], ["32 s or longer", "32"]], "a bar's label is where it begins");
    await picture(page, "hang-light");
});

pageTest("hang: source is opened and closed by mouse and keyboard, and told to screen readers", async (page, mock) => {
    const { group } = await firstIds(page);
    await go(page, `${mock.url}/p/default/groups/${group}`);
    const states = () => page.$$eval("ol.stack .open-source", (all) => all.map((b) => `${b.innerText.trim()} ${b.getAttribute("aria-expanded")}`));
    await page.waitForSelector(".stack .source .here");
    assert.deepEqual((await states()).map((s) => s.split(" ")[1]), ["true", "false", "false"], "the app's innermost is open from the start");
    const asked = () => mock.state.requests.filter((r) => r.includes("/symbols/source?")).length, before = asked();
    const second = (await page.$$("ol.stack .open-source"))[1];
    await second.focus();
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => document.querySelectorAll(".stack .source .here").length === 2);
    assert.equal(asked(), before + 1);
    const region = await second.evaluate((b) => document.getElementById(b.getAttribute("aria-controls"))?.innerText);
    assert.match(region, /214\s+while let row = try statement\.next\(\) \{/);
    assert.match(region, /211\s+func albums/);
    assert.match(await second.evaluate((b) => document.getElementById(b.getAttribute("aria-controls")).querySelector("[aria-current]").innerText), /^214/);
    await page.keyboard.press("Space");
    await page.waitForFunction(() => document.querySelectorAll(".stack .source .here").length === 1);
    assert.equal(await second.evaluate((b) => b.getAttribute("aria-expanded")), "false");
});

pageTest("hang: the timeline shows the samples of the report one chooses", async (page, mock) => {
    const { group } = await firstIds(page);
    await go(page, `${mock.url}/p/default/groups/${group}`);
    await page.waitForSelector(".lane");
    const first = await lines(page, ".lane");
    assert.match(first[0], /Statement\.next\(\) in pread .* s \d+ %/);
    assert.ok(first.some((l) => l.includes("ThumbnailCache.image(for:)")));
    await (await page.$$(".lane"))[3].click();
    assert.match(await page.$eval(".timeline .stack", (e) => e.innerText), /__psynch_mutexwait/);
    await page.select("#reports select", await page.$eval("#reports select", (s) => s.options[1].value));
    await page.waitForFunction(() => location.search.includes("report="));
    await settled(page);
    assert.match((await lines(page, "#reports tr.chosen"))[0], /13\.8 s/);
});

pageTest("hang: ignored, noted, resolved and opened again", async (page, mock) => {
    await go(page, `${mock.url}/p/default/groups`);
    await page.evaluate(() => [...document.querySelectorAll(".groups .title")].find((a) => a.innerText.includes("Sticker")).click());
    await page.waitForSelector(".actions");
    await settled(page);
    await click(page, "button", "Note…");
    await page.waitForSelector("dialog[open] textarea");
    await page.type("dialog[open] textarea", "the panel decodes on the main thread");
    await click(page, "button", "Save");
    await page.waitForFunction(() => document.querySelector(".notice")?.innerText.includes("the panel decodes"));
    await click(page, "button", "Resolve…");
    await page.waitForSelector("dialog[open] input.mono");
    await page.type("dialog[open] input.mono", "9.9");
    await page.evaluate(() => [...document.querySelectorAll("dialog[open] button")].find((b) => b.innerText === "Resolve").click());
    await page.waitForFunction(() => [...document.querySelectorAll("main .tag")].some((t) => t.innerText === "fixed in 9.9"));
    await click(page, "button", "Open again");
    await page.waitForFunction(() => [...document.querySelectorAll(".actions button")].some((b) => b.innerText === "Ignore"));
    await click(page, "button", "Ignore");
    await page.waitForFunction(() => [...document.querySelectorAll("main .tag")].some((t) => t.innerText === "ignored"));
    await click(page, "button", "Merge…");
    await page.waitForSelector("dialog[open] .choose button");
    assert.ok(!(await lines(page, "dialog[open] .choose button")).some((l) => l.startsWith("Sticker")), "not into itself");
});

pageTest("report: watched thread first, alike ones folded, all forms to download", async (page, mock) => {
    const { report } = await firstIds(page);
    await go(page, `${mock.url}/p/default/reports/${report}`);
    const threads = await lines(page, ".thread > summary");
    assert.match(threads[0], /^main 259 watched main/);
    assert.ok(threads.some((t) => t.includes("× 12 alike")), threads.join("\n"));
    assert.equal(threads.length, 6, "17 threads, 12 of them alike");
    await page.type("input[type=search]", "kevent");
    await page.waitForFunction(() => document.querySelectorAll(".thread").length === 1);
    assert.match((await lines(page, ".thread"))[0], /com\.lumen\.sync/);
    await click(page, "button", "Download");
    const forms = await page.$$eval(".menu-list a", (all) => all.map((a) => a.getAttribute("href").split("to=")[1]));
    assert.deepEqual(forms.sort(), ["collapsed", "crash", "firefox", "json", "pprof", "raw", "speedscope", "text"]);
    await page.browserContext().overridePermissions(mock.url, ["clipboard-read", "clipboard-write", "clipboard-sanitized-write"]);
    await click(page, "button", "Copy as text");
    await page.waitForFunction(() => [...document.querySelectorAll("button")].some((b) => b.innerText.includes("Copied")));
    assert.match(await page.evaluate(() => navigator.clipboard.readText()), /pread/);
    await picture(page, "report-light");
});

pageTest("times are the viewer's, with UTC on hover", async (page, mock) => {
    const { report } = await firstIds(page);
    await go(page, `${mock.url}/p/default/reports/${report}`);
    const [text, title] = await page.$eval(".facts-row time", (e) => [e.innerText, e.title]);
    assert.match(text, /9:59/, "08:59 UTC is 09:59 in Berlin");
    assert.match(title, /2026-11-22 08:59:00 UTC/);
});

pageTest("calls: a cell of the matrix leads to its callers, a caller to its stacks; allowing one", async (page, mock) => {
    assert.match(await textOf(page, ".notice"), /4 callers not allowed, of 8 that call 6 watched APIs/);
    await page.click('button[aria-label^="VendorAnalytics calls stat "]');
    await page.waitForFunction(() => location.search.includes("image=VendorAnalytics"));
    await settled(page);
    assert.equal(await page.$$eval("table.calls tbody tr", (all) => all.length), 1);
    await page.click("table.calls button.link");
    await page.waitForSelector("td.inside .stack");
    assert.match(await textOf(page, "td.inside"), /410 calls in 4\.2/);
    await click(page, "button", "Allow stat in VA_collect");
    await page.waitForSelector("dialog[open] form");
    assert.equal(await page.$eval("dialog[open] label:nth-of-type(2) input", (e) => e.value), "VendorAnalytics!VA_collect");
    await page.evaluate(() => document.querySelector("dialog[open] form").requestSubmit());
    await page.waitForFunction(() => !document.querySelector("dialog[open]"));
    assert.ok(mock.state.allow.some((a) => a.caller === "VendorAnalytics!VA_collect"));
    assert.equal(await page.$eval("a[download]", (a) => new URL(a.href).pathname), "/api/v1/projects/default/calls.csv");
    await picture(page, "calls-light");
}, { at: "calls" });

pageTest("calls: the group of an API with its reasons, and a choice of one group", async (page) => {
    const row = (api) => page.$$eval("table.calls tbody tr", (all, api) => all.map((e) => e.innerText).find((text) => text.startsWith(api)), api);
    assert.match(await row("mach_absolute_time"), /System boot time: 35F9\.1, 3D61\.1, 8FFB\.1/);
    assert.match(await row("getattrlist"), /Disk space: 7D9E\.1, 85F4\.1, B728\.1, E174\.1[\s\S]*File timestamps: 0A2A\.1, 3B52\.1, C617\.1, DDA9\.1/);
    assert.deepEqual(await page.$$eval("label.select select", (all) => [...all.at(-1).options].map((o) => o.value)), ["", "active-keyboards", "disk-space", "file-timestamp", "system-boot-time", "user-defaults"]);
    const select = (await page.$$("label.select select")).at(-1);
    await select.select("disk-space");
    await page.waitForFunction(() => location.search.includes("group=disk-space"));
    await settled(page);
    assert.deepEqual((await page.$$eval("table.calls tbody th", (all) => all.map((e) => e.innerText.split("\n")[0]))).sort(), ["getattrlist", "statfs"]);
    assert.deepEqual((await page.$$eval("table.matrix thead th", (all) => all.slice(1).map((e) => e.innerText))).sort(), ["getattrlist", "statfs"]);
    assert.match(await textOf(page), /NSPrivacyAccessedAPICategoryDiskSpace, 7D9E\.1[\s\S]*List 1 of 2026-11-23/);
    assert.ok((await page.$eval("a[download]", (a) => a.href)).includes("group=disk-space"));
    await picture(page, "calls-group");
}, { at: "calls" });

pageTest("calls: what is new between two versions", async (page) => {
    assert.match(await textOf(page, ".notice"), /3 new callers not allowed/);
    const text = await textOf(page);
    assert.ok(text.includes("New (3)") && text.includes("44.1K → 96.1K") && text.includes("--check-calls"), text);
}, { at: "calls?tab=diff" });

pageTest("symbols: missing files by what they hold up, with the command that sends them", async (page, mock) => {
    const tables = await page.$$("table.list");
    const missing = await tables[0].$$eval("tbody tr", (all) => all.map((r) => r.innerText.replace(/\s+/g, " ")));
    assert.match(missing[0], /^VendorAnalytics ?app ?arm64 204 611/);
    assert.match(await textOf(page, ".command code"), new RegExp(`framewalk push --to ${mock.url} `));
    assert.match(await textOf(page), /it is stripped: no symbols, no line table/);
    await picture(page, "symbols-light");
}, { at: "symbols" });

pageTest("settings: a secret is shown once", async (page, mock) => {
    await page.type("form input", "Lumen Android");
    await click(page, "button", "Create");
    await page.waitForSelector(".secret");
    assert.match(await textOf(page, ".secret"), /fwk_3nGm0ck.*not shown again|not shown again[\s\S]*fwk_3nGm0ck/);
    assert.ok(mock.state.tokens.some((t) => t.label === "Lumen Android" && t.kind === "key" && t.scopes.join() === "reports:write" && t.expires_ms === null));
    await go(page, `${mock.url}/p/default/settings`);
    assert.ok(!(await textOf(page)).includes("fwk_3nG"));
}, { at: "settings" });

pageTest("settings: rules are previewed before they count, and a wrong line is named", async (page, mock) => {
    await page.focus("textarea");
    await page.keyboard.type("wrapper *Store.*\n");
    await click(page, "button", "Preview");
    await page.waitForSelector(".preview");
    assert.match(await textOf(page, ".preview"), /Groups now\s+11\s+Groups then\s+13[\s\S]*2,104/);
    await page.keyboard.press("Tab");
    await page.focus("textarea");
    await page.keyboard.type("nonsense\n");
    await click(page, "button", "Preview");
    await page.waitForSelector(".error");
    assert.match(await textOf(page, ".error"), /line 3/);
    await click(page, "button", "Apply");
    await page.waitForFunction(() => document.querySelector("main").innerText.includes("Version 4 counts from now on"));
    assert.match(mock.state.rules.text, /wrapper \*Store/);
}, { at: "settings?tab=rules", expected: ["400"] });

pageTest("settings: retention, audit log, projects", async (page, mock) => {
    await page.waitForSelector("input[type=number]");
    assert.deepEqual(await page.$$eval("input[type=number]", (all) => all.map((e) => e.value)), ["30", "400", "180", "85"]);
    await page.$eval("input[type=number]", (e) => e.select());
    await page.keyboard.type("45");
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => document.querySelector("main").innerText.includes("The next clean-up goes by it"));
    assert.equal(mock.state.settings.body_days, 45);
    await click(page, "button", "Audit log");
    await page.waitForFunction(() => document.querySelector("main").innerText.includes("symbols.store"));
    await click(page, "button", "Projects");
    await page.waitForFunction(() => document.querySelector("main").innerText.includes("hostile"));
}, { at: "settings?tab=retention" });

/** Cells of which something that is seen (not what an ancestor in the cell clips) lies in the next cell. */
const overNeighbour = (page) => page.$$eval("table.list tr", (rows) => {
    for (const folded of document.querySelectorAll("details")) folded.open = true;
    const clips = (e) => { const style = getComputedStyle(e); return style.display !== "inline" && style.overflowX !== "visible"; };
    const seen = (node, cell) => {
        let left = -Infinity, right = Infinity;
        for (let e = node.parentElement; e !== cell.parentElement; e = e.parentElement) {
            if (!clips(e)) continue;
            const box = e.getBoundingClientRect();
            left = Math.max(left, box.left);
            right = Math.min(right, box.right);
        }
        const range = document.createRange(); // of text only: that of an element has the rectangles of what is in it, too
        range.selectNode(node);
        return [...(node instanceof Element ? node : range).getClientRects()].map((r) => ({ left: Math.max(r.left, left), right: Math.min(r.right, right), top: r.top, bottom: r.bottom }));
    };
    const within = (cell) => {
        const walker = document.createTreeWalker(cell, NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_TEXT), all = [];
        while (walker.nextNode()) all.push(walker.currentNode);
        return all;
    };
    return rows.flatMap((row) => [...row.cells].slice(0, -1).filter((cell, i) => {
        const next = row.cells[i + 1].getBoundingClientRect();
        return next.width > 0 && within(cell).flatMap((node) => seen(node, cell)).some((r) => r.right - r.left > 1 && r.right > next.left + 1 && r.left < next.right && r.bottom > next.top && r.top < next.bottom);
    }).map((cell) => cell.innerText));
});

for (const [where, size] of [["on a phone", PHONE], ["on a desktop", undefined], ["in a narrow window", { width: 900, height: 740 }]]) {
    pageTest(`${where} no cell of a table lies over its neighbour`, async (page, mock) => {
        for (const path of ["symbols", "reports", "calls", "calls?tab=diff", "calls?tab=allow", "settings", "settings?tab=versions", "settings?tab=projects", "settings?tab=audit", "overview"]) {
            for (const project of ["default", "hostile"]) { // the second has the longest names
                await go(page, `${mock.url}/p/${project}/${path}`);
                assert.deepEqual(await overNeighbour(page), [], `${project}/${path}`);
            }
        }
    }, { at: "symbols", size });
}
