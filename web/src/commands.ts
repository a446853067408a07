// Commands to paste into a terminal, with this server's address in them.

/** A word for a shell, quoted when it must be. */
export const shell = (word: string) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replace(/'/g, `'\\''`)}'`);

/** Where to: plain HTTP to other machines must be asked for. */
function to(): string {
    const near = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(location.hostname);
    return `--to ${location.origin}${location.protocol === "http:" && !near ? " --plain-http" : ""}`;
}

export const runWatched = (options = "") => `framewalk run ${options}${to()} --key-file KEY -- ./your-program`;
export const pushReports = (what = "REPORTS") => `framewalk push ${to()} --key-file KEY ${what}`;
export const pushDebugFiles = (what = "PATH-TO-DEBUG-FILES") => `framewalk push ${to()} --key-file TOKEN ${shell(what)}`;
export const checkCalls = (from: string, until: string) => `framewalk push ${to()} --key-file TOKEN --check-calls ${shell(`${from}..${until}`)}`;
