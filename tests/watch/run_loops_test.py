#!/usr/bin/env python3
"""Programs with one oddity each: what is a hang and what is none, and that they do what they did."""
import os
import subprocess
import sys

from run_support import ENVIRONMENT, Run, check, compile_c, line_of, scratch

HANG = r"^ +1\. .*hang_here  loops\.c:%d"


def hangs_once(command, program, source, modes):
    pattern = HANG % line_of(source, "line: hang")
    for mode in modes:
        # a handler that waits wakes the thread all the time, and each time it waits for a processor
        run = Run(command, ["--starved"] if mode == "handler" else [], [program, mode])
        print(mode)
        run.ended(9 if mode == "leave" else -6 if mode == "abort" else 0)
        run.has(r"^1 hang of 250 ms or more")
        run.has(r"hang_here  loops\.c" if mode == "handler" else pattern)
        check(run.out == "", "the program's output", run.out)


def main():
    command, compiler, source = sys.argv[1:4]
    with scratch() as folder:
        os.chmod(folder, 0o755)
        program = os.path.join(folder, "loops")
        compile_c(compiler, source, program, "-lpthread")

        hangs_once(command, program, source,
                   ["plain", "epoll", "select", "zero", "threads", "handler", "close", "early-close",
                    *(["user"] if os.geteuid() == 0 else []), "environment", "jump", "vfork", "system", "idle", "leave", "abort"])

        calm = Run(command, [], [program, "calm"])
        calm.ended(0)
        calm.has(r"^No hang of 250 ms or more in \d+ turns")

        answer = Run(command, [], [program, "answer"])
        answer.has(rf"wait_for_answer  loops\.c:{line_of(source, 'line: answer')}")
        answer.has(r"^1 hang of 250 ms or more")
        any_wait = Run(command, ["--idle", "any"], [program, "answer"])
        any_wait.has(r"^No hang")

        spin = Run(command, ["--starved"], [program, "spin"])
        spin.has(r"^1 hang of 250 ms or more")
        spin.has(r" spin  loops\.c:")

        often = Run(command, [], [program, "often"])
        often.has(r"^4 hangs of 250 ms or more")
        often.has(r"^ +1\. .* in 4 hangs, the longest .*hang_here  loops\.c")

        higher = Run(command, ["--hang", "2000"], [program, "plain"])
        higher.has(r"^No hang of 2000 ms")

        never = Run(command, [], [program, "never"])
        never.ended(7)
        never.has("never waited in poll")

        killed = Run(command, [], [program, "kill"])
        killed.ended(-9)
        killed.has(r"ended by signal 9")
        killed.has(r"fatal: the process ended during it")
        killed.has(r"^ +1\. .*odd  loops\.c")

        forks = Run(command, [], [program, "fork"])
        forks.has_not("hang_here")
        forks.ended(0)
        follow = Run(command, ["--follow"], [program, "fork"])
        follow.has("2 processes were watched")
        follow.has(r"hang_here  loops\.c")
        follow.ended(0)

        limits = Run(command, [], [program, "limits"])
        limits.ended(0)
        limits.has("was not watched whole")

        # exec in the watched process itself, and children's environment
        shell = Run(command, [], ["/bin/sh", "-c", f"exec {program} plain"])
        shell.has(HANG % line_of(source, "line: hang"))
        child = Run(command, [], ["/bin/sh", "-c", f"{program} plain; true"])
        child.has("never waited in poll")
        wiped = Run(command, ["--follow"], ["/usr/bin/env", "-i", program, "plain"])
        wiped.has(HANG % line_of(source, "line: hang"))

        summary = Run(command, ["--json"], [program, "plain"]).json()
        check(summary["hangs"][0]["guilty"]["function"] == "hang_here", "JSON", str(summary))
        check(summary["status"] == 0 and summary["processes"][0]["loop"], "JSON", str(summary))
        quiet = Run(command, ["--quiet"], [program, "plain"])
        check(quiet.text == "", "quiet", quiet.text)

        before = set(os.listdir(folder))
        out = os.path.join(folder, "reports")
        for count in (1, 2):
            kept = Run(command, ["--out", out], [program, "plain"])
            kept.has(r"^1 hang of")
            check(len([f for f in os.listdir(out) if f.endswith(".fwr")]) == count, "kept reports")
        check(set(os.listdir(folder)) == before | {"reports"}, "nothing else is left")

        # Ctrl-C at a terminal reaches both: the program ends, the summary comes all the same
        process = subprocess.Popen([command, "run", "--", "/bin/sh", "-c", "kill -INT 0; sleep 5"],
                                   stderr=subprocess.PIPE, text=True, env=ENVIRONMENT,
                                   start_new_session=True)
        text = process.communicate(timeout=30)[1]
        check(process.returncode == -2 and "ended by signal 2" in text, "Ctrl-C", text)


main()
