"""debug_map.py FRAMEWALK GOLDEN PROGRAM: a Mach-O program without dSYM, whose object files have the debug
information, answers as the golden file, which was made of the dSYM of the same sources.

Object files are known by their date, which copies of the test data do not keep: this works on a copy whose
files have the dates of the program's debug map. Also checks that a file of another date is refused.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

OSO = re.compile(r"^([0-9a-f]+) - \S+ \S+ +OSO (.*)$", re.M)


def main():
    framewalk, golden, program = sys.argv[1:]
    nm = shutil.which("llvm-nm-19")
    if not os.path.exists(program) or not nm:
        print("skipped: no shared test data, or no llvm-nm-19")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        copy = os.path.join(folder, "build")
        shutil.copytree(os.path.dirname(program), copy, copy_function=shutil.copyfile)
        os.chmod(copy, 0o755)
        copied = os.path.join(copy, os.path.basename(program))
        dated = []
        for date, path in OSO.findall(subprocess.run([nm, "-a", copied], capture_output=True, text=True, check=True).stdout):
            path = os.path.join(copy, os.path.basename(path))
            if os.path.exists(path):  # members of archives keep their dates
                os.utime(path, (int(date, 16), int(date, 16)))
                dated.append(path)
        check = [sys.executable, os.path.join(os.path.dirname(__file__), "golden.py"), framewalk, golden, copied]
        if subprocess.run(check, check=False).returncode != 0:
            return 1
        # The same from a folder that is named, and not from one with another date.
        moved = os.path.join(folder, "elsewhere", "out", os.path.basename(os.path.dirname(program)))
        os.makedirs(moved)
        for name in os.listdir(copy):
            if name != os.path.basename(program):
                os.rename(os.path.join(copy, name), os.path.join(moved, name))
        if subprocess.run(check + ["--debug", os.path.join(folder, "elsewhere")], check=False).returncode != 0:
            return 1
        os.utime(os.path.join(moved, os.path.basename(dated[0])), (1, 1))
        result = subprocess.run([framewalk, "convert", copied, "--debug", moved, "-o", os.path.join(folder, "map")],
                                capture_output=True, text=True, check=False)
        whole = 8 if "object files" in result.stderr and "through the debug map" in result.stderr else 0 # others were there
        if "of 1970-01-01 00:00:01 UTC, the one linked of" not in result.stderr or result.returncode != whole:
            print(f"a file of another date was not refused:\n{result.stderr}")
            return 1
    return 0


sys.exit(main())
