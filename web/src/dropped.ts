// What was dropped or chosen, as files to send: a file as it is, a folder (a dSYM, an .xcarchive) as one archive.

import { tarOf, type Entry } from "./tar";

const MOST_FILES = 20000; // of a folder: whoever drops a home folder did not mean to

const fileOf = (entry: FileSystemFileEntry) => new Promise<File>((done, failed) => entry.file(done, failed));
const someOf = (reader: FileSystemDirectoryReader) => new Promise<FileSystemEntry[]>((done, failed) => reader.readEntries(done, failed));

async function walk(folder: FileSystemDirectoryEntry, found: Entry[]): Promise<void> {
    const reader = folder.createReader();
    for (;;) { // a reader gives some at a time, and none at the end
        const some = await someOf(reader);
        if (!some.length) return;
        for (const entry of some) {
            if (entry.isDirectory) await walk(entry as FileSystemDirectoryEntry, found);
            else found.push({ path: entry.fullPath.replace(/^\//, ""), file: await fileOf(entry as FileSystemFileEntry) });
            if (found.length > MOST_FILES) throw new Error(`${folder.name} holds more than ${MOST_FILES} files: drop the dSYMs alone, or use framewalk push.`);
        }
    }
}

async function sent(entry: FileSystemEntry): Promise<File> {
    if (!entry.isDirectory) return fileOf(entry as FileSystemFileEntry);
    const found: Entry[] = [];
    await walk(entry as FileSystemDirectoryEntry, found);
    if (!found.length) throw new Error(`${entry.name} is an empty folder.`);
    return tarOf(entry.name, found);
}

/** To be called in the event's handler: what was dropped is gone after it. One promise for each thing. */
export function filesOfDrop(transfer: DataTransfer): Promise<File>[] {
    const entries = [...transfer.items].filter((i) => i.kind === "file").map((i) => ({ entry: i.webkitGetAsEntry(), file: i.getAsFile() }));
    return entries.map(({ entry, file }) => (entry ? sent(entry) : file ? Promise.resolve(file) : Promise.reject(new Error("This cannot be read."))));
}

/** Of an input for folders: each file knows its path from the folder on. */
export function fileOfFolder(files: File[]): File {
    const entries = files.map((file) => ({ path: file.webkitRelativePath || file.name, file }));
    return tarOf(entries[0].path.split("/")[0], entries);
}
