// A server of made-up answers, for work on the page and for the browser tests of what only the page decides: every
// endpoint, many shapes of data, and states that a real server is rarely in. `node mock.mjs [PORT] [FILES]`.
//
// Nothing here is random: the same day gives the same answers. Project "default" is full, "fresh" is empty, "hostile" has
// every kind of string that must not be believed. Token: fwt_mock (all scopes) or fwt_reader.

import { readFileSync, existsSync } from "node:fs";
import { createServer } from "node:http";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const DAY = 86400000, S = 1e9, MS = 1e6;

export const POLICY = "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; img-src 'self' data: blob:; object-src 'none'; worker-src 'self'"; // the server's (src/collector/http_reply.c)

const unescaped = (path) => {
    try {
        return decodeURIComponent(path);
    } catch {
        return path;
    }
};

/** Numbers that look random and are not. */
function rolling(seed) {
    return () => {
        seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
        return seed / 4294967296;
    };
}

const versions = ["4.2 (1180)", "4.1.1 (1163)", "4.1 (1150)", "4.0 (1102)"];
const apps = "Lumen", ui = "UIKitCore", dispatch = "libdispatch.dylib", kernel = "libsystem_kernel.dylib", sqlite = "libsqlite3.dylib";

/** By file: its lines, and the number of the first. */
const sources = new Map();
const SOURCES = "50c7e5".padEnd(40, "0"); // the image that they are said to be of

const frame = (fn, image, file, line, { source: lines, ...more } = {}) => ({
    ...(lines ? (sources.set(file, lines), { sources: SOURCES }) : {}), function: fn, file: file ?? null, line: line ?? null, image, offset: "0x" + (0x4000 + (fn ?? image).length * 0x1234).toString(16),
    kind: "return", inlined: false, tail_call: false, app: image === apps || image === "LumenKit", status: fn ? "named" : "no_map", ...more,
});
const source = (first, ...lines) => lines.map((text, i) => ({ line: first + i, text }));

const base = [
    frame("-[UIApplication _run]", ui), frame("UIApplicationMain", ui), frame("main", apps, "Lumen/AppDelegate.swift", 9), frame("start", "dyld"),
];
const runloop = [
    frame("__CFRunLoopDoSource0", "CoreFoundation"), frame("__CFRunLoopRun", "CoreFoundation"), frame("CFRunLoopRunSpecific", "CoreFoundation"), frame("GSEventRunModal", "GraphicsServices"), ...base,
];

const heavy = [
    [ // 0: database on the main thread
        frame("pread", kernel, null, null, { kind: "exact" }), frame("unixRead", sqlite), frame("sqlite3BtreeNext", sqlite, null, null, { tail_call: true }), frame("sqlite3_step", sqlite),
        frame("Statement.next()", "LumenKit", "LumenKit/Database/Statement.swift", 88, { inlined: true, source: source(86, "    func next() throws -> Row? {", "        precondition(open)", "        switch sqlite3_step(handle) {", "        case SQLITE_ROW: return Row(handle)") }),
        frame("AlbumStore.albums(matching:)", "LumenKit", "LumenKit/Albums/AlbumStore.swift", 214, { source: source(211, "    func albums(matching filter: Filter) throws -> [Album] {", "        var found: [Album] = []", "        // one row a photo: 40,000 of them", "        while let row = try statement.next() {", "            found.append(Album(row))", "        }") }),
        frame("AlbumListModel.reload()", apps, "Lumen/Albums/AlbumListModel.swift", 61, { source: source(59, "    @MainActor func reload() {", "        let filter = Filter(search: search)", "        albums = (try? store.albums(matching: filter)) ?? []", "    }") }),
        frame("AlbumListController.viewWillAppear(_:)", apps, "Lumen/Albums/AlbumListController.swift", 132),
        frame("-[UIViewController _setViewAppearState:isAnimating:]", ui), frame("-[UINavigationController _startTransition:]", ui), ...runloop,
    ],
    [ // 1: lock
        frame("__psynch_mutexwait", kernel, null, null, { kind: "exact" }), frame("_pthread_mutex_firstfit_lock_wait", "libsystem_pthread.dylib"), frame("-[NSLock lock]", "Foundation"),
        frame("ThumbnailCache.image(for:)", "LumenKit", "LumenKit/Thumbnails/ThumbnailCache.swift", 47, { source: source(45, "    func image(for id: Photo.ID) -> CGImage? {", "        // held while a batch is decoded", "        lock.lock()", "        defer { lock.unlock() }") }),
        frame("PhotoCell.configure(with:)", apps, "Lumen/Grid/PhotoCell.swift", 39), frame("PhotoGridController.collectionView(_:cellForItemAt:)", apps, "Lumen/Grid/PhotoGridController.swift", 208),
        frame("-[UICollectionView _createPreparedCellForItemAtIndexPath:]", ui), frame("-[UICollectionView layoutSubviews]", ui), ...runloop,
    ],
    [ // 2: decoding
        frame("png_read_filter_row_paeth_neon", "ImageIO", null, null, { kind: "exact" }), frame("PNGReadPlugin::decodeImageImp", "ImageIO"), frame("CGImageSourceCreateImageAtIndex", "ImageIO"),
        frame("ImageDecoder.decode(_:scale:)", "LumenKit", "LumenKit/Images/ImageDecoder.swift", 73, { inlined: true }), frame("Sticker.init(named:)", apps, "Lumen/Editor/Sticker.swift", 28), frame("StickerPanel.layoutSubviews()", apps, "Lumen/Editor/StickerPanel.swift", 91), ...runloop,
    ],
    [ // 3: semaphore over network
        frame("semaphore_wait_trap", kernel, null, null, { kind: "exact" }), frame("_dispatch_semaphore_wait_slow", dispatch), frame("SyncClient.send(_:)", "LumenKit", "LumenKit/Sync/SyncClient.swift", 156), frame("Account.refreshNow()", apps, "Lumen/Account/Account.swift", 77),
        frame("SettingsController.didTapRefresh()", apps, "Lumen/Settings/SettingsController.swift", 54), ...runloop],
    [ // 4: xpc
        frame("mach_msg2_trap", kernel, null, null, { kind: "exact" }), frame("xpc_connection_send_message_with_reply_sync", "libxpc.dylib"), frame("+[CLLocationManager authorizationStatus]", "CoreLocation"), frame("MapHeader.update()", apps, "Lumen/Map/MapHeader.swift", 33), ...runloop],
    [ // 5: JSON
        frame("_JSONParser.parseString()", "Foundation", null, null, { kind: "exact" }), frame("JSONDecoder.decode(_:from:)", "Foundation"), frame("Feed.load(from:)", "LumenKit", "LumenKit/Feed/Feed.swift", 118), frame("HomeModel.restore()", apps, "Lumen/Home/HomeModel.swift", 42), ...runloop],
    [frame("__CFRunLoopServiceMachPort", "CoreFoundation"), ...runloop.map((f) => ({ ...f, app: false }))],
    [frame(null, "VendorAnalytics", null, null, { kind: "exact" }), frame(null, "VendorAnalytics"), frame(null, "VendorAnalytics"), frame("-[UIApplication sendEvent:]", ui), ...runloop],
];

