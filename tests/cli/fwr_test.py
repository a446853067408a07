#!/usr/bin/env python3
"""fwr_test.py FRAMEWALK EXAMPLE THREADS: framewalk inspect and symbolicate on Framewalk reports: the one that EXAMPLE
writes (everything, of made-up images), one that THREADS makes of its own 40 threads, and parts of it."""
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile

framewalk, example, threads = sys.argv[1:4]
bad = 0


def check(good, what):
    global bad
    if not good:
        print("failed:", what)
        bad += 1


def run(*arguments, code=0, environment=None):
    done = subprocess.run([framewalk, *arguments], capture_output=True, text=True, timeout=120,
                          env={**os.environ, **(environment or {})})
    check(done.returncode == code, f"{arguments}: exit {done.returncode}, {done.stderr}")
    return done.stdout


def symbolicate(*arguments, **more):
    return run("symbolicate", "--no-debuginfod", *arguments, **more)


def inspect(path, **more):
    return json.loads(run("inspect", "--json", path, **more))


def frames_of(thread):
    return thread["stacks"][0]["frames"]


def names_of(frame):
    return [inline["function"] for inline in frame["inlines"]] + [frame["function"]]


# ---- made by hand: protobuf's wire format and records, as docs/report-format.md has them ----

def varint(value):
    out = b""
    while value >= 0x80:
        out += bytes([value & 0x7f | 0x80])
        value >>= 7
    return out + bytes([value])


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def crc32c(data):
    crc = 0xffffffff
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82f63b78 if crc & 1 else 0)
    return crc ^ 0xffffffff


def record(kind, payload):
    head = struct.pack("<II", len(payload), kind)
    return head + struct.pack("<I", crc32c(head + payload)) + payload + bytes(-len(payload) % 4)


def folders(folder):
    """A folder of reports: one row each, the damaged one said to be that; other folders are none."""
    reports = os.path.join(folder, "reports")
    os.mkdir(reports)
    run("inspect", reports, code=5)
    whole = os.path.join(reports, "0" * 32 + ".fwr")
    subprocess.run([example, whole], check=True, stdout=subprocess.DEVNULL, timeout=60)
    with open(os.path.join(reports, "1" * 32 + ".fwr"), "wb") as file:
        file.write(b"no report")
    with open(os.path.join(reports, "spool.state"), "wb") as file:
        file.write(b"other")
    run("symbolicate", reports, code=5)
    about = inspect(reports)
    check([row["report"][0] for row in about["reports"]] == ["1", "0"], "a row for each report, by date")
    check("damaged" in about["reports"][0]["note"], "what is no report is said")
    row, single = about["reports"][1], inspect(whole)
    check(row["of"] == single["of"] and row["date"] == single["date"], "of what and when")
    check(row.get("duration_ms") == single["hang"]["duration_ms"], "how long it hung")
    for name in about["reports"]:
        os.remove(os.path.join(reports, name["report"]))
    open(os.path.join(reports, "2" * 32 + ".part"), "wb").close()
    empty = inspect(reports)
    check(empty["reports"] == [] and empty["unfinished"] == 1, "an emptied folder is still one")


def killed(folder):
    """Of a process that was killed nobody knows how long it would have hung."""
    path = os.path.join(folder, "killed.fwr")
    about = field(1, b"0123456789abcdef") + field(3, 1)
    hang = field(1, 7) + field(2, b"main") + field(3, 250_000_000) + field(5, 260_000_000)
    for ending, words in ((2, "hung for at least 346 ms, until the process was killed"), (1, "hung for 346 ms, then")):
        with open(path, "wb") as file:
            file.write(b"FWREPRT\n" + record(1, about) + record(6, hang)
                       + record(8, field(1, ending) + field(3, 345_600_000)) + record(14, b""))
        text = symbolicate("--to", "text", path)
        check(inspect(path)["hang"]["duration_ms"] == 346, "inspect rounds as the text does")
        check(words in text, text)


def as_of(folder):
    """Totals are of the process, and say whether they are as old as the report's end."""
    path = os.path.join(folder, "totals.fwr")
    about = record(1, field(1, b"0123456789abcdef") + field(3, 1))
    hang = record(6, field(1, 7) + field(2, b"main") + field(3, 250_000_000) + field(5, 260_000_000))
    totals = record(13, field(1, field(1, b"hangs.ns") + field(2, 260_000_000)))
    end = record(8, field(1, 2) + field(3, 345_600_000))
    for rest, words in ((totals + end, "later is not in them"), (end + totals, "up to this report's end")):
        with open(path, "wb") as file:
            file.write(b"FWREPRT\n" + about + hang + rest + record(14, b""))
        about_it = inspect(path)
        check(about_it["totals"] and words in about_it["totals_of"], about_it)


