#!/usr/bin/env python3
"""What cannot be watched is said before it is started, with the exit codes of shells."""
import os
import resource
import shutil
import signal
import subprocess
import sys

from run_support import ENVIRONMENT, Run, check, scratch

SOURCE = "int main(void) { return 0; }\n"


def build(compiler, folder, name, *flags):
    source = os.path.join(folder, "main.c")
    with open(source, "w") as file:
        file.write(SOURCE)
    path = os.path.join(folder, name)
    done = subprocess.run([*compiler, source, "-o", path, *flags], stderr=subprocess.DEVNULL)
    return path if done.returncode == 0 else None


def refused(command, program, code, words):
    run = Run(command, [], [program])
    run.ended(code)
    run.has(words)
    run.has_not("ended with status")


def check_version(command, folder):
    """Reports are of the version and build that were named."""
    out = os.path.join(folder, "reports")
    Run(command, ["--calls", "open,openat", "--app-version", "3.1.0", "--app-build", "77", "--out", out],
        ["cat", "/dev/null"]).ended(0)
    reports = [os.path.join(out, name) for name in os.listdir(out) if name.endswith(".fwr")]
    check(len(reports) == 1, "one report", str(reports))
    said = subprocess.run([command, "inspect", reports[0]], capture_output=True, text=True, check=True).stdout
    words = said.split()
    check(words[words.index("version") + 1] == "3.1.0" and words[words.index("build") + 1] == "77", "its version", said)
    for wrong in ("", "a\nb", "v" * 128):
        run = Run(command, ["--app-version", wrong], ["true"])
        run.ended(2)
        run.has("--app-version wants")


def check_unfit(command, folder, program, words):
    """A program into which the agent does not fit runs as ever when one that is watched starts it."""
    script = os.path.join(folder, "leads to " + os.path.basename(program))
    with open(script, "w") as file:
        file.write(f"#! {program}\n")
    os.chmod(script, 0o755)
    path = dict(ENVIRONMENT, PATH=folder + ":/usr/bin:/bin")
    name = os.path.basename(program)
    for line in (f"exec {program}", f"exec {name}", f"exec '{script}'", f"{program}", f"{script!r}",
                 f"env {name}", f"'{program}' && exec '{program}'"):
        for options in ([], ["--follow"]):
            run = Run(command, options, ["/bin/sh", "-c", f"set -e\n{line}\nexit 0"], env=path)
            run.ended(0)
            check("error" not in run.text.lower(), line, run.text)
            if options or line.startswith("exec"):
                run.has("^Not watched: .*" + words)
    run = Run(command, ["--json"], ["/bin/sh", "-c", f"exec {program}"])
    check(run.json()["processes"][0]["unfit"] == 1, "JSON counts it", run.text)


def check_small_stack(command):
    """A limit on the stack is the program's, not the command's."""
    def limit():
        resource.setrlimit(resource.RLIMIT_STACK, (64 << 10, 64 << 10))

    run = Run(command, ["--calls", "open,openat"], ["cat", "/dev/null"], preexec_fn=limit)
    run.ended(0)
    run.has("ended with status 0")
    shell = ["/bin/sh", "-c", "ulimit -s; kill -TERM $$"]
    run = Run(command, ["--quiet"], shell, preexec_fn=limit)
    check(run.out == "64\n" and run.code == -signal.SIGTERM, "limit and end of the program", run.out)
    waits = subprocess.Popen(["sleep", "60"])
    dump = subprocess.run([command, "dump", str(waits.pid)], capture_output=True, text=True,
                          preexec_fn=limit, timeout=60, env=ENVIRONMENT)
    waits.kill()
    waits.wait()
    check(dump.returncode == 0, f"dump: {dump.returncode}", dump.stderr)


def main():
    command, compiler = sys.argv[1:3]
    with scratch() as folder:
        os.chmod(folder, 0o755)
        plain = build([compiler], folder, "plain")
        Run(command, [], [plain]).ended(0)
        check_version(command, folder)
        check_small_stack(command)

        static = build([compiler], folder, "static", "-static")
        if static:
            refused(command, static, 125, "linked statically")
        if shutil.which("musl-gcc"):
            musl = build(["musl-gcc"], folder, "musl")
            refused(command, musl, 125, "linked with musl")
            check_unfit(command, folder, musl, "loader and libc")
        narrow = build([compiler], folder, "narrow", "-m32")
        if narrow:
            refused(command, narrow, 125, "32-bit program")
            check_unfit(command, folder, narrow, "another class")

        refused(command, "no-such-program", 127, "cannot run 'no-such-program'")
        refused(command, folder + "/nothing", 127, "No such file")
        refused(command, folder, 126, "directory")
        text = os.path.join(folder, "text")
        with open(text, "w") as file:
            file.write("no program\n")
        refused(command, text, 126, "Permission denied")

        script = os.path.join(folder, "script")
        with open(script, "w") as file:
            file.write(f"#!/usr/bin/env {plain}\n")
        os.chmod(script, 0o755)
        Run(command, [], [script]).ended(0)
        if static:
            with open(script, "w") as file:
                file.write(f"#! {static} -x\n")
            refused(command, script, 125, "linked statically")

        if os.geteuid() == 0:
            gains = build([compiler], folder, "gains")
            os.chown(gains, 65534, 65534)
            os.chmod(gains, 0o6755)
            refused(command, gains, 125, "set-user-id")

        for arguments in (["--hang", "10"], ["--calls", "@nothing"], ["--nonsense"], ["--idle", "x"],
                          ["--app-only"], ["--key-file", "x"], ["--to", "collector"],
                          ["--to", "http://example.com"]):
            run = Run(command, arguments, [plain])
            check(run.code == 2, f"{arguments} is refused", run.text)
        run = Run(command, ["--output", folder + "/nothing/x"], [plain])
        run.ended(125)
        run.has("--output: cannot write")


main()
