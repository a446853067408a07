"""`framewalk push` of debug files to the real server."""
import glob
import http.server
import json
import os
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import zipfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from debug_files import build_id, compile_elf, send, split_elf
from server import SKIP, Server, key_file

SHARED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../shared/data")
TOOL = sys.argv[2]


class Impostor(http.server.BaseHTTPRequestHandler):
    """Answers as a collector that means harm; `answer(method, path, times)` says what."""

    def reply(self):
        length = int(self.headers.get("Content-Length") or 0)
        self.server.got += self.rfile.read(length)
        self.server.times += 1
        status, value = self.server.answer(self.command, self.path, self.server.times)
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = do_PATCH = reply

    def log_message(self, *arguments):
        pass


class HostileCollector(unittest.TestCase):
    """What the collector says is shown, not obeyed."""

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="framewalk-test-")
        self.addCleanup(shutil.rmtree, self.folder)
        self.file = compile_elf(self.folder, "one", 300)
        if not self.file:
            self.skipTest("no C compiler")

    def push(self, answer, *arguments):
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Impostor)
        server.answer, server.times, server.got = answer, 0, b""
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            done = subprocess.run([TOOL, "push", *arguments, "--to", "http://127.0.0.1:%d" %
                                   server.server_port], capture_output=True, text=True, timeout=100)
            self.got = server.got
            return done, server.times
        finally:
            server.shutdown()
            thread.join()
            server.server_close()

    def upload(self, received, state="sending", message=""):
        return {"id": "0" * 32, "received": received, "state": state, "message": message,
                "files": [{"message": message}]}

    def test_terminal(self):
        evil = "\x1b]0;title\x07\x1b[2J\u202e\u009b31m"

        def answer(method, path, times):
            if path.endswith("have"):
                return 200, {"missing": [0]}
            if method == "POST":
                return 201, self.upload(os.path.getsize(self.file) if times < 0 else 0)
            if method == "PATCH":
                return 204, None
            return 200, self.upload(0, "done", evil)
        name = os.path.join(self.folder, "bin\x1b[2Jary")
        os.rename(self.file, name)
        for more in ([], ["--wait"], ["--wait", "-v"], ["-n", "-v"]):
            done, _ = self.push(answer, self.folder, *more)
            for c in ("\x1b", "\x07", "\u202e", "\u009b"):
                self.assertNotIn(c, done.stdout + done.stderr, (more, done))
            self.assertIn("ary", done.stdout)
        done, _ = self.push(lambda *a: (500, {"error": evil}), self.folder)
        self.assertNotIn("\x1b", done.stdout + done.stderr)

    def test_terminal_of_reports(self):
        path = os.path.join(self.folder, "some\x1b[2J.dump.json")
        done = subprocess.run([TOOL, "dump", "--json", str(os.getpid())], capture_output=True)
        if done.returncode:
            self.skipTest("no process may be looked at here")
        with open(path, "wb") as file:
            file.write(done.stdout)
        for more in (["-v"], ["-n"]):
            done, _ = self.push(lambda *a: (201, {"kind": "\x1b]0;title\x07"}), path, *more)
            self.assertNotIn("\x1b", done.stdout + done.stderr, more)
            self.assertIn(".dump.json", done.stdout)

    def test_another_file_in_its_place(self):
        """What was looked at is what is sent, though somebody puts a link there meanwhile."""
        secret = os.path.join(self.folder, "secret")
        with open(secret, "w") as file:
            file.write("the password")

        def answer(method, path, times):
            if path.endswith("have"):
                os.remove(self.file)
                os.symlink(secret, self.file)
                return 200, {"missing": [0]}
            return (201, self.upload(0)) if method == "POST" else (204, None)
        done, _ = self.push(answer, self.folder)
        self.assertNotIn(b"password", self.got)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("taken its place", done.stderr)

    def test_never_done(self):
        """A collector that says for ever that it will begin soon."""
        def answer(method, path, times):
            if path.endswith("have"):
                return 200, {"missing": [0]}
            if method == "POST":
                return 201, self.upload(0)
            return (204, None) if method == "PATCH" else (200, self.upload(0, "queued"))
        done, _ = self.push(answer, "--wait-limit", "1", self.file)
        self.assertEqual(done.returncode, 8, done)
        self.assertIn("still queued", done.stdout)
        self.assertIn("--wait-limit", done.stdout)
        for wrong in "x", "-1", "1s", "99999999", "":
            done, times = self.push(answer, "--wait-limit", wrong, self.file)
            self.assertEqual((done.returncode, times), (2, 0), done)

    def test_back_and_forth(self):
        """An offset that goes back and forth is no progress."""
        def answer(method, path, times):
            if path.endswith("have"):
                return 200, {"missing": [0]}
            if method == "POST":
                return 201, self.upload(0)
            if method == "PATCH":
                return 409, {"error": "no"}
            return 200, self.upload(times % 4)
        done, times = self.push(answer, self.file)
        self.assertNotEqual(done.returncode, 0)
        self.assertLess(times, 100)


