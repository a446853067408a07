"""The whole loop, as a person goes through it: a program hangs under `framewalk run`, its reports are pushed, and when
its debug file comes later, groups and calls get their names. Arguments: framewalk-collector, framewalk, loop_demo."""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.parse

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from debug_files import build_id, split_elf
from server import SKIP, Server, key_file

TOOL, DEMO = sys.argv[2:4]
EXAMPLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../examples")
NOTES = os.path.join(EXAMPLES, "apple/notes")
SHARED = os.path.join(EXAMPLES, "../../shared/data/reports")


def lines_of(function, *words, source="loop_demo.c"):
    """Where in the source's function the words stand; without words, all its lines."""
    found, inside = [], False
    with open(os.path.join(EXAMPLES, source)) as text:
        lines = list(text)
    for number, line in enumerate(lines, 1):
        if line.startswith(("FRAME static", "static", "__attribute__", "int ")):
            inside = function + "(" in line
        if inside and (not words or any(word in line for word in words)):
            found.append(number)
    return found


class Loop(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="framewalk-test-")
        cls.server = Server("--disk-reserve", "1M").start()
        cls.keys = {"admin": key_file(cls.folder, "admin.key", cls.server.token),
                    "ingest": key_file(cls.folder, "ingest.key", cls.server.new_key())}

    @classmethod
    def tearDownClass(cls):
        cls.server.__exit__(None, None, None)
        shutil.rmtree(cls.folder)

    def tool(self, *arguments, key="admin", status=0):
        done = subprocess.run([TOOL, *arguments, "--to", self.server.url(), "--key-file",
                               self.keys[key]], capture_output=True, text=True, timeout=180)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def groups(self, *options):
        return json.loads(self.tool("groups", "--json", "--wait", "120", *options))["groups"]["items"]

    def get(self, path):
        status, value = self.server.json("GET", path)
        self.assertEqual(status, 200, value)
        return value

    def missing(self):
        items = self.get("/api/v1/symbols/missing?project=default")["items"]
        return {item["debug_id"] for item in items}

    def sums(self):
        return [(g["id"], g["reports"], g["blocked_ns"]) for g in self.groups()]

    def watch(self, program, spool):
        """Runs it; on a machine that is short of processors a hang may be taken for something else, hence again."""
        for _ in range(5):
            shutil.rmtree(spool, ignore_errors=True)
            done = subprocess.run([TOOL, "run", "--starved", "--calls", "getaddrinfo,open", "--out", spool, "--json",
                                   "--", program], check=True, timeout=120, capture_output=True)
            if len(json.loads(done.stderr)["hangs"]) >= 3:
                return
        self.fail("three hangs were not seen in five runs")

    def found(self, words):
        query = urllib.parse.urlencode({"q": words})
        return [g["title"] for g in self.get("/api/v1/projects/default/groups?" + query)["items"]]

    def search(self, places):
        """By function, image, file and line, in any case; of several words each must be found, in any order."""
        line = places["type_letter"][0]
        for words in ("type_letter", "TYPE_letter", "loop_demo.c:%d" % line, "  serve   type_letter ",
                      "loop_demo.c:%d loop_demo" % line, "main run_loop serve loop_demo type_letter"):
            self.assertEqual(set(self.found(words)), {"type_letter"}, words)
        self.assertGreaterEqual(len(self.found("loop_demo")), 3)
        for words in ("type_letter make_thumbnail_", "loop_demo.c:%d0" % line, "100%", "loop_demo_c"):
            self.assertEqual(self.found(words), [], words)

    def figures(self):
        """What /metrics counts of this moves, and at rest nothing waits."""
        of = lambda: dict(line.split() for line in self.server.get("/metrics").text().splitlines()
                          if not line.startswith("#"))
        self.assertGreater(int(of()["framewalk_jobs_done_total"]), 0)
        self.assertGreater(int(of()["framewalk_frames_named_total"]), 0)
        until = time.monotonic() + 30
        while int(of()["framewalk_jobs_queued"]) and time.monotonic() < until:
            time.sleep(0.1) # jobs that come round by themselves, at the start
        self.assertEqual(int(of()["framewalk_jobs_queued"]), 0)

    def test_1_the_loop(self):
        place = os.path.join(self.folder, "app")
        os.mkdir(place)
        program = shutil.copy(DEMO, os.path.join(place, "loop_demo"))
        identity = build_id(program)
        stripped, debug = split_elf(program)
        os.replace(stripped, program)
        debug = shutil.move(debug, os.path.join(self.folder, "loop_demo.debug"))
        spool = os.path.join(self.folder, "reports")
        self.watch(program, spool)
        sent = self.tool("push", "--keep", spool, key="ingest")
        self.assertRegex(sent, r"^\d+ reports sent\n$")

        before = self.groups()
        self.assertGreaterEqual(len(before), 3)
        for group in before:
            self.assertIn("loop_demo near 0x", group["title"])
            self.assertIsNone(group["file"])
        self.assertIn(identity, self.missing())
        last = before[-1]["id"]
        status, _ = self.server.json("POST", "/api/v1/projects/default/groups/%d" % last,
                                     {"action": "note", "note": "seen by us"})
        self.assertEqual(status, 200)

        self.assertIn("1 debug file sent", self.tool("push", debug))
        after = {g["title"]: g for g in self.groups()}
        places = {"make_thumbnail": lines_of("make_thumbnail"),
                  "type_letter": lines_of("type_letter", "mutex_lock("),
                  "ask_server": lines_of("ask_server", "recv(")}
        for function, lines in places.items():
            self.assertIn(function, after)
            self.assertEqual(os.path.basename(after[function]["file"]), "loop_demo.c")
            self.assertIn(after[function]["line"], lines, function)
        self.assertGreater(after["make_thumbnail"]["blocked_ns"], 0)
        self.search(places)
        self.figures()
        self.assertFalse([t for t in after if "near 0x" in t])
        self.assertNotIn(identity, self.missing())
        self.assertEqual([g["note"] for g in after.values() if g["note"]], ["seen by us"])
        self.assertEqual(sum(g["reports"] for g in after.values()), sum(g["reports"] for g in before))

        text = self.tool("groups", "--calls")
        self.assertRegex(text, r"\d+ ms +1  type_letter  loop_demo\.c:%d" % places["type_letter"][0])
        self.assertRegex(text, r" 1  getaddrinfo  -  +no +ask_server  loop_demo\.c:%d\n" %
                         lines_of("ask_server", "getaddrinfo(")[0])
        self.assertRegex(text, r" 3  open  +-  +no +read_settings  loop_demo\.c:%d\n" %
                         lines_of("read_settings", "open(")[0])
        self.assertNotIn("\033", text)

        sums = self.sums()
        self.assertIn("known already", self.tool("push", "--keep", spool, key="ingest"))
        self.tool("push", debug)
        self.assertEqual(self.sums(), sums)
        self.tool("push", spool, key="ingest")
        self.assertFalse([f for f in os.listdir(spool) if f.endswith(".fwr")])

    def test_2_reports_of_other_tools(self):
        files = [os.path.join(NOTES, name) for name in ("killed.ips", "hang.json")]
        self.server.json("POST", "/api/v1/projects", {"slug": "notes", "name": "Notes"})
        notes = ("--project", "notes")
        self.assertIn("2 reports would be sent", self.tool("push", "--dry-run", *notes, *files))
        self.assertEqual(self.groups(*notes), [])
        self.assertEqual("2 reports sent\n", self.tool("push", *notes, *files))
        self.assertTrue(all("near 0x" in g["title"] for g in self.groups(*notes)))
        self.tool("push", os.path.join(NOTES, "notes.dSYM"))
        group, = self.groups(*notes)
        self.assertEqual((group["title"], group["reports"], group["killed"], group["blocked_ns"]),
                         ("read_page", 2, 1, 12 * 10 ** 9))
        self.assertIn(group["line"], lines_of("read_page", "read(", source="apple/notes/notes.c"))
        self.assertIn("2 reports sent (2 known already)", self.tool("push", *notes, *files))
        self.assertEqual(self.groups(*notes)[0]["reports"], 2)

        other = os.path.join(self.folder, "letter.txt")
        with open(other, "w") as out:
            out.write("Dear sir, your program crashed at 0x104003b30 again.\n")
        self.assertIn("neither a report nor a debug file", self.tool("push", other, status=5))
        self.assertIn("another project", self.tool("push", *notes, *files, key="ingest", status=4))

    def test_3_real_reports(self):
        if not os.path.isdir(SHARED):
            self.skipTest("no shared data")
        real = [os.path.join(SHARED, name) for name in os.listdir(SHARED)
                if name.startswith(("ips-", "mxdiagnosticpayload-", "kscrash-", "nsexception-"))]
        self.server.json("POST", "/api/v1/projects", {"slug": "real", "name": "Real"})
        self.tool("push", "--project", "real", *real)
        self.groups("--project", "real")
        stored = self.get("/api/v1/projects/real/reports?limit=100")["items"]
        self.assertEqual(len(stored), len(real))

    def test_4_wrong_ways(self):
        self.assertIn("wants a number", self.tool("groups", "--days", "0", status=2))
        self.assertIn("no project \"none\"", self.tool("groups", "--project", "none", status=1))
        self.tool("groups", key="ingest", status=4)
        self.assertIn("no version \"9.9\"; no report has named one", self.tool("groups", "--version", "9.9", status=1))


if __name__ == "__main__":
    if not shutil.which("objcopy") or not shutil.which("readelf"):
        print("no binutils: skipped")
        sys.exit(SKIP)
    unittest.main(argv=sys.argv[:1], verbosity=2)
