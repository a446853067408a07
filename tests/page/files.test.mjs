// Files: debug files by drop, with progress, over a connection that breaks; crash reports in and back with names.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { click, picture, textOf } from "./browser.mjs";
import { pageTest, withMock } from "./suite.mjs";

withMock();

/** Drops a file made in the page, as a browser does. */
const drop = (page, name, size) => page.evaluate((n, s) => {
    const data = new DataTransfer();
    data.items.add(new File([new Uint8Array(s)], n));
    const target = document.querySelector(".drop");
    for (const type of ["dragover", "drop"]) target.dispatchEvent(new DragEvent(type, { bubbles: true, cancelable: true, dataTransfer: data }));
}, name, size);

const uploads = (page) => page.$$eval(".uploads > li", (all) => all.map((e) => e.innerText.replace(/\s+/g, " ")));

pageTest("a dropped debug file is sent in pieces and read by the server", async (page, mock) => {
    await drop(page, "Lumen.dSYM.zip", (8 << 20) * 2 + 1000);
    await page.waitForFunction(() => document.querySelector(".uploads")?.innerText.includes("1 file taken"), { timeout: 20000 });
    assert.match((await uploads(page))[0], /Lumen\.dSYM\.zip 1 file taken VendorAnalytics arm64 debuginfo mapped/);
    const sent = mock.state.requests.filter((r) => r.includes("/uploads"));
    assert.equal(sent.filter((r) => r.startsWith("POST")).length, 1);
    assert.equal(sent.filter((r) => r.startsWith("PATCH")).length, 3, "two pieces of 8 MiB and the rest");
}, { at: "symbols" });

pageTest("a connection that breaks: it goes on from the offset the server has", async (page, mock) => {
    mock.state.breakUploads = 1;
    await drop(page, "Broken.zip", 3 << 20);
    await page.waitForFunction(() => document.querySelector(".uploads")?.innerText.includes("1 file taken"), { timeout: 20000 });
    const upload = [...mock.state.uploads.values()].find((u) => u.name === "Broken.zip");
    assert.equal(upload.received, 3 << 20, "each byte once");
    assert.ok(mock.state.requests.some((r) => r.startsWith("HEAD /api/v1/uploads/")));
}, { at: "symbols", expected: ["ERR_EMPTY_RESPONSE", "ERR_CONNECTION_RESET", "status of 409"] });

pageTest("what the server cannot use is said, and what is empty is not sent", async (page) => {
    await drop(page, "bad.bin", 100);
    await drop(page, "folder", 0);
    await page.waitForFunction(() => document.querySelector(".uploads")?.innerText.includes("This is no ELF"), { timeout: 20000 });
    assert.match((await uploads(page))[1], /folder stopped.*It is empty/);
    await picture(page, "uploads");
}, { at: "symbols" });

pageTest("a pasted crash report comes back with names", async (page, mock) => {
    await page.type("textarea", "Thread 0:\n0  ???  0x1234\n");
    await click(page, "button", "Symbolicate");
    await page.waitForSelector(".answer");
    assert.match(await textOf(page, ".answer"), /AlbumStore\.albums\(matching:\) \(LumenKit\/Albums\/AlbumStore\.swift:214\)/);
    assert.match(await textOf(page, ".notice"), /1 image without a debug file: VendorAnalytics/);
    await page.browserContext().overridePermissions(mock.url, ["clipboard-read", "clipboard-write", "clipboard-sanitized-write"]);
    await page.evaluate(() => [...document.querySelectorAll("button")].find((b) => b.innerText.trim() === "Copy").click());
    await page.waitForFunction(() => document.querySelector("main").innerText.includes("Copied"));
    assert.match(await page.evaluate(() => navigator.clipboard.readText()), /sqlite3_step/);
    await picture(page, "symbolicate");
}, { at: "symbolicate" });

pageTest("a dropped crash report too; what is none is refused in words", async (page) => {
    await drop(page, "crash.ips", 2000);
    await page.waitForSelector(".answer");
    await page.type("textarea", "nonsense");
    await click(page, "button", "Symbolicate");
    await page.waitForSelector(".error");
    assert.match(await textOf(page, ".error"), /no report of a format that is known/);
}, { at: "symbolicate", expected: ["400"] });

pageTest("a file chosen by the button, from the disk", async (page) => {
    const folder = mkdtempSync(join(tmpdir(), "framewalk-page-"));
    try {
        writeFileSync(join(folder, "hang.crash"), "Incident Identifier: 1\n");
        const [chooser] = await Promise.all([page.waitForFileChooser(), click(page, "button", "Choose a file")]);
        await chooser.accept([join(folder, "hang.crash")]);
        await page.waitForSelector(".answer");
    } finally {
        rmSync(folder, { recursive: true });
    }
}, { at: "symbolicate" });