def own_threads(folder):
    """A real program: every worker's functions, with file and line, also in stacks of samples."""
    path = os.path.join(folder, "threads.fwr")
    subprocess.run([threads, path], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=60)
    about = inspect(path)
    size = os.path.getsize(path)
    print("40 threads:", size, "bytes")
    check(size < 16 * 1024 and about["size"] == size, "size")
    check(about["complete"] and about["of"] == "hang" and about["threads"] == 40, about)
    check(8 + sum(r["size"] for r in about["records"]) == size, "sizes of records")
    check([r["record"] for r in about["records"]][0] == "about" and about["records"][-1]["record"] == "end", "records")
    check(about["hang"] == {"watch": "main", "ending": "recovered", "duration_ms": 733, "threshold_ms": 250,
                            "stacks_taken": 60}, about["hang"])

    report = json.loads(symbolicate("--to", "json", path))
    check(report["complete"], "complete")
    workers = [t for t in report["threads"] if (t["name"] or "").startswith("worker-")]
    check(len(workers) == 39, f"{len(workers)} workers")
    for worker in workers:
        own = [f for f in frames_of(worker) if f["image"].endswith(os.path.basename(threads))]
        names = [name for f in own for name in names_of(f)]
        check("thread_main" in names and "wait_here" in names and "go_on" in names, (worker["name"], names))
        check(sum(name.startswith("step_") for name in names) >= 4, names)
        check(all(f["file"].endswith("fwr_threads_test.c") and f["line"] for f in own), worker["name"])
    check(any("through_libc" in [n for f in frames_of(w) for n in names_of(f)] for w in workers), "qsort")
    people = symbolicate(path)
    check('"main" hung for 733 ms' in people and "fwr_threads_test.c" in people, people[:2000])
    return path


def cut(folder, path):
    """Part of it: what is whole is shown, and that it is not all."""
    whole = inspect(path)
    samples = next(r for r in whole["records"] if r["record"] == "samples")
    with open(path, "rb") as file:
        data = file.read()
    part = os.path.join(folder, "part.fwr")
    with open(part, "wb") as file:
        file.write(data[:samples["offset"] + 20])
    about = inspect(part)
    check(not about["complete"] and f"at byte {samples['offset']}" in about["note"], about["note"])
    check(about["threads"] == 40 and about["sample_entries"] == 0, about)
    check(about["records"] == [r for r in whole["records"] if r["offset"] < samples["offset"]], "records")
    check(about["hang"]["ending"] == "not known" and about["hang"]["duration_ms"] == 250, about["hang"])
    report = json.loads(symbolicate("--to", "json", part, code=8))
    check(not report["complete"] and len(report["threads"]) == 40, "threads of a part")


def everything(folder):
    path = os.path.join(folder, "example.fwr")
    subprocess.run([example, path], check=True)
    about = inspect(path)
    check(about["keys"] == [{"name": "screen", "value": "checkout"}, {"name": "empty", "value": ""}], about["keys"])
    check(about["totals"] == [{"name": "samples", "value": 16}, {"name": "vetoed", "value": 3}], about["totals"])
    check({r["type"] for r in about["records"]} == set(range(1, 15)), "types of records")
    people = run("inspect", path)
    check("~/app/shop" in people and "hang end" in people, people)
    check("LazyCompile:~tick" in symbolicate(path), "code outside of images") # the app's names are in the report


def by_path_in_home(folder):
    """An image under somebody's home is found under ours, if it has the same id."""
    home = os.path.join(folder, "home")
    os.mkdir(home)
    program = shutil.copy(example, os.path.join(home, "program"))
    build_id = inspect(program).get("build_id")
    symbols = subprocess.run(["nm", program], capture_output=True, text=True, check=False).stdout.splitlines()
    main = [int(line.split()[0], 16) for line in symbols if line.endswith(" main")]
    if not build_id or not main:
        print("skip: no build id, or no nm")
        return
    about = field(1, b"0123456789abcdef") + field(3, 3)
    images = field(1, field(1, bytes.fromhex(build_id)) + field(3, b"~/program"))
    stacks = field(1, varint(1)) + field(2, varint(5)) + field(3, varint(2 * main[0])) + field(5, varint(1))
    listed = field(1, field(1, 5) + field(7, 1))
    path = os.path.join(folder, "home.fwr")
    with open(path, "wb") as file:
        file.write(b"FWREPRT\n" + record(1, about) + record(3, images) + record(4, stacks) + record(5, listed)
                   + record(14, b""))
    [thread] = json.loads(symbolicate("--to", "json", path, environment={"HOME": home}))["threads"]
    check([f["function"] for f in frames_of(thread)] == ["main"], thread)


with tempfile.TemporaryDirectory() as work:
    cut(work, own_threads(work))
    everything(work)
    folders(work)
    killed(work)
    as_of(work)
    by_path_in_home(work)
sys.exit(bad != 0)
