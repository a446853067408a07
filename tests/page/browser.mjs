// Chromium for the tests of the page. Every page notes what must not happen: errors on the console, violations of the
// content security policy, and requests to anywhere but the server.

import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export const root = join(dirname(fileURLToPath(import.meta.url)), "../..");
export const files = process.env.FW_PAGE_FILES ?? join(root, "web/dist/files");
const pictures = process.env.FW_PAGE_PICTURES ?? join(root, "build/page");
const require = createRequire(join(root, "web/package.json"));

function chromium() {
    for (const name of ["chromium", "chromium-browser", "google-chrome"]) {
        try {
            return execFileSync("sh", ["-c", `command -v ${name}`], { encoding: "utf8" }).trim();
        } catch { /* the next */ }
    }
    return null;
}

/** Why the tests cannot run here; null when they can. */
export function lacking() {
    if (!chromium()) return "chromium is not installed";
    try {
        require.resolve("puppeteer-core");
    } catch {
        return "web/node_modules is not there: npm ci in web/";
    }
    if (!existsSync(join(files, "index.html"))) return `the page is not built: ${files} has no index.html`;
    return null;
}

export async function startBrowser() {
    const puppeteer = require("puppeteer-core");
    return (puppeteer.default ?? puppeteer).launch({
        executablePath: chromium(), headless: true,
        args: ["--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--force-color-profile=srgb", "--lang=en-US", "--font-render-hinting=none"],
        env: { ...process.env, TZ: "Europe/Berlin" },
    });
}

export const WIDE = { width: 1440, height: 900 }, PHONE = { width: 360, height: 740, isMobile: true, hasTouch: true };

/** A page of `url`'s server in a context of its own; `page.wrong` collects what must not happen. */
export async function open(browser, url, { size = WIDE, dark = false } = {}) {
    const context = await browser.createBrowserContext();
    const page = await context.newPage();
    page.setDefaultTimeout(15000);
    page.wrong = [];
    page.expected = []; // pieces of console errors that a test provokes
    page.on("console", (m) => { if (m.type() === "error" && !page.expected.some((e) => m.text().includes(e))) page.wrong.push(`console: ${m.text()}`); });
    page.on("pageerror", (e) => page.wrong.push(`script: ${e.message}`));
    page.on("request", (r) => { if (!r.url().startsWith(url) && !/^(data|blob):/.test(r.url())) page.wrong.push(`outside: ${r.url()}`); });
    await page.evaluateOnNewDocument(() => {
        addEventListener("securitypolicyviolation", (e) => console.error(`policy: ${e.violatedDirective} ${e.blockedURI} ${e.sample}`));
    });
    await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: dark ? "dark" : "light" }, { name: "prefers-reduced-motion", value: "reduce" }]);
    await page.setViewport(size);
    return page;
}

/** Signs in by the form, as a person does, and waits for the first view. */
export async function signIn(page, url, { path = "/", token = "fwt_mock" } = {}) {
    await page.goto(url + path);
    await page.waitForSelector("input[type=password]");
    if (!token.startsWith("fwt_mock") && !token.startsWith("fwt_reader")) page.expected.push("401");
    await page.type("input[type=password]", token);
    await page.keyboard.press("Enter");
    await page.waitForSelector("header.side");
    await settled(page);
}

/** Until nothing loads any more: no skeleton, no answer that is being replaced. */
export async function settled(page) {
    await page.waitForFunction(() => !document.querySelector("[aria-busy=true]") && document.querySelector("main"), { timeout: 15000 });
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
}

export async function go(page, url) {
    await page.goto(url);
    await page.waitForSelector("main h1, main .empty, main .error");
    await settled(page);
}

export const textOf = async (page, selector = "main") => {
    await page.waitForSelector(selector, { timeout: 15000 });
    return page.$eval(selector, (e) => e.innerText);
};

const TAGS = { button: "button, summary", link: "a", checkbox: "label.check" };

/** Clicks the first element of that role whose name has `name`, as soon as it is there and nothing lies over it. */
export async function click(page, role, name) {
    const found = await page.waitForFunction((selector, wanted) => [...document.querySelectorAll(selector)].find((e) => {
        if (!e.checkVisibility() || !(e.getAttribute("aria-label") ?? e.textContent).includes(wanted)) return false;
        e.scrollIntoView({ block: "center", behavior: "instant" });
        const { x, y, width, height } = e.getBoundingClientRect();
        return e.contains(document.elementFromPoint(x + width / 2, y + height / 2));
    }), {}, TAGS[role], name).catch((why) => { throw new Error(`there is no ${role} “${name}”`, { cause: why }); });
    await found.asElement().click();
}

/** The whole page as a picture in build/page; build output. */
export async function picture(page, name, { whole = true } = {}) {
    mkdirSync(pictures, { recursive: true });
    await page.screenshot({ path: join(pictures, `${name}.png`), fullPage: whole });
}

export const axeSource = () => require.resolve("axe-core/axe.min.js");