const seeds = [
    ["AlbumStore.albums(matching:)", "disk", "app", "LumenKit", "LumenKit/Albums/AlbumStore.swift", 214, 4210, 11540 * S, 14.2, 96, 1873, 0, 2],
    ["ThumbnailCache.image(for:)", "lock", "app", "LumenKit", "LumenKit/Thumbnails/ThumbnailCache.swift", 47, 2904, 5230 * S, 9.1, 12, 1411, 1, 0],
    ["SyncClient.send(_:)", "semaphore", "app", "LumenKit", "LumenKit/Sync/SyncClient.swift", 156, 388, 3110 * S, 41.7, 61, 301, 2, 3],
    ["Sticker.init(named:)", "cpu", "app", apps, "Lumen/Editor/Sticker.swift", 28, 1760, 1904 * S, 3.4, 0, 902, 0, 0],
    ["Feed.load(from:)", "cpu", "app", "LumenKit", "LumenKit/Feed/Feed.swift", 118, 1022, 871 * S, 2.2, 0, 640, 3, 0],
    ["MapHeader.update()", "ipc", "app", apps, "Lumen/Map/MapHeader.swift", 33, 640, 602 * S, 6.0, 4, 377, 1, 0],
    ["CFRunLoopRunSpecific", "wait", "system", "CoreFoundation", null, null, 512, 290 * S, 1.9, 0, 344, 3, 0],
    ["VendorAnalytics + 0x8f14", "unknown", "unnamed", "VendorAnalytics", null, null, 204, 188 * S, 2.6, 0, 190, 0, 0],
    ["ExportJob.finish(_:)", "disk", "app", "LumenKit", "LumenKit/Export/ExportJob.swift", 301, 77, 96 * S, 8.8, 1, 70, 0, 0],
    ["KeyboardBar.layoutSubviews()", "cpu", "app", apps, "Lumen/Editor/KeyboardBar.swift", 64, 140, 71 * S, 1.2, 0, 118, 2, 0],
    ["Theme.apply(to:)", "cpu", "app", apps, "Lumen/Theme/Theme.swift", 15, 91, 40 * S, 0.9, 0, 80, 2, 0],
];

const now = Date.UTC(2026, 10, 22, 9, 0, 0);
const hex = (n, digits = 32) => (BigInt(n + 1) * 0x9e3779b97f4a7c15f39cc0605cedc835n).toString(16).replace("-", "").padStart(digits, "0").slice(-digits);

const groupRows = seeds.map(([title, leaf, section, image, file, line, reports, blocked, longest, killed, installs, first, reopened], i) => {
    const roll = rolling(i * 77 + 5);
    const shape = Array.from({ length: 14 }, (_, d) => (i === 0 ? 0.3 + (d > 8 ? d - 7 : 0) : i === 8 ? (d > 10 ? 1 : 0) : 0.5 + Math.sin(d / 2 + i)) * (0.5 + roll()) + 0.05).map((v) => Math.max(0, v));
    const sum = shape.reduce((a, b) => a + b, 0);
    return {
        id: hex(i * 3 + 1), title, leaf, section, image, file, line, status: i === 10 ? "resolved" : i === 9 ? "ignored" : "open", reports, blocked_ns: blocked, longest_ns: longest * S, killed, installs,
        first_ms: now - (i === 8 ? 3 : 40 - i) * DAY, last_ms: now - (i * 47 + 4) * 60000, first_version: versions[first], last_version: versions[0], since_ms: now - (i === 8 ? 3 : 40 - i) * DAY, reopened: reopened === 3, merged_into: null, resolved_version: i === 10 ? "4.3" : null, resolved_after: false,
        trend: shape.map((v) => Math.round((v / sum) * blocked)), note: i === 1 ? "Decode outside of the lock; see LUM-2211" : null,
    };
});

const day = (d) => new Date(now - d * DAY).toISOString().slice(0, 10);
function dayRows(scale, seed) {
    const roll = rolling(seed), rows = [];
    for (let d = 13; d >= 0; d--) {
        const adoption = [d < 5 ? (5 - d) / 6 : 0, d < 5 ? 0.35 - (5 - d) * 0.04 : Math.min(0.75, (14 - d) / 10), 0.3 + d * 0.02, 0.08 + d * 0.01];
        versions.forEach((version, i) => {
            const blocked = Math.round(scale * adoption[i] * (0.8 + roll() * 0.5) * (i === 0 ? 1.5 : 1));
            if (blocked > 0) rows.push({ day: day(d), version, reports: Math.round(blocked / (2.1 * S)), blocked_ns: blocked, killed: Math.round(blocked / (150 * S)) });
        });
    }
    return rows;
}

