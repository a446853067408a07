"""convert_test.py FRAMEWALK DATA: `framewalk convert` as people use it: names of the maps, slices, folders, what is
said and the exit codes."""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

FRAMEWALK, DATA = map(os.path.abspath, sys.argv[1:3])
FAT = os.path.join(DATA, "debug/samply/macos-ci/firefox")
DSYM = os.path.join(DATA, "debug/samply/other/simple-example/out/mac-dsym/main.dSYM")
SOURCE = "int twice(int x) { return 2 * x; }\nint main(int n, char **v) { (void)v; return twice(n); }\n"


def run(folder, *arguments, code=0):
    environment = {**os.environ, "DEBUGINFOD_URLS": ""}
    result = subprocess.run([FRAMEWALK, *arguments], cwd=folder, capture_output=True, text=True, env=environment,
                            check=False)
    if result.returncode != code:
        raise AssertionError(f"{arguments}: exit code {result.returncode}, not {code}:\n{result.stderr}")
    return result


class Convert(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.folder = self.temporary.name
        self.addCleanup(self.temporary.cleanup)

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def program(self, name="prog"):
        if not shutil.which("gcc"):
            self.skipTest("no gcc")
        with open(self.path("prog.c"), "w", encoding="ascii") as file:
            file.write(SOURCE)
        subprocess.run(["gcc", "-g", "-O1", "-Wl,--build-id=0x0011223344", "prog.c", "-o", name], cwd=self.folder, check=True)
        return name

    def data(self):
        if not os.path.exists(FAT):
            self.skipTest("no shared test data")

    def test_names_the_map_after_the_file(self):
        self.program()
        said = run(self.folder, "convert", "prog").stderr
        self.assertIn("prog.symmap: ", said)
        self.assertIn(" functions, ", said)
        answer = run(self.folder, "symbolicate", "--no-cache", "prog.symmap", "0x0", code=0)
        self.assertIn("0x", answer.stdout)
        self.assertEqual(run(self.folder, "convert", "-q", "prog", "-o", "other").stderr, "")
        with open(self.path("prog.symmap"), "rb") as one, open(self.path("other"), "rb") as other:
            self.assertEqual(one.read(), other.read())

    def test_never_writes_over_what_it_reads(self):
        self.program()
        os.link(self.path("prog"), self.path("linked"))
        os.mkdir(self.path("into"))
        os.symlink("../prog", self.path("into", "prog.symmap"))
        with open(self.path("prog"), "rb") as file:
            before = file.read()
        for output in ("prog", "./prog", "linked", "into"):
            self.assertIn("is what is converted", run(self.folder, "convert", "prog", "-o", output, code=2).stderr)
            with open(self.path("prog"), "rb") as file:
                self.assertEqual(file.read(), before)
        run(self.folder, "convert", "-q", "prog", "-o", "map")
        self.assertIn("is what is converted", run(self.folder, "convert", "--to", "gsym", "map", "-o", "map", code=2).stderr)

    def test_takes_several_files_into_a_folder(self):
        self.program()
        shutil.copy(self.path("prog"), self.path("again"))
        os.mkdir(self.path("maps"))
        run(self.folder, "convert", "prog", "again", "-o", "maps")
        self.assertEqual(sorted(os.listdir(self.path("maps"))), ["again.symmap", "prog.symmap"])
        self.assertIn("'file' is none", run(self.folder, "convert", "prog", "again", "-o", "file", code=2).stderr)

    def test_goes_on_after_a_file_that_is_none(self):
        self.program()
        said = run(self.folder, "convert", "missing", "prog.c", "prog", code=3).stderr
        self.assertIn("missing", said)
        self.assertTrue(os.path.exists(self.path("prog.symmap")))
        run(self.folder, "convert", "prog.c", code=5)
        run(self.folder, "convert", code=2)
        run(self.folder, "convert", "--threads", "none", "prog", code=2)

    def test_makes_a_map_of_each_slice(self):
        self.data()
        run(self.folder, "convert", FAT)
        self.assertEqual(sorted(os.listdir(self.folder)), ["firefox-arm64.symmap", "firefox-x86_64.symmap"])
        run(self.folder, "convert", FAT, "--arch", "arm64", "-o", "arm")
        with open(self.path("arm"), "rb") as one, open(self.path("firefox-arm64.symmap"), "rb") as other:
            self.assertEqual(one.read(), other.read())
        self.assertIn("--arch", run(self.folder, "convert", FAT, "-o", "one", code=2).stderr)
        self.assertIn("arm64", run(self.folder, "convert", FAT, "--arch", "armv7", code=3).stderr)

    def test_takes_a_bundle(self):
        self.data()
        run(self.folder, "convert", DSYM + "/")
        self.assertEqual(os.listdir(self.folder), ["main.symmap"])
        answer = run(self.folder, "symbolicate", "--no-cache", "main.symmap", "0x100003a7c").stdout
        self.assertIn("file1.cpp:7", answer)

    def test_finds_debug_files_where_it_is_told(self):
        self.program()
        os.makedirs(self.path("files/deep"))
        for command in (["objcopy", "--only-keep-debug", "prog", "files/deep/any"], ["strip", "prog", "-o", "bare"]):
            subprocess.run(command, cwd=self.folder, check=True)
        said = run(self.folder, "convert", "bare").stderr
        self.assertIn("no debug information", said)
        self.assertIn("--debug", said)
        said = run(self.folder, "convert", "bare", "--debug", "files").stderr
        self.assertIn("debug file: files/deep/any", said)
        said = run(self.folder, "convert", "bare", "--debug", "files", "--no-separate").stderr
        self.assertIn("no debug information", said)

    def test_tells_as_json(self):
        self.program()
        result = run(self.folder, "convert", "--json", "prog", "-o", "map")
        self.assertEqual(result.stderr, "")
        told = json.loads(result.stdout)
        self.assertEqual((told["file"], told["map"], told["id"]), ("prog", "map", "0011223344"))
        self.assertEqual(told["bytes"], os.path.getsize(self.path("map")))
        self.assertGreaterEqual(told["functions"], 2)
        self.assertEqual(told["problems"], {})

    def test_counts_what_is_wrong(self):
        self.program()
        listing = subprocess.run(["readelf", "-SW", "prog"], cwd=self.folder, capture_output=True, text=True, check=True).stdout
        line = next(line for line in listing.splitlines() if ".debug_line " in line)
        offset = int(line.split(".debug_line")[1].split()[2], 16)
        with open(self.path("prog"), "r+b") as file:  # a version that is none
            file.seek(offset + 4)
            file.write(b"\x63\x00")
        told = json.loads(run(self.folder, "convert", "--json", "prog").stdout)
        self.assertEqual(told["problems"]["line"]["count"], 1)
        self.assertIn("malformed line programs; the first: ", run(self.folder, "convert", "prog").stderr)


sys.argv[1:] = []
unittest.main()
