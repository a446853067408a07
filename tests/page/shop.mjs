// Reports of a small shop, for tests on a real server: two versions, hangs that differ below what they are named after,
// and callers of watched functions, of which the newer version has one more.

import { randomBytes } from "node:crypto";
import { report } from "./fwr.mjs";

const MAIN = ["Shop::run", "main"];
export const HANGS = {
    index: ["Index::sort", "Catalog::search", ...MAIN], words: ["Words::split", "Catalog::search", ...MAIN],
    save: ["File::sync", "Cart::save", ...MAIN], paint: ["Canvas::fill", "Banner::paint", ...MAIN],
};
const DAY = 86400000;

/** `INSTALL` has three of the reports: they are all there are of Banner::paint. */
export const INSTALL = "5e1f0a55-install-of-a-tester";

export function shopReports(now = Date.now()) {
    const all = [];
    const add = (version, daysAgo, more) => {
        const id = randomBytes(16);
        all.push([id.toString("hex"), report({ id, session: randomBytes(16), version, build: version === "1.0" ? "10" : "20", started: now - daysAgo * DAY - 3600000, ...more })]);
    };
    for (let i = 0; i < 6; i++) add("1.0", 5, { samples: [[HANGS.index, 900]], install: `old-${i}` });
    for (let i = 0; i < 3; i++) add("1.0", 5, { samples: [[HANGS.save, 600]], install: `old-${i}` });
    for (let i = 0; i < 4; i++) add("2.0", 2, { samples: [[HANGS.index, 300]], install: `new-${i}` });
    for (let i = 0; i < 5; i++) add("2.0", 2, { samples: [[HANGS.words, 700]], install: `new-${i}` });
    for (let i = 0; i < 3; i++) add("2.0", 1, { samples: [[HANGS.paint, 400]], install: INSTALL });
    add("1.0", 5, { calls: [["stat", ["Cart::load", ...MAIN], 12], ["open", ["Cart::load", ...MAIN], 3]] });
    add("2.0", 2, { calls: [["stat", ["Cart::load", ...MAIN], 20], ["open", ["Ads::track", ...MAIN], 7]] });
    return all;
}

export async function sendReports(server, reports) {
    const body = Buffer.concat(reports.flatMap(([id, bytes]) => [Buffer.from(`${id} ${bytes.length}\n`), bytes]));
    const answer = await server.call("POST", "/api/v1/reports?project=default", body, "application/vnd.framewalk.reports");
    if (answer.split("\n").filter((line) => line.includes(" accepted")).length !== reports.length) throw new Error(answer);
    await server.quiet();
}