const moves = () => [["AlbumListModel.reload()", null, 1900, 30], [groupRows[8].title, { id: groupRows[8].id, title: groupRows[8].title }, 204, 3]].map(([then, to, reports, stacks]) => ({ from: { id: groupRows[0].id, title: groupRows[0].title }, to, then, stacks, reports, blocked_ns: reports * 2.7 * S }));
const share = (name, reports, blocked) => ({ name, reports, blocked_ns: blocked });
const osRows = [share("iOS 26.1", 6120, 12800 * S), share("iOS 26.0.1", 2911, 5900 * S), share("iOS 18.7", 1810, 3600 * S), share("iPadOS 26.1", 907, 1700 * S)];
const deviceRows = [share("iPhone 13 (iPhone14,5)", 3110, 7900 * S), share("iPhone SE 3 (iPhone14,6)", 1904, 6240 * S), share("iPhone 16 Pro (iPhone17,1)", 4200, 4810 * S), share("iPad Air (iPad13,16)", 907, 1700 * S)];

const overview = () => ({
    versions: versions.map((v, i) => {
        const [version, build] = v.replace(")", "").split(" (");
        const observed = [1480, 2210, 1960, 610][i] * 3600 * S;
        return { version, build, released_ms: now - [5, 19, 33, 61][i] * DAY, prerelease: false, line: "", reports: [5220, 4011, 2200, 617][i], blocked_ns: [11840, 7310, 4020, 772][i] * S, killed: [101, 48, 22, 3][i], sessions: [21100, 33010, 28400, 9100][i], observed_ns: observed, rate: [8.0, 3.31, 2.05, 1.27][i] };
    }),
    versions_in_all: versions.length, days: dayRows(1500 * S, 3), classes: { below_500ms: 3110, below_2s: 5904, below_8s: 2377, above: 657, killed: 174 },
    top: groupRows.filter((g) => g.status === "open"), new: groupRows.filter((g) => g.first_ms > now - 14 * DAY),
    waiting: { reports: 0, images: 3 }, platforms: { os: osRows, devices: deviceRows },
});

/** A tree out of stacks with weights; outermost below the root. */
function tree(stacks) {
    const root = { name: "all", value: 0, children: [] };
    for (const [frames, weight] of stacks) {
        root.value += weight;
        let at = root;
        for (const f of [...frames].reverse()) {
            const name = f.function ?? `${f.image} + ${f.offset}`;
            let child = at.children.find((c) => c.name === name && c.image === f.image);
            if (!child) at.children.push((child = { name, value: 0, children: [], image: f.image, file: f.file, line: f.line, app: f.app, inlined: f.inlined, tail_call: f.tail_call }));
            child.value += weight;
            at = child;
        }
    }
    return root;
}

const stackOf = (i) => heavy[[0, 1, 3, 2, 5, 4, 6, 7][i] ?? 2];

/** The stacks of a group: the heaviest and what else was seen below and beside it. */
function variants(i) {
    const main = stackOf(i), blocked = groupRows[i].blocked_ns, at = main.findIndex((f) => f.app), roll = rolling(i + 9);
    const leaves = [["sqlite3VdbeExec", sqlite], ["swift_release", "libswiftCore.dylib"], ["malloc_type_malloc", "libsystem_malloc.dylib"], ["Row.text(at:)", "LumenKit"], ["String.init(cString:)", "libswiftCore.dylib"], ["sqlite3BtreeMovetoUnpacked", sqlite], ["swift_retain", "libswiftCore.dylib"], ["fcntl", kernel], ["Album.init(_:)", "LumenKit"]];
    const more = leaves.flatMap(([fn, image], n) => [0, 1, 2].map((k) => [[frame(fn, image, image === "LumenKit" ? "LumenKit/Albums/Album.swift" : null, image === "LumenKit" ? 19 + n : null, { kind: "exact", inlined: n === 3 }), ...(k ? [frame(leaves[(n + k) % 9][0], leaves[(n + k) % 9][1])] : []), ...main.slice(at)], blocked * 0.02 * roll() * (k + 0.6)]));
    const other = [[...main.slice(0, at + 1), frame("SearchController.updateResults()", apps, "Lumen/Search/SearchController.swift", 71), frame("-[UISearchController _searchBarTextDidChange:]", ui), ...runloop], blocked * 0.19];
    const rest = more.reduce((s, [, w]) => s + w, 0) + other[1];
    return [[main, blocked - rest], other, ...more].map(([f, w]) => [f, Math.round(w)]);
}

/** The newest version spends more in SQLite's steps, and has a leaf that no other has. */
const ofVersion = (stacks, version) => (!version ? stacks : stacks.map(([f, w], n) => [version === versions[0] && n === 3 ? [frame("Album.migrate()", "LumenKit", "LumenKit/Albums/Album.swift", 90, { kind: "exact" }), ...f] : f, Math.round(w * (version === versions[0] ? (n === 0 ? 2.2 : n === 1 ? 0.4 : 1) : 1))]).filter(([f, w], n) => w > 0 && (version === versions[0] || n !== 4)));

/** What a group is grouped by: three stacks that differ below the app. */
function groupStacks(i) {
    const g = groupRows[i], main = stackOf(i), at = main.findIndex((f) => f.app);
    const frames = [main, [frame("SearchController.updateResults()", apps, "Lumen/Search/SearchController.swift", 71), ...main.slice(at)], [frame("Album.migrate()", "LumenKit", "LumenKit/Albums/Album.swift", 90), ...main.slice(at)]];
    return { items: frames.map((f, n) => ({ id: i * 10 + n + 1, reports: Math.round(g.reports * [0.6, 0.3, 0.1][n]), blocked_ns: Math.round(g.blocked_ns * [0.6, 0.3, 0.1][n]), last_ms: g.last_ms, by_hand: n === 2, frames: f })), next: null, total: 3, blocked_ns: g.blocked_ns };
}

const why = (i) => ({
    rules: 3, parts: stackOf(i).filter((f) => f.app && f.function !== "main").slice(0, 3).map((f) => `${f.image}!${f.function}`),
    frames: stackOf(i).map((f, n) => ({ frame: n, function: f.function, role: n === 0 ? "leaf" : !f.function ? "skipped" : f.function === "main" || f.function === "start" ? "root" : f.app ? (f.inlined ? "wrapper" : "app") : "system", rule: f.app ? (f.inlined ? "wrapper *.next()" : "own symbols") : `system image:${f.image}`, in_key: f.app && !f.inlined && f.function !== "main" && n < 9 })),
});

