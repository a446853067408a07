#!/usr/bin/env python3
"""An asyncio server: both handlers by their Python lines, and the calls of its file."""
import os
import subprocess
import sys

from run_support import Run, line_of, need, skip


def main():
    command, source = sys.argv[1:3]
    interpreter = "/usr/bin/python3"
    if not os.path.exists(interpreter):
        need("python3")
        interpreter = "python3"
    probe = "import ctypes; ctypes.CDLL(None)._Py_DumpTraceback"
    if subprocess.run([interpreter, "-c", probe], capture_output=True).returncode:
        skip("this Python does not export _Py_DumpTraceback")
    run = Run(command, ["--starved", "--calls", "@files,connect"], [interpreter, source])
    run.ended(0)
    run.has(r"^\d+ hangs of 250 ms or more")
    run.has(rf"^ +\d\. .*read_slowly  server\.py:{line_of(source, 'line: sleep')}")
    run.has(r"^ +\d\. .*compute  server\.py:\d+")
    run.has(rf"handle  server\.py:{line_of(source, 'line: compute')}")
    # one stack of the script is one entry, whatever the interpreter does for it
    run.has(rf"^ +\d\. .* in 2 hangs, .*work  server\.py:{line_of(source, 'line: work')}")
    run.has(r"^ +\d+  open64$")
    run.has(r"^ +\d+  connect$")
    run.has_not("symlink")  # a group's other names are counted, not listed
    run.has(r"No call of \d+ other functions of the groups")

    native = Run(command, ["--starved", "--no-script-names"], [interpreter, source])
    native.has(r"^\d+ hangs of 250 ms or more")
    native.has_not(r"server\.py:")
    native.has(r"clock_nanosleep")

    signals = os.path.join(os.path.dirname(source), "signals.py")
    taken = Run(command, ["--starved"], [interpreter, signals])
    taken.ended(0)
    taken.has(r"^2 hangs of 250 ms or more")

    # a script without a loop, which sleeps and never waits: by its file, and by -c
    script = os.path.join(os.path.dirname(source), "job.py")
    job = Run(command, ["--starved", "--startup", "--hang", "1500"], [interpreter, script])
    job.has(rf"^ +1\. .*load_all  job\.py:{line_of(script, 'line: nap')}")
    with open(script) as text:
        inline = Run(command, ["--starved", "--startup", "--hang", "1500"],
                     [interpreter, "-c", text.read()])
    inline.has(r"^ +1\. .*load_all  <string>:\d+")

    script = os.path.join(os.path.dirname(source), "waits.py")
    waits = Run(command, ["--starved", "--startup", "--hang", "2000"], [interpreter, script])
    line = line_of(script, "line: wait")
    waits.has(rf"^ +1\. .*load_profile  waits\.py:{line}")
    waits.has(r"^ +wait  threading\.py:\d+")
    waits.has(rf"^ +> load_profile  waits\.py:{line}")


main()
