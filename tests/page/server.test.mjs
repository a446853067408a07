// The page on the real server, empty and with reports: every view, as a person opens it.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { click, go, open, picture, root, signIn, textOf } from "./browser.mjs";
import { browser, onServer, program, server, skip } from "./on_server.mjs";

onServer();

/** Apple's legacy text, made up: one thread that hangs in the app's own code. */
const CRASH = (n) => `Incident Identifier: 00000000-0000-0000-0000-${String(n).padStart(12, "0")}
Process:               Lumen [${400 + n}]
Path:                  /Applications/Lumen.app/Contents/MacOS/Lumen
Identifier:            com.example.lumen
Version:               4.2 (1180)
Code Type:             ARM-64 (Native)
OS Version:            macOS 15.1 (24B83)
Report Version:        12
Date/Time:             2026-11-22 08:1${n}:00.000 +0000

Exception Type:  EXC_CRASH (SIGKILL)
Triggered by Thread:  0

Thread 0 Crashed:
0   libsystem_kernel.dylib        	0x0000000180001234 __psynch_mutexwait + 8
1   Lumen                         	0x0000000100004560 0x100000000 + 17760
2   Lumen                         	0x0000000100004890 0x100000000 + 18576
3   dyld                          	0x0000000181001000 start + 2200

Binary Images:
       0x100000000 -        0x10003ffff Lumen (4.2) <11111111-2222-3333-4444-555555555555> /Applications/Lumen.app/Contents/MacOS/Lumen
       0x180000000 -        0x18003ffff libsystem_kernel.dylib (*) <66666666-2222-3333-4444-555555555555> /usr/lib/system/libsystem_kernel.dylib
       0x181000000 -        0x18103ffff dyld (*) <77777777-2222-3333-4444-555555555555> /usr/lib/dyld
`;

const VIEWS = ["overview", "groups", "reports", "calls", "calls?tab=diff", "calls?tab=allow", "symbols", "symbolicate", "settings", "settings?tab=rules", "settings?tab=retention", "settings?tab=projects", "settings?tab=audit"];

async function allViews(page, pictures) {
    for (const path of VIEWS) {
        await go(page, `${server.url}/p/default/${path}`);
        assert.equal(await page.$("main .error"), null, `${path}: ${await textOf(page)}`);
        assert.deepEqual(page.wrong, [], path);
        await picture(page, `${pictures}-${path.replace("?tab=", "-")}`);
    }
}

test("signs in with the token that the server printed; every view of an empty server", { skip, timeout: 120000 }, async () => {
    const page = await open(browser, server.url);
    page.expected.push("401");
    await signIn(page, server.url, { token: server.token });
    assert.match(await textOf(page), /No hangs yet/);
    await allViews(page, "server-empty");
    await page.browserContext().close();
});

test("reports that come in are on the page: overview, hang, report, missing files", { skip, timeout: 120000 }, async () => {
    for (let n = 0; n < 3; n++) {
        const reply = await fetch(`${server.url}/api/v1/projects/default/import`, { method: "POST", body: CRASH(n), headers: { Authorization: `Bearer ${server.token}` } });
        assert.ok(reply.ok, await reply.text());
    }
    await server.quiet();
    const page = await open(browser, server.url);
    page.expected.push("401");
    await signIn(page, server.url, { token: server.token });
    await allViews(page, "server");
    await go(page, `${server.url}/p/default/reports`);
    assert.equal(await page.$$eval("table.list tbody tr", (all) => all.length), 3);
    await page.click("table.list tbody a");
    await page.waitForSelector(".thread");
    assert.match(await textOf(page), /__psynch_mutexwait/);
    await picture(page, "server-report");
    await go(page, server.url + await page.$eval(".where a", (a) => a.getAttribute("href")));
    assert.equal(await page.$("main .error"), null, await textOf(page));
    await page.waitForSelector(".empty");
    assert.match(await page.title(), /^\S+.* · default · Framewalk$/, "the tab is called as the hang");
    assert.doesNotMatch(await page.title(), /^Hangs? /);
    assert.match(await textOf(page, ".empty"), /No blocked time here[\s\S]*tell no duration/, "a crash report has none");
    await picture(page, "server-hang");
    await go(page, `${server.url}/p/default/symbols`);
    assert.match(await textOf(page), /Lumen[\s\S]*11111111222233334444555555555555|11111111-2222-3333-4444-555555555555/i);
    assert.deepEqual(page.wrong, []);
    await page.browserContext().close();
});

