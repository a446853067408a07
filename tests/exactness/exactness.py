"""Compares our answers with llvm-symbolizer's: function, file and line at every inline level.

    exactness.py --build BUILD --inputs FOLDER --cache FOLDER [--second] INPUT...

INPUT is the name of a file in the inputs' folder (FOLDER/INPUT.debug and INPUT.addresses), or
`macho:FOLDER`: every instruction of every Mach-O file there. Prints a table of how many answers are
equal and, for each class of difference (classes.py), how many and an example. All differences are
written to CACHE/INPUT.differences; --second adds what gimli's and binutils' addr2line say there.
"""
import argparse
import collections
import os
import random
import shutil
import subprocess
import sys

import answers
import classes
import macho


class Names:
    """Which symbols of a file share an address; read when first asked."""

    def __init__(self, path, arch):
        self.command = ["llvm-nm-19"] + ([f"--arch={arch}"] if arch else []) + [path]
        self.places = None

    def same_place(self, a, b):
        if self.places is None:
            self.places = collections.defaultdict(set)
            for line in subprocess.run(self.command, capture_output=True, text=True, errors="replace").stdout.splitlines():
                address, _, name = line.partition(" ")
                name = name[2:].partition("@")[0]
                self.places[name].add(address)
                if name.startswith("_"):  # what C names begin with on Mach-O
                    self.places[name[1:]].add(address)
        return bool(self.places[a] & self.places[b])


class Tally:
    """Counts over one or many files."""

    def __init__(self):
        self.asked = self.equal = self.unknown = 0
        self.classes = collections.Counter()
        self.examples = {}

    def compare(self, label, addresses, ours, theirs, same_place):
        """Returns the differences: (class, label, address, ours, theirs)."""
        differences = []
        for address in addresses:
            a, b = ours.get(address, []), theirs.get(address, [])
            self.asked += 1
            kind = classes.classify(a, b, same_place)
            if kind is None:
                self.equal += 1
                self.unknown += not a
                continue
            self.classes[kind] += 1
            differences.append((kind, label, address, a, b))
            self.examples.setdefault(kind, f"{label} {address:#x}".strip())
        return differences


def show(frames):
    return " < ".join(f"{function or '?'} {file or '?'}:{line}" for function, file, line in frames) or "nothing"


def write(path, differences, second):
    with open(path, "w", encoding="utf-8", errors="surrogateescape") as out:
        for kind, label, address, ours, theirs in differences:
            out.write(f"{kind}\t{label} {address:#x}\n\tours\t{show(ours)}\n\tllvm\t{show(theirs)}\n")
            for name, answer in second.items():
                out.write(f"\t{name}\t{show(answer.get(address, []))}\n")


def table(name, tally):
    named = tally.equal + sum(tally.classes[kind] for kind in classes.NAMES)
    whole = max(tally.asked, 1)
    print(f"| {name} | {tally.asked:,} | {tally.equal:,} | {100 * tally.equal / whole:.3f} % | {100 * named / whole:.3f} % |")


def classes_table(name, tally):
    for kind, count in tally.classes.most_common():
        share = 100 * count / tally.asked
        print(f"| {name} | {kind}: {classes.CLASSES[kind]} | {count:,} | {share:.3f} % | `{tally.examples[kind]}` |")


def second_opinions(path, differences, cache, peers):
    addresses = sorted({address for _, _, address, _, _ in differences})
    found = {}
    for name, program in (("gimli", os.path.join(peers, "bin/addr2line")), ("addr2line", "addr2line")):
        program = shutil.which(program)
        if program and addresses:
            lot = addresses if name == "gimli" else random.Random(1).sample(addresses, min(300, len(addresses)))
            found[name] = answers.addr2line(program, path, lot, cache)
    return found


def compare_input(name, options, tally):
    path = os.path.join(options.inputs, name + ".debug")
    with open(os.path.join(options.inputs, name + ".addresses"), encoding="ascii") as file:
        addresses = [int(line, 16) for line in file][:options.count]
    theirs = answers.llvm(path, None, addresses, options.cache)
    ours = answers.ours(options.framewalk, path, None, addresses)
    differences = tally.compare("", addresses, ours, theirs, Names(path, None).same_place)
    second = second_opinions(path, differences, options.cache, options.peers) if options.second else {}
    write(os.path.join(options.cache, name + ".differences"), differences, second)


def compare_macho(folder, options, tally):
    differences = []
    for path in macho.files(folder):
        for arch, addresses in macho.slices(path):
            addresses = addresses[:options.count]
            label = f"{os.path.relpath(path, folder)} ({arch})"
            theirs = answers.llvm(path, arch, addresses, options.cache)
            try:
                ours = answers.ours(options.framewalk, path, arch, addresses)
            except subprocess.SubprocessError as error:
                if any(theirs.values()):
                    print(f"{label}: {error}", file=sys.stderr)
                    ours = {}
                else:
                    continue  # neither side has anything to say
            differences += tally.compare(label, addresses, ours, theirs, Names(path, arch).same_place)
    write(os.path.join(options.cache, "macho.differences"), differences, {})


def main():
    parser = argparse.ArgumentParser(description="Our answers beside llvm-symbolizer's.")
    parser.add_argument("--build", required=True, help="folder of the build that holds our programs")
    parser.add_argument("--inputs", default="build/bench/inputs", help="where bench/inputs/fetch.sh put them")
    parser.add_argument("--cache", default="build/exactness", help="for answers and differences")
    parser.add_argument("--peers", default="build/bench-peers", help="where gimli's addr2line is")
    parser.add_argument("--count", type=int, default=100000, help="addresses of each input at most")
    parser.add_argument("--second", action="store_true", help="ask other peers where we differ")
    parser.add_argument("--allow", action="append", help="fail when there is a difference of another class than these")
    parser.add_argument("input", nargs="+")
    options = parser.parse_args()
    options.framewalk = os.path.join(options.build, "src/framewalk")
    tallies = {}
    for name in options.input:
        tally = tallies.setdefault(name.partition(":")[0], Tally())
        if name.startswith("macho:"):
            compare_macho(name[len("macho:"):], options, tally)
        else:
            compare_input(name, options, tally)
    print("| file | addresses | equal | share | but for the choice of names |\n|---|---:|---:|---:|---:|")
    for name, tally in tallies.items():
        table(name, tally)
    print("\n| file | class of difference | addresses | share | example |\n|---|---|---:|---:|---|")
    for name, tally in tallies.items():
        classes_table(name, tally)
    found = {kind for tally in tallies.values() for kind in tally.classes}
    unexpected = sorted(found.difference(options.allow)) if options.allow else []
    if unexpected:
        print(f"not expected: {', '.join(unexpected)}")
    return 1 if unexpected or not all(tally.asked for tally in tallies.values()) else 0


sys.exit(main())
