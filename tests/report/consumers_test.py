#!/usr/bin/env python3
"""consumers_test.py TO_FILES FRAMEWALK SAMPLES OWN: what the writers made, opened.

TO_FILES writes hand-made reports in each form; FRAMEWALK writes reports of other tools (OWN: ours,
SAMPLES: those beside the project, when they are there). Each result is read as its format's own
documents describe it: profile.proto of pprof field by field, speedscope's file format, the tables of
the Firefox Profiler's version 66. (Sums that do not fit into 64 bits are cut: hostile reports.) That the reader of the last one is right is shown with a profile
of another writer (SAMPLES). Where `go` is there, `go tool pprof` opens the profiles as well.

The sum of a hang's weights must be the same in every form. packaging/check/consumers.sh asks
speedscope and the Firefox Profiler themselves.
"""
import gzip
import json
import os
import shutil
import subprocess
import sys
import tempfile

FAILED = []


def check(good, *what):
    if not good:
        FAILED.append(" ".join(str(word) for word in what))
    return good


# ---- pprof ----


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def fields(data):
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        elif key & 7 == 2:
            size, at = varint(data, at)
            value = data[at:at + size]
            if len(value) != size:
                raise ValueError("a field is longer than its message")
            at += size
        else:
            raise ValueError("wire type %d" % (key & 7))
        yield key >> 3, value


def message(data):
    result = {}
    for number, value in fields(data):
        result.setdefault(number, []).append(value)
    return result


def packed(data):
    values, at = [], 0
    while at < len(data):
        value, at = varint(data, at)
        values.append(value)
    return values


def one(fields_of, number, default=0):
    return fields_of.get(number, [default])[0]


def read_pprof(name, data):
    """Values by type of the whole profile; everything that numbers point at is looked at."""
    profile = message(gzip.decompress(data))
    strings = [text.decode("utf-8") for text in profile[6]]
    check(strings[0] == "", name, "the first string is not empty")
    types = [strings[one(message(t), 1)] + "/" + strings[one(message(t), 2)] for t in profile[1]]
    mappings = {one(message(m), 1): message(m) for m in profile.get(3, [])}
    functions = {one(message(f), 1): message(f) for f in profile.get(5, [])}
    locations = {one(message(l), 1): message(l) for l in profile.get(4, [])}
    check(0 not in mappings and 0 not in functions and 0 not in locations, name, "an id is 0")
    for mapping in mappings.values():
        check(one(mapping, 3) >= one(mapping, 2), name, "a mapping ends before it begins")
        check(one(mapping, 5) < len(strings) and one(mapping, 6) < len(strings), name, "mapping")
    for function in functions.values():
        check(0 < one(function, 2) < len(strings) and one(function, 4) < len(strings), name, "function")
    for location in locations.values():
        check(one(location, 2) == 0 or one(location, 2) in mappings, name, "mapping of a location")
        lines = [message(line) for line in location.get(4, [])]
        check(all(one(line, 1) in functions for line in lines), name, "function of a line")
    sums = [0] * len(types)
    for sample in profile.get(2, []):
        sample = message(sample)
        check(all(i in locations for i in packed(one(sample, 1, b""))), name, "location of a sample")
        values = packed(one(sample, 2, b""))
        if check(len(values) == len(types), name, "number of values"):
            sums = [a + b for a, b in zip(sums, values)]
    return dict(zip(types, sums)), profile, strings


# ---- speedscope ----


def read_speedscope(name, data):
    file = json.loads(data)
    check(file["$schema"] == "https://www.speedscope.app/file-format-schema.json", name, "schema")
    frames = file["shared"]["frames"]
    for frame in frames:
        check(isinstance(frame["name"], str), name, "name of a frame")
        check(set(frame) <= {"name", "file", "line", "col"}, name, "members of a frame")
    check(file["profiles"], name, "no profile")
    check(0 <= file["activeProfileIndex"] < len(file["profiles"]), name, "active profile")
    for profile in file["profiles"]:
        check(profile["type"] == "sampled", name, "type")
        check(profile["unit"] in ("none", "milliseconds"), name, "unit")
        check(len(profile["samples"]) == len(profile["weights"]), name, "number of weights")
        check(all(0 <= i < len(frames) for s in profile["samples"] for i in s), name, "frame number")
        length = profile["endValue"] - profile["startValue"]
        check(name == "hostile" or abs(length - sum(profile["weights"])) <= 1e-6 + length * 1e-9, name, "end value")
    return {p["name"]: sum(p["weights"]) for p in file["profiles"]}


