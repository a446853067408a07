#!/usr/bin/env python3
"""How a program ends while it hangs: by itself, which is no fatal hang, or killed; and a folder of
reports that cannot be written."""
import glob
import json
import os
import shutil
import subprocess
import sys

from run_support import ENVIRONMENT, Run, check, compile_c, scratch


def ending(command, report):
    text = subprocess.run([command, "symbolicate", "--json", report], text=True, env=ENVIRONMENT,
                          stdout=subprocess.PIPE, check=False).stdout
    return json.loads(text)["hang"]


def is_late(command, out, run):
    """On a busy machine the way out may take as long as the hang, and is told; and who leaves waits two seconds for
    what is written, and no longer: then the hang is as long as it was when it was written last."""
    return "% in main  ends.c" in run.text or any(ending(command, report)["duration_ns"] <= 300e6
                                                  for report in glob.glob(os.path.join(out, "*.fwr")))


def main():
    command, compiler, source = sys.argv[1:4]
    with scratch() as folder:
        program = os.path.join(folder, "ends")
        compile_c(compiler, source, program, "-lpthread")
        ways = {"return": 3, "exit": 3, "_exit": 3, "_Exit": 3, "quick_exit": 3, "system call": 3,
                "thread": 0, "thread, another goes on": 0, "handler": 3, "exec": 3, "exec, killed": 137, "abort": 134, "kill": 137}
        for way, code in ways.items():
            print(way)
            out = os.path.join(folder, "out of " + way)
            for _ in range(3):
                shutil.rmtree(out, ignore_errors=True)
                run = Run(command, ["--out", out], [program, way, out])
                check(run.code in (code, 128 - code), f"{way}: exit status {run.code}", run.text)
                run.has(r"^1 hang of 250 ms or more")
                if not is_late(command, out, run):
                    break
            run.has(r"^ +1\. .*hang_here  ends\.c")
            fatal = way in ("abort", "kill")
            (run.has if fatal else run.has_not)("fatal: the process ended during it")
            goes_on = way == "thread, another goes on"
            (run.has_not if fatal or goes_on else run.has)("not over when the program ended")
            reports = glob.glob(os.path.join(out, "*.fwr"))
            check(len(reports) == 1, f"{way}: {reports}", run.text)
            hang = ending(command, reports[0])
            ending_wanted = "killed" if fatal else "recovered" if goes_on else "stopped"
            check(hang["ending"] == ending_wanted, way, str(hang))
            # the threshold, and what comes behind it: up to the end, not to the last sample
            if not fatal:
                check(hang["duration_ns"] > 300e6, f"{way}: too short", str(hang))

        out = os.path.join(folder, "removed")
        run = Run(command, ["--out", out, "--json"], [program, "without a folder", out])
        process = run.json()["processes"][0]
        check(process["unwritten"] > 0 or process["hangs"] < 2, "reports without a place", run.text)
        run = Run(command, ["--out", out], [program, "without a folder", out])
        run.has("could not be written: the folder is gone, full or forbidden")
        run = Run(command, ["--out", source], [program, "exit", out])
        run.ended(125)
        run.has("--out: .*Not a directory")
        run.has_not("ended with status")
        run = Run(command, ["--out", out], ["/bin/sh", "-c", f"rm -rf '{out}'; : >'{out}'; exec '{program}' once x"])
        run.has("Whether it hung is not known")
        run.has_not("No hang")
        os.unlink(out)
        for options in (["--keep"], []):
            run = Run(command, ["--json", "--starved", *options], [program, "once", out])
            report = run.json()["hangs"][0]["report"]
            check(os.path.exists(report) if options else report is None, f"{options}: {report}", run.text)
            if options:
                shutil.rmtree(os.path.dirname(os.path.dirname(report)))
        Run(command, [], [program, "early", out]).has("--startup shows whether it hung")
        run = Run(command, ["--out", out + "/no/such"], [program, "exit", out])
        run.ended(125)
        run.has("No such file or directory")


main()
