#!/usr/bin/env python3
"""What only a process of one thread may do, a watched one may as well, and is watched behind it."""
import os
import subprocess
import sys

from run_support import ENVIRONMENT, Run, check, compile_c, line_of, scratch

MODES = ("user", "twice", "pid", "time", "mount", "join", "threads", "wrong", "filter")


def in_chroot():
    """Who joins a mount namespace there leaves the chroot, and with it the folder of reports."""
    with open("/proc/self/mountinfo", encoding="utf-8") as mounts:
        return not any(line.split()[4] == "/" for line in mounts)


def main():
    if in_chroot():
        print("skipped: this is a chroot")
        sys.exit(77)
    command, compiler, source = sys.argv[1:4]
    with scratch() as folder:
        program = os.path.join(folder, "namespaces")
        compile_c(compiler, source, program, "-lpthread")
        hang = rf"hang_here  namespaces\.c:(?:{line_of(source, 'line: hang')})"
        for mode in MODES:
            alone = subprocess.run([program, mode], text=True, stdout=subprocess.PIPE, timeout=60,
                                   env=ENVIRONMENT)
            print(mode, alone.returncode, repr(alone.stdout))
            for options in ([], ["--calls", "@files"], ["--follow"]):
                run = Run(command, ["--starved", *options], [program, mode])
                run.ended(alone.returncode)
                check(run.out == alone.stdout, f"{mode} {options}: {run.out}, not {alone.stdout}",
                      run.text)
                if mode == "pid" and "done" in alone.stdout:
                    run.has("was not watched whole: cannot start a thread")
                elif mode == "filter" and "done" in alone.stdout:
                    run.has("it forbids system calls to all its threads")
                else:
                    run.has(hang)


main()
