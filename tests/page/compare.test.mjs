// Two versions in one flame graph: what is computed (web/src/parts/flame_tree.ts), and what one sees of it on a real server.

import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { join } from "node:path";
import { test } from "node:test";
import { click, go, open, picture, root, settled, signIn, textOf } from "./browser.mjs";
import { browser, onServer, server, skip } from "./on_server.mjs";
import { sendReports, shopReports } from "./shop.mjs";

async function bundled(path) {
    const { buildSync } = createRequire(join(root, "web/package.json"))("esbuild");
    const { outputFiles } = buildSync({ entryPoints: [join(root, "web/src", path)], bundle: true, format: "esm", write: false });
    return import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString("base64")}`);
}

const n = (name, value, ...children) => ({ name, value, children, app: name !== "lock", image: "App" });
const first = () => n("all", 200, n("main", 200, n("draw", 100, n("lock", 40)), n("load", 100)));
const second = () => n("all", 10, n("main", 10, n("draw", 8, n("lock", 6)), n("save", 2)));

test("each of the two is 100 %, whatever its time, and the difference is in points", async () => {
    const t = await bundled("parts/flame_tree.ts");
    const tree = t.comparedOf(first(), second());
    const change = (name) => { const f = t.nodesOf(tree).find((one) => one.name === name), c = t.changeOf(tree, f.value, f.before); return [c.was, c.is, Math.round(c.points)]; };
    assert.deepEqual(change("main"), [1, 1, 0]);
    assert.deepEqual(change("draw"), [0.5, 0.8, 30]);
    assert.deepEqual(change("lock"), [0.2, 0.6, 40]);
    assert.deepEqual(change("load"), [0.5, 0, -50]);
    assert.deepEqual(change("save"), [0, 0.2, 20]);
    const tendency = (name) => { const f = t.nodesOf(tree).find((one) => one.name === name); return t.tendency(t.changeOf(tree, f.value, f.before)); };
    assert.deepEqual(["load", "save", "main"].map(tendency), [-1, 1, 0]);
});

test("turned round or without the system, the two keep their sums", async () => {
    const t = await bundled("parts/flame_tree.ts");
    const tree = t.comparedOf(first(), second());
    for (const turned of [tree, t.inverted(tree), t.withoutSystem(tree), t.inverted(t.withoutSystem(tree))]) {
        const all = t.nodesOf(turned), sum = (part) => Math.round(all.reduce((s, one) => s + one[part], 0));
        assert.deepEqual([sum("self"), sum("selfBefore")], [2e6, 1e6]);
    }
    const lock = t.functionsOf(t.inverted(tree)).length && t.inverted(tree).children.find((c) => c.name === "lock");
    assert.deepEqual([Math.round(lock.before), Math.round(lock.value)], [2e5, 8e5]);
    const row = t.functionsOf(tree).find((r) => r.name === "draw");
    assert.deepEqual([row.totalBefore, row.total - row.totalBefore].map(Math.round), [5e5, 8e5]);
});

onServer((server) => sendReports(server, shopReports()));

function pageTest(name, path, run, options) {
    test(name, { skip, timeout: 120000 }, async () => {
        const page = await open(browser, server.url, options);
        page.expected.push("401");
        try {
            await signIn(page, server.url, { token: server.token, path: `/p/default/${path}` });
            await run(page);
            assert.deepEqual(page.wrong, []);
        } finally {
            await page.browserContext().close();
        }
    });
}
const rows = (page) => page.$$eval(".flame tbody tr", (all) => all.map((e) => e.innerText.replace(/\s+/g, " ").trim()));

pageTest("all hangs together, then version against version, by mouse, address and table", "flame", async (page) => {
    await page.waitForSelector(".flame canvas");
    assert.match(await textOf(page, ".about"), /all stacks\s+13\.1 s\s+100 %/);
    await click(page, "button", "Compare versions");
    await page.waitForFunction(() => document.querySelector(".flame canvas")?.ariaLabel.includes("how 1.0 (10) became 2.0 (20)"));
    assert.ok(page.url().includes("compare=1"));
    assert.match(await textOf(page, ".panel"), /7\.2 s and 5\.9 s of blocked time; each counts as 100 %/);
    const canvas = await page.$(".flame canvas"), box = await canvas.boundingBox();
    await page.mouse.move(box.x + 30, box.y + 3 * 20 + 10);
    assert.match(await textOf(page, ".about"), /Catalog::search[\s\S]*75 % → 80 %\s+\+4\.7 points/);
    await picture(page, "compare-light");
    await click(page, "checkbox", "As table");
    await page.waitForSelector(".flame table");
    const all = await rows(page);
    assert.match(all[0], /^new 0 % → 59 %/, "what changed most is first");
    assert.ok(all.some((r) => /^new 0 % → 59 % new 0 % → 59 % Words::split/.test(r)), all.join("\n"));
    assert.ok(all.some((r) => /^−55 points 75 % → 20 % −55 points 75 % → 20 % Index::sort/.test(r)), all.join("\n"));
    assert.ok(all.some((r) => /^gone 25 % → 0 % gone 25 % → 0 % File::sync/.test(r)), all.join("\n"));
    await go(page, page.url());
    assert.deepEqual(await rows(page), all, "the address has all of it");
    await page.select(".panel .tools select", "2.0 (20)");
    await page.waitForFunction(() => location.search.includes("from_version=2.0"));
    await settled(page);
    assert.ok((await rows(page)).every((r) => r.startsWith("same")), "a version beside itself");
});

pageTest("by keyboard: a frame's change is read out", "flame?compare=1", async (page) => {
    await page.waitForSelector(".flame canvas");
    await page.focus(".flame canvas");
    for (const key of ["ArrowDown", "ArrowDown", "ArrowDown", "ArrowRight"]) await page.keyboard.press(key);
    const about = await textOf(page, ".about[aria-live=polite]");
    assert.match(about, /Cart::save|Banner::paint/);
    assert.match(about, /gone|new/);
    await picture(page, "compare-dark");
}, { dark: true });

pageTest("a hang that one version has alone says so; filters hold for the graph", "overview", async (page) => {
    const { id } = (await server.api("groups")).items.find((g) => g.title === "Words::split");
    await go(page, `${server.url}/p/default/groups/${id}?compare=1`);
    await page.waitForSelector(".empty");
    assert.match(await textOf(page, ".empty"), /There is one version only/);
    await go(page, `${server.url}/p/default/groups/${id}?days=30`);
    await page.waitForSelector(".flame canvas");
    assert.match(await textOf(page, ".about"), /3\.5 s/);
    await go(page, `${server.url}/p/default/flame?version=1.0+(10)`);
    await page.waitForSelector(".flame canvas");
    assert.match(await textOf(page, ".about"), /7\.2 s/);
});