# ---- Firefox Profiler, version 66 ----


def read_firefox(name, profile):
    check(profile["meta"]["preprocessedProfileVersion"] == 66, name, "version")
    shared = profile["shared"]
    strings = shared["stringArray"]
    check(all(isinstance(text, str) for text in strings), name, "strings")
    size = {}
    for table, columns in shared.items():
        if isinstance(columns, dict):
            size[table] = columns["length"]
            for column, values in columns.items():
                if column != "length":
                    check(len(values) == columns["length"], name, table, column, "length")

    def within(table, column, limit, null=None):
        for value in shared[table][column]:
            good = value == null if value is None or value == -1 else 0 <= value < limit
            check(good, name, table, column, value)

    categories = profile["meta"]["categories"]
    within("frameTable", "func", size["funcTable"])
    within("frameTable", "nativeSymbol", size["nativeSymbols"])
    within("frameTable", "category", len(categories))
    within("stackTable", "frame", size["frameTable"])
    within("funcTable", "name", len(strings))
    within("funcTable", "resource", size["resourceTable"], -1)
    within("funcTable", "source", size["sources"])
    within("resourceTable", "name", len(strings))
    within("resourceTable", "lib", len(profile["libs"]))
    within("nativeSymbols", "libIndex", len(profile["libs"]))
    within("nativeSymbols", "name", len(strings))
    within("sources", "filename", len(strings))
    frames, stacks = shared["frameTable"], shared["stackTable"]
    for i, offset in enumerate(stacks["prefixOffset"]):
        check(0 <= offset <= i, name, "prefix offset", i, offset)
        depth = frames["inlineDepth"][stacks["frame"][i]]
        if depth and check(offset, name, "an inlined function without a caller"):
            caller = stacks["frame"][i - offset]
            check(frames["inlineDepth"][caller] == depth - 1, name, "depth of inlining")
            check(frames["address"][caller] == frames["address"][stacks["frame"][i]], name,
                  "address of an inlined function")
    schemas = {schema["name"]: {field["key"] for field in schema["fields"]}
               for schema in profile["meta"]["markerSchema"]}
    sums = {}
    for thread in profile["threads"]:
        samples, markers = thread["samples"], thread["markers"]
        for table in (samples, markers):
            for column, values in table.items():
                if isinstance(values, list):
                    check(len(values) == table["length"], name, column, "length of a thread's table")
        for stack in samples["stack"]:
            check(stack is None or 0 <= stack < size["stackTable"], name, "stack of a sample")
        times = samples.get("time", [])
        check(times == sorted(times), name, "time goes backwards")
        check(samples["weightType"] in ("samples", "tracing-ms", "bytes"), name, "weight type")
        check(all(0 <= text < len(strings) for text in markers["name"]), name, "name of a marker")
        for data in markers["data"]:
            check(data["type"] in schemas and set(data) - {"type"} <= schemas[data["type"]], name,
                  "marker without a schema", data)
        check(isinstance(thread["pid"], str) and thread["tid"] is not None, name, "pid")
        sums[thread["name"]] = sum(samples["weight"])
    return sums


def read_collapsed(name, data):
    sums = {}
    for line in filter(None, data.decode("utf-8", "replace").split("\n")):
        stack, _, number = line.rpartition(" ")
        root = stack.split(";")[0]
        sums[root] = sums.get(root, 0) + int(number)
    return sums


# ---- what is written ----


def read(path):
    with open(path, "rb") as file:
        return file.read()


def own_reports(folder):
    for name in ("hang", "calls", "hostile"):
        def path(form):
            return os.path.join(folder, name + "." + form)
        json.loads(read(path("json")))
        pprof = read_pprof(name, read(path("pprof.gz")))[0]
        speedscope = read_speedscope(name, read(path("speedscope.json")))
        firefox = read_firefox(name, json.loads(read(path("firefox.json"))))
        collapsed = read_collapsed(name, read(path("collapsed")))
        if name == "hang":
            check(pprof == {"hangs/count": 1, "blocked/nanoseconds": 1718249999,
                            "python/nanoseconds": 1718249999}, name, pprof)
            for sums in (speedscope, firefox):
                check(len(sums) == 2 and all(round(s * 1e6) == 1718249999 for s in sums.values()),
                      name, sums)
            check(collapsed == {"main": 1718, "main (python)": 1718}, name, collapsed)
        elif name == "calls":
            check(pprof == {"calls/count": 1249}, name, pprof)
            for sums in (speedscope, firefox, collapsed):
                check(sums == {"calls": 1249}, name, sums)


