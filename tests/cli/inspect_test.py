#!/usr/bin/env python3
"""inspect_test.py FRAMEWALK DATA: framewalk inspect, and convert between formats, on real files."""
import json
import os
import struct
import subprocess
import sys
import tempfile

framewalk, data = sys.argv[1:3]
bad = 0


def run(*arguments, code=0):
    done = subprocess.run([framewalk, *arguments], capture_output=True, text=True, timeout=120)
    check(done.returncode == code, f"{arguments}: exit {done.returncode}, {done.stderr}")
    return done


def check(good, what):
    global bad
    if not good:
        print("failed:", what)
        bad += 1


def inspect(*arguments):
    return [json.loads(line) for line in run("inspect", "--json", *arguments).stdout.splitlines()]


def formats(folder):
    out = {name: os.path.join(folder, "f." + name) for name in ("symmap", "gsym", "breakpad")}
    for name, path in out.items():
        run("convert", "-q", "--to", name, "-o", path, framewalk)
    [program] = inspect(framewalk)
    check(program["kind"].startswith("ELF"), program["kind"])
    check(program["debug_information"]["units"] > 50, "units")
    check(any(section["name"] == ".text" for section in program["sections"]), "sections")
    maps = {name: inspect(path)[0] for name, path in out.items()}
    for name, one in maps.items():
        check(one.get("build_id") == program.get("build_id") or "build_id" not in program,
              f"{name}: build id")
        check(one["contents"]["rows"] > 10000, f"{name}: rows")
        check(one["contents"]["deepest_inlining"] > 2, f"{name}: inlining")
    check(maps["symmap"]["sections"][0]["name"] == "identity", "sections of the map")
    check(maps["gsym"]["kind"] == "GSYM", maps["gsym"]["kind"])
    check(maps["breakpad"]["kind"] == "Breakpad symbols", maps["breakpad"]["kind"])
    check(abs(maps["symmap"]["contents"]["code_bytes"] - maps["gsym"]["contents"]["code_bytes"]) <
          maps["symmap"]["contents"]["code_bytes"] // 20, "code of the map and of GSYM")

    # From map to format is the same as from the program.
    again = os.path.join(folder, "again")
    for name in ("gsym", "breakpad"):
        run("convert", "-q", "--to", name, "-o", again, out["symmap"])
        check(open(again, "rb").read() == open(out[name], "rb").read(), f"{name} of the map")
    run("convert", "-q", "--verify", "-o", again, framewalk)
    check("0 differences" in run("convert", "--verify", out["symmap"], framewalk).stderr,
          "verified")
    other = os.path.join(folder, "other")
    with open(other, "wb") as to:
        to.write(b"MODULE Linux x86_64 0102030405060708090A0B0C0D0E0F100 x\nFUNC 1000 10 0 f\n")
    run("convert", "-q", "-o", again, other)
    check("another build id" in run("convert", "-q", "--verify", again, framewalk, code=5).stderr,
          "a map of something else")

    functions = inspect("--functions", "--files", out["gsym"])[0]
    check(any(f["name"] == "main" for f in functions["functions"]), "main is listed")
    check(any(f["file"].endswith("cli/main.c") for f in functions["files"]), "main.c is listed")
    main = next(f for f in functions["functions"] if f["name"] == "main")
    for path in out.values():
        row = inspect("--address", main["address"], path)[0]
        check(row["known"] and row["frames"][-1]["function"] == "main", f"{path}: row of main")
    run("inspect", "--address", "1", out["gsym"], code=3)

    text = run("inspect", "--color=never", out["symmap"], framewalk).stdout
    check("contents\n" in text and "\x1b" not in text, "text")
    check("\x1b[1m" in run("inspect", "--color=always", out["symmap"]).stdout, "colours")


def wrong(folder):
    path = os.path.join(folder, "text")
    with open(path, "w", encoding="ascii") as to:
        to.write("nothing in particular\n")
    check(run("inspect", path, code=5).stdout == "", "a text")
    check(run("inspect", os.path.join(folder, "missing"), code=3).stdout == "", "no file")
    run("inspect", code=2)
    run("inspect", "--address", "what", path, code=2)
    run("convert", "--to", "pdf", path, code=2)
    check("unknown option '--format' (framewalk convert" in run("convert", "--format", path, code=2).stderr, "convert's options")
    check("did you mean '--json'" in run("inspect", "--jsn", path, code=2).stderr, "inspect's options")
    check("--address wants a value" in run("inspect", "--address", code=2).stderr, "an option without its value")
    junk = os.path.join(folder, "junk.fwr")
    os.rename(path, junk)
    check("no whole Framewalk report" in run("inspect", junk, code=5).stderr, "a damaged report")
    core = os.path.join(folder, "core")
    with open(core, "wb") as to:  # the header of an x86_64 core file with one empty segment
        to.write(struct.pack("<4sBBB9xHHIQQQIHHHHHH", b"\x7fELF", 2, 1, 1, 4, 62, 1, 0, 64, 0, 0, 64, 56, 1, 0, 0, 0))
        to.write(struct.pack("<IIQQQQQQ", 1, 4, 120, 0, 0, 0, 0, 1))
    check("framewalk dump" in inspect(core)[0]["note"], "a core file's stacks")


def others():
    dsym = os.path.join(data, "debug/samply/other/simple-example/out/mac-dsym/main.dSYM")
    [about] = inspect(dsym)
    check(about["kind"] == "Mach-O dSYM" and about["architecture"] == "arm64", "dSYM")
    check(about["debug_id"] == about["uuid"].upper() + "0", "the debug id of a UUID")
    reports = os.path.join(data, "reports")
    for name in sorted(os.listdir(reports)):
        if name.endswith(".ips"):
            [about] = inspect(os.path.join(reports, name))
            check(about["frames"] > 0, name)


with tempfile.TemporaryDirectory() as place:
    formats(place)
    wrong(place)
if os.path.isdir(data):
    others()
else:
    print("skipped: the files of other projects are absent")
sys.exit(1 if bad else 0)
