"""debug_maps.py FRAMEWALK DSYMUTIL FOLDER CACHE: programs without dSYM, read through their debug maps, against
llvm-symbolizer on the dSYM that dsymutil makes of the same object files; at every instruction.

The folder is the root of the object files' paths. Works on a copy, whose object files have the dates that the
programs were linked with.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

import answers
import classes
import macho

OSO = re.compile(r"^([0-9a-f]+) - \S+ \S+ +OSO (.*)$", re.M)
# Ours says more: a stub's target, and the line that padding behind a function belongs to.
EXPECTED = {"more", "line 0, theirs", "file only ours"}


def part(root, path):
    """The copy of an object file, or of the archive that it is in."""
    path = path.partition("(")[0]
    return os.path.join(root, path.lstrip("/"))


def set_dates(root, program):
    """False when an object file is missing, or is of two dates."""
    listing = subprocess.run(["llvm-nm-19", "-a", program], capture_output=True, text=True, check=False).stdout
    parts = [(int(date, 16), path) for date, path in OSO.findall(listing)]
    for date, path in parts:
        if not os.path.exists(part(root, path)):
            return False
        if "(" not in path:
            os.utime(part(root, path), (date, date))
    return bool(parts)


def has_dwarf(path):
    """dsymutil writes a dSYM without any when it could not read the object files."""
    if not os.path.exists(path):
        return False
    with open(path, "rb") as file:
        return b"__debug_line" in file.read()


def ours(framewalk, root, program, arch, addresses):
    command = [framewalk, "symbolicate", "--json", "--no-demangle", "--no-cache", "--debug", root, "--arch", arch, program]
    text = "".join(f"{address:#x}\n" for address in addresses)
    result = subprocess.run(command, input=text.encode(), capture_output=True, check=True, timeout=300)
    return answers.parse_ours(result.stdout)


def main():
    framewalk, dsymutil, folder, cache = sys.argv[1:]
    if not os.path.exists(folder):
        print("skipped: no shared test data")
        return 77
    asked = equal = programs = 0
    unexpected = []
    counts = {}
    with tempfile.TemporaryDirectory() as temporary:
        root = os.path.join(temporary, "root")
        shutil.copytree(folder, root, copy_function=shutil.copyfile)
        subprocess.run(["chmod", "-R", "u+w", root], check=True)
        os.symlink(".", os.path.join(root, "Inputs"))  # what many of the paths begin with
        for program in macho.files(root):
            if not set_dates(root, program):
                continue
            dsym = os.path.join(temporary, "made.dSYM")
            shutil.rmtree(dsym, ignore_errors=True)
            made = subprocess.run([dsymutil, f"--oso-prepend-path={root}", "-o", dsym, program], capture_output=True, check=False)
            binary = os.path.join(dsym, "Contents/Resources/DWARF", os.path.basename(program))
            if made.returncode != 0 or not has_dwarf(binary):
                continue
            programs += 1
            for arch, addresses in macho.slices(program):
                theirs = answers.llvm(binary, arch, addresses, cache)
                mine = ours(framewalk, root, program, arch, addresses)
                for address in addresses:
                    kind = classes.classify(mine.get(address, []), theirs.get(address, []), lambda a, b: False)
                    asked += 1
                    equal += kind is None
                    if kind:
                        counts[kind] = counts.get(kind, 0) + 1
                    if kind and kind not in EXPECTED:
                        unexpected.append((kind, os.path.relpath(program, root), arch, hex(address), mine.get(address), theirs.get(address)))
    print(f"{programs} programs, {equal} of {asked} addresses equal; {counts}")
    for difference in unexpected[:20]:
        print(*difference)
    return 1 if unexpected or not programs else 0


sys.exit(main())
