#!/usr/bin/env python3
"""Lines, inlined functions and tail calls that framewalk dump shows of a running program: what its
source says, and what gdb shows of the same process.

usage: lines_test.py FRAMEWALK PROGRAMS_FOLDER"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

FRAMEWALK, FOLDER = sys.argv[1:3]
SOURCES = [os.path.join(FOLDER, name) for name in ("lines.c", "tail_calls.c")]
# Name of the test, compiler and flags, does gdb read its call sites? Of clang's tail calls in DWARF
# 5 gdb wants a return address that they do not have, and gives up.
WAYS = [("gcc", ["gcc"], True), ("clang", ["clang-19"], False),
        ("clang_dwarf_4", ["clang-19", "-gdwarf-4", "-ggdb"], True)]


def lines_of(path):
    with open(path, encoding="utf-8") as file:
        return list(enumerate(file.read().splitlines(), 1))


def marked():
    """Function -> line of the call that it stands at, from the comments of lines.c."""
    found = {}
    for number, text in lines_of(SOURCES[0]):
        mark = re.search(r"/\* in (\w+) \*/", text)
        if mark:
            found[mark.group(1)] = number
    return found


def call_line(function, callee):
    """Lines of tail_calls.c at which `function` calls `callee`."""
    inside, found = False, []
    for number, text in lines_of(SOURCES[1]):
        if re.match(rf"(NOINLINE static )?void {function}\(.*\)$", text):
            inside = True
        elif text == "}":
            inside = False
        elif inside and re.search(rf"\b{callee}\(", text):
            found.append(number)
    return found


def ours(pid, *options):
    """Thread name -> frames (function, file, line, role), innermost first."""
    return frames_of(output("dump", "--json", *options, str(pid)))


def until_asleep(pid):
    """Until every thread waits: what it said it said before."""
    for _ in range(4000):
        states = []
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/stat", encoding="utf-8") as file:
                states.append(file.read().rsplit(")", 1)[1].split()[0])
        if set(states) == {"S"}:
            return
        time.sleep(0.005)
    raise AssertionError(f"the threads of {pid} are {states}")


def output(*arguments):
    return subprocess.run([FRAMEWALK, *arguments], capture_output=True, text=True, timeout=60,
                          check=True).stdout


def frames_of(dump):
    threads = {}
    for thread in json.loads(dump)["threads"]:
        frames = threads[thread["name"]] = []
        for frame in thread["stacks"][0]["frames"]:
            if frame["ambiguous_tail_calls"]:
                frames.append((None, None, None, "ambiguous"))
            for other in frame["inlines"]:
                role = "tail call" if other.get("tail_call") else "inlined"
                frames.append((other["function"], other.get("file"), other.get("line"), role))
            frames.append((frame["function"], frame["file"], frame["line"], "real"))
    return threads


def of_program(frames):
    """Those between the system's own: (function, line, role)."""
    return [(function, line, role) for function, path, line, role in frames
            if path in SOURCES or role in ("ambiguous", "tail call")]


def gdb(pid):
    """The same from gdb, (function, file name, line), and whether a thread's stack is complete."""
    commands = ["set debuginfod enabled off", "set print frame-arguments none",
                "set print entry-values no", "set filename-display basename", "set width 0",
                "set backtrace past-main on", "set backtrace past-entry on",
                "thread apply all bt"]
    words = [word for command in commands for word in ("-ex", command)]
    result = subprocess.run(["gdb", "-q", "-nx", "-batch", "-p", str(pid), *words],
                            capture_output=True, text=True, timeout=100)
    threads, frames = {}, None
    for line in result.stdout.splitlines():
        title = re.match(r'Thread \d+ \(Thread .*? "(.*)"\):', line)
        title = title or re.match(r'Thread \d+ \(Thread .*? \(LWP \d+\) "(.*)"\):', line)
        frame = re.match(r"#\d+ +(?:0x[0-9a-f]+ in )?(\S+) \(.*?\)(?: at (\S+):(\d+))?", line)
        if title:
            frames = threads[title.group(1)] = []
        elif frame and frames is not None:
            number = int(frame.group(3)) if frame.group(3) else None
            frames.append((frame.group(1), frame.group(2), number))
    return threads, result.stdout + result.stderr


