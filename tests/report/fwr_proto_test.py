"""fwr_proto_test.py DOCS WORK FRAMEWALK: see fwr_proto_test.sh. WORK has example.fwr, and the module that protoc made
of the .proto."""
import json
import re
import struct
import subprocess
import sys

import framewalk_report_pb2 as pb

docs, work, framewalk = sys.argv[1:]
MESSAGES = {1: "About", 2: "Keys", 3: "Images", 4: "Stacks", 5: "Threads", 6: "Hang", 7: "Samples", 8: "HangEnd",
            9: "Apis", 10: "Calls", 11: "Scripts", 12: "Symbols", 13: "Totals", 14: "EndOfReport"}
NUMBERS = {name: number for number, name in MESSAGES.items()}


def crc32c(data):
    crc = 0xffffffff
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82f63b78 if crc & 1 else 0)
    return crc ^ 0xffffffff


def records(data):
    assert data[:8] == b"FWREPRT\n"
    at = 8
    while at < len(data):
        size, kind, flags, zero, crc = struct.unpack_from("<IBBHI", data, at)
        payload = data[at + 12:at + 12 + size]
        assert flags == 0 and zero == 0 and len(payload) == size
        assert crc == crc32c(data[at:at + 8] + payload)
        at += 12 + (size + 3) // 4 * 4
        yield kind, payload
    assert at == len(data)


def record(message):
    payload = message.SerializeToString()
    head = struct.pack("<IBBH", len(payload), NUMBERS[type(message).__name__], 0, 0)
    return head + struct.pack("<I", crc32c(head + payload)) + payload + bytes(-len(payload) % 4)


def decode_with_protoc(name, payload):
    """Fields that the .proto does not have are shown by their numbers."""
    text = subprocess.run(["protoc", "--proto_path=" + docs, "--decode=framewalk.report.v1." + name,
                           "framewalk-report.proto"], input=payload, stdout=subprocess.PIPE, check=True).stdout.decode()
    assert not re.search(r"^\s*\d+(:| \{)", text, re.MULTILINE), text
    return text


class Tree:
    """Images, frames and stacks as the documentation says."""

    def __init__(self):
        self.images, self.nodes, self.stacks, self.last = [], [], [], {}

    def add(self, stacks):
        flags = iter(stacks.flags)
        assert len(stacks.parent) == len(stacks.place) == len(stacks.offset)
        for parent, place, offset in zip(stacks.parent, stacks.place, stacks.offset):
            image = place >> 2
            assert image <= len(self.images)
            self.last[image] = self.last.get(image, 0) + offset
            self.nodes.append((len(self.nodes) + 1 - parent, image, self.last[image], place & 1,
                               next(flags) if place & 2 else 0))
        self.stacks += stacks.innermost

    def frames(self, stack):
        node, frames = self.stacks[stack - 1], []
        while node:
            parent, *frame = self.nodes[node - 1]
            frames.append(tuple(frame))
            node = parent
        return frames


