#!/usr/bin/env python3
"""framewalk demangle: names as arguments, in running text, in pipes that stay open, and in text that
is no text.

usage: demangle_test.py FRAMEWALK"""

import os
import resource
import subprocess
import sys
import unittest

FRAMEWALK = sys.argv[1]


def run(*arguments, text=b"", code=0):
    done = subprocess.run([FRAMEWALK, "demangle", *arguments], input=text, capture_output=True, timeout=60)
    if done.returncode != code:
        raise AssertionError(f"{arguments}: {done.returncode}, {done.stderr}")
    return done.stdout if code == 0 else done.stderr


class Demangle(unittest.TestCase):
    def test_arguments(self):
        self.assertEqual(run("_Z3foov", "main", "_RNvC1a1b", "$s4main3fooyyF", "_ZN1a1bEv.cold"),
                         b"foo()\nmain\na::b\nmain.foo() -> ()\na::b() (.cold)\n")

    def test_running_text(self):
        for text, wanted in [
            (b"at `_Z3foov' (_Z3barv+0x12) [__Z3foov]: \"_Z3foov\"\n", b"at `foo()' (bar()+0x12) [foo()]: \"foo()\"\n"),
            (b"in _Z3foov. Then _Z3barv...\n", b"in foo(). Then bar()...\n"),
            (b"lib.so!_Z3foov,_Z3barv;_RNvC1a1b", b"lib.so!foo(),bar();a::b"),
            (b"_Z3foov.part.0.cold+4 _Z3foov@plt _Z3foov@@V_1", b"foo() (.part.0.cold)+4 foo()@plt foo()@@V_1"),
            ("“_Z3foov” naïve _Z3naïv\n".encode(), "“foo()” naïve _Z3naïv\n".encode()),
            ("_Z6naïvev\n".encode(), "naïve()\n".encode()),
            (b"-[_TtC4main3Foo wait:] x_Z3foov $HOME _ @ @_Z3foov", b"-[main.Foo wait:] x_Z3foov $HOME _ @ @foo()"),
            (b"\0_Z3foov\0\xff\r\n", b"\0foo()\0\xff\r\n"),
            (b"", b""),
            (b"_Z3foov", b"foo()"),
        ]:
            self.assertEqual(run(text=text), wanted)

    def test_options(self):
        sort = b"_ZSt4sortIPiEvT_S1_"
        self.assertEqual(run("-p", text=sort), b"std::sort<int*>")
        self.assertEqual(run("--no-params", "-i", text=sort), b"std::sort<int*>")
        self.assertEqual(run("--simplified", "-p", text=sort), b"std::sort")
        self.assertEqual(run("-simplified", "-compact", text=b"$s4main3fooyySiF"), b"foo(_:)")
        self.assertEqual(run("-_", text=b"__Z3foov _main"), b"foo() _main")
        self.assertEqual(run("-n", text=b"_Z3foov"), b"foo()")
        self.assertEqual(run("-t", "PKc"), b"char const*\n")
        self.assertEqual(run("-s", "none", text=sort), sort)
        self.assertEqual(run("--format=rust", text=sort + b" ZN1a1bE"), sort + b" a::b")
        self.assertEqual(run("--hashes", "_RNvCs9_1a1b"), b"a[b]::b\n")
        self.assertIn(b"usage: framewalk demangle", run("--help"))
        self.assertIn(b"did you mean '--simplified'", run("--simplify", code=2))
        self.assertIn(b"--format wants", run("-s", "java", code=2))
        self.assertIn(b"wants a value", run("-s", code=2))

    def test_pipe_that_stays_open(self):
        with subprocess.Popen([FRAMEWALK, "demangle"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
            for piece, wanted in [(b"_Z3foov\n", b"foo()\n"), (b"_Z3b", b""), (b"arv\n", b"bar()\n")]:
                os.write(child.stdin.fileno(), piece)
                got = b""
                while len(got) < len(wanted):
                    got += os.read(child.stdout.fileno(), 100)
                self.assertEqual(got, wanted)
            child.stdin.close()
            self.assertEqual(child.stdout.read(), b"")

    def test_pieces_of_any_size(self):
        """A name that straddles what is read at once."""
        for shift in (0, 1, 5, 65530, 65533, 65536):
            text = b"x" * shift + b" _Z3foov " + b"y" * 70000
            self.assertEqual(run(text=text), text.replace(b"_Z3foov", b"foo()"))

    def test_endless_line(self):
        """Memory does not grow with the input."""
        def small():
            resource.setrlimit(resource.RLIMIT_DATA, (32 << 20, 32 << 20))
        text = b"_Z" + b"9" * (64 << 20) + b" _Z3foov"
        limits = {} if "san" in FRAMEWALK.split("/")[-3] else {"preexec_fn": small}
        done = subprocess.run([FRAMEWALK, "demangle"], input=text, capture_output=True, timeout=60, **limits)
        self.assertEqual(done.returncode, 0)
        self.assertEqual(done.stdout[:-7], text[:-9])
        self.assertTrue(done.stdout.endswith(b"9 foo()"))

    def test_output_that_cannot_be_written(self):
        with open("/dev/full", "wb") as full:
            for arguments in ([], ["_Z3foov"]):
                done = subprocess.run([FRAMEWALK, "demangle", *arguments], input=b"_Z3foov\n", stdout=full,
                                      stderr=subprocess.PIPE, timeout=60)
                self.assertEqual(done.returncode, 1)
                self.assertIn(b"standard output", done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
