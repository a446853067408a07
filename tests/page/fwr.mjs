// As much of Framewalk's report format (docs/report-format.md) as it takes to change a record: CRC-32C, and fields of
// Protocol Buffers.

const TABLE = Array.from({ length: 256 }, (_, n) => {
    for (let bit = 0; bit < 8; bit++) n = n & 1 ? (n >>> 1) ^ 0x82f63b78 : n >>> 1;
    return n >>> 0;
});

export function crc32c(bytes) {
    let sum = 0xffffffff;
    for (const byte of bytes) sum = (sum >>> 8) ^ TABLE[(sum ^ byte) & 255];
    return (sum ^ 0xffffffff) >>> 0;
}

function varint(number) {
    const out = [];
    for (let n = BigInt(Math.round(number)); ; n >>= 7n) {
        if (n < 128n) return Buffer.from([...out, Number(n)]);
        out.push(Number(n & 127n) | 128);
    }
}

/** [[number, value]...]: numbers as varints, texts and bytes with their length. */
export const fields = (all) => Buffer.concat(all.flatMap(([number, value]) => {
    if (typeof value === "number") return [varint(number << 3), varint(value)];
    const bytes = Buffer.from(value);
    return [varint((number << 3) | 2), varint(bytes.length), bytes];
}));
