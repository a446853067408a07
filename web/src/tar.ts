// A folder as one tar archive (POSIX ustar; long names as GNU tar writes them): a dSYM is a folder, and what is sent is
// one file. The archive is put together of the files as they lie on the disk: nothing is read before it is sent.

const BLOCK = 512, NAME = 100;
const MOST = 0o77777777777; // bytes of a file: eleven octal digits

export interface Entry { path: string; file: File }

function header(path: Uint8Array, size: number, seconds: number, kind: string): Uint8Array<ArrayBuffer> {
    const block = new Uint8Array(BLOCK), encoder = new TextEncoder();
    const put = (at: number, text: string) => block.set(encoder.encode(text), at);
    const octal = (value: number, digits: number) => Math.floor(value).toString(8).padStart(digits, "0");
    block.set(path.subarray(0, NAME), 0);
    put(100, "0000644\0" + "0000000\0" + "0000000\0"); // mode, user, group
    put(124, `${octal(size, 11)}\0${octal(seconds, 11)}\0`);
    put(148, "        "); // the checksum, as it counts itself
    put(156, kind);
    put(257, "ustar\u000000");
    put(148, `${octal(block.reduce((sum, byte) => sum + byte, 0), 6)}\0 `);
    return block;
}

const padding = (size: number) => new Uint8Array((BLOCK - (size % BLOCK)) % BLOCK);

export function tarOf(name: string, entries: Entry[]): File {
    const parts: BlobPart[] = [];
    let newest = 0;
    for (const { path, file } of entries) {
        if (file.size > MOST) throw new Error(`${path} is too large for a tar archive.`);
        const bytes = new TextEncoder().encode(path), seconds = file.lastModified / 1000;
        if (bytes.length > NAME) {
            const whole = new Uint8Array(bytes.length + 1); // with the zero behind it
            whole.set(bytes);
            parts.push(header(new TextEncoder().encode("././@LongLink"), whole.length, seconds, "L"), whole, padding(whole.length));
        }
        parts.push(header(bytes, file.size, seconds, "0"), file, padding(file.size));
        newest = Math.max(newest, file.lastModified);
    }
    parts.push(new Uint8Array(2 * BLOCK));
    return new File(parts, `${name}.tar`, { lastModified: newest });
}
