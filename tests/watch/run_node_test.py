#!/usr/bin/env python3
"""A Node script: the function that computes and the one that waits for a child, by name, file and
line; a watched call; nothing left in /tmp; and a kept report that knows the names by itself."""
import glob
import os
import subprocess
import sys

from run_support import ENVIRONMENT, Run, check, line_of, need, scratch


def main():
    command, source = sys.argv[1:3]
    need("node")
    with scratch() as folder:
        out = os.path.join(folder, "reports")
        run = Run(command, ["--starved", "--calls", "execvp,execve,open,nosuch_function", "--out", out],
                  ["node", source])
        run.ended(0)
        run.has(r"^\d+ hangs of 250 ms or more")
        run.has(rf"^ +\d\. .*countPrimes  timers\.js:{line_of(source, 'line: compute')}")
        run.has(r"onRequest  timers\.js:\d+")
        run.has(rf"^ +\d\. .*waitForChild  timers\.js:{line_of(source, 'line: child')}")
        run.has(r"spawnSync")
        run.has(r"^ +\d+  open(64)?$")
        check(not glob.glob("/tmp/perf-%d.map" % run_pid(run)), "the map is removed")
        reports = glob.glob(os.path.join(out, "*.fwr"))
        check(len(reports) >= 2, "the reports are kept")
        text = ""
        for report in reports:
            text += subprocess.run([command, "symbolicate", "--json", report], text=True,
                                   capture_output=True, env=ENVIRONMENT).stdout
        check("countPrimes" in text and "timers.js" in text, "kept reports name the script")

        quiet = Run(command, ["--starved", "--no-script-names"], ["node", source])
        quiet.has_not("countPrimes")
        quiet.has(r"^\d+ hangs of 250 ms or more")

        code = "console.log(JSON.stringify([process.env.NODE_OPTIONS, process.execArgv])); let times = 0;" \
            "setInterval(() => { const now = process.env.NODE_OPTIONS; if (now && ++times < 1000) return;" \
            " console.log(now || 'clean'); process.exit(0); }, 20)"
        clean = Run(command, [], ["node", "-e", code])
        check(clean.out.splitlines()[-1] == "clean", "children get no options of ours", clean.out)


def run_pid(run):
    return int(run.text.split("process ")[1].split(",")[0])


main()