class Lines(unittest.TestCase):
    maxDiff = None
    compiler, gdb_reads_calls = None, True

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        program = os.path.join(cls.folder.name, "lines")
        subprocess.run([*cls.compiler, "-O2", "-g", "-pthread", "-D_GNU_SOURCE", "-o", program,
                        *SOURCES], check=True, timeout=60)
        cls.program = program
        cls.process = subprocess.Popen([program], stdout=subprocess.PIPE, text=True)
        assert cls.process.stdout.readline() == "ready\n"
        until_asleep(cls.process.pid)
        cls.pid = cls.process.pid

    @classmethod
    def tearDownClass(cls):
        cls.process.kill()
        cls.process.wait()
        cls.process.stdout.close()
        cls.folder.cleanup()

    def test_inlined(self):
        at = marked()
        self.assertEqual(of_program(ours(self.pid)["lines"]),
                         [("stay", at["stay"], "real"), ("innermost", at["innermost"], "inlined"),
                          ("middle", at["middle"], "inlined"), ("outer", at["outer"], "real"),
                          ("main", at["main"], "real")])

    def test_inlined_text(self):
        at = marked()
        text = output("dump", str(self.pid))
        self.assertRegex(text, rf"""  #(\d+) +innermost \[inlined\] +\(lines\) +lines\.c:{at["innermost"]}
  #\1 +middle \[inlined\] +\(lines\) +lines\.c:{at["middle"]}
  #\1 +outer\+0x[0-9a-f]+ +\(lines\) +lines\.c:{at["outer"]}
  #\d+ +main\+""")
        self.assertRegex(text, rf"""  #0 .*\n(?:  #\d+ .*\n)*  #(\d+) +bottom\+0x.*
 +two \[tail call\] +\(lines\) +tail_calls\.c:{call_line("two", "bottom")[0]}
 +one \[tail call\] +\(lines\) +tail_calls\.c:{call_line("one", "two")[0]}
  #\d+ +one_way\+""")

    def expect_case(self, name, *wanted):
        """`wanted`: what stands between bottom and tail_run, as function, callee, role."""
        frames = of_program(ours(self.pid)[name])
        at = marked()
        expected = [("stay", at["stay"], "real"), ("bottom", *call_line("bottom", "take"), "real")]
        for function, callee, role in wanted:
            line = call_line(function, callee) if function else [None]
            expected.append((function, line[0] if len(line) == 1 else None, role))
        expected.append(("tail_run", *call_line("tail_run", wanted[-1][0]), "real"))
        expected.append(("run_case", at["run_case"], "real"))
        self.assertEqual(frames, expected)

    def test_tail_calls(self):
        ambiguous = (None, None, "ambiguous")
        self.expect_case("case-0-0", ("two", "bottom", "tail call"), ("one", "two", "tail call"),
                         ("one_way", "one", "real"))
        self.expect_case("case-1-0", ("single", "bottom", "tail call"),
                         ("single_jump", "single", "real"))
        for name in ("case-2-0", "case-2-1"):
            self.expect_case(name, ambiguous, ("two_ways", "fork_in_the_road", "real"))
        self.expect_case("case-3-1", ("twin", "bottom", "tail call"),
                         ("two_places", "twin", "real"))
        self.expect_case("case-5-3", ambiguous, ("circle", "there", "real"))
        self.expect_case("case-6-0", ("direct", "bottom", "real"))

    def test_no_lines(self):
        """The functions on the stack are the same without debug information."""
        with_lines, without = ours(self.pid), ours(self.pid, "--no-lines")
        for name, frames in without.items():
            self.assertTrue(all(frame[1:] == (None, None, "real") for frame in frames), frames)
            self.assertEqual([frame[0] for frame in with_lines[name] if frame[3] == "real"],
                             [frame[0] for frame in frames])

    def test_collapsed(self):
        text = output("dump", "--collapsed", str(self.pid))
        self.assertIn(";main;outer;middle_[i];innermost_[i];stay;", text)
        self.assertIn(";tail_run;one_way;one_[t];two_[t];bottom;stay;", text)

    def test_lines_later(self):
        """A dump without lines gets the same from framewalk symbolicate."""
        path = self.program + ".json"
        with open(path, "w", encoding="utf-8") as file:
            file.write(output("dump", "--json", "--no-lines", str(self.pid)))
        certain = lambda threads: {name: [frame for frame in frames if frame[3] != "ambiguous"]
                                   for name, frames in threads.items()}
        self.assertEqual(certain(frames_of(output("symbolicate", path))), certain(ours(self.pid)))

    def test_replaced_file(self):
        """The program that runs keeps its lines when its file is deleted, when another one is at
        its path, and when a copy is: the copy is not the file that is mapped, but the same."""
        kept = self.program + "-kept"
        wanted = ours(self.pid)["lines"]
        shutil.copy(self.program, kept)
        os.remove(self.program)
        self.assertEqual(ours(self.pid)["lines"], wanted)
        shutil.copy(FRAMEWALK, self.program)
        self.assertEqual(ours(self.pid)["lines"], wanted)
        os.replace(kept, self.program)
        self.assertEqual(ours(self.pid)["lines"], wanted)

    def test_core(self):
        """A core file; and one of another machine, whose files are in a folder."""
        if not shutil.which("gdb") or not shutil.which("objcopy"):
            self.skipTest("needs gdb to write a core file, and objcopy")
        root = os.path.join(self.folder.name, "root")
        stripped = os.path.join(self.folder.name, "stripped")
        notes = subprocess.run(["readelf", "-n", self.program], capture_output=True, text=True,
                               check=True).stdout
        build_id = re.search("Build ID: ([0-9a-f]+)", notes).group(1)
        debug = f"{root}/usr/lib/debug/.build-id/{build_id[:2]}/{build_id[2:]}.debug"
        os.makedirs(os.path.dirname(root + stripped))
        os.makedirs(os.path.dirname(debug))
        subprocess.run(["objcopy", "--only-keep-debug", self.program, debug], check=True)
        subprocess.run(["objcopy", "--strip-all", self.program, stripped], check=True)

        wanted = of_program(ours(self.pid)["lines"])
        shows = lambda core, *options: of_program(list(ours(core, *options).values())[0])
        self.assertEqual(shows(self.core_of(self.pid)), wanted)
        with subprocess.Popen([stripped], stdout=subprocess.PIPE, text=True) as process:
            self.assertEqual(process.stdout.readline(), "ready\n")
            until_asleep(process.pid)
            core = self.core_of(process.pid)
            process.kill()
        self.assertEqual(shows(core), [])
        self.assertEqual(shows(core, "--exe", self.program), wanted)  # the same, not stripped
        os.rename(stripped, root + stripped)
        self.assertEqual(shows(core, "--sysroot", root), wanted)
        os.remove(debug)
        self.assertEqual(shows(core, "--sysroot", root), [])

    def core_of(self, pid):
        core = f"{self.program}.{pid}.core"
        subprocess.run(["gdb", "-q", "-nx", "-batch", "-p", str(pid), "-ex",
                        "set debuginfod enabled off", "-ex", f"generate-core-file {core}"],
                       capture_output=True, timeout=100)
        if not os.path.exists(core):
            self.skipTest("gdb writes no core file")
        return core

    def test_gdb(self):
        """gdb shows the same frames at the same lines, and each tail call that we show."""
        if not shutil.which("gdb"):
            self.skipTest("there is no gdb")
        theirs, output = gdb(self.pid)
        if not theirs:
            self.skipTest("gdb cannot attach: " + output[-200:])
        mine = ours(self.pid)
        self.assertEqual(set(mine), set(theirs))
        for name, frames in mine.items():
            with self.subTest(thread=name):
                self.compare(frames, theirs[name])

    def compare(self, frames, theirs):
        """gdb's frames in their order, but that it may show tail calls that we do not. Of two jumps
        of one function to another it shows none; we show the function, without a line."""
        both, at = (frames, theirs), 0
        for function, path, line, role in frames:
            if role == "ambiguous" or role == "tail call" and not (line and self.gdb_reads_calls):
                continue
            while path in SOURCES and at < len(theirs) and theirs[at][0] != function:
                self.assertIn(theirs[at][0], TAIL_FUNCTIONS, both)
                at += 1
            self.assertLess(at, len(theirs), both)
            place = (os.path.basename(path) if path else None, line)
            self.assertEqual(theirs[at][1:], place, both)
            at += 1
        self.assertEqual(at, len(theirs), both)


TAIL_FUNCTIONS = ["one", "two", "single", "left", "right", "fork_in_the_road", "twin",
                  "through_pointer", "there", "back"]

WAYS = [way for way in WAYS if shutil.which(way[1][0])]
if not WAYS:
    print("skip: no compiler")
    sys.exit(77)
for name, compiler, reads in WAYS:
    globals()["Lines_" + name] = type("Lines_" + name, (Lines,),
                                      {"compiler": compiler, "gdb_reads_calls": reads})
del Lines
unittest.main(argv=sys.argv[:1])
