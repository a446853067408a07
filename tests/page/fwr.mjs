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

const packed = (number, all) => [number, Buffer.concat(all.map(varint))];
const zigzag = (n) => (n < 0 ? -2 * n - 1 : 2 * n);

function record(type, all) {
    const payload = fields(all), head = Buffer.alloc(8), sum = Buffer.alloc(4);
    head.writeUInt32LE(payload.length, 0);
    head[4] = type;
    sum.writeUInt32LE(crc32c(Buffer.concat([head, payload])));
    return Buffer.concat([head, sum, payload, Buffer.alloc((4 - (payload.length % 4)) % 4)]);
}

/** A report of code that a JIT compiler made, whose names are in it: stacks are lists of names, innermost first.
 *
 * A hang has `samples` ([names, milliseconds]) and may have an `install`; a report of calls has `calls` ([API, names, count]). */
export function report({ id, session, version, build, started, samples = [], calls = [], install }) {
    const places = new Map(), frames = [], stacks = [], symbols = [];
    const frame = (name, caller, exact) => {
        if (!places.has(name)) {
            places.set(name, 0x10000 * (places.size + 1));
            symbols.push([1, fields([[1, places.get(name)], [2, 0x1000], [3, name], [4, `/src/shop/${name.split("::")[0].toLowerCase()}.cc`], [5, 10 + places.size]])]);
        }
        frames.push({ parent: caller, place: exact ? 1 : 0, address: places.get(name) + 0x20 });
        return frames.length;
    };
    const stack = (names) => {
        let number = 0;
        for (let i = names.length - 1; i >= 0; i--) number = frame(names[i], number, i === 0);
        stacks.push(number);
        return stacks.length;
    };
    const sampled = samples.map(([names, ms]) => [stack(names), ms * 1e6]), called = calls.map(([api, names, count]) => [api, stack(names), count]);
    const whole = sampled.reduce((sum, [, ns]) => sum + ns, 0), apis = [...new Set(calls.map(([api]) => api))];
    let before = 0, at = 0;
    const out = [record(1, [[1, id], [2, session], [3, samples.length ? 1 : 2], [4, started], [5, 600000], [7, "com.example.shop"], [8, version], [9, build], [10, "Debian GNU/Linux"], [11, "12"], [13, "x86_64"], [15, "/opt/shop/shop"]])];
    if (install) out.push(record(2, [[1, fields([[1, "install"], [2, install]])]]));
    out.push(record(12, symbols.map(([n, b]) => [n, b])));
    out.push(record(4, [packed(1, frames.map((f, i) => i + 1 - f.parent)), packed(2, frames.map((f) => f.place)),
        packed(3, frames.map((f) => { const delta = f.address - before; before = f.address; return zigzag(delta); })), packed(5, stacks)]));
    if (samples.length) out.push(record(5, [[1, fields([[1, 7], [2, "main"], [4, 82], [5, 1], [6, 1], [7, sampled[0][0]]])]]), record(6, [[1, 7], [2, "main"], [3, 250e6], [4, 2e9], [5, whole], [6, 0]]),
        record(7, [[1, whole], ...sampled.map(([number, ns], i) => { const step = i ? sampled[i - 1][1] : 0; at += step; return [2, fields([[1, number], [3, zigzag(step)], [4, ns]])]; })]), record(8, [[1, 1], [3, whole], [5, sampled.length]]));
    if (calls.length) out.push(record(9, apis.map((api) => [1, fields([[1, api], [2, 1], [3, 1], [5, 1]])])),
        record(10, called.map(([api, number, count]) => [1, fields([[1, apis.indexOf(api) + 1], [2, number], [3, 7], [4, count], [5, 0], [6, 0]])])));
    out.push(record(14, []));
    return Buffer.concat([Buffer.from("FWREPRT\n"), ...out]);
}
