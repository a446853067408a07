#!/usr/bin/env python3
"""CPython's own tests of threads and signals, with FW_CPYTHON=all those of processes and loops, too, which take
many minutes: the same results watched or not."""
import os
import subprocess
import sys
import xml.etree.ElementTree as xml

from run_support import ENVIRONMENT, check, scratch, skip

MODULES = ["test_threading", "test_signal"]
if os.environ.get("FW_CPYTHON") == "all":
    MODULES += ["test_subprocess", "test_multiprocessing_fork", "test_asyncio"]


def find_interpreter():
    """One whose tests are installed (Debian: libpython3.11-testsuite), and whose own they are."""
    for path in ("/usr/bin/python3", sys.executable):
        probe = "import test.test_threading, test.test_asyncio, sys; print(sys.executable)"
        done = subprocess.run([path, "-c", probe], text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL) if os.path.exists(path) else None
        if done and done.returncode == 0:
            return done.stdout.strip()
    skip("CPython's tests are not installed")


def outcomes(words, module, folder):
    """The outcome of each test by its name, and the exit status."""
    results = os.path.join(folder, "results.xml")
    done = subprocess.run([*words, "-m", "test", "--junit-xml", results, module], text=True,
                          errors="replace", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=900, env=ENVIRONMENT, cwd=folder)
    tests = {}
    for case in xml.parse(results).getroot().iter("testcase"):
        kinds = [part.tag for part in case if part.tag in ("skipped", "failure", "error")]
        tests[case.get("name")] = kinds[0] if kinds else "passed"
    os.remove(results)
    return tests, done.returncode, done.stdout


def main():
    command = sys.argv[1]
    python = find_interpreter()
    with scratch() as folder:
        watch = [command, "run", "--output", os.path.join(folder, "summary"), "--follow",
                 "--calls", "@files,@network", "--", python]
        for module in MODULES:
            alone, status, _ = outcomes([python], module, folder)
            watched, watched_status, text = outcomes(watch, module, folder)
            differ = {name: (alone.get(name), watched.get(name))
                      for name in alone.keys() | watched.keys()
                      if alone.get(name) != watched.get(name)}
            print(module, len(alone), "tests, status", status)
            check(alone and not differ and status == watched_status,
                  f"{module}: {differ}, status {watched_status} instead of {status}", text)


main()
