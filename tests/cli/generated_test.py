#!/usr/bin/env python3
"""framewalk dump of generated code: whole stacks through memory that a just-in-time compiler writes
to, and the names of its functions out of /tmp/perf-PID.map.

usage: generated_test.py FRAMEWALK PROGRAM   (tests/programs/generated.c)"""

import json
import os
import platform
import shutil
import subprocess
import sys
import time
import unittest

FRAMEWALK, PROGRAM = sys.argv[1:3]
X86_64 = platform.machine() == "x86_64"
OTHER_USER = 12345


class Target:
    """The program, waiting; what it says of its functions."""

    def __init__(self, memory, kinds, threads=0, before=()):
        self.process = subprocess.Popen([*before, PROGRAM, memory, kinds, str(threads)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        self.number = int(self.process.stdout.readline().split()[1])
        self.functions = []
        while (line := self.process.stdout.readline()) != ".\n":
            self.functions.append(line.strip())
        self.pid = self.process.pid
        self.map = f"/tmp/perf-{self.number}.map"

    def write_map(self, text, path=None):
        with open(path or self.map, "w", encoding="latin-1") as file:
            file.write(text)

    def lines(self, names):
        return "".join(f"{where} {name}\n" for where, name in zip(self.functions, names))

    def end(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()
        if os.path.lexists(self.map):
            os.unlink(self.map)


class Generated(unittest.TestCase):
    def start(self, *arguments, **options):
        target = Target(*arguments, **options)
        self.addCleanup(target.end)
        return target

    def dump(self, pid, *options):
        for _ in range(2000):  # until it waits
            with open(f"/proc/{pid}/stat", encoding="ascii") as file:
                if file.read().rsplit(")", 1)[1].split()[0] == "S":
                    break
            time.sleep(0.005)
        result = subprocess.run([FRAMEWALK, "dump", "--json", *options, str(pid)],
                                capture_output=True, text=True, timeout=60)
        dump = json.loads(result.stdout)
        self.assertEqual(dump["complete"], result.returncode == 0, result.stderr)
        return dump["threads"][0]["stacks"][0]

    def names(self, pid, *options):
        """Functions from wait_end to main, and why the stack ends."""
        stack = self.dump(pid, *options)
        names = [frame["function"] for frame in stack["frames"]]
        start = names.index("wait_end")
        stop = names.index("main") + 1 if "main" in names else len(names)
        return names[start:stop], stack["end"]

    def path(self, *generated):
        names = ["wait_end", "descend"]
        for name in generated:
            names += [name, "descend"]
        return names + ["main"]

    def test_memory_that_is_written_to(self):
        for memory in ("rwx", "toggle", "two"):
            with self.subTest(memory):
                target = self.start(memory, "ffff")
                for options in ([], ["--consistent"]):
                    self.assertEqual(self.names(target.pid, *options),
                                     (self.path(None, None, None, None), "root"))

    def test_names(self):
        for memory in ("rwx", "two"):
            target = self.start(memory, "ffff")
            target.write_map(target.lines(["void Old.name()", "LazyCompile:*step /srv/app.js:12:3",
                                           "two words", "JS:~ node:timers:7:9"]) +
                             target.lines(["int New.name(long)"]))
            names, end = self.names(target.pid)
            self.assertEqual((names, end), (self.path("(anonymous)", "two words", "step",
                                                      "int New.name(long)"), "root"))
            frame = self.dump(target.pid)["frames"]
            frame = next(f for f in frame if f["function"] == "step")
            self.assertEqual((frame["symbol"], frame["file"], frame["line"]),
                             ("LazyCompile:*step /srv/app.js:12:3", "/srv/app.js", 12))
            start = int(target.functions[1].split()[0], 16)
            self.assertEqual(int(frame["address"], 16), start + frame["offset"])
            nameless = self.dump(target.pid, "--no-names")["frames"]
            self.assertEqual({frame["function"] for frame in nameless}, {None})

    def test_map_that_is_damaged(self):
        target = self.start("rwx", "ff")
        last = target.functions[1]
        target.write_map("\n\0\0 x\n" + "f" * 200000 + "\n" + f"{last} " + "n" * 300000 + "\n" +
                         "zz 1 no\n1 zz no\nffffffffffffffff ff over\n" + "-1 1 negative\n" +
                         target.lines(["first"]) + f"{last} nam")
        self.assertEqual(self.names(target.pid), (self.path(None, "first"), "root"))

    def test_map_of_somebody_else(self):
        target = self.start("rwx", "ff")
        nameless = (self.path(None, None), "root")
        text = target.lines(["wrong", "wrong"])
        target.write_map(text)
        self.assertEqual(self.names(target.pid)[0], self.path("wrong", "wrong"))
        os.utime(target.map, (1000000000, 1000000000))  # of an earlier process
        self.assertEqual(self.names(target.pid), nameless)
        if os.geteuid() == 0:
            os.utime(target.map)
            os.chown(target.map, OTHER_USER, OTHER_USER)
            self.assertEqual(self.names(target.pid), nameless)
        os.unlink(target.map)
        other = target.map + ".other"
        target.write_map(text, other)
        self.addCleanup(os.unlink, other)
        os.symlink(other, target.map)
        self.assertEqual(self.names(target.pid), nameless)
        os.unlink(target.map)
        os.mkfifo(target.map)
        self.assertEqual(self.names(target.pid), nameless)

    def test_map_in_other_namespaces(self):
        """Another /tmp, and another number."""
        # The program itself may lie below /tmp: it is opened before that is another one.
        before = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c",
                  'exec 9<"$1" && mount -t tmpfs none /tmp && shift && exec /proc/self/fd/9 "$@"', "sh"]
        if not shutil.which("unshare") or subprocess.run(
                [*before, shutil.which("true")], stderr=subprocess.DEVNULL).returncode != 0:
            self.skipTest("no namespaces here")
        target = self.start("rwx", "f", before=before)
        self.assertEqual(target.number, 1)
        children = f"/proc/{target.pid}/task/{target.pid}/children"
        with open(children, encoding="ascii") as file:
            pid = int(file.read())
        target.write_map(target.lines(["inside"]), f"/proc/{pid}/root/tmp/perf-1.map")
        self.assertEqual(self.names(pid), (self.path("inside"), "root"))

    @unittest.skipUnless(X86_64, "code of x86_64")
    def test_return_address_behind_no_call(self):
        """As in HotSpot's interpreter, which jumps to what it calls."""
        target = self.start("rwx", "fjjfj")
        self.assertEqual(self.names(target.pid), (self.path(*[None] * 5), "root"))

    @unittest.skipUnless(X86_64, "code of x86_64")
    def test_no_frame_record(self):
        """Whose record the frame pointer leads to, then? The caller must not be left out."""
        target = self.start("rwx", "fnf")
        self.assertEqual(self.names(target.pid),
                         (["wait_end", "descend", None, "descend", None], "no-info"))

    @unittest.skipUnless(X86_64, "code of x86_64")
    def test_folding_of_stacks_that_are_cut(self):
        """Threads whose stacks end at the same place need not have come there the same way."""
        for kinds, groups in (("ff", 1), ("fnf", 3)):
            target = self.start("rwx", kinds, threads=3)
            ids = set()
            for thread in self.settled(target.pid, 4)["threads"][1:]:
                ids.add(thread["stacks"][0]["id"])
            self.assertEqual(len(ids), groups)
            text = subprocess.run([FRAMEWALK, "dump", str(target.pid)], capture_output=True,
                                  text=True, timeout=60).stdout
            self.assertEqual(text.count("\nThread"), groups + 1)

    @unittest.skipUnless(X86_64, "code of x86_64")
    def test_samples_of_a_stack_that_is_cut(self):
        target = self.start("rwx", "fnf", threads=1)
        self.settled(target.pid, 2)
        result = subprocess.run([FRAMEWALK, "dump", "--json", "--seconds", "0.2", "--hz", "50",
                                 str(target.pid)], capture_output=True, text=True, timeout=60)
        for thread in json.loads(result.stdout)["threads"]:
            self.assertGreater(thread["stacks"][0]["samples"], 1)  # nothing moved meanwhile

    def settled(self, pid, threads):
        """A dump in which all threads have come to where they wait."""
        for _ in range(1000):
            result = subprocess.run([FRAMEWALK, "dump", "--json", str(pid)], capture_output=True,
                                    text=True, timeout=60)
            dump = json.loads(result.stdout)
            if len(dump["threads"]) == threads and all(
                    "wait_end" in [f["function"] for f in thread["stacks"][0]["frames"]]
                    for thread in dump["threads"]):
                return dump
        self.fail("the threads do not come to rest")


if __name__ == "__main__":
    if not os.path.exists(f"/proc/{os.getpid()}/maps") or platform.machine() not in (
            "x86_64", "aarch64"):
        print("skipped: needs Linux on x86_64 or aarch64")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
