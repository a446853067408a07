// The flame graph: what it computes (web/src/parts/flame_tree.ts, bundled for the test), and how it is used.

import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { join } from "node:path";
import { test } from "node:test";
import { go, picture, root, settled, textOf } from "./browser.mjs";
import { firstIds, pageTest, withMock } from "./suite.mjs";

withMock();

async function bundled(path) {
    const { buildSync } = createRequire(join(root, "web/package.json"))("esbuild");
    const { outputFiles } = buildSync({ entryPoints: [join(root, "web/src", path)], bundle: true, format: "esm", write: false });
    return import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString("base64")}`);
}

const n = (name, value, children = [], app = false) => ({ name, value, children, app, image: app ? "App" : "Sys" });
const made = () => n("all", 100, [n("main", 100, [n("loop", 100, [n("draw", 60, [n("lock", 45), n("draw", 10, [], true)], true), n("load", 40, [n("lock", 30)], true)])], true)]);

test("the sums stay what they are, whichever way the tree is turned", async () => {
    const t = await bundled("parts/flame_tree.ts");
    const tree = t.treeOf(made());
    const selfs = (r) => t.nodesOf(r).reduce((sum, one) => sum + one.self, 0);
    for (const turned of [tree, t.withoutSystem(tree), t.inverted(tree), t.inverted(t.withoutSystem(tree))]) assert.equal(turned.value, 100);
    assert.equal(selfs(tree), 100);
    assert.equal(selfs(t.withoutSystem(tree)), 100);
    assert.deepEqual(t.inverted(tree).children.map((c) => [c.name, c.value]), [["lock", 75], ["draw", 15], ["load", 10]]);
    assert.deepEqual(t.nodesOf(t.withoutSystem(tree)).map((c) => c.name), ["all", "main", "draw", "draw", "load"]);
});

test("a search counts nested matches once, a table recursive functions once", async () => {
    const t = await bundled("parts/flame_tree.ts");
    const tree = t.treeOf(made());
    assert.equal(t.matches(tree, "DRAW").value, 60);
    assert.equal(t.matches(tree, "lock").value, 75);
    const draw = t.functionsOf(tree).find((r) => r.name === "draw");
    assert.deepEqual([draw.self, draw.total], [15, 60]);
});

test("50,000 frames are turned in less than what one waits for, and 5,000 deep is no crash", async () => {
    const t = await bundled("parts/flame_tree.ts");
    let wide = n("all", 50000, Array.from({ length: 500 }, (_, i) => n(`f${i}`, 100, Array.from({ length: 99 }, (_, j) => n(`g${j}`, 1)))));
    assert.equal(t.nodesOf(t.inverted(t.treeOf(wide))).length > 500, true);
    let deep = n("leaf", 1);
    for (let i = 0; i < 5000; i++) deep = n(`d${i}`, 1, [deep]);
    assert.equal(t.functionsOf(t.treeOf(deep)).length > 1000, true);
});

test("numbers have units that people read, hidden characters are shown", async () => {
    const f = await bundled("format.ts");
    assert.deepEqual([0, 870, 41e3, 250e6, 999.9e6, 1.4e9, 59.96e9, 310e9, 11540e9, 367200e9].map(f.duration), ["0 s", "870 ns", "41 µs", "250 ms", "1 s", "1.4 s", "1 min", "5 min 10 s", "3 h 12 min", "4 d 6 h"]);
    assert.deepEqual([999, 48.2e6, 4294967296].map(f.bytes), ["999 B", "48.2 MB", "4.29 GB"]);
    assert.equal(f.visible("a\u202Eb\u001b[31m\u0000\u200b\ufeffé中\n"), "a⟨202E⟩b␛[31m␀⟨200B⟩⟨FEFF⟩é中\n");
    assert.deepEqual(f.visibleAll({ a: ["\u2066"], "k\u202e": 1 }), { a: ["⟨2066⟩"], "k⟨202E⟩": 1 });
});

const about = (page) => textOf(page, ".about");

pageTest("click zooms, search says the share, and all of it is in the address", async (page, mock) => {
    const { group } = await firstIds(page);
    await go(page, `${mock.url}/p/default/groups/${group}`);
    const canvas = await page.waitForSelector(".flame canvas");
    const box = await canvas.boundingBox();
    await page.mouse.move(box.x + box.width - 60, box.y + 10 * 20 + 10);
    assert.match(await about(page), /SearchController\.updateResults\(\)[\s\S]*19 %/);
    await page.mouse.click(box.x + box.width - 60, box.y + 10 * 20 + 10);
    await page.waitForSelector(".crumbs");
    await page.mouse.move(box.x + 30, box.y + 10 * 20 + 10);
    assert.match(await about(page), /SearchController\.updateResults\(\)/, "it now has the whole width");
    await page.type(".flame input[type=search]", "statement.next");
    await page.waitForFunction(() => /\d+(\.\d)? % in \d+ frames/.test(document.querySelector(".matched").innerText));
    assert.ok(page.url().includes("flame=statement.next"));
    await picture(page, "flame-search");
    const before = await page.$eval(".flame canvas", (c) => c.clientHeight);
    await page.evaluate(() => document.querySelectorAll(".flame .check input")[1].click());
    await page.waitForFunction(() => location.search.includes("app=1"));
    assert.ok(await page.$eval(".flame canvas", (c) => c.clientHeight) < before, "without system frames it is flatter");
    await page.evaluate(() => document.querySelectorAll(".flame .check input")[0].click());
    await page.waitForFunction(() => location.search.includes("invert=1"));
    await go(page, page.url());
    assert.deepEqual(await page.$$eval(".flame .check input", (all) => all.map((e) => e.checked)), [true, true, false]);
});

pageTest("by keyboard alone: walk, zoom, and back", async (page, mock) => {
    const { group } = await firstIds(page);
    await go(page, `${mock.url}/p/default/groups/${group}`);
    await page.waitForSelector(".flame canvas");
    await page.focus(".flame canvas");
    for (let i = 0; i < 9; i++) await page.keyboard.press("ArrowDown");
    const at = await about(page);
    await page.keyboard.press("ArrowRight");
    assert.notEqual(await about(page), at, "to the side");
    assert.match(await about(page), /SearchController|UISearchController/);
    await page.keyboard.press("Enter");
    await page.waitForSelector(".crumbs");
    await page.keyboard.press("Escape");
    await page.waitForFunction(() => !document.querySelector(".crumbs"));
});

pageTest("the table has the same numbers, sorted as one likes", async (page, mock) => {
    const { group } = await firstIds(page);
    await go(page, `${mock.url}/p/default/groups/${group}?table=1`);
    await page.waitForSelector(".flame table");
    const first = () => page.$eval(".flame tbody tr", (r) => r.innerText.replace(/\s+/g, " "));
    assert.equal(await page.$eval(".flame th[aria-sort]", (e) => `${e.innerText.trim()} ${e.ariaSort}`), "In itself ↓ descending");
    assert.match(await first(), /pread/);
    await page.evaluate(() => document.querySelectorAll(".flame th button")[1].click());
    await settled(page);
    assert.match(await first(), /3 h 12 min 100 %/);
    await page.evaluate(() => document.querySelectorAll(".flame th button")[1].click());
    assert.equal(await page.$eval(".flame th[aria-sort]", (e) => e.ariaSort), "ascending");
});
