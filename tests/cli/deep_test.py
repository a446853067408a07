#!/usr/bin/env python3
"""framewalk dump --full --json of a very deep stack: whole, and in memory that the number of frames
does not multiply.

usage: deep_test.py FRAMEWALK PROGRAM   (tests/programs/threads.c)"""

import json
import os
import subprocess
import sys
import tempfile
import unittest

FRAMEWALK, PROGRAM = sys.argv[1:3]
DEPTH = 300000


class Deep(unittest.TestCase):
    def dump(self, pid, *options):
        """What it wrote, and its largest resident size in bytes."""
        with tempfile.TemporaryFile() as out:
            child = os.fork()
            if child == 0:
                os.dup2(out.fileno(), 1)
                os.execv(FRAMEWALK, [FRAMEWALK, "dump", "--no-lines", *options, str(pid)])
            _, status, usage = os.wait4(child, 0)
            self.assertEqual(os.waitstatus_to_exitcode(status), 0)
            out.seek(0)
            return out.read(), usage.ru_maxrss * 1024

    def test_memory(self):
        target = subprocess.Popen([PROGRAM, f"futex:{DEPTH}"], stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, text=True)
        try:
            self.assertTrue(target.stdout.readline().startswith("ready"))
            text, size = self.dump(target.pid, "--full", "--json")
            _, least = self.dump(target.pid, "--full", "--collapsed")
        finally:
            target.stdin.close()
            target.kill()
            target.wait()
            target.stdout.close()
        self.assertLess(size, least + (64 << 20))  # a tree of all frames took 700 MB
        stack = json.loads(text)["threads"][1]["stacks"][0]
        frames = [frame["function"] for frame in stack["frames"]]
        self.assertEqual((stack["end"], stack["omitted"]), ("root", 0))
        self.assertEqual(frames.count("recurse"), DEPTH + 1)
        self.assertEqual(frames.index("recurse"), frames.index("wait_futex") + 1)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
