#!/usr/bin/env python3
"""framewalk symbolicate for real: as addr2line and llvm-symbolizer, as atos on Apple's files, on
reports, and on everything that must be refused.

usage: symbolicate_test.py FRAMEWALK SOURCE_DIR SHARED_DATA"""

import gzip
import itertools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

FRAMEWALK, SOURCE, SHARED = sys.argv[1:4]
PROGRAM = os.path.join(SOURCE, "tests/cli/symbolicate_program.cc")
SCHEMA = os.path.join(SOURCE, "docs/symbolicate-json.md")
DSYM = os.path.join(SHARED, "debug/samply/other/simple-example/out/mac-dsym/main.dSYM")
DSYM_UUID = "cf441af5-bb7e-3567-8d44-451d69214d92"
DSYM_BASE = 0x100000000
GOLDEN = os.path.join(SHARED, "reports/golden-dsym-simple-example-arm64.tsv")
FOLDER = tempfile.TemporaryDirectory()


def run(*arguments, text=None, **options):
    """Never with the cache of whoever runs the tests, nor with servers."""
    environment = dict(os.environ, XDG_CACHE_HOME=os.path.join(FOLDER.name, "cache"))
    environment.pop("DEBUGINFOD_URLS", None)
    options.setdefault("stdin", subprocess.DEVNULL if text is None else None)
    if text is not None:
        options.pop("stdin")
        options["input"] = text
    return subprocess.run([FRAMEWALK, "symbolicate", *map(str, arguments)], capture_output=True,
                          text=True, timeout=100, env=environment, **options)


def output(*command, text=None):
    return subprocess.run(command, input=text, capture_output=True, text=True, timeout=100,
                          check=True).stdout