function groupDetail(i) {
    const g = groupRows[i], part = (rows) => rows.map((r, n) => ({ ...r, reports: Math.round((g.reports * [0.5, 0.26, 0.16, 0.08][n])), blocked_ns: Math.round(g.blocked_ns * [0.52, 0.25, 0.15, 0.08][n]) }));
    const bins = [250, 500, 1000, 2000, 4000, 8000, 16000, 32000, null].map((ms, n) => ({ below_ns: ms === null ? null : ms * MS, reports: Math.round(g.reports * [0.02, 0.13, 0.22, 0.27, 0.18, 0.1, 0.05, 0.03, 0][n]) }));
    return { ...g, why: why(i), heaviest: stackOf(i), versions: part(versions.map((version) => ({ version }))), os: part(osRows), devices: part(deviceRows), days: dayRows(g.blocked_ns / 14, i + 40), histogram: bins,
        since_version: versions[versions.length - 1], history: i === 10 ? [{ at_ms: now - 2 * DAY, who: "anna", action: "resolve", detail: "in 4.3" }] : [],
        similar: groupRows.filter((o, n) => n !== i && o.image === g.image && n < 9).slice(0, 3).map(({ id, title }) => ({ id, title })), coverage: { stacks: 25, of: i ? 25 : 412, blocked_share: i ? 1 : 0.973 } };
}

const reportLine = (n, i) => ({ id: hex(n * 7 + 1000), received_ms: now - n * 3700000, started_ms: now - n * 3700000 - 60000, version: versions[n % 3], os: osRows[n % 4].name, device: deviceRows[n % 4].name,
    duration_ns: Math.round((14.2 - n * 0.43) * S), ending: n === 0 ? "killed" : "ended", complete: n !== 3, group: { id: groupRows[i].id, title: groupRows[i].title } });

function report(n) {
    const main = stackOf(0), line = reportLine(n, 0);
    const stacks = [main, [...main.slice(1, 6).map((f, k) => (k ? f : { ...f, function: "sqlite3VdbeExec", image: sqlite })), ...main.slice(6)], [frame("swift_allocObject", "libswiftCore.dylib", null, null, { kind: "exact" }), ...main.slice(5)], stackOf(1)];
    const samples = [], roll = rolling(n + 2), step = line.duration_ns / 60;
    for (let k = 0; k < 60; k++) samples.push({ at_ns: k * step, weight_ns: step, count: 1, stack: k < 3 ? 3 : k % 11 === 7 ? 2 : roll() < 0.24 ? 1 : 0 });
    const worker = [frame("__workq_kernreturn", kernel, null, null, { kind: "exact" }), frame("_pthread_wqthread", "libsystem_pthread.dylib"), frame("start_wqthread", "libsystem_pthread.dylib")];
    const threads = [{ name: "main", id: 259, main: true, watched: true, state: "running", end: "root", unavailable: null, frames: main }, { name: "com.lumen.thumbnails", id: 1021, main: false, watched: false, state: "running", end: "root", unavailable: null, frames: [...stackOf(2).slice(0, 4), frame("ThumbnailBatch.run()", "LumenKit", "LumenKit/Thumbnails/ThumbnailBatch.swift", 66), frame("_dispatch_client_callout", dispatch), ...worker.slice(1)] },
        { name: "com.lumen.sync", id: 1188, main: false, watched: false, state: "waiting", end: "root", unavailable: null, frames: [frame("kevent", kernel, null, null, { kind: "exact" }), frame("SyncClient.run()", "LumenKit", "LumenKit/Sync/SyncClient.swift", 44), frame("thread_start", "libsystem_pthread.dylib")] }];
    const first = threads.length;
    for (let k = 0; k < 12; k++) threads.push({ name: "", id: 2000 + k, main: false, watched: false, state: "waiting", end: "root", unavailable: null, frames: k ? [] : worker, ...(k ? { same_as: first } : {}) });
    threads.push({ name: "Vendor", id: 3001, main: false, watched: false, state: "waiting", end: "root", unavailable: null, frames: stackOf(7).slice(0, 3) });
    threads.push({ name: "late", id: 3002, main: false, watched: false, state: "", end: "", unavailable: "the thread ended before it was asked", frames: [] });
    return { ...line, kind: "hang", project: "default", process_age_ms: 415000, build: "1180", arch: "arm64", executable: apps, app: "com.example.lumen", veto: null, note: null, threads, samples, stacks, calls: [],
        scripts: n === 1 ? [{ at_ns: 4e8, frames: [{ function: "renderList", file: "app.js", line: 402 }] }] : [], keys: [{ key: "screen", value: "Albums" }, { key: "thermal", value: "nominal" }, { key: "low_power", value: "no" }],
        images: [[apps, true], ["LumenKit", true], ["VendorAnalytics", false], [ui, true], [sqlite, true], ["CoreFoundation", true]].map(([name, has_map], k) => ({ name, has_map, path: `/private/var/containers/Bundle/Application/${name}`, debug_id: hex(k + 50).toUpperCase(), arch: "arm64" })) };
}

const callRows = [
    ["stat", "CacheIndex.modified(_:)", "LumenKit", "LumenKit/Cache/CacheIndex.swift", 52, 18422, true, 3], ["stat", "VA_collect", "VendorAnalytics", null, null, 902, false, 0], ["getattrlist", null, "VendorAnalytics", null, null, 451, false, 0],
    ["mach_absolute_time", "FrameClock.tick()", apps, "Lumen/Home/FrameClock.swift", 18, 96110, true, 3], ["-[NSUserDefaults boolForKey:]", "Preferences.subscript.getter", "LumenKit", "LumenKit/Preferences.swift", 31, 30107, true, 3], ["-[NSUserDefaults boolForKey:]", "AdKit::Session::restore()", "AdKit", "AdKit/session.mm", 210, 1240, false, 1],
    ["statfs", "ExportJob.hasRoom()", "LumenKit", "LumenKit/Export/ExportJob.swift", 77, 210, true, 2], ["+[UITextInputMode activeInputModes]", "KeyboardBar.language()", apps, "Lumen/Editor/KeyboardBar.swift", 40, 95, false, 0],
].map(([api, fn, image, file, line, count, allowed, first]) => ({ api, caller: { function: fn, image, file, line }, count, first_version: versions[first], first_day: "2026-11-01", last_day: "2026-11-22", allowed, rule: allowed ? "4" : null }));

