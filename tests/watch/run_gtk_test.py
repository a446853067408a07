#!/usr/bin/env python3
"""A GTK 3 program under Xvfb: both hangs with their lines, none for its modal dialog, and a call."""
import os
import subprocess
import sys

from run_support import ENVIRONMENT, Run, check, compile_c, line_of, need, scratch, skip


def main():
    command, compiler, source = sys.argv[1:4]
    need("Xvfb", "pkg-config")
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "gtk+-3.0"], text=True,
                           capture_output=True)
    if flags.returncode:
        skip("GTK 3 cannot be compiled for (libgtk-3-dev)")
    with scratch() as folder:
        program = os.path.join(folder, "gtk_window")
        compile_c(compiler, source, program, *flags.stdout.split())
        read_end, write_end = os.pipe()
        server = subprocess.Popen(["Xvfb", "-displayfd", str(write_end), "-screen", "0",
                                   "640x480x24", "-nolisten", "tcp"], pass_fds=[write_end],
                                  stderr=subprocess.DEVNULL)
        os.close(write_end)
        display = os.read(read_end, 16).decode().strip()
        if not display:
            skip("Xvfb does not start")
        try:
            environment = dict(ENVIRONMENT, DISPLAY=":" + display, NO_AT_BRIDGE="1",
                               GIO_USE_VFS="local", GSETTINGS_BACKEND="memory")
            run = Run(command, ["--starved", "--calls", "fopen,nosuch_function"], [program], env=environment)
        finally:
            server.terminate()
            server.wait()
    run.ended(0)
    run.has(r"^\d+ hangs of 250 ms or more")
    run.has(r"^ +\d\. .*compute_layout  gtk_window\.c:\d+")
    run.has(r"> compute_layout")
    run.has(r"on_clicked  gtk_window\.c")
    run.has(r"\.\.\. \d+ frames in .*libgobject")
    run.has(rf"^ +\d\. .*read_theme  gtk_window\.c:{line_of(source, 'line: sleep')}")
    run.has(r"main  gtk_window\.c")
    run.has_not(r"^ +\d\. .*  ask  ")
    run.has(rf"1  read_theme  gtk_window\.c:{line_of(source, 'line: fopen')}")
    run.has(r"nosuch_function")
    lines = [line for line in run.text.splitlines() if "nosuch_function" in line]
    check(any("no file" in line or "not found" in line or "Not found" in line for line in lines),
          "what is not found is said", run.text)


main()
