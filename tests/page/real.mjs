// A real server for tests and pictures of the page: started in a folder of its own, ended by its process.

import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

export async function startServer(program) {
    const folder = mkdtempSync(join(tmpdir(), "framewalk-page-"));
    const server = spawn(program, ["--data", folder, "--listen", "127.0.0.1:0", "--requests-per-minute", "0"], { stdio: ["ignore", "pipe", "ignore"] });
    const ended = new Promise((done) => server.once("exit", done));
    let url, token;
    for await (const line of createInterface({ input: server.stdout })) {
        url ??= /^Listening on (http:\S+)\/$/.exec(line)?.[1];
        token ??= /^First token \(shown once\): (\S+)/.exec(line)?.[1];
        if (line.startsWith("Ready")) break;
    }
    const stop = async () => {
        server.kill("SIGTERM");
        await ended;
        rmSync(folder, { recursive: true, force: true });
    };
    if (!url) {
        await stop();
        throw new Error("the server did not start");
    }
    const call = async (method, path, body, type = "application/json") => {
        const reply = await fetch(url + path, { method, body, headers: { Authorization: `Bearer ${token}`, "Content-Type": type } });
        if (!reply.ok) throw new Error(`${method} ${path}: ${reply.status} ${await reply.text()}`);
        return reply.status === 204 ? null : reply.headers.get("content-type")?.includes("json") ? reply.json() : reply.text();
    };
    /** Until nothing waits and no job is at work. */
    const quiet = async () => {
        for (let tries = 0; tries < 600; tries++) {
            const state = await call("GET", "/api/v1/server");
            if (!state.waiting_reports && !state.jobs.length) return;
            await new Promise((done) => setTimeout(done, 100));
        }
        throw new Error("the server does not come to rest");
    };
    return { url, token, folder, call, quiet, stop, api: (path) => call("GET", `/api/v1/projects/default/${path}`) };
}
