// For everybody, continued: dialogs, comparisons and the preview of rules have names and contrast, and fit a phone.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { axeSource, click, go, PHONE, picture, settled } from "./browser.mjs";
import { firstIds, pageTest, withMock } from "./suite.mjs";

withMock();

/** What axe finds wrong. */
async function axe(page, where) {
    await page.evaluate(readFileSync(axeSource(), "utf8"));
    const wrong = await page.evaluate(async () => (await axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"] })).violations
        .map((v) => `${v.id}: ${v.nodes.slice(0, 3).map((n) => `${n.target} ${n.any.map((a) => a.message).join()}`).join(" | ")}`));
    return wrong.map((one) => `${where}: ${one}`);
}

/** Each state in turn: how one gets there, and what shows that one is. */
const states = ({ group }) => ({
    flame: ["flame", ".flame canvas"], compare: ["flame?compare=1", ".flame canvas"], "compare-table": ["flame?compare=1&table=1", ".flame table"],
    "group-compare": [`groups/${group}?compare=1`, ".flame canvas"],
    merge: [`groups/${group}`, "dialog[open] .choose", (page) => click(page, "button", "Merge…")],
    split: [`groups/${group}`, "dialog[open] .pick", (page) => click(page, "button", "Split…")],
    resolve: [`groups/${group}`, "dialog[open] input", (page) => click(page, "button", "Resolve…")],
    preview: ["settings?tab=rules", ".preview details", async (page) => { await page.type("textarea", "wrapper *Store.*\n"); await click(page, "button", "Preview"); await page.waitForSelector(".preview summary"); await page.click(".preview summary"); }],
    forget: ["settings?tab=retention", "dialog[open]", async (page) => { await page.waitForSelector("input.mono"); await page.type("input.mono", "an-installation"); await click(page, "button", "Remove its reports…"); }],
    "clean-up": ["settings?tab=retention", "dialog[open]", (page) => click(page, "button", "Clean up now…")],
    revoke: ["settings", "dialog[open]", (page) => click(page, "button", "Revoke")],
    "said": [`groups/${group}`, ".said .done", (page) => click(page, "button", "Ignore")],
});

async function visit(page, mock, run) {
    for (const [name, [path, shows, act]] of Object.entries(states(await firstIds(page)))) {
        await go(page, `${mock.url}/p/default/${path}`);
        if (act) {
            await page.waitForSelector("main .panel");
            await act(page);
        }
        await page.waitForSelector(shows);
        await settled(page);
        await run(name);
    }
    mock.state.status.clear();
}

for (const dark of [false, true]) pageTest(`axe finds nothing in dialogs, comparisons, previews, ${dark ? "dark" : "light"}`, async (page, mock) => {
    const wrong = [];
    await visit(page, mock, async (name) => { wrong.push(...await axe(page, name)); });
    assert.deepEqual(wrong, []);
}, { dark });

pageTest("a phone shows them without scrolling sideways", async (page, mock) => {
    await visit(page, mock, async (name) => {
        const [wide, widest] = await page.evaluate(() => [document.documentElement.scrollWidth, [...document.querySelectorAll("main *, dialog[open], dialog[open] *")].filter((e) => e.getBoundingClientRect().right > innerWidth + 1 && !e.closest(".scroll, .source, .command, .answer, .uplot, .hidden"))
            .map((e) => `${e.tagName}.${e.className}`).slice(0, 3).join()]);
        assert.equal(widest, "", `${name}: ${widest}`);
        assert.ok(wide <= 360, `${name} is ${wide} wide`);
        await picture(page, `phone-${name}`, { whole: false });
    });
}, { size: PHONE });

pageTest("a dialog takes the focus, Escape gives it back, and a choice is made by keyboard", async (page, mock) => {
    const { group } = await firstIds(page);
    await go(page, `${mock.url}/p/default/groups/${group}`);
    await page.waitForSelector(".actions");
    await page.evaluate(() => [...document.querySelectorAll(".actions button")].find((b) => b.innerText === "Split…").focus());
    await page.keyboard.press("Enter");
    await page.waitForSelector("dialog[open] .pick input");
    for (let i = 0; i < 10 && !await page.evaluate(() => document.activeElement.matches(".pick input")); i++) await page.keyboard.press("Tab");
    await page.keyboard.press("Space");
    assert.equal(await page.$eval(".pick input", (e) => e.checked), true);
    assert.match(await page.$eval("dialog[open] [role=status]", (e) => e.innerText), /1 stack with .* would leave/);
    await page.keyboard.press("Escape");
    await page.waitForFunction(() => !document.querySelector("dialog[open]"));
    assert.equal(await page.evaluate(() => document.activeElement.innerText), "Split…");
});
