#!/usr/bin/env python3
"""Debug information that lies in further files, when these are not there: it is said which, the
exit code is 8, and no line is shown with a function that it is not of.

usage: missing_test.py FRAMEWALK"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

FRAMEWALK = os.path.abspath(sys.argv[1])
SOURCE = """#include <unistd.h>
volatile int sink;
static inline __attribute__((always_inline)) int inner(int a)
{
    sink = a * 3;
    return a / sink;
}
static inline __attribute__((always_inline)) int middle(int a) { return inner(a + 1) + 2; }
__attribute__((noinline)) int work(int a)
{
    while (a > 1)
        sleep(1);
    return middle(a) * 2;
}
int main(int argc, char **argv)
{
    (void)argv;
    return middle(argc) + work(argc);
}
"""
INCOMPLETE = 8


def tool(*names):
    return next((path for path in map(shutil.which, names) if path), None)


class Missing(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="framewalk-missing-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        with open(self.path("s.c"), "w", encoding="utf-8") as out:
            out.write(SOURCE)

    def path(self, name):
        return os.path.join(self.folder, name)

    def compile(self, *command):
        subprocess.run([*command, "-O2", "-Wl,--build-id", "s.c", "-o", "program"], check=True,
                       cwd=self.folder)
        return self.path("program")

    def run_tool(self, *arguments, code=0):
        environment = dict(os.environ, XDG_CACHE_HOME=self.path("cache"), DEBUGINFOD_URLS="")
        done = subprocess.run([FRAMEWALK, *arguments], capture_output=True, text=True, timeout=60,
                              cwd=self.folder, env=environment, check=False)
        self.assertEqual(done.returncode, code, (arguments, done.stdout, done.stderr))
        return done

    def bounds(self, program, function):
        listing = subprocess.run(["nm", "-S", program], capture_output=True, text=True, check=True)
        found = re.search(r"^(\w+) (\w+) . %s$" % function, listing.stdout, re.M)
        start, size = int(found.group(1), 16), int(found.group(2), 16)
        return range(start, start + size)

    def answers(self, program, addresses, code):
        done = self.run_tool("symbolicate", "--json", program, *map(hex, addresses), code=code)
        return [json.loads(line)["frames"] for line in done.stdout.splitlines()], done.stderr

    def check_without(self, program, names, whole):
        """What is answered without the file is part of what is answered with it."""
        addresses = list(self.bounds(program, "main")) + list(self.bounds(program, "work"))
        answers, said = self.answers(program, addresses, INCOMPLETE)
        for name in names:
            self.assertIn(name, said)
        for address, frames, before in zip(addresses, answers, whole):
            self.assertEqual(frames[-1]["function"], before[-1]["function"])
            for frame, known in zip(frames[::-1], before[::-1]):
                if frame.get("line"):
                    self.assertEqual(frame["line"], known["line"], hex(address))

    def check_all(self, program, missing, names):
        addresses = list(self.bounds(program, "main")) + list(self.bounds(program, "work"))
        whole, said = self.answers(program, addresses, 0)
        self.assertTrue(any(len(frames) == 3 for frames in whole))
        self.assertEqual(said, "")
        self.run_tool("convert", program, "-o", self.path("whole.symmap"))
        shutil.rmtree(self.path("cache"), ignore_errors=True)
        for name in missing:
            os.rename(self.path(name), self.path(name + ".away"))
        self.check_without(program, names, whole)
        self.check_without(program, names, whole)  # nothing of it is kept in the cache
        few, said = self.answers(program, addresses[:1], INCOMPLETE)
        self.assertIn(names[0], said)
        converted = self.run_tool("convert", program, "-o", self.path("part.symmap"),
                                  code=INCOMPLETE)
        self.assertIn(names[0], converted.stderr)
        said = self.answers(self.path("part.symmap"), addresses[:1], INCOMPLETE)[1]
        self.assertIn("files", said)
        self.assertEqual(self.answers(self.path("whole.symmap"), addresses, 0)[0], whole)
        report = self.path("report.txt")
        with open(report, "w", encoding="utf-8") as out:
            out.write("%s(+0x%x) [0x1234]\n" % (program, addresses[0]))
        self.assertIn(names[0], self.run_tool("symbolicate", report, code=INCOMPLETE).stderr)
        self.check_dump(program, names)

    def check_dump(self, program, names):
        process = subprocess.Popen([program, "1"])
        try:
            while True:
                with open("/proc/%d/stat" % process.pid, encoding="utf-8") as file:
                    if file.read().rsplit(")", 1)[1].split()[0] == "S":
                        break
            environment = dict(os.environ, XDG_CACHE_HOME=self.path("cache"), DEBUGINFOD_URLS="")
            done = subprocess.run([FRAMEWALK, "dump", "--json", str(process.pid)],
                                  capture_output=True, text=True, timeout=60, env=environment,
                                  check=False)
        finally:
            process.kill()
            process.wait()
        if done.returncode not in (0, INCOMPLETE):
            return  # not allowed here
        self.assertEqual(done.returncode, INCOMPLETE, done.stderr)
        self.assertIn(names[0], " ".join(json.loads(done.stdout)["missing"]))

    def test_dwo(self):
        for compiler, more in (("gcc", ()), ("gcc", ("-gdwarf-4",)), ("clang-19", ()),
                               ("clang-19", ("-fsplit-dwarf-inlining",))):
            with self.subTest(compiler=compiler, options=more):
                if not tool(compiler):
                    continue
                for name in os.listdir(self.folder):
                    if name != "s.c":
                        path = self.path(name)
                        shutil.rmtree(path) if os.path.isdir(path) else os.remove(path)
                program = self.compile(compiler, "-g", "-gsplit-dwarf", *more)
                dwo = next(n for n in os.listdir(self.folder) if n.endswith(".dwo"))
                self.check_all(program, [dwo], [dwo])

    def test_dwp(self):
        dwp = tool("dwp", "llvm-dwp-19")  # binutils' does not know DWARF 5
        if not tool("gcc") or not dwp:
            self.skipTest("no gcc or dwp")
        program = self.compile("gcc", "-gdwarf-4", "-gsplit-dwarf")
        dwo = next(n for n in os.listdir(self.folder) if n.endswith(".dwo"))
        subprocess.run([dwp, "-e", "program", "-o", "program.dwp"], check=True, cwd=self.folder)
        os.remove(self.path(dwo))
        self.check_all(program, ["program.dwp"], [dwo])

    def test_dwz(self):
        if not tool("gcc") or not tool("dwz"):
            self.skipTest("no gcc or dwz")
        program = self.compile("gcc", "-g")
        shutil.copy(program, self.path("other"))
        subprocess.run(["dwz", "-m", self.path("common.dwz"), "program", "other"], check=True,
                       cwd=self.folder)
        self.check_all(program, ["common.dwz"], ["common.dwz"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:], verbosity=2)
