// Makes docs/images/page.png, the picture of the README, from a real collector: `node tests/page/readme_picture.mjs [BUILD]`
// (default: build/release, which ./run demo makes).
//
// The reports are real: the demo's program runs under watch, and what comes of it is sent. A program that runs for two
// seconds on one machine has no history, so its reports are sent many times: each copy has another id, and tells another
// start, version and age of the process. Stacks, durations, endings, images and names are as they were measured.

import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { crc32c, fields } from "./fwr.mjs";
import { lacking, open, root, signIn, startBrowser } from "./browser.mjs";
import { startServer } from "./real.mjs";

const why = lacking();
if (why) throw new Error(why);
const build = resolve(process.argv[2] ?? join(root, "build/release"));
const framewalk = join(build, "src/framewalk"), demo = join(build, "examples/loop_demo");
const RUNS = 6, DAY = 86400000, DAYS = 14, HOUR = 3600000;

/** A report with another About: of two values of a field the last counts. */
function moved(report, about) {
    const size = report.readUInt32LE(8), payload = Buffer.concat([report.subarray(20, 20 + size), fields(about)]);
    const head = Buffer.alloc(8);
    head.writeUInt32LE(payload.length, 0);
    report.copy(head, 4, 12, 16);
    const sum = Buffer.alloc(4);
    sum.writeUInt32LE(crc32c(Buffer.concat([head, payload])));
    return Buffer.concat([report.subarray(0, 8), head, sum, payload, Buffer.alloc((4 - (payload.length % 4)) % 4), report.subarray(20 + Math.ceil(size / 4) * 4)]);
}

/** Runs the demo's program under watch: the reports of each run. */
function runs(folder) {
    return Array.from({ length: RUNS }, (_, i) => {
        const out = join(folder, `run${i}`);
        execFileSync(framewalk, ["run", "--quiet", "--starved", "--calls", "getaddrinfo,open", "--out", out, "--", demo], { stdio: "inherit" });
        return readdirSync(out).filter((name) => name.endsWith(".fwr")).map((name) => readFileSync(join(out, name)));
    });
}

/** How many processes of each version ran on a day: each newer version takes over within a week. */
const VERSIONS = [["1.0", "100", DAYS], ["1.1", "112", 8], ["1.2", "125", 3]];
function ranOn(daysAgo) {
    const newest = VERSIONS.findLastIndex(([, , since]) => since >= daysAgo);
    const taken = newest > 0 ? Math.min(1, (VERSIONS[newest][2] - daysAgo + 1) / 6) : 1;
    return [[newest, Math.round(30 * taken)], [newest - 1, Math.round(30 * (1 - taken))]].filter(([v, n]) => v >= 0 && n > 0);
}

async function send(server, reports) {
    for (let i = 0; i < reports.length; i += 50) {
        const body = Buffer.concat(reports.slice(i, i + 50).flatMap(([id, bytes]) => [Buffer.from(`${id} ${bytes.length}\n`), bytes]));
        const answer = await server.call("POST", "/api/v1/reports?project=default", body, "application/vnd.framewalk.reports");
        if (/refused/.test(answer)) throw new Error(answer);
    }
}

/** The later versions hang more often: 1.1 brought the thumbnails, 1.2 asks the server more often. */
function history(real) {
    const all = [];
    let process = 0;
    for (let daysAgo = DAYS - 1; daysAgo >= 0; daysAgo--)
        for (const [v, count] of ranOn(daysAgo))
            for (let n = 0; n < count; n++, process++) {
                const session = randomBytes(16), [version, buildNumber] = VERSIONS[v];
                const begun = Date.now() - daysAgo * DAY - (1 + (process * 7) % 20) * HOUR / 2;
                const some = real[process % real.length].filter((_, i) => v === 2 || i % 4 !== 3 - v || process % 3 === 0);
                for (const report of some) {
                    const id = randomBytes(16);
                    all.push([id.toString("hex"), moved(report, [[1, id], [2, session], [4, begun], [5, (20 + (process * 11) % 60) * 60000], [8, version], [9, buildNumber]])]);
                }
            }
    return all;
}

const folder = mkdtempSync(join(tmpdir(), "framewalk-picture-"));
const server = await startServer(join(build, "src/framewalk-collector")), browser = await startBrowser();
try {
    writeFileSync(join(folder, "token"), server.token, { mode: 0o600 });
    await send(server, history(runs(folder)));
    const libc = /(\/\S*libc\.so\.6)/.exec(execFileSync("ldd", [demo], { encoding: "utf8" }))[1];
    execFileSync(framewalk, ["push", "--wait", "--sources", "--include-stripped", demo, libc, "--to", server.url, "--key-file", join(folder, "token")], { stdio: "inherit" });
    await server.quiet();
    const page = await open(browser, server.url, { size: { width: 1280, height: 860 } });
    await signIn(page, server.url, { path: "/p/default/overview", token: server.token });
    await page.waitForSelector(".costliest .source .here");
    mkdirSync(join(root, "docs/images"), { recursive: true });
    await page.screenshot({ path: process.env.FW_PICTURE ?? join(root, "docs/images/page.png") });
    if (process.env.FW_KEEP) {
        console.log(server.url, server.token);
        await new Promise((done) => process.once("SIGTERM", done));
    }
} finally {
    await browser.close();
    await server.stop();
    rmSync(folder, { recursive: true });
}
