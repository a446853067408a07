"""Names that a report brings of the app's own functions (fw_reports_options.own_names): the collector shows them without
any debug file, and those of a debug file once it comes; a stripped build has none, and without the option there are none.
Arguments: framewalk-collector, framewalk, own_names."""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from debug_files import split_elf
from server import SKIP, Server, key_file

TOOL, DEMO = sys.argv[2:4]
NAME, TITLE = "shop::checkout(int)", "shop::checkout"


class OwnNames(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="framewalk-test-")
        cls.server = Server("--disk-reserve", "1M").start()
        cls.admin = key_file(cls.folder, "admin.key", cls.server.token)
        cls.program = shutil.copy(DEMO, os.path.join(cls.folder, "own_names"))
        cls.stripped, cls.debug = split_elf(cls.program)

    @classmethod
    def tearDownClass(cls):
        cls.server.__exit__(None, None, None)
        shutil.rmtree(cls.folder)

    def tool(self, *arguments):
        return subprocess.run([TOOL, *arguments], check=True, capture_output=True, text=True, timeout=180).stdout

    def at_server(self, *arguments):
        return self.tool(*arguments, "--to", self.server.url(), "--key-file", self.admin)

    def report_of(self, program, *options):
        """The one report of a run, moved to where no file of the program is beside it."""
        spool = tempfile.mkdtemp(dir=self.folder)
        subprocess.run([program, spool, *options], check=True, timeout=120)
        report, = [os.path.join(spool, name) for name in os.listdir(spool) if name.endswith(".fwr")]
        return report

    def shown(self, report):
        return self.tool("symbolicate", "--no-debuginfod", report)

    def group(self):
        group, = json.loads(self.at_server("groups", "--json", "--wait", "120"))["groups"]["items"]
        return group

    def test_1_without_a_debug_file_and_with_it(self):
        report = self.report_of(self.program)
        hidden = os.path.join(self.folder, "kept")
        os.rename(self.program, hidden)
        self.assertIn(NAME, self.shown(report))
        self.at_server("push", "--keep", report)
        before = self.group()
        self.assertEqual((before["title"], before["file"]), (TITLE, None))
        self.at_server("push", self.debug)
        after = self.group()
        self.assertEqual((after["title"], os.path.basename(after["file"])), (TITLE, "own_names.cpp"))
        self.assertGreater(after["line"], 0)
        self.assertEqual((after["reports"], after["id"]), (1, before["id"]))
        os.rename(hidden, self.program)

    def test_2_a_stripped_build_has_none(self):
        kept = os.path.join(self.folder, "elsewhere.debug")
        os.rename(self.debug, kept)
        with open(self.report_of(self.stripped), "rb") as report:
            self.assertNotIn(b"checkout", report.read())
        os.rename(kept, self.debug)

    def test_3_nobody_asked(self):
        with open(self.report_of(self.program, "none"), "rb") as report:
            self.assertNotIn(b"checkout", report.read())


if __name__ == "__main__":
    if not shutil.which("objcopy") or not shutil.which("readelf"):
        print("no binutils: skipped")
        sys.exit(SKIP)
    unittest.main(argv=sys.argv[:1], verbosity=2)