/** Groups of functions, with the codes of Apple's documents, as the server has them of src/watch/privacy_apple.txt. */
const privacyGroups = [
    ["active-keyboards", "Active keyboards", "ActiveKeyboards", ["3EC4.1", "54BD.1"], ["+[UITextInputMode activeInputModes]"]],
    ["disk-space", "Disk space", "DiskSpace", ["7D9E.1", "85F4.1", "B728.1", "E174.1"], ["getattrlist", "statfs"]],
    ["file-timestamp", "File timestamps", "FileTimestamp", ["0A2A.1", "3B52.1", "C617.1", "DDA9.1"], ["getattrlist", "stat"]],
    ["system-boot-time", "System boot time", "SystemBootTime", ["35F9.1", "3D61.1", "8FFB.1"], ["mach_absolute_time"]],
    ["user-defaults", "User defaults", "UserDefaults", ["1C8F.1", "AC6B.1", "C56D.1", "CA92.1"], ["-[NSUserDefaults boolForKey:]"]],
];
const privacyOf = (rows) => ({ version: 1, date: "2026-11-23", groups: privacyGroups.map(([name, title, category, reasons, apis]) => ({ name, title, category: `NSPrivacyAccessedAPICategory${category}`, reasons, permissions: [],
    apis: apis.filter((api) => rows.some((r) => r.api === api)).map((api) => ({ api, by_key: false })) })).filter((g) => g.apis.length) });

/** As the server answers: cells of all, rows of what is chosen. */
function callsOf(all, q) {
    const cells = new Map();
    for (const r of all) {
        const key = `${r.api}\n${r.caller.image}`, cell = cells.get(key) ?? { api: r.api, image: r.caller.image, count: 0, callers: 0, not_allowed: 0 };
        cells.set(key, { ...cell, count: cell.count + r.count, callers: cell.callers + 1, not_allowed: cell.not_allowed + (r.allowed ? 0 : 1) });
    }
    const text = (q.q ?? "").toLowerCase(), privacy = privacyOf(all), group = q.group && privacy.groups.find((g) => g.name === q.group);
    const rows = all.filter((r) => (!q.group || group?.apis.some((a) => a.api === r.api)) && (!q.api || r.api === q.api) && (q.image === undefined || (r.caller.image ?? "") === q.image) && (q.allowed !== "no" || !r.allowed)
        && (!text || `${r.api} ${r.caller.function ?? ""} ${r.caller.image} ${r.caller.file ?? ""}`.toLowerCase().includes(text)));
    return { apis: [...new Set(all.map((r) => r.api))], cells: [...cells.values()], privacy, callers: all.length, not_allowed: all.filter((r) => !r.allowed).length, rows, total: rows.length, truncated: false };
}

const missing = [["VendorAnalytics", 204, 611, true], ["AdKit", 61, 122, true], ["libsystem_trace.dylib", 12, 12, false]].map(([name, reports, frames, app], i) => ({ debug_id: hex(i + 90).toUpperCase(), name, arch: "arm64", path: `/private/var/containers/Bundle/Application/Lumen.app/Frameworks/${name}.framework/${name}`, reports, frames, last_day: day(i), app }));
const fileRows = [["Lumen", "debuginfo", 48.2e6, "mapped", null, ["debug_line", "inlines", "symtab"]], ["LumenKit", "debuginfo", 112e6, "mapped", null, ["debug_line", "inlines", "symtab"]], ["UIKitCore", "executable", 31e6, "mapped", null, ["symtab"]], ["AdKit", "executable", 2.4e6, "unusable", "it is stripped: no symbols, no line table", []], ["libsqlite3.dylib", "map", 0.41e6, "stored", null, ["symtab"]]]
    .map(([name, kind, size, state, message, features], i) => ({ id: String(i + 1), debug_id: hex(i + 50).toUpperCase(), arch: "arm64", kind, name, size, state, message, features, uploaded_ms: now - i * 3 * DAY - 4e6, uploaded_by: "CI", used_ms: i === 4 ? null : now - i * 4e6 }));

/** Strings that must be shown and never believed. */
export const HOSTILE = {
    script: "<script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">",
    bidi: "user\u202Egnp.exe\u2066", control: "red\u001b[31m\r\nline\u0000\u0007", long: "std::__1::basic_string<" + "A".repeat(4000) + ">", zero: "pay\u200Bpal\uFEFF",
};
const hostile = () => {
    const f = (s) => frame(s, s, s, 1, { app: true, source: [{ line: 1, text: s }] });
    const all = Object.values(HOSTILE);
    const groups = all.map((s, i) => ({ ...groupRows[i], title: s, image: s, file: s, note: s, first_version: s, last_version: s, leaf: i ? "cpu" : s }));
    return { all, groups, heaviest: all.map(f) };
};

function hostileAnswers(path) {
    const { all, groups, heaviest } = hostile(), shares = all.map((s, i) => share(s, 5 - i, (5 - i) * S));
    if (path === "overview") return { ...overview(), top: groups, new: groups, platforms: { os: shares, devices: shares }, versions: overview().versions.map((v, i) => ({ ...v, version: all[i] })), days: overview().days.map((d, i) => ({ ...d, version: all[i % 5] })) };
    if (path === "groups") return { items: groups, next: null, total: groups.length };
    if (/^groups\/[^/]+$/.test(path)) return { ...groupDetail(0), ...groups[0], heaviest, os: shares, devices: shares, versions: shares.map((s) => ({ ...s, version: s.name })), similar: groups.map(({ id, title }) => ({ id, title })), why: { rules: 1, parts: all, frames: all.map((s, i) => ({ frame: i, function: s, role: s, rule: s, in_key: true })) } };
    if (path.endsWith("/flame")) return { unit: "nanoseconds", root: tree([[heaviest, 5 * S], [heaviest.slice(2), 2 * S]]), truncated: true };
    if (path.endsWith("/reports") || path === "reports") return { items: all.map((s, i) => ({ ...reportLine(i, 0), version: s, os: s, device: s, ending: s, group: { id: groups[i].id, title: s } })), next: null };
    if (/^reports\/[^/]+$/.test(path)) return { ...report(0), version: all[0], os: all[1], device: all[2], app: all[3], ending: all[0], veto: all[0], note: all[1], group: groups[0], stacks: [heaviest], samples: [{ at_ns: 0, weight_ns: S, count: 1, stack: 0 }], threads: all.map((s, i) => ({ name: s, id: i, main: !i, watched: !i, state: s, end: s, unavailable: i === 3 ? s : null, frames: heaviest })), keys: all.map((s) => ({ key: s, value: s })), images: all.map((s) => ({ name: s, path: s, debug_id: s, has_map: false, arch: s })) };
    if (path === "calls") return callsOf(all.map((s, i) => ({ ...callRows[i], api: all[i % 3], caller: { function: s, image: s, file: s, line: 1 }, first_version: s })), {});
    return null;
}