def write(name, contents):
    path = os.path.join(FOLDER.name, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(contents)
    return path


def build(name, *command):
    """The program, None when this compiler is not there."""
    path = os.path.join(FOLDER.name, name)
    if not os.path.exists(path):
        if not shutil.which(command[0]):
            return None
        made = subprocess.run([*command, PROGRAM, "-o", path], capture_output=True, text=True,
                              timeout=100, check=False)
        if made.returncode:
            return None
    return path


def builds():
    for compiler, names in (("g++", ("4", "5")), ("clang++-19", ("4", "5"))):
        for version in names:
            for level in ("-O0", "-O2"):
                name = f"{compiler}{version}{level}"
                yield name, build(name, compiler, f"-gdwarf-{version}", level)
    yield "fixed", build("fixed", "g++", "-g", "-O2", "-no-pie")
    yield "narrow", build("narrow", "g++", "-g", "-O2", "-m32")


def addresses(program):
    """Of every instruction."""
    listing = output("objdump", "-d", "--no-show-raw-insn", program)
    return re.findall(r"^ +([0-9a-f]+):", listing, re.M)


def blocks(text):
    """Answers with -a, by address."""
    found = {}
    for line in text.splitlines():
        if line.startswith("0x"):
            lines = found.setdefault(line.split(":")[0], [])
        lines.append(line)
    return found


def plain(text):
    """Framewalk keeps no discriminators, and spells C++ names as LLVM does, not the binutils."""
    text = re.sub(r" \(discriminator \d+\)", "", text)
    text = re.sub(r" \[clone (\.[^]]*)\]", r" (\1)", text)
    text = re.sub(r"\{lambda(\([^{}]*\))#1\}", r"'lambda'\1", text)
    while "> >" in text:
        text = text.replace("> >", ">>")
    return text


def names_and_places(answer):
    found = [re.fullmatch(r"(?:0x\w+: | \(inlined by\) )(.*) at (.*)", line) for line in answer]
    return [match.groups() if match else ("??", "??:0") for match in found]


def documented_difference(theirs, ours):
    """Of the kinds that framewalk-symbolicate(1) lists."""
    theirs, ours = names_and_places(theirs), names_and_places(ours)
    if theirs[-1][1][-2:] in (":?", ":0"): # no line: addr2line takes the nearest symbol and its file
        return ours[-1][1] in ("??:?", "??:0")
    if [place for _, place in theirs] != [place for _, place in ours]:
        return False
    outer = theirs[-1][0]
    for (their, _), (our, _) in zip(theirs, ours):
        inlined_local = not our.startswith("_Z") and (their == outer or
                                                      our.endswith("::" + their))
        if their != our.removesuffix(".cold") and not inlined_local:
            return False
    return True


def same_addresses(case, program):
    """Addresses at which addr2line and we say the same, after checking that all others are of the
    documented kinds."""
    every = addresses(program)
    text = "".join(f"{a}\n" for a in every)
    theirs = blocks(plain(output("addr2line", "-afip", "-e", program, text=text)))
    ours = blocks(run("-afip", "-e", program, text=text).stdout)
    case.assertEqual(list(theirs), list(ours))
    same = []
    for address, answer in zip(every, theirs.values()):
        mine = ours[f"0x{int(address, 16):0{len(next(iter(ours))) - 2}x}"]
        if answer == mine:
            # What addr2line says of inlined functions without a linkage name depends on what it
            # was asked before.
            if all(name.startswith("_Z") for name, _ in names_and_places(mine)[:-1]):
                same.append(address)
        else:
            case.assertTrue(documented_difference(answer, mine),
                            f"{program} {address}:\n{answer}\n{mine}")
    case.assertGreater(len(same), len(every) // 4)
    return same


class AsAddr2line(unittest.TestCase):
    def test_all_flags_in_all_combinations(self):
        compared = 0
        for name, program in builds():
            if not program:
                continue
            same = same_addresses(self, program)
            text = "".join(f"{a}\n" for a in same)
            flags = "afipsC"
            for size in range(len(flags) + 1):
                for chosen in itertools.combinations(flags, size):
                    options = ["-" + "".join(chosen) + "e", program]
                    with self.subTest(program=name, options=options[0]):
                        theirs = plain(output("addr2line", *options, text=text))
                        self.assertEqual(run(*options, text=text).stdout, theirs)
                        few = same[:: len(same) // 7 + 1]
                        theirs = plain(output("addr2line", *options, *few))
                        self.assertEqual(run(*options, *few).stdout, theirs)
                        compared += 1
        if not compared:
            self.skipTest("no compiler")

    def test_sections(self):
        for name, program in builds():
            if not program:
                continue
            section = re.search(r" \.text +PROGBITS +([0-9a-f]+)",
                                output("readelf", "-SW", program)).group(1)
            begin = int(section, 16)
            known = [int(a, 16) - begin for a in same_addresses(self, program)]
            offsets = [hex(a) for a in known if a >= 0] + ["0xffffff"]
            for flags in ("-fip", "-afiC", "-a"):
                with self.subTest(program=name, flags=flags):
                    options = [flags, "-j", ".text", "-e", program]
                    theirs = plain(output("addr2line", *options, *offsets))
                    self.assertEqual(run(*options, *offsets).stdout, theirs)
            answer = run("-e", program, "-j", ".nothing", "0")
            self.assertEqual((answer.returncode, answer.stdout), (1, ""))
            self.assertIn("no section '.nothing'", answer.stderr)

    def test_odd_input(self):
        program = build("g++5-O2", "g++", "-gdwarf-5", "-O2")
        if not program:
            self.skipTest("no g++")
        text = "\nzz\n  0x10\n10 20\n0x1 trailing\n-1\n\n99999999999999999\n0x4"
        for flags in ("-a", "-afip", "-f"):
            self.assertEqual(run(flags, "-e", program, text=text).stdout,
                             output("addr2line", flags, "-e", program, text=text))

    def test_each_line_is_answered_at_once(self):
        program = build("g++5-O2", "g++", "-gdwarf-5", "-O2")
        if not program:
            self.skipTest("no g++")
        main = re.search(r"^([0-9a-f]+) T main$", output("nm", program), re.M).group(1)
        with subprocess.Popen([FRAMEWALK, "symbolicate", "--no-cache", "-fe", program],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            for _ in range(3):
                process.stdin.write(main + "\n")
                process.stdin.flush()
                self.assertEqual(process.stdout.readline(), "main\n")
                self.assertIn("symbolicate_program.cc:", process.stdout.readline())
            process.stdin.close()
            self.assertEqual(process.wait(60), 0)

    def test_as_llvm_symbolizer(self):
        tool = shutil.which("llvm-symbolizer-19")
        if not tool:
            self.skipTest("no llvm-symbolizer-19")
        for name, program in builds():
            if not program:
                continue
            with_lines = blocks(run("-ae", program, *same_addresses(self, program)).stdout)
            text = "".join(f"{a}\n" for a, answer in with_lines.items() if answer[-1][-2:] not in (":?", ":0"))
            for flags, wanted in (("-fip", ["-p", "-i"]), ("-fi", ["-i"]), ("-i", ["-i", "-f=none"]),
                                  ("-f", ["--no-inlines"])):
                with self.subTest(program=name, flags=flags):
                    theirs = output(tool, "--output-style=GNU", "--no-demangle", *wanted, "-e",
                                    program, text=text)
                    self.assertEqual(run(flags, "-e", program, text=text).stdout, plain(theirs))


@unittest.skipUnless(os.path.isdir(DSYM), "no shared data")
class AsAtos(unittest.TestCase):
    def test_golden(self):
        inner = os.path.join(DSYM, "Contents/Resources/DWARF/main")
        place = "(in main) (main.cpp:6)"
        for file in (DSYM, inner, os.path.join(os.path.dirname(DSYM), "main")):
            answer = run("-o", file, "-arch", "arm64", "0x100003648", "0x1", "0x100003f00", "word")
            self.assertEqual(answer.stdout, f"main {place}\n0x1\n0x100003f00\nword\n")
        self.assertEqual(run("-o", DSYM, "-l", "0x104000000", "0x104003648").stdout,
                         f"main {place}\n")
        self.assertEqual(run("-o", DSYM, "-s", "0x4000000", "0x104003648").stdout,
                         f"main {place}\n")
        for offset in ("-offset", "--offset"):
            self.assertEqual(run("-o", DSYM, offset, "0x3648").stdout, f"main {place}\n")
        full = run("-o", DSYM, "-fullPath", "0x10000363c").stdout
        self.assertRegex(full, r"^main \(in main\) \(/.*/src/main\.cpp:5\)\n$")

    def test_inlined(self):
        answer = run("-i", "-o", DSYM, "0x100003648", "0x10000363c").stdout.splitlines()
        self.assertRegex(answer[0], r"operator<<.* \(in main\) \(ostream:909\)$")
        self.assertEqual(answer[1:], ["main (in main) (main.cpp:6)", "",
                                      "main (in main) (main.cpp:5)", ""])
        answer = run("-i", "-d", " <- ", "-o", DSYM, "0x100003648").stdout
        self.assertRegex(answer, r"\(ostream:909\) <- main \(in main\) \(main.cpp:6\)\n\n$")

    def test_input(self):
        words = write("words", "0x100003648 0x10000363c\n\n\t0x1\n")
        expected = "main (in main) (main.cpp:6)\nmain (in main) (main.cpp:5)\n0x1\n"
        self.assertEqual(run("-o", DSYM, "-f", words).stdout, expected)
        with open(words, encoding="utf-8") as file:
            self.assertEqual(run("-o", DSYM, text=file.read()).stdout, expected)

    def test_without_debug_information(self):
        bare = os.path.join(FOLDER.name, "main")
        shutil.copy(os.path.join(os.path.dirname(DSYM), "main"), bare)
        answer = run("-o", bare, "--no-separate", "0x100003648").stdout
        self.assertEqual(answer, "main (in main) + 12\n")

    def test_wrong_architecture(self):
        answer = run("-o", DSYM, "-arch", "x86_64", "0x1")
        self.assertEqual(answer.returncode, 5)
        self.assertIn("arm64", answer.stderr)
        fat = os.path.join(SHARED, "debug/llvm-dsymutil/fat-test.dylib")
        answer = run("-o", fat, "0x1000")
        self.assertEqual(answer.returncode, 2)
        self.assertIn("x86_64, i386, x86_64h", answer.stderr)
        self.assertEqual(run("-o", fat, "-arch", "i386", "0xffffff").stdout, "0xffffff\n")


class Own(unittest.TestCase):
    def setUp(self):
        self.program = build("g++5-O2", "g++", "-gdwarf-5", "-O2")
        if not self.program:
            self.skipTest("no g++")
        names = dict(reversed(line.split(" T ")) for line in
                     output("nm", self.program).splitlines() if " T " in line)
        self.main = names["main"]
        self.grown = names["_ZN6shapes6Square5grownEi"]

    def test_lines_stand_for_themselves(self):
        done = run(self.program, self.main, self.grown, "0x1", "zz")
        self.assertEqual(done.returncode, 2, "a word is no address")
        self.assertEqual(run(self.program, text="zz\n0x1\n").returncode, 2)
        self.assertEqual(run(self.program, self.main, "0x1").returncode, 0)
        lines = done.stdout.splitlines()
        self.assertRegex(lines[0], rf"^0x{self.main}  (\[inlined\] )?[\w:]+.*  /.*\.cc:\d+$")
        grown = [line for line in lines if line.startswith("0x" + self.grown)]
        self.assertRegex(grown[-1], r"  shapes::Square::grown\(int\)\+0x0  /.*program\.cc:\d+$")
        for line in grown[:-1]:
            self.assertRegex(line, r"  \[inlined\] ")
        self.assertEqual(lines[-2], "0x0000000000000001  ??  (not in the image's code)")
        self.assertEqual(lines[-1], "zz  ??  (not an address)")

    def test_inlined_functions_are_those_of_addr2line(self):
        every = same_addresses(self, self.program)
        ours = run("--json", self.program, *every).stdout.splitlines()
        theirs = blocks(plain(output("addr2line", "-afiC", "-e", self.program, *every)))
        self.assertEqual(len(ours), len(every))
        for answer, line in zip(theirs.values(), ours):
            flat = []
            for frame in json.loads(line)["frames"]:
                flat += [frame.get("function", "??"), f"{frame.get('file', '??')}:{frame.get('line', '?')}"]
            if answer[-1][-2:] not in (":?", ":0"):
                self.assertEqual(flat, answer[1:])

    def test_offsets_of_the_image(self):
        direct = run(self.program, self.main).stdout.split("  ", 1)[1]
        name = os.path.basename(self.program)
        for word in (f"{name}+0x{self.main}", f"{self.program}+0x{self.main}"):
            self.assertEqual(run(self.program, word).stdout, f"{word}  {direct}"
                             if direct.count("\n") == 1 else run(self.program, word).stdout)
        answer = run(f"{self.program}+0x{self.grown}")
        self.assertIn("shapes::Square::grown(int) (in ", answer.stdout)
        self.assertEqual(answer.returncode, 0)

    def test_return_addresses(self):
        listing = output("objdump", "-d", "--no-show-raw-insn", self.program)
        after = re.search(r"call .*<_ZN6shapes6Square5grownEi>\n +([0-9a-f]+):", listing).group(1)
        before = hex(int(after, 16) - 1)
        place = re.compile(r"  (/\S+)$", re.M)
        self.assertEqual(place.findall(run("--return", self.program, after).stdout),
                         place.findall(run(self.program, before).stdout))

    def test_stripped(self):
        stripped = os.path.join(FOLDER.name, "stripped")
        subprocess.run(["strip", "-o", stripped, self.program], check=True)
        answer = run(stripped, self.main)
        self.assertIn("??", answer.stdout)
        self.assertEqual(answer.stderr.count("\n"), 1)
        self.assertIn("no debug file was found", answer.stderr)
        self.assertIn(".build-id", answer.stderr)
        found = run(stripped, "--debug", FOLDER.name, self.main)
        self.assertIn("symbolicate_program.cc:", found.stdout, found.stderr)
        self.assertEqual(found.stderr, "")
        self.assertIn("symbolicate_program.cc:", run(stripped, "--debug", self.program,
                                                     self.main).stdout)
        verbose = run("-v", stripped, "--debug", FOLDER.name, self.main)
        self.assertRegex(verbose.stderr, r"DWARF of .*\n")

    def test_symbol_map(self):
        made = os.path.join(FOLDER.name, "maps", "program.symmap")
        os.makedirs(os.path.dirname(made), exist_ok=True)
        subprocess.run([FRAMEWALK, "convert", "--quiet", "--output", made, self.program],
                       check=True, timeout=100)
        every = same_addresses(self, self.program)
        self.assertEqual(run(made, *every).stdout, run(self.program, *every).stdout)
        stripped = os.path.join(FOLDER.name, "stripped-map")
        subprocess.run(["strip", "-o", stripped, self.program], check=True)
        trace = write("map.txt", f"{stripped}+0x{self.main}\n")
        for place in (made, os.path.dirname(made)):
            self.assertIn("symbolicate_program.cc:",
                          run("--debug", place, trace).stdout)

    def test_symbols_of_other_tools(self):
        for form in ("gsym", "breakpad"):
            made = os.path.join(FOLDER.name, "other." + form)
            subprocess.run([FRAMEWALK, "convert", "--quiet", "--to", form, "--output", made,
                            self.program], check=True, timeout=100)
            place = re.compile(r"  (/\S+:\d+)$", re.M)
            every = same_addresses(self, self.program)
            self.assertEqual(place.findall(run(made, *every).stdout),
                             place.findall(run(self.program, *every).stdout), form)

    def test_json_is_documented(self):
        with open(SCHEMA, encoding="utf-8") as file:
            members = set(re.findall(r"^\| `(\w+)`", file.read(), re.M))
        seen = set()
        for line in run("--json", "--columns", self.program, self.main, self.grown, "zz", "1",
                        *addresses(self.program)).stdout.splitlines():
            answer = json.loads(line)
            seen |= set(answer) | {key for frame in answer["frames"] for key in frame}
        self.assertLessEqual(seen, members)
        self.assertGreaterEqual(seen, {"address", "word", "frames", "reason", "function",
                                       "mangled", "file", "line", "column", "inlined", "offset"})

    def test_big_input(self):
        every = same_addresses(self, self.program)
        one = run("-fie", self.program, text="".join(f"{a}\n" for a in every)).stdout
        times = 150000 // len(every)
        text = "".join(f"{a}\n" for a in every) * times
        self.assertEqual(run("-fie", self.program, text=text).stdout, one * times)
        words = run(self.program, text=text.replace("\n", " ")).stdout
        self.assertEqual(len(set(words.splitlines())), len(set(
            run(self.program, *every).stdout.splitlines())))

    def test_closed_pipe(self):
        text = f"{self.main}\n" * 100000
        with subprocess.Popen([FRAMEWALK, "symbolicate", "--no-cache", self.program],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True) as process:
            process.stdout.close()
            try:
                process.stdin.write(text)
                process.stdin.close()
            except BrokenPipeError:
                pass
            self.assertNotEqual(process.wait(60), 0)
            self.assertEqual(process.stderr.read(), "")

    def test_output(self):
        path = write("out", "x" * 100000)
        answer = run("--output", path, self.program, self.main)
        self.assertEqual((answer.returncode, answer.stdout), (0, ""))
        with open(path, encoding="utf-8") as file:
            self.assertEqual(file.read(), run(self.program, self.main).stdout)
        self.assertEqual(run("--output", "/nowhere/file", self.program, self.main).returncode, 1)
        if os.path.exists("/dev/full"):
            full = run("--output", "/dev/full", self.program, self.main)
            self.assertEqual(full.returncode, 1)
            self.assertIn("cannot write", full.stderr)


def golden():
    """(address, [(function, file, line)]) of the golden of the dSYM."""
    with open(GOLDEN, encoding="utf-8") as file:
        for line in file:
            if line.startswith("0x"):
                address, _, *frames = line.rstrip("\n").split("\t")
                yield int(address, 16), [tuple(f.rsplit("|", 3)[:3]) for f in frames]


def squeezed(name):
    """Demanglers put blanks in different places."""
    return name.replace(" ", "")


def ips(offsets, uuid=DSYM_UUID, path="/Applications/Main.app/Contents/MacOS/main"):
    header = {"app_name": "main", "bug_type": "309", "os_version": "macOS 14.0 (23A344)"}
    body = {"procName": "main", "procPath": path, "pid": 4242, "cpuType": "ARM-64",
            "unknown": {"kept": [1.50, "\u00e9"]},
            "exception": {"type": "EXC_BAD_ACCESS", "signal": "SIGSEGV"}, "faultingThread": 0,
            "threads": [{"triggered": True, "id": 1, "frames": [
                {"imageOffset": offset, "imageIndex": 0} for offset in offsets]}],
            "usedImages": [{"source": "P", "arch": "arm64", "base": 0x104000000, "size": 32768,
                            "uuid": uuid, "path": path, "name": "main"}]}
    return json.dumps(header) + "\n" + json.dumps(body, indent=2) + "\n"


CRASH = """Process:               main [4242]
Path:                  /Applications/Main.app/Contents/MacOS/main
Code Type:             ARM-64 (Native)
Report Version:        12

Exception Type:        EXC_BAD_ACCESS (SIGSEGV)

Thread 0 Crashed:
0   main                          \t0x000000010400363c 0x104000000 + 13884
1   main                          \t0x000000010400364c 0x104000000 + 13900
2   dyld                          \t0x000000018a5550e0 0x18a54f000 + 24800

Binary Images:
       0x104000000 -        0x104007fff main arm64  <cf441af5bb7e35678d44451d69214d92> \
/Applications/Main.app/Contents/MacOS/main
       0x18a54f000 -        0x18a5e3fff dyld arm64e  <00112233445566778899aabbccddeeff> \
/usr/lib/dyld
"""


@unittest.skipUnless(os.path.isdir(DSYM), "no shared data")
class AppleReports(unittest.TestCase):
    def test_every_address_of_the_golden(self):
        rows = [row for row in golden() if row[1][0][2] != "0"]
        self.assertGreater(len(rows), 100)
        # All but the first frame of a thread are return addresses: just behind the instruction.
        report = ips([rows[0][0] - DSYM_BASE] + [a + 4 - DSYM_BASE for a, _ in rows[1:]])
        answer = run("--debug", DSYM, "--full-path", write("all.ips", report))
        self.assertEqual((answer.returncode, answer.stderr), (0, ""))
        body = json.loads(answer.stdout.split("\n", 1)[1])
        frames = body["threads"][0]["frames"]
        for address, expected in rows:
            for function, file, line in expected:
                frame = frames.pop(0)
                self.assertEqual((squeezed(frame.get("symbol", "")),
                                  os.path.basename(frame.get("sourceFile", "??")),
                                  frame.get("sourceLine", 0)),
                                 (squeezed(function), file, int(line)), hex(address))
        self.assertEqual(frames, [])
        self.assertEqual(body["unknown"], {"kept": [1.5, "\u00e9"]})

    def test_crash_text(self):
        path = write("main.crash", CRASH)
        for place in (DSYM, os.path.dirname(DSYM), os.path.join(SHARED, "debug/samply")):
            answer = run("--debug", place, path)
            self.assertEqual(answer.returncode, 0, answer.stderr)
            self.assertRegex(answer.stderr, r"^framewalk: 1 image without symbols \(--verbose")
            before, frames, after = (re.search(r"(.*Crashed:\n)(.*?)(\nBinary.*)", text, re.S)
                                     .groups() for text in (answer.stdout,)).__next__()
            self.assertEqual(before + after, re.sub(r"(Crashed:\n).*?(\nBinary)", r"\1\2", CRASH,
                                                    flags=re.S))
            lines = frames.splitlines()
            self.assertEqual(lines[0], "0   main                          \t0x000000010400363c "
                             "main + 0 (main.cpp:5)")
            self.assertRegex(lines[1], r"^1   main .*0x000000010400364c \[inlined\] .* "
                             r"\(ostream:909\)$")
            self.assertRegex(lines[2], r"^2   main .* main \+ 16 \(main\.cpp:6\)$")
            self.assertEqual(lines[3], "3   dyld                          \t0x000000018a5550e0 "
                             "0x18a54f000 + 24800")
        again = run("--debug", DSYM, write("named.crash", answer.stdout))
        self.assertEqual(again.stdout, answer.stdout)
        self.assertEqual(run("--debug", DSYM, text=CRASH).stdout, answer.stdout)
        self.assertEqual(run("--debug", DSYM, "-", text=CRASH).stdout, answer.stdout)

    def test_other_forms(self):
        path = write("few.ips", ips([0x363c, 0x364c]))
        text = run("--debug", DSYM, "--to", "crash", path).stdout
        self.assertRegex(text, r"(?m)^0   main +\t +0x10400363c main \+ 0 \(main\.cpp:5\)$")
        collapsed = run("--debug", DSYM, "--collapsed", path).stdout
        self.assertRegex(collapsed, r";main;.*operator<<.*_\[i\];main 1\n$")
        scope = json.loads(run("--debug", DSYM, "--to", "speedscope", path).stdout)
        frames = scope["shared"]["frames"]
        self.assertIn(("main", 5), [(frame["name"], frame.get("line")) for frame in frames])
        fox = json.loads(run("--debug", DSYM, "--to", "firefox", path).stdout)
        self.assertIn("main", fox["shared"]["stringArray"])
        self.assertEqual(fox["libs"][0]["name"], "main")
        people = run("--debug", DSYM, "--to", "text", path).stdout
        self.assertRegex(people, r"(?m)^  0  main\+0x0 .*main\.cpp:5$")
        profile = os.path.join(FOLDER.name, "few.pprof")
        self.assertEqual(run("--debug", DSYM, "--to", "pprof", "--output", profile, path).stdout, "")
        with gzip.open(profile) as file:
            self.assertIn(b"main.cpp", file.read())
        answer = json.loads(run("--debug", DSYM, "--json", path).stdout)
        self.assertEqual(answer["format"], "framewalk-report")
        frame = answer["threads"][0]["stacks"][0]["frames"][0]
        self.assertEqual((frame["function"], frame["line"]), ("main", 5))
        self.assertTrue(frame["file"].startswith("/"))
        outer = json.loads(run("--debug", DSYM, "--no-inlines", path).stdout.split("\n", 1)[1])
        self.assertEqual([f["symbol"] for f in outer["threads"][0]["frames"]], ["main", "main"])

    def test_missing_image(self):
        report = ips([0x363c, 0x364c], uuid="00000000-1111-2222-3333-444444444444")
        path = write("missing.ips", report)
        answer = run("--debug", DSYM, path)
        self.assertEqual((answer.returncode, answer.stdout), (8, report))
        self.assertEqual(answer.stderr.count("\n"), 1)
        self.assertIn("main (UUID 00000000-1111-2222-3333-444444444444): 2 frames without a name: "
                      "no file was found: /Applications/Main.app", answer.stderr)
        self.assertIn(DSYM, answer.stderr)
        self.assertIn("--debug PATH", run(path).stderr)

    def test_a_file_in_the_place_of_the_image_has_to_be_the_image(self):
        other = os.path.join(FOLDER.name, "other-main")
        shutil.copy(os.path.join(SHARED, "debug/samply/macos-arm64-local/libmozglue.dylib"), other)
        report = ips([0x363c], path=other)
        answer = run(write("other.ips", report))
        self.assertEqual((answer.returncode, answer.stdout), (8, report))
        self.assertIn("other-main: has the id 4c4c44f9", answer.stderr)

    def test_paths_that_block(self):
        fifo = os.path.join(FOLDER.name, "fifo")
        if not os.path.exists(fifo):
            os.mkfifo(fifo)
        answer = run("--debug", FOLDER.name, write("fifo.ips", ips([0x363c], path=fifo)))
        self.assertIn(answer.returncode, (0, 8))

    def test_reports_of_others_come_back_as_they_are(self):
        folder = os.path.join(SHARED, "reports")
        seen = 0
        for name in sorted(os.listdir(folder)):
            with open(os.path.join(folder, name), "rb") as file:
                contents = file.read()
            if "request" in name: # the answer is another text
                continue
            out = os.path.join(FOLDER.name, "same")
            answer = run("--debug", os.path.join(SHARED, "debug"), "--output", out,
                         os.path.join(folder, name))
            self.assertIn(answer.returncode, (0, 5, 8), name + answer.stderr)
            if answer.returncode != 5:
                with open(out, "rb") as file:
                    self.assertEqual(file.read(), contents, name)
                seen += 1
        self.assertGreater(seen, 15)


class OtherReports(unittest.TestCase):
    def setUp(self):
        self.program = build("g++5-O2", "g++", "-gdwarf-5", "-O2")
        if not self.program:
            self.skipTest("no g++")
        every = same_addresses(self, self.program)
        answers = blocks(plain(output("addr2line", "-afiC", "-e", self.program,
                                      text="".join(f"{a}\n" for a in every))))
        rows = [(int(address, 16), list(zip(answer[1::2], answer[2::2])))
                for address, answer in zip(every, answers.values()) if answer[-1][-1] not in "?0"]
        self.every, self.expected = zip(*rows)

    def test_sanitizer(self):
        trace = "==1==ERROR: AddressSanitizer: SEGV on unknown address\n" + "".join(
            f"    #{i} 0x{0x555500000000 + a:x}  ({self.program}+0x{a:x})\n"
            for i, a in enumerate(self.every)) + "\nSUMMARY: AddressSanitizer: SEGV\n"
        answer = run(write("asan.txt", trace))
        self.assertEqual((answer.returncode, answer.stderr), (0, ""))
        flat = [pair for pairs in self.expected for pair in pairs]
        lines = re.findall(r"^    #(\d+) 0x[0-9a-f]+ in (.*) (/\S+:\d+)$", answer.stdout, re.M)
        self.assertEqual([(function, place) for _, function, place in lines], flat)
        self.assertTrue(answer.stdout.endswith("\nSUMMARY: AddressSanitizer: SEGV\n"))
        self.assertEqual(run(text=trace).stdout, answer.stdout)

    def test_perf_script(self):
        load = 0x555500000000
        size = (max(self.every) + 0x1000) & ~0xfff
        script = (f"prog 77/77 1.0: PERF_RECORD_MMAP2 77/77: [0x{load:x}(0x{size:x}) @ 0 fd:01 12 "
                  f"34]: r-xp {self.program}\n")
        for address in self.every[:50]:
            script += f"prog 77 2.0: 1 cycles:u: \n\t{load + address:16x} [unknown] "
            script += f"({self.program})\n\n"
        answer = run(write("perf.txt", script))
        self.assertEqual(answer.returncode, 0, answer.stderr)
        self.assertNotIn("[unknown]", answer.stdout)
        names = re.findall(r"^\t +[0-9a-f]+ (.*?)(?:\+0x[0-9a-f]+)? \(", answer.stdout, re.M)
        self.assertEqual(names, [function for pairs in self.expected[:50]
                                 for function, _ in pairs])

    def test_list(self):
        answer = run(write("list.txt", "".join(f"{self.program}+0x{a:x}\n"
                                               f"{self.program} 0x{a:x}\n" for a in self.every)))
        self.assertEqual(answer.returncode, 0, answer.stderr)
        name = os.path.basename(self.program)
        for function, place in (pair for pairs in self.expected for pair in pairs):
            self.assertIn(f" {function} (in {name}) ({place})", answer.stdout)

    def test_symbolication_request(self):
        identity = re.search(r"Build ID: ([0-9a-f]{32})", output("readelf", "-n", self.program))
        if not identity:
            self.skipTest("no build ids")
        raw = bytes.fromhex(identity.group(1))
        guid = (raw[3::-1] + raw[5:3:-1] + raw[7:5:-1] + raw[8:]).hex().upper() + "0"
        name = os.path.basename(self.program)
        request = {"memoryMap": [[name, guid], ["other", "0" * 33]],
                   "stacks": [[[0, a] for a in self.every]]}
        answer = json.loads(run("--debug", self.program, text=json.dumps(request)).stdout)
        result = answer["results"][0]
        self.assertEqual(result["found_modules"], {f"{name}/{guid}": True,
                                                   "other/" + "0" * 33: None})
        for frame, pairs in zip(result["stacks"][0], self.expected):
            self.assertEqual(frame["function"], pairs[-1][0])
            self.assertEqual([i["function"] for i in frame.get("inlines", [])],
                             [function for function, _ in pairs[:-1]])

    def test_tail_calls(self):
        """Of a stack whose source says what jumped to what (tests/programs/tail_calls.c)."""
        library = os.path.join(FOLDER.name, "libtail.so")
        made = subprocess.run(["gcc", "-O2", "-g", "-fPIC", "-shared", "-o", library, os.path.join(
            SOURCE, "tests/programs/tail_calls.c")], capture_output=True, timeout=100, check=False)
        if made.returncode:
            self.skipTest("gcc does not build it")
        listing = output("objdump", "-d", "--no-show-raw-insn", library)

        def behind_call(function, callee):
            body = re.search(rf"<{function}>:\n(.*?)\n\n", listing, re.S).group(1)
            return int(re.search(rf"call .*{callee}.*\n +([0-9a-f]+):", body).group(1), 16)

        load = 0x7f0000000000
        script = (f"p 7/7 1.0: PERF_RECORD_MMAP2 7/7: [0x{load:x}(0x100000) @ 0 fd:01 1 1]: r-xp "
                  f"{library}\n")
        for caller, callee in (("one_way", "<one>"), ("two_ways", "<fork_in_the_road>")):
            script += "p 7 2.0: 1 cycles:u: \n"
            for address in (behind_call("bottom", r"\*"), behind_call(caller, callee)):
                script += f"\t{load + address:16x} [unknown] ({library})\n"
            script += "\n"
        answer = run("--json", text=script)
        frames = [thread["stacks"][0]["frames"] for thread in json.loads(answer.stdout)["threads"]]
        self.assertEqual([frame["function"] for frame in frames[0]], ["bottom", "one_way"])
        self.assertEqual([(i["function"], i["tail_call"]) for i in frames[0][1]["inlines"]],
                         [("two", True), ("one", True)])
        self.assertEqual([frame["function"] for frame in frames[1]], ["bottom", "two_ways"])
        self.assertFalse(frames[1][1]["inlines"])
        self.assertIn("1 frame was reached by tail calls of which several ways", answer.stderr)

    def test_program_without_debug_file(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        stripped = os.path.join(folder.name, "bare")
        subprocess.run(["strip", "-o", stripped, self.program], check=True)
        trace = f"{stripped}+0x{self.every[-1]:x}\n"
        answer = run(text=trace)
        self.assertEqual((answer.returncode, answer.stdout), (8, trace))
        self.assertRegex(answer.stderr, r"bare: 1 frame without a name: .*no debug file was found")
        found = run("--debug", self.program, text=trace)
        self.assertEqual((found.returncode, found.stderr), (0, ""))
        self.assertIn(self.expected[-1][-1][0], found.stdout)

    def test_damaged_debug_file(self):
        with open(self.program, "rb") as file:
            contents = bytearray(file.read())
        sections = output("readelf", "-SW", self.program)
        place = re.search(r" \.debug_info +PROGBITS +\w+ (\w+) (\w+)", sections)
        begin, size = (int(part, 16) for part in place.groups())
        contents[begin:begin + size] = b"\xff" * size
        folder = tempfile.TemporaryDirectory() # nobody else may find it by its identity
        self.addCleanup(folder.cleanup)
        broken = os.path.join(folder.name, "broken")
        with open(broken, "wb") as file:
            file.write(contents)
        trace = f"{broken}+0x{self.every[0]:x}\n{self.program}+0x{self.every[-1]:x}\n"
        answer = run(write("broken.txt", trace))
        self.assertIn(answer.returncode, (0, 8))
        self.assertIn(self.expected[-1][-1][0], answer.stdout)


class Refused(unittest.TestCase):
    def test_command_lines(self):
        for arguments in (["--frob"], ["--to", "xml", "x"], ["--threads", "0", "x"], ["-l", "zz"],
                          ["--color", "maybe", "x"], ["x", "-e"], ["--to", "crash", "x", "0x1"],
                          ["--debug", "/nowhere", "x"], ["-j", ".text", "--offset", "x"], ["--offset", "-l", "1", "-o", "x"]):
            answer = run(*arguments)
            self.assertEqual((answer.returncode, answer.stdout), (2, ""), arguments)
            self.assertEqual(answer.stderr.count("\n"), 1, answer.stderr)
        self.assertIn("did you mean '--debug'", run("--debgu", "x").stderr)

    def test_files(self):
        for path in ("/nowhere/file", FOLDER.name, write("empty", ""), write("text", "no report")):
            answer = run(path)
            self.assertEqual((answer.returncode, answer.stdout), (5, ""), path)
            self.assertIn(path, answer.stderr)
            self.assertEqual(run("-e", path, "0x1").returncode, 5)
        self.assertEqual(run(text="").returncode, 5)

    def test_truncated_report(self):
        whole = ips([0x363c, 0x364c])
        for size in range(0, len(whole), 37):
            answer = run(text=whole[:size])
            self.assertIn(answer.returncode, (0, 5, 8), answer.stderr)
            if answer.returncode != 5:
                self.assertEqual(answer.stdout, whole[:size])

    def test_report_without_frames(self):
        report = ips([])
        self.assertEqual(run(text=report).stdout, report)
        answer = run("--collapsed", text=report)
        self.assertEqual((answer.returncode, answer.stdout, answer.stderr), (0, "", ""))
        for form in ("speedscope", "pprof", "firefox"):
            answer = run("--to", form, text=report)
            self.assertEqual((answer.returncode, answer.stdout), (1, ""))
            self.assertIn("cannot be written as %s: there is no stack in it" % form, answer.stderr)

    def test_help(self):
        answer = run("--help")
        self.assertEqual((answer.returncode, answer.stderr), (0, ""))
        for line in answer.stdout.splitlines():
            self.assertLessEqual(len(line), 80, line)
        manual = os.path.join(SOURCE, "packaging/man/framewalk-symbolicate.1")
        with open(manual, encoding="utf-8") as file:
            page = file.read()
        for option in set(re.findall(r"--([a-z-]+)", answer.stdout)):
            self.assertIn(f"Fl Fl {option}", page)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[4:])