class Push(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="framewalk-test-")
        if not compile_elf(cls.folder):
            print("no C compiler: skipped")
            sys.exit(SKIP)
        cls.server = Server("--disk-reserve", "1M").start()
        cls.key = key_file(cls.folder, "token", cls.server.new_token(["symbols:write"]))

    @classmethod
    def tearDownClass(cls):
        cls.server.__exit__(None, None, None)
        shutil.rmtree(cls.folder)

    def place(self, name):
        path = os.path.join(self.folder, name)
        os.makedirs(path, exist_ok=True)
        return path

    def command(self, *arguments, key=None):
        return [TOOL, "push", *arguments, "--to", self.server.url(), "--key-file", key or self.key]

    def push(self, *arguments, status=0, key=None):
        done = subprocess.run(self.command(*arguments, key=key), capture_output=True, text=True,
                              timeout=120)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def result(self, *arguments, status=0):
        done = subprocess.run(self.command("--json", *arguments), capture_output=True, text=True,
                              timeout=120)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return {f["path"]: f for f in json.loads(done.stdout)["debug_files"]}

    def states(self, identity):
        status, value = self.server.json("GET", "/api/v1/symbols/files", query={"q": identity})
        self.assertEqual(status, 200, value)
        return sorted((f["kind"], f["state"]) for f in value["items"])

    # --- folders ---

    def test_a_build_tree(self):
        tree = self.place("tree")
        os.makedirs(tree + "/bin/deep")
        whole = compile_elf(tree + "/bin", "whole", 101)
        other = compile_elf(tree + "/bin/deep", "pair", 102)
        identity = build_id(other)
        stripped, debug = split_elf(other)
        os.remove(other)
        os.symlink(whole, tree + "/link")
        shutil.copy(whole, tree + "/copy")
        bare = compile_elf(tree, "bare", 103)
        subprocess.run(["strip", "--strip-all", bare], check=True)
        noid = compile_elf(tree, "noid", 104, "-Wl,--build-id=none")
        subprocess.run(["cc", "-g", "-c", "-o", tree + "/part.o", tree + "/noid.c"], check=True)
        text = self.push("--dry-run", tree)
        self.assertIn("2 debug files would be sent", text)
        self.assertEqual(self.states(build_id(whole)), [])
        found = self.result("--wait", tree)
        self.assertNotIn(tree + "/part.o", found)
        self.assertNotIn(tree + "/link", found)
        self.assertEqual({os.path.basename(p): f["state"] for p, f in found.items()}, {
            "whole": "sent", "copy": "twin", "pair.stripped": "has a debug file",
            "pair.debug": "sent", "bare": "stripped", "noid": "no id"})
        self.assertEqual(self.states(build_id(whole)), [("executable", "mapped")])
        self.assertEqual(self.states(identity), [("debuginfo", "mapped")])
        # Again: nothing is sent, not even asked to be.
        before = self.server.get("/metrics").text()
        text = self.push(tree)
        self.assertIn("0 debug files sent, 2 there already", text)
        self.assertEqual(len(self.states(identity)), 1)
        self.assertIn("framewalk", before)
        # For debuggers: executables as well.
        found = self.result("--wait", "--include-stripped", tree)
        self.assertEqual(found[tree + "/bare"]["state"], "sent")
        self.assertEqual(found[stripped]["state"], "sent")
        self.assertEqual(self.states(identity), [("debuginfo", "mapped"), ("executable", "stored")])
        self.assertIn("pair.debug", debug)

    def test_an_xcarchive(self):
        dsyms = glob.glob(SHARED + "/debug/samply/**/*.dSYM", recursive=True)
        if not dsyms:
            self.skipTest("no ../shared/data")
        archive = self.place("App.xcarchive")
        os.makedirs(archive + "/BCSymbolMaps")
        open(archive + "/BCSymbolMaps/X.bcsymbolmap", "w").close()
        for i, dsym in enumerate(dsyms):
            shutil.copytree(dsym, "%s/dSYMs/%d.dSYM" % (archive, i))
        text = self.push("--wait", archive)
        self.assertIn("BCSymbolMaps were left out", text)
        self.assertRegex(text, r"\n[1-9]\d* debug files? sent")
        self.assertIn("0 debug files sent", self.push(archive))
        # The same in a zip, which only the collector looks into: known by its contents.
        packed = os.path.join(self.folder, "App.zip")
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as out:
            for path in glob.glob(archive + "/dSYMs/**/DWARF/*", recursive=True):
                out.write(path, os.path.relpath(path, archive))
        self.assertIn("files stored", self.push("--wait", packed))
        self.assertIn("files stored", self.push("--wait", packed))

    def test_reports_folders_are_left_as_they_were(self):
        folder = self.place("mixed")
        compile_elf(folder, "mixed", 111)
        names = set(os.listdir(folder))
        self.push(folder)
        self.assertEqual(set(os.listdir(folder)), names)  # no lock, nothing removed

    # --- DWARF in several files ---

    def names_of(self, path, offset):
        """Functions at an offset of a program, innermost first, as the collector tells them."""
        body = json.dumps({"jobs": [{"memoryMap": [[os.path.basename(path), build_id(path).upper()[:32] + "0"]],
                                     "stacks": [[[0, offset]]]}]}).encode()
        reply = self.server.post("/api/v1/symbolicate", ("%s+0x%x\n" % (build_id(path), offset)).encode(),
                                 type="text/plain")
        self.assertEqual(reply.status, 200, (reply.body, body))
        return reply.text()

    def offset_of(self, path, function):
        text = subprocess.run(["nm", path], capture_output=True, text=True, check=True).stdout
        return next(int(line.split()[0], 16) for line in text.splitlines() if line.endswith(" " + function))

    def test_split_dwarf(self):
        """gcc -gsplit-dwarf: lines and inlined calls are in a .dwo beside the program."""
        for version in "4", "5":
            folder = self.place("split" + version)
            path = compile_elf(folder, "shop", int("20" + version), "-gsplit-dwarf", "-gdwarf-" + version)
            self.assertTrue(glob.glob(folder + "/*.dwo"))
            offset = self.offset_of(path, "main")
            self.assertIn("would be sent", self.push("--dry-run", path))
            found = self.result("--wait", path)
            self.assertEqual({n: f["state"] for n, f in found.items()}, {path: "sent", path + " (symbol map)": "sent"})
            self.assertEqual(self.states(build_id(path)), [("executable", "stored"), ("map", "mapped")])
            self.assertIn("shop.c", self.names_of(path, offset))
            text = self.push("--wait", path)
            self.assertIn("0 debug files sent, 2 there already", text)
            # The map counts though it comes first, too: the program knows that it is not whole.
            again = os.path.join(self.folder, "again" + version)
            shutil.copy(path, again)
            with open(again, "ab") as out:
                out.write(b"another file, the same program")
            with open(again, "rb") as file:
                self.assertEqual(send(self.server, file.read(), "again")["state"], "done")
            self.assertIn("shop.c", self.names_of(path, offset))

    def test_split_dwarf_that_is_not_there(self):
        folder = self.place("unsplit")
        path = compile_elf(folder, "lonely", 211, "-gsplit-dwarf")
        (dwo,) = glob.glob(folder + "/*.dwo")
        os.remove(dwo)
        text = self.push("--wait", path, status=8)
        self.assertIn(os.path.basename(dwo), text)
        self.assertIn("1 debug file sent", text)
        self.assertIn("1 not made", text)

    def test_dwz(self):
        """dwz -m moves what several programs share into a file that they name."""
        if not shutil.which("dwz"):
            self.skipTest("no dwz")
        folder = self.place("dwz")
        paths = [compile_elf(folder, "shop%d" % n, 220 + n) for n in range(2)]
        offset = self.offset_of(paths[0], "main")
        subprocess.run(["dwz", "-m", folder + "/common.debug", "-M", folder + "/common.debug", *paths], check=True)
        found = self.result("--wait", *paths)
        self.assertEqual({f["state"] for f in found.values()}, {"sent"})
        self.assertEqual(len(found), 4)
        self.assertEqual(self.states(build_id(paths[0])), [("executable", "stored"), ("map", "mapped")])
        self.assertIn("shop0.c", self.names_of(paths[0], offset))
        third = [compile_elf(folder, "alone%d" % n, 230 + n) for n in range(2)]
        subprocess.run(["dwz", "-m", folder + "/gone.debug", "-M", folder + "/gone.debug", *third], check=True)
        os.remove(folder + "/gone.debug")
        self.assertIn("gone.debug was not found", self.push("--wait", third[0], status=8))

    # --- what goes wrong ---

    def test_wrong_key(self):
        path = compile_elf(self.folder, "keyed", 121)
        reports = key_file(self.folder, "key", self.server.new_key())
        self.assertIn("symbols:write", self.push(path, status=4, key=reports))
        nonsense = key_file(self.folder, "nonsense", "fwt_nonsense")
        self.assertIn("token", self.push(path, status=4, key=nonsense))

    def test_useless_files(self):
        path = os.path.join(self.folder, "damaged")
        with open(path, "wb") as out:
            out.write(b"\x7fELF" + b"\x02\x01\x01" + b"\xff" * 5000)
        self.assertIn("1 without build id", self.push(path))
        core = os.path.join(self.folder, "core")
        ident = b"\x7fELF\x02\x01\x01" + bytes(9)
        load = struct.pack("<IIQQQQQQ", 1, 5, 120, 0x1000, 0, 8, 8, 8)
        with open(core, "wb") as out:
            out.write(ident + struct.pack("<HHIQQQIHHHHHH", 4, 62, 1, 0, 64, 0, 0, 64, 56, 1, 0, 0, 0) + load + bytes(8))
        self.assertIn("core: a core file has no debug information; push the program it is of",
                      self.push(core, status=5))
        packed = os.path.join(self.folder, "useless.zip")
        with zipfile.ZipFile(packed, "w") as out:
            out.writestr("readme", "hello")
        self.assertIn("cannot use it", self.push("--wait", packed, status=5))
        text = os.path.join(self.folder, "text")
        with open(text, "w") as out:
            out.write("hello")
        self.push(text, status=5)
        empty = os.path.join(self.folder, "empty")
        os.mkdir(empty)
        self.assertIn("no debug file in it", self.push(empty))

    def test_no_collector(self):
        path = compile_elf(self.folder, "alone", 131)
        done = subprocess.run([TOOL, "push", path, "--to", "http://127.0.0.1:9"],
                              capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 1, done.stderr)

    # --- broken off ---

    def test_a_killed_push_goes_on(self):
        """A push that is killed while it sends: the next one sends the rest."""
        path = compile_elf(self.folder, "large", 141)
        with open(path, "ab") as out:
            out.write(os.urandom(70 << 20))
        push = subprocess.Popen(self.command(path), stdout=subprocess.DEVNULL)
        received = 0
        end = time.monotonic() + 60
        while not received and time.monotonic() < end and push.poll() is None:
            database = os.path.join(self.server.folder, "store", "uploads")
            parts = glob.glob(database + "/*/0-*")
            received = os.path.getsize(parts[0]) if parts else 0
        push.send_signal(signal.SIGKILL)
        push.wait()
        self.assertGreater(received, 0)
        begun = {os.path.basename(os.path.dirname(part)) for part in parts}
        found = self.result("--wait", path)
        self.assertEqual(found[path]["state"], "sent", found)
        self.assertIn(found[path]["upload"], begun)  # not sent anew
        self.assertEqual(self.states(build_id(path)), [("executable", "mapped")])

    def test_a_killed_server_is_waited_for(self):
        """The server is killed while parts come, and started again at the same address."""
        path = compile_elf(self.folder, "larger", 151)
        with open(path, "ab") as out:
            out.write(os.urandom(70 << 20))
        port, token = self.server.port, self.server.token
        push = subprocess.Popen(self.command("--wait", path), stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True)
        end = time.monotonic() + 60
        while time.monotonic() < end and push.poll() is None:
            if glob.glob(os.path.join(self.server.folder, "store", "uploads", "*", "0-*")):
                break
        self.server.kill()
        type(self).server = Server("--disk-reserve", "1M", "--listen", "127.0.0.1:%d" % port,
                                   folder=self.server.folder, token=token)
        self.server.own_folder = True
        self.server.start()
        text, _ = push.communicate(timeout=180)
        self.assertEqual(push.returncode, 0, text)
        self.assertEqual(self.states(build_id(path)), [("executable", "mapped")])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
