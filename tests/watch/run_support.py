"""What the tests of `framewalk run` on real programs share.

Each test program is called with the command and what it needs; it ends with 77 and says so when
something that it runs is not installed.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

ENVIRONMENT = dict(os.environ, DEBUGINFOD_URLS="", LC_ALL="C.UTF-8")
ENVIRONMENT.pop("LD_PRELOAD", None)


def skip(why):
    print("skip:", why)
    sys.exit(77)


def need(*programs):
    for program in programs:
        if not shutil.which(program):
            skip(program + " is not installed")


def line_of(source, mark):
    """The number of the line that holds `mark`."""
    with open(source) as file:
        for number, line in enumerate(file, 1):
            if mark in line:
                return number
    raise AssertionError(f"{source} has no line '{mark}'")


def check(condition, what, text=""):
    if not condition:
        print("FAILED:", what)
        print(text)
        sys.exit(1)


class Run:
    """One `framewalk run`, ended. Where it says that it left a turn out because nothing got a processor, which
    a busy machine makes true, it is run again: a few times, so that one which always says so fails."""

    TRIES = 6

    def __init__(self, command, options, program, **keywords):
        keywords.setdefault("timeout", 60)
        keywords.setdefault("env", ENVIRONMENT)
        for _ in range(self.TRIES):
            done = subprocess.run([command, "run", *options, "--", *program], text=True,
                                  errors="replace", stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  stdin=subprocess.DEVNULL, **keywords)
            self.code, self.out, self.text = done.returncode, done.stdout, done.stderr
            judged = not re.search("^Left out: .*the thread waited for a processor", self.text, re.M)
            if judged or ("--out" in options and not re.search("^No hang", self.text, re.M)):
                break

    def has(self, pattern):
        check(re.search(pattern, self.text, re.M), f"the summary has no '{pattern}'", self.text)

    def has_not(self, pattern):
        check(not re.search(pattern, self.text, re.M), f"the summary has '{pattern}'", self.text)

    def ended(self, code):
        check(self.code == code, f"exit status {self.code} instead of {code}", self.text)

    def json(self):
        return json.loads(self.text.strip().splitlines()[-1])


def compile_c(compiler, source, output, *flags):
    subprocess.run([compiler, "-g", "-O1", "-fno-optimize-sibling-calls", "-D_GNU_SOURCE", source,
                    "-o", output, *flags], check=True)


def scratch():
    """A folder that is gone when the test is."""
    return tempfile.TemporaryDirectory(prefix="framewalk-test-")
