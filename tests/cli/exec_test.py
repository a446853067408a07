#!/usr/bin/env python3
"""framewalk dump of a program that executes another one in its place while its threads are stopped:
neither waits for the other.

usage: exec_test.py FRAMEWALK PROGRAM   (tests/programs/execs.c)"""

import json
import os
import subprocess
import sys
import unittest

FRAMEWALK, PROGRAM = sys.argv[1:3]


class Exec(unittest.TestCase):
    def check(self, *options):
        target = subprocess.Popen([PROGRAM], stdout=subprocess.PIPE, text=True)
        try:
            self.assertEqual(target.stdout.readline(), "ready\n")
            # An execve that waits for a thread of ours would wait for ever, and so would we.
            result = subprocess.run([FRAMEWALK, "dump", "--json", "--no-lines", "--seconds", "2",
                                     "--hz", "1000", *options, str(target.pid)],
                                    capture_output=True, text=True, timeout=60)
            self.assertIn(result.returncode, (0, 8), result.stderr)
            self.assertEqual(json.loads(result.stdout)["process"]["pid"], target.pid)
            self.assertIsNone(target.poll())
            with open(f"/proc/{target.pid}/status", encoding="ascii") as status:
                self.assertIn("TracerPid:\t0\n", status.read())
        finally:
            target.kill()
            target.wait()
            target.stdout.close()

    def test_one_thread_at_a_time(self):
        self.check()

    def test_all_at_one_moment(self):
        self.check("--consistent")


if __name__ == "__main__":
    os.environ["DEBUGINFOD_URLS"] = ""
    unittest.main(argv=sys.argv[:1])
