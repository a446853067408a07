"""32-bit ARM: a return address into Thumb code has its lowest bit set, and names the call before
it all the same; in every kind of report, in addresses given as such, and in the collector.

    thumb_test.py framewalk-collector framewalk
"""
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

from debug_files import send as send_file
from server import Server

FRAMEWALK = os.path.abspath(sys.argv[2])
FOLDER = tempfile.mkdtemp(prefix="framewalk-thumb-")
SHARED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../shared/data/crash")

UUID = "82D13D98-219E-3040-B62A-07A297007A7C"
VMADDR, LOAD, TEXT = 0x4000, 0xA4000, 0x1000  # code begins at VMADDR + TEXT
NAMES = ["first", "second", "third", "fourth"]
SIZE = 0x14  # of each function: the last instruction of each is a call, which never returns

# What is asked, innermost first: (offset in the image, what it must be named).
EXACT = (TEXT + SIZE + 2, "second")
RETURNS = [(TEXT + SIZE | 1, "first"), (TEXT + 3 * SIZE | 1, "third"), (TEXT + SIZE + 9, "second")]
FRAMES = [EXACT] + RETURNS
EXPECTED = [name for _, name in FRAMES]


def mach_o(path):
    """An armv7 program of four Thumb functions."""
    strings = b"\0" + b"".join(b"_" + n.encode() + b"\0" for n in NAMES)
    symbols, code = b"", b"\x00\xbf" * (SIZE * len(NAMES) // 2)
    for i, name in enumerate(NAMES):
        symbols += struct.pack("<IBBHI", strings.index(b"_" + name.encode()), 0x0F, 1, 0x0008,
                               VMADDR + TEXT + i * SIZE)
    section = struct.pack("<16s16sIIIIIIIII", b"__text", b"__TEXT", VMADDR + TEXT, len(code), TEXT,
                          1, 0, 0, 0x80000400, 0, 0)
    text = struct.pack("<II16sIIIIIIII", 1, 56 + len(section), b"__TEXT", VMADDR, 0x2000, 0, 0x2000,
                       5, 5, 1, 0) + section
    link = struct.pack("<II16sIIIIIIII", 1, 56, b"__LINKEDIT", VMADDR + 0x2000, 0x1000, 0x2000,
                       len(symbols) + len(strings), 1, 1, 0, 0)
    table = struct.pack("<IIIIII", 2, 24, 0x2000, len(NAMES), 0x2000 + len(symbols), len(strings))
    id_ = struct.pack("<II", 0x1B, 24) + bytes.fromhex(UUID.replace("-", ""))
    commands = text + link + table + id_
    head = struct.pack("<IIIIIII", 0xFEEDFACE, 12, 9, 2, 4, len(commands), 0)
    data = (head + commands).ljust(TEXT, b"\0") + code
    with open(path, "wb") as out:
        out.write(data.ljust(0x2000, b"\0") + symbols + strings)
    return path


IMAGE = mach_o(os.path.join(FOLDER, "App"))


def address(offset):
    return LOAD + offset


def kscrash():
    frames = [{"object_name": "App", "object_addr": LOAD, "instruction_addr": address(o)}
              for o, _ in FRAMES]
    return json.dumps({
        "report": {"version": "3.1.0", "process_name": "App"}, "system": {"cpu_arch": "armv7"},
        "binary_images": [{"name": "/App.app/App", "uuid": UUID, "image_addr": LOAD,
                           "image_size": 0x3000, "cpu_type": 12, "cpu_subtype": 9}],
        "crash": {"error": {"type": "signal"}, "threads": [
            {"index": 0, "crashed": True, "backtrace": {"contents": frames},
             "registers": {"basic": {"pc": address(EXACT[0])}}}]}})


def crash():
    lines = ["%-4d%-30s\t0x%08x 0x%x + %d" % (i, "App", address(o), LOAD, o)
             for i, (o, _) in enumerate(FRAMES)]
    return "\n".join([
        "Incident Identifier: 1", "Process:         App [1]", "Code Type:       ARM (Native)",
        "Exception Type:  SIGSEGV", "Crashed Thread:  0", "", "Thread 0 Crashed:"] + lines + [
        "", "Binary Images:",
        "0x%x - 0x%x +App armv7  <%s> /App.app/App" % (LOAD, LOAD + 0x2FFF, UUID.replace("-", "")),
        ""])


def ips():
    frames = [{"imageOffset": o, "imageIndex": 0} for o, _ in FRAMES]
    return json.dumps({"app_name": "App", "bug_type": "309"}) + "\n" + json.dumps({
        "procName": "App", "cpuType": "ARM", "faultingThread": 0,
        "threads": [{"id": 1, "triggered": True, "frames": frames}],
        "usedImages": [{"source": "P", "arch": "armv7", "base": LOAD, "size": 0x3000,
                        "uuid": UUID.lower(), "path": "/App.app/App", "name": "App"}]})


def metrickit():
    """From the caller to what ran."""
    inner = []
    for offset, _ in FRAMES:
        inner = [{"binaryName": "App", "binaryUUID": UUID, "address": address(offset),
                  "offsetIntoBinaryTextSegment": offset, "sampleCount": 1}
                 | ({"subFrames": inner} if inner else {})]
    return json.dumps({"crashDiagnostics": [{
        "callStackTree": {"callStackPerThread": True, "callStacks": [
            {"threadAttributed": True, "callStackRootFrames": inner}]},
        "diagnosticMetaData": {"platformArchitecture": "armv7"}}]})


def sample():
    lines = ["    1 Thread_1"]
    for depth, (offset, _) in enumerate(reversed(FRAMES)):
        lines.append("    %s1 ???  (in App)  load address 0x%x + 0x%x  [0x%x]"
                     % ("+" + " " * (2 * depth + 1), LOAD, offset, address(offset)))
    return "\n".join(["Analysis of sampling App (pid 1) every 1 millisecond",
                      "Process:         App [1]", "Code Type:       ARM", "----", "",
                      "Call graph:"] + lines + [
                          "", "Binary Images:", "    0x%x -    0x%x +App (1) <%s> /App.app/App"
                          % (LOAD, LOAD + 0x2FFF, UUID), ""])


def spindump():
    lines = ["  Thread 0x1    1 samples (1-1)"]
    for depth, (offset, _) in enumerate(reversed(FRAMES)):
        lines.append("  %s1  ??? (App + %d) [0x%x] 1-1" % ("  " * depth, offset, address(offset)))
    return "\n".join(["Date/Time:        2015-01-01 10:00:00.000 +0000",
                      "OS Version:       iPhone OS 9.0", "Architecture:     armv7",
                      "Data Source:      Stackshots", "Steps:            1 (100ms sampling interval)",
                      "", "Timeline format: stacks are sorted chronologically", "",
                      "Process:          App [1]", "UUID:             " + UUID,
                      "Num samples:      1 (1-1)", ""] + lines + [
                          "", "  Binary Images:", "    0x%x - 0x%x  App (1)  <%s>  /App.app/App"
                          % (LOAD, LOAD + 0x2FFF, UUID), ""])


def dump():
    frames = [{"address": hex(address(o)), "kind": "return" if i else "exact", "signal": False,
               "function": None, "symbol": None, "offset": None, "image": "/App.app/App",
               "image_offset": hex(VMADDR + o), "build_id": UUID.replace("-", "").lower(), "file": None,
               "line": None} for i, (o, _) in enumerate(FRAMES)]
    return json.dumps({"format": "framewalk-dump", "version": 1, "process": {
        "pid": 1, "executable": "/App.app/App", "command": "App", "arch": "arm"},
        "complete": True, "missing": [], "threads": [{"id": 1, "name": "App", "main": True, "stacks": [
            {"id": "0", "samples": 1, "end": "root", "frames": frames}]}]})


def stackshot():
    return json.dumps({"bug_type": "288"}) + "\n" + json.dumps({
        "bug_type": "288", "processByPid": {"1": {"pid": 1, "procname": "App", "threadById": {
            "1": {"id": 1, "userFrames": [[0, o] for o, _ in FRAMES]}}}},
        "binaryImages": [[UUID.lower(), LOAD, "P"]]})


def meter():
    return "\n".join(['1 {"type":"objc","name":"x"}'] +
                     ['2 {"pc":%d}' % address(o) for o, _ in RETURNS] +
                     ['3 {"address":%d, "uuid":"%s", "path":"/App.app/App"}' % (LOAD, UUID), ""])


def perf():
    """A list of mappings and stacks; the file offset of the code is its offset in the image."""
    lines = ["App 1/1 1.0: PERF_RECORD_MMAP2 1/1: [0x%x(0x3000) @ 0 fd:01 12 34]: r-xp /App.app/App"
             % LOAD, "App 1 1.1:     250000 cycles:u: "]
    return "\n".join(lines + ["\t    %x [unknown] (/App.app/App)" % address(o)
                              for o, _ in FRAMES] + ["", ""])


REPORTS = {"kscrash": kscrash, "crash": crash, "ips": ips, "metrickit": metrickit, "sample": sample,
           "spindump": spindump, "framewalk-dump": dump, "stackshot": stackshot, "perf": perf,
           "meter": meter}
TREES = ("metrickit", "sample", "spindump")


def run(*arguments, text=None, codes=(0,)):
    environment = dict(os.environ, XDG_CACHE_HOME=os.path.join(FOLDER, "cache"), DEBUGINFOD_URLS="")
    done = subprocess.run([FRAMEWALK, "symbolicate", *arguments], input=text, capture_output=True,
                          text=True, timeout=60, env=environment, check=False)
    assert done.returncode in codes, (done.args, done.stdout, done.stderr)
    return done.stdout


def name_at(image, value, *options):
    """The innermost function there."""
    answer = json.loads(run("--json", *options, image, hex(value)))
    return answer["frames"][0]["function"]


def write(name, text):
    path = os.path.join(FOLDER, name)
    with open(path, "w", encoding="utf-8") as out:
        out.write(text)
    return path


def expected_of(kind):
    """Trees begin with the outermost caller; Meter keeps the stack of an exception alone."""
    return {"meter": EXPECTED[1:]}.get(kind, EXPECTED[::-1] if kind in TREES else EXPECTED)


def names_of(text):
    """Of a report of ours."""
    return [frame["function"] for thread in json.loads(text)["threads"]
            for stack in thread["stacks"] for frame in stack["frames"]]


class Thumb(unittest.TestCase):
    def test_reports(self):
        for kind, make in REPORTS.items():
            with self.subTest(kind):
                path = write(kind, make())
                answer = run("--debug", FOLDER, "--to", "json", path)
                self.assertEqual(names_of(answer), expected_of(kind))
                offsets = [int(f["image_offset"], 16) for t in json.loads(answer)["threads"]
                           for s in t["stacks"] for f in s["frames"] if f["image_offset"]]
                if kind not in ("stackshot", "perf", "meter"):  # these know no architecture
                    self.assertEqual([o & 1 for o in offsets], [0] * len(offsets))

    def test_what_is_no_frame_stays(self):
        """Addresses are written back as they stood."""
        text = crash()
        with_names = run("--debug", FOLDER, write("again", text))
        for before, after in zip(text.split("\n"), with_names.split("\n")):
            self.assertEqual(before.split(" 0x")[0].split("\t")[0], after.split(" 0x")[0].split("\t")[0])
        self.assertIn("0x%08x first + 20" % address(TEXT + SIZE | 1), with_names)

    def test_addresses(self):
        for offset, name in RETURNS:
            for value, options in ((VMADDR + offset, []), (offset, ["--offset"]),
                                   (address(offset), ["-l", hex(LOAD)])):
                with self.subTest(hex(value), options=options):
                    self.assertEqual(name_at(IMAGE, value, "--return", *options), name)
        for extra in (0, 1):  # as they are: the function that begins there
            self.assertEqual(name_at(IMAGE, VMADDR + TEXT + SIZE + extra), "second")
        atos = run("-o", IMAGE, "-l", hex(LOAD), hex(address(TEXT + SIZE | 1)))
        self.assertIn("second (in App)", atos)

    def test_elf(self):
        """Real code: every call that ends a function."""
        clang, linker = shutil.which("clang-19"), shutil.which("ld.lld-19")
        if not clang or not linker:
            self.skipTest("no clang-19 and lld for ARM")
        source = write("arm.c", "".join(
            "__attribute__((noinline, noreturn)) void f%d(void) { %s }\n" %
            (i, "for (;;) __asm__ volatile(\"\");" if i == 0 else "f%d();" % (i - 1))
            for i in range(6)) + "void _start(void) { f5(); }\n")
        path = os.path.join(FOLDER, "arm")
        subprocess.run([clang, "--target=armv7-linux-gnueabihf", "-mthumb", "-g", "-O1", "-nostdlib",
                        "-fno-optimize-sibling-calls", "--ld-path=" + linker, "-static", source,
                        "-o", path], check=True)
        listing = subprocess.run(["readelf", "-sW", path], capture_output=True, text=True,
                                 check=True).stdout
        starts = {}
        for line in listing.splitlines():
            words = line.split()
            if len(words) == 8 and words[3] == "FUNC":
                starts[words[7]] = int(words[1], 16) & ~1, int(words[2])
        self.assertEqual(len(starts), 7)
        for name, (start, size) in starts.items():
            if name == "f0":
                continue
            for bit in (0, 1):
                self.assertEqual(name_at(path, start + size | bit, "--return"), name)

    def test_collector(self):
        with Server() as server:
            with open(IMAGE, "rb") as file:
                self.assertEqual(send_file(server, file.read(), "App")["state"], "done")
            for kind, make in REPORTS.items():
                if kind in ("perf", "meter"):  # no id of the image; no names are read back
                    continue
                with self.subTest(kind):
                    reply = server.post("/api/v1/symbolicate", make().encode(), "text/plain")
                    self.assertEqual(reply.status, 200, reply.body)
                    named = run("--to", "json", "--no-debuginfod", "-", text=reply.text(),
                                codes=(0, 8))
                    self.assertEqual(names_of(named), expected_of(kind))

    def test_real(self):
        """KSCrash's own examples: what the device named is what it named."""
        folder = os.path.join(SHARED, "kscrash")
        if not os.path.isdir(folder):
            self.skipTest("the recorded reports are not there")
        seen = 0
        for name in sorted(os.listdir(folder)):
            path = os.path.join(folder, name)
            with open(path, encoding="utf-8", errors="replace") as file:
                text = file.read()
            if "armv7" not in text:
                continue
            answer = json.loads(run("--to", "json", "--no-debuginfod", path, codes=(0, 8)))
            for thread in answer["threads"]:
                for stack in thread["stacks"]:
                    for frame in stack["frames"]:
                        if frame["address"]:
                            self.assertEqual(int(frame["address"], 16) & 1, 0, (name, frame))
                            seen += 1
        self.assertGreater(seen, 100)


if __name__ == "__main__":
    try:
        unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)
    finally:
        shutil.rmtree(FOLDER, ignore_errors=True)