test("a report in, names as far as they are known out; what is no report is refused", { skip, timeout: 120000 }, async () => {
    const page = await open(browser, server.url);
    page.expected.push("401", "400", "415", "422");
    await signIn(page, server.url, { token: server.token, path: "/p/default/symbolicate" });
    await page.$eval("textarea", (e, text) => { e.value = text; e.dispatchEvent(new Event("input", { bubbles: true })); }, CRASH(7));
    await click(page, "button", "Symbolicate");
    await page.waitForSelector(".answer");
    assert.match(await textOf(page, ".answer"), /__psynch_mutexwait/);
    assert.deepEqual(page.wrong, []);
    await page.browserContext().close();
});

test("a key made in the settings sends reports; rules, retention and the session hold", { skip, timeout: 120000 }, async () => {
    const page = await open(browser, server.url);
    page.expected.push("401");
    await signIn(page, server.url, { token: server.token, path: "/p/default/settings" });
    await page.type("form input", "Lumen");
    await click(page, "button", "Create");
    await page.waitForSelector(".secret code");
    const key = await page.$eval(".secret code", (e) => e.innerText.trim());
    assert.match(key, /^fwk_/);
    const refused = await fetch(`${server.url}/api/v1/projects/default/overview`, { headers: { Authorization: `Bearer ${key}` } });
    assert.equal(refused.status, 403);
    await go(page, `${server.url}/p/default/settings?tab=retention`);
    await page.waitForSelector("input[type=number]");
    await page.$eval("input[type=number]", (e) => e.select());
    await page.keyboard.type("45");
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => document.querySelector("main").innerText.includes("The next clean-up goes by it"));
    await go(page, `${server.url}/p/default/settings?tab=retention`);
    assert.equal(await page.$eval("input[type=number]", (e) => e.value), "45");
    assert.deepEqual(page.wrong, []);
    await page.browserContext().close();
});

test("a debug file by drop: sent, read, and said what it is", { skip, timeout: 120000 }, async () => {
    const page = await open(browser, server.url);
    page.expected.push("401");
    await signIn(page, server.url, { token: server.token, path: "/p/default/symbols" });
    const input = await page.$("input[type=file]");
    await input.uploadFile(program); // an ELF file with symbols: ours
    await page.waitForFunction(() => /taken|not usable|nothing usable|no build/.test(document.querySelector(".uploads")?.innerText ?? ""), { timeout: 100000 });
    assert.match(await textOf(page, ".uploads"), /1 file taken[\s\S]*(stored|mapped)/);
    await picture(page, "server-symbols-sent");
    assert.deepEqual(page.wrong, []);
    await page.browserContext().close();
});

/** As a person drops it: the browser reads it from the disk. */
async function dropFolder(page, path) {
    const box = await (await page.waitForSelector(".drop")).boundingBox();
    const at = { x: box.x + box.width / 2, y: box.y + 10, data: { items: [], files: [path], dragOperationsMask: 1 } };
    const client = await page.createCDPSession();
    for (const type of ["dragEnter", "dragOver", "drop"]) await client.send("Input.dispatchDragEvent", { type, ...at });
}

