// Makes docs/images/page.png, the picture of the README: `node tests/page/readme_picture.mjs` after `npm run build` in web/.
// The data is the mock server's; the clock of the page stands still, so the same sources give the same picture.

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { startMock } from "../../web/mock.mjs";
import { files, lacking, open, root, signIn, startBrowser } from "./browser.mjs";

const why = lacking();
if (why) throw new Error(why);
const mock = await startMock({ files }), browser = await startBrowser();
const page = await open(browser, mock.url, { size: { width: 1280, height: 860 } });
await page.evaluateOnNewDocument(() => {
    Date.now = () => Date.UTC(2026, 10, 22, 9, 20);
});
await signIn(page, mock.url, { path: "/p/default/overview" });
await page.waitForSelector(".costliest .source .here");
mkdirSync(join(root, "docs/images"), { recursive: true });
await page.screenshot({ path: join(root, "docs/images/page.png") });
await browser.close();
mock.close();
