#!/usr/bin/env python3
"""Programs built with a sanitizer find under `framewalk run` what they find alone, and no more."""
import os
import re
import shutil
import subprocess
import sys

from run_support import ENVIRONMENT, check, scratch, skip

MISTAKES = ("none", "leak", "overflow", "race")
FINDING = re.compile(r"(?:ERROR|WARNING): (\w+Sanitizer: [a-z-]+)|SUMMARY: (\w+: \d+ .*leaked.*)|(FATAL.*)")


def builds(compiler, source, folder):
    """(name, program) of each sanitizer that is installed."""
    runtime = []
    if shutil.which("clang-19"):
        path = subprocess.run(["clang-19", "-print-file-name=libclang_rt.asan-x86_64.so"],
                              text=True, stdout=subprocess.PIPE).stdout.strip()
        runtime = ["-shared-libsan", "-Wl,-rpath," + os.path.dirname(path)]
    compilers = {"gcc": [compiler], "gcc-static": [compiler, "-static-libasan"],
                 "clang": ["clang-19"], "clang-shared": ["clang-19", *runtime]}
    for name, command in compilers.items():
        for sanitizer in ("address", "leak", "thread", "undefined", "memory"):
            program = os.path.join(folder, name + "-" + sanitizer)
            words = [*command, "-g", "-O0", "-D_GNU_SOURCE", "-fsanitize=" + sanitizer, source,
                     "-o", program, "-lpthread"]
            if not shutil.which(command[0]) or (name == "gcc-static" and sanitizer != "address"):
                continue
            if subprocess.run(words, stderr=subprocess.DEVNULL).returncode != 0:
                continue
            # One whose memory layout this kernel does not allow says so instead of running.
            if subprocess.run([program], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              env=ENVIRONMENT).returncode == 3:
                yield name + "-" + sanitizer, program


def outcome(words, environment):
    done = subprocess.run(words, text=True, errors="replace", env=environment, timeout=120,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    found = ["".join(part or "" for part in match.groups())
             for match in FINDING.finditer(done.stderr)]
    return (done.returncode, done.stdout, found), done.stderr


def main():
    command, compiler, source = sys.argv[1:4]
    own = dict(ENVIRONMENT, ASAN_OPTIONS="detect_stack_use_after_return=0")
    with scratch() as folder:
        programs = list(builds(compiler, source, folder))
        if not programs:
            skip("no sanitizer works here")
        summary = ["--output", os.path.join(folder, "summary")]
        for name, program in programs:
            print(name)
            for mistake in MISTAKES:
                alone, _ = outcome([program, mistake], ENVIRONMENT)
                for options in ([], ["--calls", "@files"])[:1 + (mistake == "none")]:
                    words = [command, "run", *summary, *options, "--", program, mistake]
                    watched, text = outcome(words, ENVIRONMENT)
                    check(watched == alone, f"{name} {mistake} {options}: {watched}, not {alone}", text)
            alone, _ = outcome([program], own)
            # Followed children, and what the program itself becomes; with options of its user's.
            shell = ["/bin/sh", "-c", f"{program} || exit $?"]
            for options, line in ((["--follow"], shell), ([], ["/bin/sh", "-c", "exec " + program]),
                                  ([], [program])):
                watched, text = outcome([command, "run", *summary, *options, "--", *line], own)
                if options:  # what is followed has the agent's own option in front
                    watched = (watched[0], watched[1].replace("verify_asan_link_order=0:", ""),
                               watched[2])
                check(watched == alone, f"{name} {options} {line}: {watched}, not {alone}", text)


main()
