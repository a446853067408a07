// Runs the tests of the page; 77 when they cannot run here, saying why. `node run.mjs [PATH/framewalk-collector]`.

import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { lacking } from "./browser.mjs";

const why = lacking();
if (why) {
    console.log(`skipped: ${why}`);
    process.exit(77);
}
const here = dirname(fileURLToPath(import.meta.url));
const tests = readdirSync(here).filter((name) => name.endsWith(".test.mjs")).sort().map((name) => join(here, name));
// Each file has a browser and a server of its own; two at once keep two processors at work.
const { status } = spawnSync(process.execPath, ["--test", "--test-concurrency=2", ...tests], {
    stdio: "inherit", env: { ...process.env, ...(process.argv[2] ? { FRAMEWALK_COLLECTOR: process.argv[2] } : {}) },
});
process.exit(status ?? 1);