def addresses_stay(folder):
    """What has no name keeps its address, its mapping and the build id: others can name it."""
    _, profile, strings = read_pprof("hang", read(os.path.join(folder, "hang.pprof.gz")))
    mappings = {one(message(m), 1): message(m) for m in profile[3]}
    bare = [message(l) for l in profile[4] if 4 not in message(l)]
    if check(len(bare) == 1, "one location has no name", len(bare)):
        mapping = mappings[one(bare[0], 2)]
        check(one(bare[0], 3) - one(mapping, 2) == 0x88123, "its address")
        check(strings[one(mapping, 6)] == "f0fc29165cbe6088c0e1adf03b0048fbecbc003a", "its build id")
        check(one(mapping, 7) == 0, "its mapping is said to have names")
    first = message(profile[3][0])
    check(strings[one(first, 5)] == "~/bin/shop", "the program is not the first mapping")
    lines = [[strings[one(message_of, 2)] for message_of in
              [message(next(f for f in profile[5] if one(message(f), 1) == one(message(line), 1)))
               for line in message(l).get(4, [])]] for l in profile[4]]
    check(["next_token", "parse_catalogue"] in lines, "inlined functions come first", lines)


def other_reports(framewalk, folders):
    count = 0
    for folder in folders:
        for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else []:
            path = os.path.join(folder, name)
            forms = {}
            for form in ("collapsed", "speedscope", "pprof", "firefox", "text"):
                done = subprocess.run([framewalk, "symbolicate", "--no-debuginfod", "--no-cache",
                                       "--to", form, path], capture_output=True, timeout=60)
                if done.returncode in (0, 8):
                    forms[form] = done.stdout
                else:
                    check(done.returncode > 0, name, form, done.stderr.decode("utf-8", "replace"))
            if "pprof" not in forms:
                continue
            count += 1
            total = read_pprof(name, forms["pprof"])[0]
            check(list(total) == ["samples/count"], name, total)
            for sums in (read_speedscope(name, forms["speedscope"]),
                         read_firefox(name, json.loads(forms["firefox"]))):
                check(sum(sums.values()) <= total["samples/count"], name, sums, total)
            collapsed = read_collapsed(name, forms["collapsed"])
            check(sum(collapsed.values()) == total["samples/count"], name, collapsed, total)
    return count


def foreign_firefox(samples):
    """The reader of version 66 must accept what another writer makes."""
    path = os.path.join(samples, "fxprof-processed-v66-without-js.snap")
    if not os.path.exists(path):
        print("skip: no profile of another writer to try the reader of version 66 with")
        return
    read_firefox("foreign", json.loads(read(path).decode().split("---\n", 2)[2]))


def go_pprof(folder):
    go = shutil.which("go")
    if not go or subprocess.run([go, "tool", "pprof", "-h"], capture_output=True).returncode > 2:
        print("skip: no `go tool pprof` here")
        return
    environment = dict(os.environ, PPROF_TMPDIR=folder, PPROF_BINARY_PATH=folder)
    for name in ("hang", "calls", "hostile"):
        path = os.path.join(folder, name + ".pprof.gz")
        done = subprocess.run([go, "tool", "pprof", "-symbolize=none", "-raw", path],
                              capture_output=True, env=environment, timeout=60)
        check(done.returncode == 0, name, done.stderr.decode("utf-8", "replace"))
    done = subprocess.run([go, "tool", "pprof", "-symbolize=none", "-top", "-cum",
                           os.path.join(folder, "hang.pprof.gz")], capture_output=True,
                          env=environment, timeout=60)
    text = done.stdout.decode()
    check("parse_catalogue" in text and "next_token" in text and "1.72s total" in text, text,
          done.stderr.decode())


def main():
    to_files, framewalk, samples, own = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([to_files, folder], check=True)
        own_reports(folder)
        addresses_stay(folder)
        go_pprof(folder)
    foreign_firefox(samples)
    count = other_reports(framewalk, [own, samples])
    check(count >= 8, "only", count, "reports of other tools")
    for line in FAILED[:20]:
        print("failed:", line)
    print(len(FAILED), "failures;", count, "reports of other tools in every form")
    return 1 if FAILED else 0


if __name__ == "__main__":
    sys.exit(main())