def read_ours():
    tree, seen, found = Tree(), set(), {}
    with open(work + "/example.fwr", "rb") as file:
        data = file.read()
    for kind, payload in records(data):
        name = MESSAGES[kind]
        message = getattr(pb, name)()
        message.ParseFromString(payload)
        decode_with_protoc(name, payload)
        seen.add(name)
        if name == "Images":
            tree.images += message.image
        elif name == "Stacks":
            tree.add(message)
        elif name in found and name not in ("Hang", "HangEnd"):
            found[name].MergeFrom(message)
        else:
            found[name] = message
    assert seen == set(MESSAGES.values()), set(MESSAGES.values()) - seen

    about = found["About"]
    assert about.id == bytes(range(1, 17)) and about.kind == pb.KIND_HANG and about.started_ms == 1763791200123
    assert about.executable == "~/app/shop" and about.arch == "x86_64"
    assert [k.name for k in found["Keys"].key] == ["screen", "empty"]
    assert [i.path for i in tree.images] == ["/usr/lib/lib3.so", "~/app/lib1.so", "/usr/lib/lib2.so"]
    assert [i.from_header for i in tree.images] == [True, False, False]
    main, work_thread, none = found["Threads"].thread
    assert (main.id, main.name, main.watched, chr(main.state)) == (4711, "main", True, "S")
    assert tree.frames(main.stack) == [(3, 0x1500, 1, 0), (2, 0x3000, 0, 0), (2, 0x2000, 0, 0), (1, 0x40, 0, 0)]
    assert tree.frames(work_thread.stack) == [(3, 0x1700, 1, 0), (2, 0x4000, 0, 0), (2, 0x2000, 0, 1), (1, 0x40, 1, 0)]
    assert none.stack == 0 and none.unavailable == pb.UNAVAILABLE_TIMEOUT
    assert found["Hang"].so_far_ns == 300000001 and found["HangEnd"].ending == pb.ENDING_RECOVERED
    samples, at = found["Samples"].sample, []
    for sample in samples:
        at.append((at[-1] if at else 0) + sample.at_ns)
    assert at == [125000000, 255000000, 265000000] and [s.again for s in samples] == [12, 0, 1]
    assert tree.frames(samples[1].stack)[0] == (0, 0x7000010, 1, 0)
    assert found["Apis"].api[0].name == "open" and found["Calls"].call[0].first_ms == -5
    script = found["Scripts"].script[0]
    assert [found["Scripts"].frame[n - 1].function for n in script.frames] == ["load", "<module>"]
    assert found["Symbols"].symbol[0].address == 0x7000000
    assert [(f.image, f.offset, f.size, f.name) for f in found["Symbols"].function][:1] == [(2, 0x1000, 0x1000, "main")]
    assert found["Totals"].total[-1].value == 16


def write_theirs():
    about = pb.About(id=b"0123456789abcdef", kind=pb.KIND_HANG, started_ms=1763791200123, app="other", arch="arm64")
    images = pb.Images(image=[pb.Image(id=b"u" * 16, path="/opt/other/main", from_header=True)])
    # main <- run <- (a: exact | b: exact)
    stacks = pb.Stacks(parent=[1, 1, 1, 2], place=[4, 4, 5, 5], offset=[0x100, 0x20, 0x1000, -0x1010],
                       innermost=[3, 4], odd=[pb.OddStack(stack=2, end=pb.END_LIMIT, head=1, omitted=9)])
    threads = pb.Threads(thread=[pb.Thread(id=9, name="ui", main=True, watched=True, stack=1)])
    hang = pb.Hang(thread=9, threshold_ns=10**8, so_far_ns=2 * 10**8)
    samples = pb.Samples(until_ns=3 * 10**8, sample=[pb.Sample(stack=1, at_ns=10**8, weight_ns=10**8),
                                                     pb.Sample(stack=2, again=4, at_ns=10**8, weight_ns=10**8)])
    end = pb.HangEnd(ending=pb.ENDING_KILLED, duration_ns=3 * 10**8)
    parts = [about, images, stacks, threads, hang, samples, end, pb.EndOfReport()]
    with open(work + "/theirs.fwr", "wb") as file:
        file.write(b"FWREPRT\n" + b"".join(record(part) for part in parts))


def symbolicated(name):
    run = subprocess.run([framewalk, "symbolicate", "--no-debuginfod", "--to", "json", name], stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, check=False)
    assert run.returncode in (0, 8), (run.returncode, run.stderr)
    return json.loads(run.stdout)


def frames_of(thread):
    return [(f["image"].split("/")[-1], f["image_offset"], f["kind"]) for f in thread["stacks"][0]["frames"]]


def read_theirs():
    report = symbolicated(work + "/theirs.fwr")
    assert report["complete"] is True and report["kind"] == "framewalk", report
    assert report["process"]["incident"] == b"0123456789abcdef".hex()
    ui = report["threads"][0]
    assert (ui["id"], ui["name"]) == ("9", "ui")
    a = [("main", "0x1120", "exact"), ("main", "0x120", "return"), ("main", "0x100", "return")]
    assert frames_of(ui) == a, frames_of(ui)


read_ours()
write_theirs()
read_theirs()
print("every record decoded by protoc and python; python's report read")
