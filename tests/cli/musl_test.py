#!/usr/bin/env python3
"""framewalk dump of programs on musl, whose libc has neither unwind tables nor sizes of its
assembler's functions: stacks reach the root, and no function has its neighbour's name.

usage: musl_test.py FRAMEWALK"""

import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

FRAMEWALK = sys.argv[1]
PROGRAM = r"""
#include <pthread.h>
#include <unistd.h>
__attribute__((noinline)) int wait_end(int fd) { char c; return (int)read(fd, &c, 1) + 1; }
void *thread_main(void *fd) { return wait_end(*(int *)fd) ? fd : 0; }
int main(void)
{
    pthread_t thread;
    int fd = 0;
    pthread_create(&thread, 0, thread_main, &fd);
    return wait_end(fd) + 1;
}
"""


class Musl(unittest.TestCase):
    def check(self, *options):
        with tempfile.TemporaryDirectory() as folder:
            with open(f"{folder}/p.c", "w", encoding="utf-8") as file:
                file.write(PROGRAM)
            subprocess.run(["musl-gcc", "-O1", "-fno-optimize-sibling-calls", *options,
                            f"{folder}/p.c", "-o", f"{folder}/p"], check=True)
            process = subprocess.Popen([f"{folder}/p"], stdin=subprocess.PIPE)
            try:
                return self.settled(process.pid)
            finally:
                process.stdin.close()
                process.wait()

    def settled(self, pid):
        for _ in range(1000):
            result = subprocess.run([FRAMEWALK, "dump", "--json", "--no-lines", str(pid)],
                                    capture_output=True, text=True, timeout=60)
            threads = json.loads(result.stdout)["threads"] if result.stdout else []
            stacks = [[f["function"] for f in t["stacks"][0]["frames"]] for t in threads]
            if len(stacks) == 2 and all("wait_end" in stack for stack in stacks):
                self.assertEqual((result.returncode, result.stderr), (0, ""))
                return stacks
            time.sleep(0.005)
        self.fail("the threads do not come to rest")

    def test_shared(self):
        main, other = self.check()
        read = main.index("read")
        self.assertEqual(main[:read], [None] * read)  # the cancellable system call is no memset
        self.assertEqual(main[read:], ["read", "wait_end", "main", None, "_start"])
        self.assertEqual(other[other.index("read"):],
                         ["read", "wait_end", "thread_main", None, None])

    def test_static(self):
        main, other = self.check("-static")
        self.assertEqual(main[main.index("wait_end"):],
                         ["wait_end", "main", "libc_start_main_stage2", "_start"])
        self.assertEqual(other[other.index("wait_end"):],
                         ["wait_end", "thread_main", "start", "__clone"])


if __name__ == "__main__":
    if not shutil.which("musl-gcc") or platform.machine() != "x86_64":
        print("skipped: needs musl-gcc and x86_64")
        sys.exit(77)
    os.environ["DEBUGINFOD_URLS"] = ""
    unittest.main(argv=sys.argv[:1])
