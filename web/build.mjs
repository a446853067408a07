// Builds the page: `node build.mjs [FOLDER]` (default: dist beside this file).
//
// FOLDER/files holds what a browser gets: index.html, and below assets/ scripts and styles whose names carry a hash of
// their content, so they may be cached for ever; each with its gzipped form beside it. FOLDER/page_files.c holds the
// gzipped forms for the server (src/collector/page.h), which unpacks for who cannot. The same sources give the same bytes.

import { build } from "esbuild";
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const here = dirname(fileURLToPath(import.meta.url));
const out = process.argv[2] ?? join(here, "dist");

const types = {
    html: "text/html; charset=utf-8",
    js: "text/javascript; charset=utf-8",
    css: "text/css; charset=utf-8",
    svg: "image/svg+xml",
    txt: "text/plain; charset=utf-8",
};

const hash = (bytes) => createHash("sha256").update(bytes).digest("hex").slice(0, 16);

async function bundle() {
    const result = await build({
        entryPoints: [join(here, "src/main.tsx")],
        bundle: true,
        minify: true,
        format: "esm",
        target: ["chrome111", "firefox115", "safari16.4"],
        jsx: "automatic",
        jsxImportSource: "preact",
        legalComments: "none",
        outdir: "/",
        write: false,
        logLevel: "warning",
    });
    return Object.fromEntries(result.outputFiles.map((f) => [f.path.split("/").pop(), Buffer.from(f.contents)]));
}

/** The libraries' licences go along, as they ask. */
function licences() {
    const { dependencies } = JSON.parse(readFileSync(join(here, "package.json"), "utf8"));
    return Object.keys(dependencies).map((name) => {
        const folder = join(here, "node_modules", name);
        const { version } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
        const text = readdirSync(folder).find((file) => /^licen[cs]e/i.test(file));
        return `${name} ${version}\n\n${readFileSync(join(folder, text), "utf8").trim()}\n`;
    }).join("\n\n");
}

const made = await bundle();
const files = new Map();
let index = readFileSync(join(here, "src/index.html"), "utf8");
for (const [name, bytes] of [["main.js", made["main.js"]], ["main.css", made["main.css"]], ["icon.svg", readFileSync(join(here, "src/icon.svg"))]]) {
    const [stem, ending] = name.split(".");
    const hashed = `/assets/${stem}-${hash(bytes)}.${ending}`;
    files.set(hashed, bytes);
    index = index.replace(`"/${name}"`, `"${hashed}"`);
}
files.set("/licences.txt", Buffer.from(licences()));
files.set("/index.html", Buffer.from(index));

rmSync(out, { recursive: true, force: true });
mkdirSync(join(out, "files/assets"), { recursive: true });

/** A C array: string literals may be no longer than 4095 characters in C11, so numbers it is. */
function array(name, bytes) {
    const lines = [];
    for (let i = 0; i < bytes.length; i += 32)
        lines.push([...bytes.subarray(i, i + 32)].join(","));
    return `static const unsigned char ${name}[] = {\n${lines.join(",\n")}};\n`;
}

let arrays = "", rows = "", count = 0;
for (const [path, bytes] of [...files].sort(([a], [b]) => (a < b ? -1 : 1))) {
    writeFileSync(join(out, "files", path), bytes);
    const packed = gzipSync(bytes, { level: 9 });
    packed[9] = 255; // the operating system: not said, so that it is the same everywhere
    writeFileSync(join(out, "files", `${path}.gz`), packed);
    arrays += array(`file_${count}`, packed);
    rows += `    {${JSON.stringify(path)}, ${JSON.stringify(types[path.split(".").pop()])}, ` +
        `"\\"${hash(packed)}\\"", file_${count}, sizeof file_${count}, true},\n`;
    count++;
}
writeFileSync(join(out, "page_files.c"), `/* Made by web/build.mjs: the page's files by path, gzipped. */
#include "collector/page.h"

${arrays}
const struct page_file page_files[] = {
${rows}};
const size_t page_file_count = ${count};
`);
