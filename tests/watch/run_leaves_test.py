#!/usr/bin/env python3
"""Programs end as they do unwatched: by a signal, or with a first thread that leaves before others."""
import os
import resource
import signal
import subprocess
import sys

from run_support import ENVIRONMENT, Run, check, compile_c, scratch

MODES = ("thread", "alone", "join", "cancel", "c11", "exit", "kill", "raw", "raw-alone", "many",
         "strict", "forked", "strict-killed", "killed", "killed-first")
OPTIONS = ([], ["--calls", "@files,@network"], ["--calls", "@files", "--follow"], ["--startup"])

SIGNALS = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGABRT, signal.SIGKILL,
           signal.SIGSEGV, signal.SIGPIPE, signal.SIGTERM, signal.SIGUSR1, signal.SIGRTMAX)


def ends_by_signal(command, folder):
    """By the program's signal, with a core of the program's alone."""
    def may_dump():
        limit = resource.getrlimit(resource.RLIMIT_CORE)[1]
        resource.setrlimit(resource.RLIMIT_CORE, (limit, limit))

    for number in SIGNALS:
        for program in (["/bin/sh", "-c", f"kill -{int(number)} $$"],
                        ["/bin/sh", "-c", f"sleep 0.1; exit {128 + number}"]):
            words = [command, "run", "--quiet", "--", *program]
            ends = []
            for line in (program, words):
                process = subprocess.Popen(line, cwd=folder, preexec_fn=may_dump,
                                           stderr=subprocess.DEVNULL, env=ENVIRONMENT)
                ends.append(os.waitpid(process.pid, 0)[1])
            check(ends[1] & ~0x80 == ends[0] & ~0x80, f"{program}: {ends}")
            check(not os.WCOREDUMP(ends[1]), f"{program}: framewalk left a core")
        print(number.name if isinstance(number, signal.Signals) else number)


def main():
    command, compiler, source = sys.argv[1:4]
    with scratch() as folder:
        program = os.path.join(folder, "leaves")
        compile_c(compiler, source, program, "-lpthread")
        ends_by_signal(command, folder)
        for mode in MODES:
            alone = subprocess.run([program, mode], text=True, stdout=subprocess.PIPE, timeout=60,
                                   env=ENVIRONMENT)
            print(mode, alone.returncode, repr(alone.stdout))
            for options in OPTIONS:
                run = Run(command, options, [program, mode])
                run.ended(alone.returncode)
                check(run.out == alone.stdout, f"{mode} {options}: the output", run.out + run.text)
                if mode == "thread" and not options:
                    run.has_not("^[1-9][0-9]* hang")  # who has left does not hang


main()
