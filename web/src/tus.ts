// Sends one file by the tus protocol 1.0 (core and creation): in pieces, each of which the server acknowledges with the
// offset that it has. A file that was begun in this browser goes on where it stopped, after a reload too.

import { ApiError, getCsrf } from "./api";
import { visible } from "./format";

const PIECE = 8 << 20;
const TRIES = 5;

export interface Sending { stop: () => void; done: Promise<string> }

const base64 = (text: string) => btoa(String.fromCharCode(...new TextEncoder().encode(text)));
const memory = (file: File) => `upload ${file.name} ${file.size} ${file.lastModified}`;

function remembered(file: File): string | null {
    try {
        return localStorage.getItem(memory(file));
    } catch {
        return null;
    }
}
function remember(file: File, url: string | null) {
    try {
        if (url) localStorage.setItem(memory(file), url);
        else localStorage.removeItem(memory(file));
    } catch { /* a private window: it does not go on after a reload */ }
}

interface Reply { status: number; header: (name: string) => string | null; text: string }

/** XMLHttpRequest, because fetch does not tell how much of a body has gone. */
function ask(method: string, url: string, headers: Record<string, string>, body: Blob | null, stop: AbortSignal, onSent?: (bytes: number) => void): Promise<Reply> {
    return new Promise((resolve, reject) => {
        const x = new XMLHttpRequest();
        x.open(method, url);
        x.setRequestHeader("Tus-Resumable", "1.0.0");
        x.setRequestHeader("X-CSRF-Token", getCsrf());
        for (const [name, value] of Object.entries(headers)) x.setRequestHeader(name, value);
        x.upload.onprogress = (e) => onSent?.(e.loaded);
        x.onload = () => resolve({ status: x.status, header: (name) => x.getResponseHeader(name), text: x.responseText });
        x.onerror = () => reject(new ApiError(0, "The server cannot be reached."));
        x.onabort = () => reject(new ApiError(-1, "Stopped."));
        stop.addEventListener("abort", () => x.abort());
        x.send(body);
    });
}

function refused(reply: Reply): ApiError {
    let text = "";
    try {
        text = visible(JSON.parse(reply.text).error ?? "");
    } catch { /* no JSON */ }
    return new ApiError(reply.status, text || `The server answered ${reply.status}.`);
}

const pause = (ms: number) => new Promise((done) => setTimeout(done, ms));

/** `done` gives the upload's id once the server has all bytes. */
export function sendFile(file: File, onProgress: (sent: number) => void): Sending {
    const stop = new AbortController();
    const run = async (): Promise<string> => {
        let url = remembered(file), offset = 0;
        if (url) { // begun earlier
            const reply = await ask("HEAD", url, {}, null, stop.signal);
            if (reply.status === 200 || reply.status === 204) offset = Number(reply.header("Upload-Offset")) || 0;
            else url = null;
        }
        if (!url) {
            const reply = await ask("POST", "/api/v1/uploads", { "Upload-Length": String(file.size), "Upload-Metadata": `filename ${base64(file.name)}` }, null, stop.signal);
            if (reply.status !== 201 && reply.status !== 200) throw refused(reply);
            const location_ = reply.header("Location");
            if (!location_) throw new ApiError(reply.status, "The server did not say where to send the file.");
            const to = new URL(location_, location.href);
            url = to.pathname + to.search; // whatever host a proxy made of it: this one
            if (reply.status === 200) return url.split("/").pop()!;
            remember(file, url);
        }
        for (let failed = 0; offset < file.size;) {
            onProgress(offset);
            try {
                const begin = offset;
                const reply = await ask("PATCH", url, { "Content-Type": "application/offset+octet-stream", "Upload-Offset": String(offset) },
                    file.slice(offset, offset + PIECE), stop.signal, (n) => onProgress(begin + n));
                if (reply.status === 204) {
                    offset = Number(reply.header("Upload-Offset"));
                    failed = 0;
                } else if (reply.status === 409 || reply.status >= 500 && reply.status !== 507 || reply.status === 429) {
                    throw new ApiError(0, refused(reply).message);
                } else throw refused(reply);
            } catch (error) {
                if (!(error instanceof ApiError) || error.status !== 0 || ++failed > TRIES) throw error;
                await pause(500 * 2 ** failed);
                const reply = await ask("HEAD", url, {}, null, stop.signal).catch(() => null);
                if (reply && reply.status < 300) offset = Number(reply.header("Upload-Offset")) || 0;
            }
        }
        onProgress(file.size);
        remember(file, null);
        return url.split("/").pop()!;
    };
    return { stop: () => stop.abort(), done: run() };
}
