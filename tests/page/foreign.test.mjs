// Reports of other tools on the page: each report of the test data that came with the project's checkout, and some made
// here of which fields are missing that reports mostly have. No view breaks.

import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { go, open, root, signIn, textOf } from "./browser.mjs";
import { browser, onServer, server, skip } from "./on_server.mjs";

onServer();

const data = join(root, "../shared/data/reports");

/** MetricKit's samples of a thread, of which a frame names no binary; addresses alone. */
const WITHOUT_IMAGES = JSON.stringify({
    timeStampBegin: "2026-11-20 10:00:00", timeStampEnd: "2026-11-20 10:00:00", hangDiagnostics: [{
        version: "1.0.0", diagnosticMetaData: { appBuildVersion: "7", appVersion: "1.2", osVersion: "iPhone OS 18.1 (22B83)", deviceType: "iPhone15,2", bundleIdentifier: "com.example.lumen", platformArchitecture: "arm64e", hangDuration: "2.5 sec", regionFormat: "US" },
        callStackTree: { callStackPerThread: true, callStacks: [{ threadAttributed: true, callStackRootFrames: [{ address: 4321000, sampleCount: 3, subFrames: [{ binaryUUID: "11111111-2222-3333-4444-555555555555", offsetIntoBinaryTextSegment: 1000, address: 4331000, sampleCount: 3 }] }] }] },
    }],
});

async function send(body) {
    const reply = await fetch(`${server.url}/api/v1/projects/default/import`, { method: "POST", body, headers: { Authorization: `Bearer ${server.token}` } });
    return reply.status;
}

const problems = (page) => page.$$eval("main .error", (all) => all.map((e) => e.innerText));

async function openAll(page) {
    let after = "", opened = 0;
    do {
        const list = await server.api(`reports?limit=50${after && `&after=${encodeURIComponent(after)}`}`);
        for (const { id } of list.items) {
            await go(page, `${server.url}/p/default/reports/${id}`);
            assert.deepEqual(await problems(page), [], id);
            assert.deepEqual(page.wrong, [], id);
            opened++;
        }
        after = list.next;
    } while (after);
    for (const { id } of (await server.api("groups?limit=100")).items) {
        await go(page, `${server.url}/p/default/groups/${id}`);
        assert.deepEqual([await problems(page), page.wrong], [[], []], `hang ${id}`);
    }
    for (const path of ["overview", "groups", "flame", "reports", "calls", "symbols"]) {
        await go(page, `${server.url}/p/default/${path}`);
        assert.deepEqual([await problems(page), page.wrong], [[], []], path);
    }
    return opened;
}

test("a report that names no image is shown, and so is everything that counts it", { skip, timeout: 300000 }, async () => {
    assert.equal(await send(WITHOUT_IMAGES), 201);
    await server.quiet();
    const page = await open(browser, server.url);
    page.expected.push("401");
    await signIn(page, server.url, { token: server.token });
    assert.equal(await openAll(page), 1);
    const [{ id }] = (await server.api("reports")).items;
    await go(page, `${server.url}/p/default/reports/${id}`);
    assert.match(await textOf(page), /unknown image|0x/);
    await page.browserContext().close();
});

test("every report of the test data is shown", { skip: skip || (!existsSync(data) && "there is no ../shared/data/reports"), timeout: 900000 }, async () => {
    let taken = 0;
    for (const name of readdirSync(data))
        if (await send(readFileSync(join(data, name))) === 201) taken++;
    assert.ok(taken > 15, `only ${taken} were reports`);
    await server.quiet();
    const page = await open(browser, server.url);
    page.expected.push("401");
    await signIn(page, server.url, { token: server.token });
    assert.ok(await openAll(page) >= taken);
    await page.browserContext().close();
});
