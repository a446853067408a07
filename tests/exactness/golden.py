"""golden.py FRAMEWALK GOLDEN FILE [OPTION...]: our answers at every address of a golden file of the shared test data,
which are llvm-symbolizer's: functions, base names of files, lines and columns at every inline level.
"""
import json
import os
import subprocess
import sys


def plain(name):
    """Demanglers differ in one blank."""
    while "> >" in name:
        name = name.replace("> >", ">>")
    return name


def golden_frames(fields):
    frames = []
    for field in fields:
        function, file, line, column = field.rsplit("|", 3)
        frames.append((plain(function), file, int(line), int(column)))
    return frames


def our_frames(entry):
    return [(plain(f.get("function", "??")), os.path.basename(f.get("file", "")), f.get("line", 0), f.get("column", 0))
            for f in entry["frames"]]


def main():
    framewalk, golden, file, *options = sys.argv[1:]
    if not os.path.exists(golden) or not os.path.exists(file):
        print("skipped: no shared test data")
        return 77
    expected = {}
    with open(golden, encoding="utf-8") as lines:
        for line in lines:
            if not line.startswith("#"):
                address, _, *frames = line.rstrip("\n").split("\t")
                expected[address] = golden_frames(frames)
    result = subprocess.run([framewalk, "symbolicate", "--json", "--columns", "--no-cache", *options, file],
                            input="\n".join(expected) + "\n", capture_output=True, text=True, check=True)
    answers = {}
    for line in result.stdout.splitlines():
        entry = json.loads(line)
        answers[entry["address"]] = our_frames(entry)
    wrong = [address for address in expected if answers.get(address) != expected[address]]
    for address in wrong[:10]:
        print(f"{address}\n  ours   {answers.get(address)}\n  golden {expected[address]}")
    print(f"{len(expected) - len(wrong)} of {len(expected)} addresses as in {os.path.basename(golden)}")
    return 1 if wrong or not expected else 0


sys.exit(main())