test("a dSYM, which is a folder, by drop", { skip, timeout: 120000 }, async () => {
    const page = await open(browser, server.url);
    page.expected.push("401");
    await signIn(page, server.url, { token: server.token, path: "/p/default/symbols" });
    await dropFolder(page, join(root, "examples/apple/notes/notes.dSYM"));
    await page.waitForFunction(() => /taken|not usable|nothing usable|stopped/.test(document.querySelector(".uploads")?.innerText ?? ""), { timeout: 100000 });
    assert.match(await textOf(page, ".uploads"), /notes\.dSYM\.tar\s+\d+ files? taken[\s\S]*mapped/);
    const long = mkdtempSync(join(tmpdir(), "framewalk-page-")), deep = join(long, "d".repeat(120), "e".repeat(80));
    try { // names that do not fit into a tar header, and a program that has debug information
        mkdirSync(deep, { recursive: true });
        copyFileSync(program, join(deep, "collector"));
        await go(page, `${server.url}/p/default/symbols`);
        await dropFolder(page, long);
        await page.waitForFunction(() => /taken|not usable|nothing usable|stopped/.test(document.querySelector(".uploads")?.innerText ?? ""), { timeout: 100000 });
        assert.match(await textOf(page, ".uploads"), /1 file taken/);
    } finally {
        rmSync(long, { recursive: true });
    }
    assert.deepEqual(page.wrong, []);
    await page.browserContext().close();
});

test("source that was sent stands below the frame it is of, as text", { skip, timeout: 120000 }, async (t) => {
    const made = mkdtempSync(join(tmpdir(), "framewalk-page-"));
    const run = (command, ...rest) => spawnSync(command, rest, { cwd: made, encoding: "utf8" });
    try {
        writeFileSync(join(made, "stall.c"), "/* <b>bold</b> */\nint stall(int n)\n{\n    return n / 7; /* <script>here</script> */\n}\nint main(int n, char **v) { return stall(n) + !v; }\n");
        if (run("gcc", "-g", "-O0", `-Wl,--build-id=0x${"7e".repeat(16)}`, "-o", "stall", join(made, "stall.c")).status !== 0) return t.skip("no compiler");
        writeFileSync(join(made, "token"), server.token, { mode: 0o600 });
        const pushed = run(join(dirname(program), "framewalk"), "push", "--wait", "--sources", "stall", "--to", server.url, "--key-file", "token");
        assert.equal(pushed.status, 0, pushed.stdout + pushed.stderr);
        const at = parseInt(/^(\w+) T stall$/m.exec(run("nm", "stall").stdout)[1], 16) + 8;
        const crash = CRASH(9).replaceAll("Lumen", "stall").replace(/^1 .*\n2 .*\n/m, `1   stall                         \t0x${(0x100000000 + at).toString(16).padStart(16, "0")} 0x100000000 + ${at}\n`)
            .replace("11111111-2222-3333-4444-555555555555", "7e7e7e7e-7e7e-7e7e-7e7e-7e7e7e7e7e7e").replace("ARM-64", "X86-64");
        const reply = await fetch(`${server.url}/api/v1/projects/default/import`, { method: "POST", body: crash, headers: { Authorization: `Bearer ${server.token}` } });
        assert.ok(reply.ok, await reply.text());
        const page = await open(browser, server.url);
        page.expected.push("401");
        await signIn(page, server.url, { token: server.token });
        for (let tries = 0, there = false; !there && tries < 100; tries++) {
            await go(page, `${server.url}/p/default/groups?q=stall`);
            there = await page.$(".groups .title");
            if (!there) await new Promise((done) => setTimeout(done, 100));
        }
        await page.evaluate(() => document.querySelector(".groups .title").click());
        await page.waitForSelector(".stack .source .here");
        assert.match(await textOf(page, ".stack .source .here"), /4\s+return n \/ 7; \/\* <script>here<\/script> \*\//);
        assert.match(await textOf(page, ".stack .source"), /1\s+\/\* <b>bold<\/b> \*\//);
        assert.deepEqual(page.wrong, []);
        await picture(page, "server-hang-source");
        await page.browserContext().close();
    } finally {
        rmSync(made, { recursive: true, force: true });
    }
});
