#!/usr/bin/env python3
"""Calls from code that is unloaded, and whose place other code takes, are told of the code that made
them: each, however many libraries come and go."""
import os
import subprocess
import sys

from run_support import Run, check, compile_c, scratch

COUNT, ROUNDS = 40, 15  # more rounds than a run keeps reports
PLUGIN = """#include <fcntl.h>
#include <unistd.h>
int f%d(void) { int file = open("/dev/null", O_RDONLY); return close(file) == 0 ? %d : -1; }
"""


def main():
    command, compiler, source = sys.argv[1:4]
    with scratch() as folder:
        program = os.path.join(folder, "plugins")
        compile_c(compiler, source, program, "-ldl")
        for number in range(COUNT):
            code = os.path.join(folder, f"p{number}.c")
            with open(code, "w") as file:
                file.write(PLUGIN % (number, number))
            compile_c(compiler, code, os.path.join(folder, f"p{number}.so"), "-shared", "-fPIC")
        words = [program, folder, str(COUNT), str(ROUNDS)]
        check(subprocess.run(words).returncode == 7, "the program alone")
        for options in ([], ["--app-only"]):
            run = Run(command, ["--json", "--calls", "open,fopen,close,dlopen", *options], words)
            run.ended(7)
            calls = {api["function"]: api for api in run.json()["calls"]}
            check(calls["dlopen"]["calls"] == COUNT * (ROUNDS + 1), "dlopen", str(calls["dlopen"]))
            if options:
                continue
            for name in ("open", "close"):
                check(calls[name]["calls"] == COUNT * (ROUNDS + 1), name, str(calls[name]))
                callers = {(caller["caller"]["function"], caller["caller"]["image"]): caller["count"]
                           for caller in calls[name]["callers"]}
                wanted = {(f"f{n}", f"p{n}.so"): ROUNDS + 1 for n in range(COUNT)}
                check(callers == wanted, f"who called {name}", str(callers))


main()
