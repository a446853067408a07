// A browser and a real server for the tests of one file, which is a process of its own.

import { after, before } from "node:test";
import { startBrowser } from "./browser.mjs";
import { startServer } from "./real.mjs";

export const program = process.env.FRAMEWALK_COLLECTOR;
export const skip = program ? false : "FRAMEWALK_COLLECTOR is not set";
export let browser, server; // from the first test on

/** `fill` puts into the server what the tests look at. */
export function onServer(fill = async () => {}) {
    before(async () => {
        if (skip) return;
        server = await startServer(program);
        await fill(server);
        browser = await startBrowser();
    });
    after(async () => {
        await browser?.close();
        await server?.stop();
    });
}
