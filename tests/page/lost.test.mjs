// The page of a server that ends: it says so, keeps what it shows, and goes on when the server is there again.

import assert from "node:assert/strict";
import { test } from "node:test";
import { open, signIn, textOf } from "./browser.mjs";
import { browser, onServer, server, skip } from "./on_server.mjs";

onServer();

test("a server that does not answer is said to be silent, until it answers", { skip, timeout: 120000 }, async () => {
    const page = await open(browser, server.url);
    page.expected.push("ERR_INTERNET_DISCONNECTED", "Failed to load resource");
    await signIn(page, server.url, { token: server.token });
    await page.setOfflineMode(true);
    await page.waitForFunction(() => /The server has not answered since/.test(document.querySelector("main .error")?.innerText ?? ""), { timeout: 30000 });
    assert.match(await textOf(page), /No hangs yet/, "what was there stays");
    await page.setOfflineMode(false);
    await page.waitForFunction(() => !document.querySelector("main .error"), { timeout: 30000 });
    assert.deepEqual(page.wrong, []);
    await page.browserContext().close();
});
