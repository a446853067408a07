#!/usr/bin/env python3
"""framewalk dump for real: on a running program whose stacks are known from its source, on a core
file of it, and on everything that must be refused.

usage: live_test.py FRAMEWALK HANG DUMP_JSON_MD"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

FRAMEWALK, HANG, SCHEMA = sys.argv[1:4]


def run(*arguments, **options):
    return subprocess.run([FRAMEWALK, *map(str, arguments)], capture_output=True, text=True,
                          timeout=60, **options)


def documented():
    """Members that docs/dump-json.md lists, by heading."""
    members, heading = {}, None
    with open(SCHEMA, encoding="utf-8") as file:
        for line in file:
            if line.startswith("#"):
                heading = line.strip("# `\n").replace("`", "")
                members[heading] = set()
            elif line.startswith("| `"):
                members[heading] |= set(re.findall(r"`(\w+)`", line.split("|")[1]))
    return members


def functions(stack):
    """Names, innermost first; compilers move unlikely parts of a function out as NAME.cold."""
    return ["[signal]" if frame["signal"] else (frame["function"] or "?").removesuffix(".cold")
            for frame in stack["frames"]]


class Case(unittest.TestCase):
    maxDiff = None

    def assert_in_order(self, names, wanted):
        """`wanted` occur in `names` side by side."""
        for at in range(len(names)):
            if names[at:at + len(wanted)] == wanted:
                return
        self.fail(f"{wanted} is not in {names}")

    def assert_schema(self, dump):
        members = documented()
        self.assertEqual(set(dump), members["The dump"])
        self.assertEqual((dump["format"], dump["version"]), ("framewalk-dump", 1))
        self.assertEqual(set(dump["process"]), members["process"])
        if dump["sampling"] is not None:
            self.assertEqual(set(dump["sampling"]), members["sampling"])
        self.assertEqual(dump["complete"], dump["missing"] == [])
        for thread in dump["threads"]:
            self.assertEqual(set(thread), members["A thread"])
            self.assertEqual(sum(s["samples"] for s in thread["stacks"]), thread["samples"])
            for stack in thread["stacks"]:
                self.assertEqual(set(stack), members["A stack"])
                for frame in stack["frames"]:
                    self.assertEqual(set(frame), members["A frame"])
                    self.assertRegex(frame["address"], "^0x[0-9a-f]+$")
                    for entry in frame["inlines"]:
                        self.assertEqual(set(entry), members["An entry of inlines"])

    def assert_stacks(self, dump, live=True):
        """Every thread of HANG stands where its source says."""
        by_name = {}
        for thread in dump["threads"]:
            by_name.setdefault(thread["name"], []).append(thread)
            if live:
                self.assertEqual([s["end"] for s in thread["stacks"]], ["root"])
        names = lambda which: functions(by_name[which][0]["stacks"][0])
        self.assertEqual(len(dump["threads"]), 7)
        if live:
            self.assertEqual({name: len(all) for name, all in by_name.items()},
                             {"hang": 1, "worker": 4, "spinner": 1, "handler": 1})
            self.assert_in_order(names("hang"), ["wait_for_end", "run_server", "main"])
            self.assert_in_order(names("worker"),
                                 ["hang::Worker::next_job(int)", "worker_main"])
            self.assertEqual(names("spinner")[0:3], ["mix", "compute", "spinner_main"])
            handler = names("handler")
            self.assert_in_order(handler, ["stay", "on_signal", "[signal]"])
            self.assert_in_order(handler[handler.index("[signal]"):],
                                 ["interrupt_self", "handler_main"])
        else:
            stacks = [functions(t["stacks"][0]) for t in dump["threads"]]
            flat = [name for stack in stacks for name in stack]
            self.assert_in_order(stacks[0], ["run_server", "main"])
            self.assertEqual(flat.count("hang::Worker::next_job(int)"), 4)
            self.assertEqual(flat.count("spinner_main"), 1)
            self.assertEqual(flat.count("on_signal"), 1)


class Live(Case):
    @classmethod
    def setUpClass(cls):
        cls.hang = subprocess.Popen([HANG], stdout=subprocess.PIPE, text=True)
        assert cls.hang.stdout.readline() == "ready\n"
        cls.pid = cls.hang.pid

    @classmethod
    def tearDownClass(cls):
        cls.hang.kill()
        cls.hang.wait()
        cls.hang.stdout.close()

    def test_pid_as_an_option(self):
        for options in (["-p", self.pid], ["--pid", self.pid], [f"--pid={self.pid}"]):
            for thread in (["-t", self.pid], ["--tid", self.pid], [f"--thread={self.pid}"]):
                document = json.loads(run("dump", "--json", *options, *thread).stdout)
                self.assertEqual(document["process"]["pid"], self.pid)
                self.assertEqual([t["id"] for t in document["threads"]], [self.pid])

    def test_json(self):
        for options in ([], ["--consistent"]):
            result = run("dump", "--json", *options, self.pid)
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            dump = json.loads(result.stdout)
            self.assert_schema(dump)
            self.assert_stacks(dump)
            self.assertEqual(dump["process"]["pid"], self.pid)
            self.assertEqual(dump["process"]["executable"], os.path.realpath(HANG))
            main = dump["threads"][0]
            self.assertTrue(main["main"])
            self.assertEqual(main["state"], "S")

    def test_text(self):
        result = run("dump", self.pid)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertNotIn("\033", result.stdout)
        titles = [line for line in result.stdout.splitlines() if line.startswith("Thread")]
        self.assertRegex(titles[0], rf'^Thread {self.pid} "hang" \(main\) S \(sleeping\)')
        self.assertRegex(titles[1], r'^Thread \d+ "spinner" R \(running\)$')
        self.assertRegex(titles[2], r'^Threads \d+, \d+, \d+ and \d+ "worker" S \(sleeping\)')
        self.assertEqual(len(titles), 4)
        self.assertRegex(result.stdout, r"\n  #\d+ +\[signal handler called\]\n")
        self.assertNotIn("stack ends here", result.stdout)
        unfolded = run("dump", "--no-fold", self.pid).stdout
        self.assertEqual(len(re.findall(r'^Thread \d+ "worker"', unfolded, re.M)), 4)

    def test_collapsed(self):
        result = run("dump", "--collapsed", self.pid)
        self.assertEqual(result.returncode, 0)
        lines = result.stdout.splitlines()
        self.assertEqual(sum(int(line.rsplit(" ", 1)[1]) for line in lines), 7)
        self.assertTrue(any(re.search(r"^hang;worker;.*;worker_main;hang::Worker::next_job\(int\);"
                                      r".* 4$", line) for line in lines), lines)

    def test_one_thread_and_depth(self):
        tids = [int(tid) for tid in os.listdir(f"/proc/{self.pid}/task")]
        result = run("dump", "--json", "--thread", max(tids), "--depth", 2, self.pid)
        self.assertEqual(result.returncode, 0)
        dump = json.loads(result.stdout)
        self.assertEqual([thread["id"] for thread in dump["threads"]], [max(tids)])
        self.assertEqual(len(dump["threads"][0]["stacks"][0]["frames"]), 2)
        self.assertEqual(run("dump", "--thread", 1, self.pid).returncode, 3)
        # The id of any thread names the process.
        result = run("dump", "--json", max(tids))
        self.assertEqual(json.loads(result.stdout)["process"]["pid"], self.pid)

    def test_sampling(self):
        result = run("dump", "--json", "--seconds", "0.3", "--hz", "50", self.pid)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        dump = json.loads(result.stdout)
        self.assert_schema(dump)
        self.assertGreaterEqual(dump["sampling"]["rounds"], 1)
        spinner = [t for t in dump["threads"] if t["name"] == "spinner"][0]
        self.assertGreater(spinner["running"], 0)
        for stack in spinner["stacks"]:
            self.assertEqual(functions(stack)[0], "mix")
        text = run("dump", "--seconds", "0.2", self.pid).stdout
        self.assertRegex(text, r"\n  100\.0 %  +\d+  \S.*\n( +\S+.*\n)* +spinner_main  \(hang\)\n"
                         r" +compute  \(hang\)\n +mix  \(hang\)\n")

    def test_profile_is_as_long_as_the_sampling(self):
        """What the Firefox Profiler takes for the range: up to a period behind the last sample."""
        result = run("dump", "--json", "--no-lines", "--seconds", "0.3", "--hz", "50", self.pid)
        dump = json.loads(result.stdout)
        fox = json.loads(run("symbolicate", "--to", "firefox", "-", input=result.stdout).stdout)
        took, rounds = 1000 * dump["sampling"]["seconds"], dump["sampling"]["rounds"]
        self.assertAlmostEqual(fox["meta"]["interval"], took / rounds, 2)
        self.assertEqual(len(fox["threads"]), len(dump["threads"]))
        for thread in fox["threads"]:
            samples = thread["samples"]
            self.assertEqual({len(samples[column]) for column in ("stack", "time", "weight")},
                             {samples["length"]})
            self.assertEqual(sum(samples["weight"]), rounds)
            self.assertEqual(samples["time"], sorted(samples["time"]))
            self.assertEqual(samples["time"][0], 0)
            self.assertAlmostEqual(samples["time"][-1] + fox["meta"]["interval"], took, 1)

    def test_no_names(self):
        result = run("dump", "-q", "--json", self.pid)
        dump = json.loads(result.stdout)
        self.assert_schema(dump)
        for thread in dump["threads"]:
            for frame in thread["stacks"][0]["frames"]:
                self.assertIsNone(frame["function"])
                self.assertIsNone(frame["file"])
                self.assertEqual(frame["inlines"], [])
                self.assertIsNotNone(frame["image_offset"])

    def test_left_as_found(self):
        self.assertEqual(run("dump", self.pid).returncode, 0)
        with open(f"/proc/{self.pid}/status", encoding="utf-8") as status:
            text = status.read()
        self.assertRegex(text, r"TracerPid:\t0\n")
        self.assertNotRegex(text, r"State:\t[tT]")

    def test_closed_pipe(self):
        both = f"{FRAMEWALK} dump --no-fold {self.pid} | head -n 1"
        result = subprocess.run(["sh", "-c", both], capture_output=True, text=True, timeout=60)
        self.assertEqual((result.stdout.count("\n"), result.stderr), (1, ""))
        reader, writer = os.pipe()
        os.close(reader)
        result = subprocess.run([FRAMEWALK, "dump", str(self.pid)], stdout=writer,
                                stderr=subprocess.PIPE, restore_signals=True, timeout=60)
        os.close(writer)
        self.assertEqual((result.returncode, result.stderr), (-signal.SIGPIPE, b""))

    def test_no_permission(self):
        if os.getuid() != 0:
            self.skipTest("needs root, to become somebody who may not")
        with tempfile.TemporaryDirectory() as folder:  # the build tree may be where nobody else can go
            os.chmod(folder, 0o755)
            program = shutil.copy(FRAMEWALK, folder)
            result = subprocess.run([program, "dump", str(self.pid)], capture_output=True, text=True, timeout=60,
                                    user=65534, group=65534, extra_groups=[])
        self.assertEqual(result.returncode, 4, result.stderr)
        self.assertEqual(result.stderr.count("\n"), 1)
        self.assertEqual(result.stdout, "")


class Core(Case):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.program = shutil.copy(HANG, os.path.join(cls.folder.name, "program"))
        subprocess.run(["sh", "-c", 'ulimit -c unlimited; exec "$0" abort', cls.program],
                       cwd=cls.folder.name, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                       timeout=60)
        cores = [name for name in os.listdir(cls.folder.name) if name.startswith("core")]
        if not cores:
            cls.folder.cleanup()
            raise unittest.SkipTest("this system puts core files elsewhere")
        cls.core = os.path.join(cls.folder.name, "4321")  # looks like a process id
        os.rename(os.path.join(cls.folder.name, cores[0]), cls.core)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_core(self):
        result = run("dump", "--json", "./4321", cwd=self.folder.name)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        dump = json.loads(result.stdout)
        self.assert_schema(dump)
        self.assert_stacks(dump, live=False)
        self.assertEqual(dump["threads"][0]["signal"], signal.SIGABRT)
        text = run("dump", self.core).stdout
        self.assertIn("killed by SIGABRT (Aborted)", text)

    def test_program_that_changed(self):
        """Built anew since it crashed, or gone: what is missing is said once, with what to do."""
        kept = self.program + "-kept"
        os.rename(self.program, kept)
        try:
            for there, words in ((True, "is another file than this core's"),
                                 (False, "is not there")):
                if there:
                    shutil.copy(FRAMEWALK, self.program)
                result = run("dump", self.core)
                self.assertEqual(result.returncode, 8)
                said = [line for line in result.stdout.splitlines()
                        if line.startswith("Incomplete: ") and self.program in line]
                self.assertEqual(len(said), 1, result.stdout)
                self.assertIn(words, said[0])
                self.assertIn("--exe", said[0])
                self.assertEqual(result.stderr.count(said[0].removeprefix("Incomplete: ")), 1)
                result = run("dump", "--json", self.core)
                self.assertEqual(result.returncode, 8)
                self.assertTrue(any(words in text for text in json.loads(result.stdout)["missing"]))

                result = run("dump", "--json", "--exe", kept, self.core)
                self.assertEqual((result.returncode, result.stderr), (0, ""))
                self.assert_stacks(json.loads(result.stdout), live=False)
                if there:
                    result = run("dump", "--exe", self.program, self.core)
                    self.assertEqual((result.returncode, result.stdout), (5, ""))
                    self.assertIn("is not the program of this core", result.stderr)
                    os.remove(self.program)
        finally:
            os.replace(kept, self.program)

    def test_truncated(self):
        short = self.core + "-short"
        with open(self.core, "rb") as whole, open(short, "wb") as part:
            part.write(whole.read(os.path.getsize(self.core) // 2))
        result = run("dump", "--json", short)
        self.assertEqual(result.returncode, 6, result.stderr)
        self.assertIn("framewalk: incomplete: ", result.stderr)
        dump = json.loads(result.stdout)
        self.assert_schema(dump)
        self.assertFalse(dump["complete"])
        self.assertEqual(len(dump["threads"]), 7)


class Refused(Case):
    def assert_refused(self, result, code, message):
        self.assertEqual((result.returncode, result.stdout), (code, ""), result.stderr)
        self.assertRegex(result.stderr, rf"\Aframewalk: [^\n]*{message}[^\n]*\n\Z")

    def test_targets(self):
        gone = subprocess.Popen(["true"])
        gone.wait()
        self.assert_refused(run("dump", gone.pid), 3, str(gone.pid))
        self.assert_refused(run("dump", "/no/such/core"), 5, "/no/such/core")
        self.assert_refused(run("dump", "/"), 5, "/")
        self.assert_refused(run("dump", SCHEMA), 5, "dump-json.md")
        self.assert_refused(run("dump", "/dev/null"), 5, "/dev/null")
        self.assert_refused(run("dump", HANG), 5, "hang")
        zombie = subprocess.Popen(["true"])
        os.waitid(os.P_PID, zombie.pid, os.WEXITED | os.WNOWAIT)
        self.assert_refused(run("dump", zombie.pid), 7, str(zombie.pid))
        zombie.wait()
        itself = subprocess.run(["sh", "-c", f"exec {FRAMEWALK} dump $$"], capture_output=True,
                                text=True, timeout=60)
        self.assert_refused(itself, 1, "cannot stop itself")

    def test_pid_that_is_none(self):
        self.assert_refused(run("dump", "-p", "core"), 2, "--pid wants a process id")
        self.assert_refused(run("dump", "-p", os.getpid(), os.getpid()), 2, "one too many")

    def test_commands(self):
        self.assert_refused(run("dmup"), 2, "did you mean 'dump'")
        self.assert_refused(run("1234"), 2, "did you mean 'framewalk dump 1234'")
        self.assert_refused(run("--frob"), 2, "unknown option '--frob'")
        self.assert_refused(run("dump", "--colour", "x"), 2, "did you mean '--color'")
        result = run()
        self.assertEqual((result.returncode, result.stdout), (2, ""))
        self.assertIn("usage: framewalk", result.stderr)
        for arguments in (["--help"], ["-h"], ["help"], ["help", "dump"], ["dump", "--help"]):
            result = run(*arguments)
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            self.assertIn("usage: framewalk", result.stdout)
        for command in ("dump", "run", "symbolicate", "convert", "inspect", "demangle", "push", "serve"):
            self.assertEqual(run(command, "--version").stdout, run("--version").stdout)
        self.assert_refused(run("groups", "--version"), 2, "wants a value")
        self.assert_refused(run("version"), 2, "framewalk --version")
        self.assertRegex(run("--version").stdout, r"\Aframewalk \d+\.\d+\.\d+\n\Z")

    def test_output_file(self):
        self.assert_refused(run("dump", "-o", "/no/such/folder/x", os.getpid()), 1,
                            "cannot write '/no/such/folder/x'")


unittest.main(argv=sys.argv[:1])