const emptyOverview = { versions: [], versions_in_all: 0, days: [], classes: { below_500ms: 0, below_2s: 0, below_8s: 0, above: 0, killed: 0 }, top: [], new: [], waiting: { reports: 0, images: 0 }, platforms: { os: [], devices: [] } };

export function startMock({ port = 0, files = join(here, "dist/files") } = {}) {
    const state = { sessions: new Map(), uploads: new Map(), requests: [], tokens: [{ id: "1", kind: "token", label: "first", scopes: ["admin", "read", "triage", "symbols:write", "symbols:read"], project: null, expires_ms: null, used_ms: now }, { id: "2", kind: "key", label: "Lumen iOS", scopes: ["reports:write"], project: "default", expires_ms: null, used_ms: now - 4e5 }],
        allow: callRows.filter((r) => r.allowed).map((r, i) => ({ id: String(i + 1), api: r.api, caller: `${r.caller.image}!${r.caller.function}`, note: "declared in the privacy manifest" })), rules: { version: 3, text: "wrapper *.next()\nsystem image:libswift*\n", builtin: "system image:libsystem_*\nsystem image:UIKitCore\nroot main\nroot start\n", history: [{ version: 3, created_ms: now - DAY, created_by: "first" }] },
        settings: { body_days: 30, row_days: 400, symbols_days: 180, disk_share: 0.85 }, status: new Map(), fail: new Map(), breakUploads: 0, next: 1 };
    const all = ["read", "triage", "symbols:read", "symbols:write", "reports:write", "admin"];

    const server = createServer((request, response) => {
        const chunks = [];
        request.on("data", (c) => chunks.push(c));
        request.on("end", () => answer(request, response, Buffer.concat(chunks)));
    });

    function answer(request, response, body) {
        const url = new URL(request.url, "http://mock"), path = unescaped(url.pathname), q = Object.fromEntries(url.searchParams);
        state.requests.push(`${request.method} ${request.url}`);
        const head = { "Content-Security-Policy": POLICY, "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cache-Control": "no-store" };
        const reply = (status, value, more = {}) => { response.writeHead(status, { ...head, "Content-Type": "application/json", ...more }); response.end(value === undefined ? "" : JSON.stringify(value)); };
        const error = (status, text) => reply(status, { error: text });
        if (!path.startsWith("/api/")) return page(path, response, head);
        const api = path.slice("/api/v1/".length), method = request.method;
        const cookie = /session=(\w+)/.exec(request.headers.cookie ?? "")?.[1], session = state.sessions.get(cookie);
        if (api === "session") {
            if (method === "POST") {
                const { token } = JSON.parse(body);
                if (token !== "fwt_mock" && token !== "fwt_reader") return error(401, "There is no such token, or it is over.");
                const id = `s${state.next++}`, made = { label: token === "fwt_mock" ? "first" : "reader", scopes: token === "fwt_mock" ? all : ["read"], csrf: `c${state.next++}`, expires_ms: null };
                state.sessions.set(id, made);
                return reply(200, made, { "Set-Cookie": `session=${id}; HttpOnly; SameSite=Strict; Path=/` });
            }
            if (method === "DELETE") state.sessions.delete(cookie);
            return method === "DELETE" ? reply(204) : session ? reply(200, session) : error(401, "Sign in.");
        }
        if (!session) return error(401, "Sign in.");
        if (method !== "GET" && method !== "HEAD" && request.headers["x-csrf-token"] !== session.csrf) return error(403, "The CSRF token is missing.");
        for (const [part, [status, text]] of state.fail) if (api.includes(part)) return error(status, text);
        const project = /^projects\/([^/]+)\/(.*)$/.exec(api);
        if (project) return ofProject(project[1], project[2], method, q, body, reply, error, response, head);
        return ofServer(api, method, q, body, request, reply, error);
    }

    function page(path, response, head) {
        const name = path.includes(".") ? path : "/index.html", file = join(files, name);
        if (name.includes("..") || !existsSync(file)) { response.writeHead(404, head); return response.end(); }
        const type = { html: "text/html; charset=utf-8", js: "text/javascript; charset=utf-8", css: "text/css; charset=utf-8", svg: "image/svg+xml", txt: "text/plain; charset=utf-8" }[name.split(".").pop()];
        response.writeHead(200, { ...head, "Content-Type": type });
        response.end(readFileSync(file));
    }

    const statusOf = (g) => ({ ...g, ...(state.status.get(g.id) ?? {}) });

    function ofProject(slug, rest, method, q, body, reply, error, response, head) {
        if (slug === "fresh") {
            if (rest === "overview") return reply(200, emptyOverview);
            if (rest === "calls") return reply(200, callsOf([], q));
            if (rest === "settings") return reply(200, state.settings);
            if (rest === "rules") return reply(200, { ...state.rules, version: 0, text: "", history: [] });
            return reply(200, { items: [], next: null, total: 0 });
        }
        if (slug === "hostile") {
            const value = hostileAnswers(rest);
            if (value) return reply(200, value);
        }
        if (rest === "flame") return reply(200, { unit: "nanoseconds", root: tree([0, 1, 2, 3, 4].flatMap((i) => ofVersion(variants(i), q.version))), truncated: false, coverage: { stacks: 125, of: 125, blocked_share: 1 } });
        if (rest === "overview") return reply(200, { ...overview(), top: groupRows.map(statusOf).filter((g) => g.status === "open").slice(0, 10) });
        if (rest === "groups") {
            const wanted = (q.q ?? "").toLowerCase(), keys = { blocked: "blocked_ns", reports: "reports", installs: "installs", last: "last_ms", first: "first_ms", longest: "longest_ns" };
            const items = groupRows.map(statusOf).filter((g) => (!q.status || q.status === "all" || g.status === q.status) && (!q.section || g.section === q.section) && `${g.title} ${g.file} ${g.image}`.toLowerCase().includes(wanted))
                .sort((a, b) => b[keys[q.sort ?? "blocked"]] - a[keys[q.sort ?? "blocked"]]);
            return reply(200, { items, next: null, total: items.length });
        }
        const group = /^groups\/([^/]+)(\/.*)?$/.exec(rest);
        if (group) {
            const i = groupRows.findIndex((g) => g.id === group[1]);
            if (i < 0) return error(404, "There is no such group.");
            if (method === "POST") {
                const { action, note, version } = JSON.parse(body), old = state.status.get(group[1]) ?? {};
                state.status.set(group[1], { ...old, ...(action === "note" ? { note } : action === "ignore" ? { status: "ignored" } : action === "resolve" ? { status: "resolved", resolved_version: version ?? versions[0], resolved_after: !version } : action === "open" ? { status: "open" } : {}) });
                return reply(200, statusOf(groupRows[i]));
            }
            if (group[2] === "/flame") return reply(200, { unit: "nanoseconds", root: tree(ofVersion(variants(i), q.version)), truncated: i === 0, coverage: { stacks: 25, of: i ? 25 : 412, blocked_share: i ? 1 : 0.973 } });
            if (group[2] === "/stacks") return reply(200, groupStacks(i));
            if (group[2] === "/reports") return reply(200, { items: Array.from({ length: 20 }, (_, n) => reportLine(n, i)), next: "20" });
            return reply(200, statusOf(groupDetail(i)));
        }
        if (rest === "reports") return reply(200, { items: Array.from({ length: 30 }, (_, n) => reportLine(n, n % 6)).filter((r) => r.id.startsWith(q.q ?? "")), next: null });
        const one = /^reports\/([^/]+)(\/download)?$/.exec(rest);
        if (one) {
            const n = Array.from({ length: 30 }, (_, k) => k).find((k) => reportLine(k, 0).id === one[1]);
            if (n === undefined) return error(404, "There is no such report, or its body is no longer kept.");
            if (one[2]) { response.writeHead(200, { ...head, "Content-Type": "text/plain", "Content-Disposition": "attachment; filename=report.txt" }); return response.end(`Hang of ${apps}\n${stackOf(0).map((f, k) => `${k}  ${f.image}  ${f.function}`).join("\n")}\n`); }
            return reply(200, report(n));
        }
        if (rest === "calls") return reply(200, callsOf(callRows, q));
        if (rest === "limits") return reply(200, { items: [{ kind: "stacks", made: 1200, most: 10000000, near: false }] });
        if (rest === "calls/versions") return reply(200, { items: versions.map((version, i) => ({ version, count: 300 - i * 50 })), total: versions.length, truncated: false });
        if (rest === "versions") return reply(200, { items: versions.map((label, i) => { const [version, build] = label.replace(")", "").split(" ("); return { version, build, label, line: "", numbered: true, prerelease: false, prerelease_set: null, released_ms: now - [5, 19, 33, 61][i] * DAY, released_set: false, first_ms: now - [5, 19, 33, 61][i] * DAY }; }), total: versions.length, truncated: false });
        if (rest === "calls/diff") {
            const fresh = callRows.filter((r) => r.first_version === q.to), bad = fresh.filter((r) => !r.allowed);
            return reply(200, { from: q.from ?? versions[1], from_named: !!q.from, from_prerelease: false, from_calls: 96000, to: q.to, to_calls: 97000, unnamed: [], waiting_reports: 0, failed_reports: 0, passes: !bad.length, new: fresh, gone: [callRows[6]], changed: [{ ...callRows[3], before: 44100, after: 96110 }], not_allowed: bad, totals: { new: fresh.length, gone: 1, changed: 1, not_allowed: bad.length, unnamed: 0 }, privacy: privacyOf(callRows), truncated: false });
        }
        if (rest === "calls/stacks") return reply(200, { items: [{ count: 410, version: versions[0], frames: [frame(q.api, kernel, null, null, { kind: "exact" }), ...stackOf(5).slice(2)] }], next: null, truncated: false });
        if (rest === "calls/allow") {
            if (method === "POST") { state.allow.push({ id: String(state.next++ + 100), ...JSON.parse(body) }); return reply(201, state.allow.at(-1)); }
            return reply(200, { items: state.allow, next: null });
        }
        if (rest.startsWith("calls/allow/")) { state.allow = state.allow.filter((a) => a.id !== rest.split("/")[2]); return reply(204); }
        if (rest === "calls.csv") { response.writeHead(200, { ...head, "Content-Type": "text/csv", "Content-Disposition": "attachment; filename=calls.csv" }); return response.end("api,caller,count\n"); }
        if (rest === "rules") { if (method === "PUT") state.rules = { ...state.rules, version: state.rules.version + 1, text: JSON.parse(body).text }; return reply(200, state.rules); }
        if (rest === "rules/preview") return JSON.parse(body).text.includes("nonsense") ? error(400, "line 3: “nonsense” is no kind of rule; those are app, system, wrapper, root, skip") : reply(200, { groups_now: 11, groups_then: 13, split: [{ group: groupRows[0].id, into: 3 }], merged: [], moved_reports: 2104, examined_reports: 12048, examined_stacks: 900, stacks: 900, moves: moves(), moves_of: 2, examples: moves().map((m) => ({ ...m, why_now: why(0), why_then: { ...why(0), frames: why(0).frames.map((f) => (f.frame === 5 ? { ...f, role: "wrapper", rule: "wrapper *Store.*", in_key: false } : f)) } })).map(({ stacks, ...e }) => e) });
        if (rest === "settings") { if (method === "PUT") state.settings = JSON.parse(body); return reply(200, state.settings); }
        if (rest === "retention") return method === "POST" ? reply(202, { job: "8" }) : reply(200, { bodies: 120, body_bytes: 4.1e6, reports: 0, day_sums: 0, sessions: 0, calls: 0, stacks: 0, flame: 0, unreadable: 0, seen: 0, audit_log: 3, symbols: 0, symbol_bytes: 0, disk_used: 0.41 });
        if (rest === "forget") return reply(202, { job: "7" });
        return error(404, "There is no such thing here.");
    }

    function ofServer(api, method, q, body, request, reply, error) {
        if (api === "projects") return method === "POST" ? reply(201, JSON.parse(body)) : reply(200, { items: [["default", "Lumen iOS"], ["fresh", "Fresh"], ["hostile", "Hostile"]].map(([slug, name]) => ({ slug, name, created_ms: now - 90 * DAY })), next: null });
        if (api === "server") return reply(200, { version: "0.1.0", database: "sqlite", store: "files", limits: { report_bytes: 2 << 20, upload_bytes: 4e9, part_bytes: 8 << 20 }, waiting_reports: 12, failed_reports: 0, jobs: [{ kind: "name", subject: "LumenKit", state: "running", done: 3120, total: 4210, message: "Naming stacks of LumenKit" }] });
        if (api === "tokens") {
            if (method === "POST") { const made = { id: String(state.next++ + 10), used_ms: null, ...JSON.parse(body) }; state.tokens.push(made); return reply(201, { ...made, secret: `${made.kind === "key" ? "fwk" : "fwt"}_3nGm0ckS3cretThatIsShownOnce` }); }
            return reply(200, { items: state.tokens, next: null });
        }
        if (api.startsWith("tokens/")) { state.tokens = state.tokens.filter((t) => t.id !== api.split("/")[1]); return reply(204); }
        if (api === "audit") return reply(200, { items: [["group.resolve", groupRows[10].id.slice(0, 8), "in 4.2 (1180)"], ["symbols.store", "LumenKit", hex(51)], ["token.create", "Lumen iOS", "ingest key of default"], ["rules.put", "default", "version 3"]].map(([action, subject, detail], i) => ({ at_ms: now - i * 8e6, label: "first", action, subject, detail })), next: null });
        if (api === "symbols/source") {
            // The page shows hidden characters of a path, so it asks for another one than a hostile report has.
            const lines = sources.get(q.file) ?? Object.values(HOSTILE).map((text, i) => ({ line: i + 1, text }));
            const here = lines.findIndex((l) => l.line === Number(q.line));
            if (q.image !== SOURCES || here < 0) return error(404, "the file that was sent has no such line");
            const texts = lines.map((l) => l.text);
            return reply(200, { file: q.file, line: Number(q.line), pre_context: texts.slice(0, here), context_line: texts[here], post_context: texts.slice(here + 1) });
        }
        if (api === "symbols/missing") return reply(200, { items: q.project === "fresh" ? [] : missing, next: null });
        if (api === "symbols/files") return reply(200, { items: fileRows.filter((f) => `${f.name} ${f.debug_id}`.toLowerCase().includes((q.q ?? "").toLowerCase())), next: null });
        if (api.startsWith("symbols/files/")) return reply(204);
        if (api === "symbolicate") return body.includes("nonsense") ? error(400, "This is no report of a format that is known, and no list of addresses.") : reply(200, { text: `Hang of ${apps}\nThread 0:\n${stackOf(0).slice(0, 8).map((f, i) => `${i}   ${f.image.padEnd(20)} ${f.function}${f.file ? ` (${f.file}:${f.line})` : ""}`).join("\n")}\n`, kind: "crash", missing: missing.slice(0, 1) });
        if (api === "uploads") {
            const id = `u${state.next++}`, name = Buffer.from(/filename (\S+)/.exec(request.headers["upload-metadata"])?.[1] ?? "", "base64").toString();
            state.uploads.set(id, { id, name, size: Number(request.headers["upload-length"]), received: 0, looks: 0 });
            return reply(201, undefined, { Location: `/api/v1/uploads/${id}` });
        }
        const upload = state.uploads.get(/^uploads\/(\w+)$/.exec(api)?.[1]);
        if (upload) {
            if (method === "HEAD") return reply(200, undefined, { "Upload-Offset": String(upload.received), "Upload-Length": String(upload.size) });
            if (method === "PATCH") {
                if (Number(request.headers["upload-offset"]) !== upload.received) return error(409, "The offset differs.");
                if (state.breakUploads > 0) { state.breakUploads--; upload.received += Math.floor(body.length / 2); return request.socket.destroy(); }
                upload.received += body.length;
                return reply(204, undefined, { "Upload-Offset": String(upload.received) });
            }
            if (method === "DELETE") { state.uploads.delete(upload.id); return reply(204); }
            upload.looks++;
            const bad = upload.name.includes("bad"), done = upload.looks > 1;
            return reply(200, { id: upload.id, name: upload.name, size: upload.size, received: upload.received, state: !done ? "converting" : bad ? "failed" : "done", message: bad && done ? "This is no ELF, no Mach-O, no archive of them and no symbol map." : null, done: 1, total: 2, files: done && !bad ? [{ debug_id: hex(7).toUpperCase(), arch: "arm64", kind: "debuginfo", name: "VendorAnalytics", state: "mapped", message: null }] : [] });
        }
        return error(404, "There is no such thing here.");
    }

    return new Promise((resolve) => server.listen(port, "127.0.0.1", () => resolve({ url: `http://127.0.0.1:${server.address().port}`, state, close: () => { server.closeAllConnections(); server.close(); } })));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
    const { url } = await startMock({ port: Number(process.argv[2] ?? 8377), ...(process.argv[3] ? { files: process.argv[3] } : {}) });
    console.log(`${url} (token: fwt_mock)`);
}
