// For everybody: contrast, names, landmarks, order of focus, a phone's width.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { axeSource, go, open, PHONE, picture, settled, signIn } from "./browser.mjs";
import { firstIds, pageTest, shared, VIEWS, withMock } from "./suite.mjs";
import { test } from "node:test";

withMock();

async function axe(page, where) {
    await page.evaluate(readFileSync(axeSource(), "utf8"));
    const wrong = await page.evaluate(async () => (await axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"] })).violations
        .map((v) => `${v.id}: ${v.nodes.slice(0, 3).map((n) => `${n.target} ${n.any.map((a) => a.message).join()}`).join(" | ")}`));
    return wrong.map((one) => `${where}: ${one}`);
}

for (const dark of [false, true]) pageTest(`axe finds nothing in any view, contrast included, ${dark ? "dark" : "light"}`, async (page, mock) => {
    const wrong = [];
    for (const [name, path] of Object.entries(VIEWS(await firstIds(page)))) {
        await go(page, `${mock.url}/p/default/${path}`);
        wrong.push(...await axe(page, name));
    }
    await go(page, `${mock.url}/p/fresh/overview`);
    wrong.push(...await axe(page, "empty overview"));
    assert.deepEqual(wrong, []);
}, { dark });

test("axe finds nothing in the form to sign in", { timeout: 60000 }, async () => {
    const page = await open(shared.browser, shared.mock.url);
    await page.goto(shared.mock.url);
    await page.waitForSelector("form");
    assert.deepEqual(await axe(page, "signing in"), []);
    await picture(page, "sign-in");
    await page.browserContext().close();
});

pageTest("a phone of 360 pixels shows every view without scrolling sideways", async (page, mock) => {
    for (const [name, path] of Object.entries(VIEWS(await firstIds(page)))) {
        await go(page, `${mock.url}/p/default/${path}`);
        const [wide, widest] = await page.evaluate(() => [document.documentElement.scrollWidth, [...document.querySelectorAll("main *")].filter((e) => e.getBoundingClientRect().right > innerWidth + 1 && !e.closest(".scroll, .source, .command, .answer, .uplot, .hidden, dialog"))
            .map((e) => `${e.tagName}.${e.className}`).slice(0, 3).join()]);
        assert.ok(wide <= 360, `${name} is ${wide} wide: ${widest}`);
        await picture(page, `phone-${name}`);
    }
}, { size: PHONE });

pageTest("a phone's menu opens, and closes when a view is chosen", async (page) => {
    assert.equal(await page.$eval("nav", (e) => e.checkVisibility()), false);
    await page.tap(".menu");
    assert.equal(await page.$eval(".menu", (e) => e.ariaExpanded), "true");
    await page.tap('nav a[href$="/symbols"]');
    await page.waitForFunction(() => document.querySelector("h1").innerText === "Symbols" && !document.querySelector("nav").checkVisibility());
}, { size: PHONE });

pageTest("landmarks, one heading of the first level, and the view in the title", async (page, mock) => {
    for (const path of Object.values(VIEWS(await firstIds(page)))) {
        await go(page, `${mock.url}/p/default/${path}`);
        assert.deepEqual(await page.evaluate(() => ["main", "header.side", "nav[aria-label=Views]", "h1"].map((s) => document.querySelectorAll(s).length)), [1, 1, 1, 1], path);
        const one = /^(groups|reports)\/./.test(path); // which is called as the hang
        assert.match(await page.title(), one ? /^\S.+ · default · Framewalk$/ : /^(Overview|Hangs|Flame graph|Reports|Calls|Symbols|Symbolicate|Settings) · default · Framewalk$/, path);
    }
});

pageTest("by keyboard from the address bar to a hang's action", async (page) => {
    const focused = () => page.evaluate(() => document.activeElement === document.body ? "" : (document.activeElement.getAttribute("aria-label") ?? document.activeElement.innerText ?? "").trim());
    const tabTo = async (text, most = 60) => {
        for (let i = 0; i < most; i++) {
            await page.keyboard.press("Tab");
            if ((await focused()).includes(text)) return;
        }
        assert.fail(`“${text}” is not reached; at “${await focused()}”`);
    };
    await page.evaluate(() => document.activeElement.blur());
    await page.keyboard.press("Tab");
    assert.equal(await focused(), "Skip to content");
    await page.keyboard.press("Enter");
    assert.equal(await page.evaluate(() => document.activeElement.id), "main");
    await page.evaluate(() => { document.activeElement.blur(); document.body.focus(); });
    await tabTo("Hangs");
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => document.querySelector("h1").innerText === "Hangs");
    await settled(page);
    await tabTo("ThumbnailCache.image(for:)");
    await page.keyboard.press("Enter");
    await page.waitForSelector(".actions");
    await settled(page);
    await tabTo("Resolve…");
    await page.keyboard.press("Enter");
    await page.waitForSelector("dialog[open]");
    assert.ok(await page.evaluate(() => document.querySelector("dialog").contains(document.activeElement)), "focus is in the dialog");
    await page.keyboard.press("Escape");
    await page.waitForFunction(() => !document.querySelector("dialog[open]"));
    assert.match(await focused(), /Resolve…/, "and comes back");
});

pageTest("what has the focus is seen", async (page) => {
    for (let i = 0; i < 25; i++) {
        await page.keyboard.press("Tab");
        const seen = await page.evaluate(() => {
            const e = document.activeElement, s = getComputedStyle(e), r = e.getBoundingClientRect();
            return e === document.body || (s.outlineStyle !== "none" && parseFloat(s.outlineWidth) >= 1 && r.width > 0) ? "" : `${e.tagName} ${e.className} ${e.innerText}`;
        });
        assert.equal(seen, "");
    }
});

pageTest("rows of hangs read as a list to a screen reader, with their numbers", async (page) => {
    const tree = await page.accessibility.snapshot({ root: await page.$(".groups"), interestingOnly: false });
    assert.equal(tree.role, "list");
    assert.equal(tree.name, "Costliest hangs");
    assert.equal(tree.children[0].role, "listitem");
    const flat = JSON.stringify(tree.children[0]);
    for (const part of ["AlbumStore.albums(matching:)", "3 h 12 min", "43 % of all blocked time", "4,210"]) assert.ok(flat.includes(part), part);
});
