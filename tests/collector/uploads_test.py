"""Uploads of debug files: the protocol, conversion, and what a killed server leaves."""
import glob
import gzip
import hashlib
import io
import os
import socket
import subprocess
import sys
import tarfile
import tempfile
import time
import unittest
import zipfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import postgres
import s3
from debug_files import TYPE, build_id, compile_elf, create, patch, send, split_elf, wait
from load import SQLite, leases_run_out
from server import SKIP, Server

SHARED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../shared/data")


# A unit with a function whose abstract origin is the next one, whose abstract origin is the first.
CIRCLE = """
.text
.globl f
.type f, %function
f: .byte 0x90, 0xc3
.size f, . - f
.section .debug_abbrev,"",%progbits
.byte 1, 0x11, 1, 0x03, 0x08, 0x11, 0x01, 0x12, 0x07, 0, 0  # unit: name, low_pc, high_pc
.byte 2, 0x2e, 0, 0x31, 0x13, 0x11, 0x01, 0x12, 0x07, 0, 0  # function: abstract_origin (ref4)
.byte 0
.section .debug_info,"",%progbits
begin: .4byte end - start
start: .2byte 4
.4byte 0
.byte 8
.byte 1
.asciz "circle.c"
.8byte f, 2
one: .byte 2
.4byte two - begin
.8byte f, 2
two: .byte 2
.4byte one - begin
.8byte f, 1
.byte 0
end:
"""


def read(path):
    with open(path, "rb") as file:
        return file.read()


class Uploads(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="framewalk-test-")
        cls.program = compile_elf(cls.folder.name)
        if not cls.program:
            print("no C compiler: skipped")
            sys.exit(SKIP)
        cls.elf = read(cls.program)
        cls.id = build_id(cls.program)
        cls.server = Server("--upload-limit", "512M", "--unpacked-limit", "256M",
                            "--disk-reserve", "1M").start()

    @classmethod
    def tearDownClass(cls):
        cls.server.__exit__(None, None, None)
        cls.folder.cleanup()

    def files(self, q):
        status, value = self.server.json("GET", "/api/v1/symbols/files", query={"q": q})
        self.assertEqual(status, 200, value)
        return value["items"]

    # --- the protocol ---

    def test_in_parts(self):
        data = self.elf + b"\0" * 12345  # what stands behind an ELF file changes nothing
        made = create(self.server, data, "C:\\build\\sh\u00f6p")
        self.assertEqual(made.status, 201, made.body)
        self.assertEqual(made.headers["Tus-Resumable"], "1.0.0")
        place = made.headers["Location"]
        half = len(data) // 2
        self.assertEqual(patch(self.server, place, 0, data[:half]).status, 204)
        head = self.server.request("HEAD", place)
        self.assertEqual((head.status, head.headers["Upload-Offset"], head.body),
                         (200, str(half), b""))
        wrong = patch(self.server, place, half - 1, data[half - 1:])
        self.assertEqual((wrong.status, wrong.headers["Upload-Offset"]), (409, str(half)))
        # The same contents again: the rest of the same upload is wanted.
        again = create(self.server, data)
        self.assertEqual((again.status, again.headers["Location"]), (200, place))
        self.assertEqual(again.headers["Upload-Offset"], str(half))
        self.assertEqual(patch(self.server, place, half, data[half:]).status, 204)
        result = wait(self.server, place)
        self.assertEqual(result["state"], "done", result)
        self.assertEqual(result["name"], "sh__p")
        self.assertEqual([f["debug_id"] for f in result["files"]], [self.id])
        again = create(self.server, data)
        self.assertEqual((again.status, again.json()["state"]), (200, "done"))
        self.assertEqual(again.headers["Upload-Offset"], str(len(data)))

    def test_whose_it_is(self):
        """Who knows the digest of a file that another token sends can neither go on with that upload
        nor keep it from being done."""
        s, data = self.server, self.elf + b"\0" * 777
        alice, mallory = (s.new_token(["symbols:write"], label=n) for n in ("alice", "mallory"))
        place = create(s, data, token=alice).headers["Location"]
        self.assertEqual(patch(s, place, 0, data[:100], token=alice).status, 204)
        other = create(s, data, token=mallory)
        self.assertEqual(other.status, 201)
        self.assertNotEqual(other.headers["Location"], place)
        # Nor does the address help, should it be known.
        self.assertEqual(patch(s, place, 100, b"x" * (len(data) - 100), token=mallory).status, 404)
        for method in "GET", "HEAD", "DELETE":
            self.assertEqual(s.request(method, place, token=mallory).status, 404)
        # What Mallory sends under that digest is refused, and Alice is told nothing of it.
        self.assertEqual(patch(s, other.headers["Location"], 0, b"x" * len(data), token=mallory).status, 204)
        self.assertEqual(create(s, data, token=alice).headers["Location"], place)
        self.assertEqual(wait(s, other.headers["Location"])["state"], "failed")
        self.assertEqual(patch(s, place, 100, data[100:], token=alice).status, 204)
        self.assertEqual(wait(s, place)["state"], "done")
        # What is done serves all, and goes by its owner or an administrator alone.
        again = create(s, data, token=mallory)
        self.assertEqual((again.status, again.headers["Location"]), (200, place))
        self.assertEqual(s.request("DELETE", place, token=mallory).status, 403)
        self.assertEqual(s.request("DELETE", place).status, 204)

    def test_too_many(self):
        s = self.server
        one, two = (s.new_token(["symbols:write"], label=n) for n in ("one", "two"))
        made = [create(s, b"x", sha256=False, token=one) for _ in range(64)]
        self.assertEqual({m.status for m in made}, {201})
        reply = create(s, b"x", sha256=False, token=one)
        self.assertEqual(reply.status, 429)
        self.assertIn("64 uploads of this token", reply.json()["error"])
        self.assertTrue(int(reply.headers["Retry-After"]) > 0)
        self.assertEqual(create(s, b"x", sha256=False, token=two).status, 201)
        self.assertEqual(s.request("DELETE", made[0].headers["Location"], token=one).status, 204)
        self.assertEqual(create(s, b"x", sha256=False, token=one).status, 201)
        # Of all tokens together; what others have begun is made up here.
        import sqlite3
        db = sqlite3.connect(os.path.join(s.folder, "db", "main.sqlite"), timeout=30)
        with db:
            db.executemany("INSERT INTO upload (id, name, size, received, state, message, created_ms, changed_ms,"
                           " created_by) VALUES (?, 'x', 9, 0, 0, '', 1, ?, 'x')",
                           [("made-%d" % i, int(time.time() * 1000)) for i in range(1000)])
        reply = create(s, b"x", sha256=False, token=two)
        self.assertEqual(reply.status, 507)
        self.assertIn("1024 uploads", reply.json()["error"])
        with db:
            db.execute("DELETE FROM upload WHERE state = 0")
        self.assertEqual(create(s, b"x", sha256=False, token=two).status, 201)
        db.close()

    def test_refusals(self):
        s, data = self.server, b"x" * 100
        self.assertEqual(create(s, data, length=0).status, 400)
        self.assertEqual(create(s, data, length=1 << 40).status, 413)
        self.assertEqual(create(s, data, sha256="zz").status, 400)
        self.assertEqual(s.request("POST", "/api/v1/uploads", b"",
                                   {"Upload-Length": "9", "Tus-Resumable": "0.2.2"}).status, 412)
        place = create(s, data).headers["Location"]
        self.assertEqual(patch(s, place, 0, data + b"y").status, 413)
        self.assertEqual(s.request("PATCH", place, data, {"Upload-Offset": "0"}).status, 415)
        self.assertEqual(s.request("PATCH", place, data, TYPE).status, 400)
        self.assertEqual(patch(s, "/api/v1/uploads/" + "0" * 32, 0, data).status, 404)
        self.assertEqual(patch(s, "/api/v1/uploads/nonsense", 0, data).status, 404)
        reader = s.new_token(["read"])
        self.assertEqual(create(s, data, token=reader).status, 403)
        self.assertEqual(create(s, data, token=None).status, 401)
        self.assertEqual(patch(s, place, 0, data, token=reader).status, 403)
        self.assertEqual(s.request("DELETE", place, token=reader).status, 403)
        self.assertEqual(s.request("DELETE", place).status, 204)
        self.assertEqual(s.get(place).status, 404)

    def test_other_contents_than_said(self):
        made = create(self.server, self.elf, sha256="0" * 64)
        place = made.headers["Location"]
        patch(self.server, place, 0, self.elf)
        result = wait(self.server, place)
        self.assertEqual(result["state"], "failed")
        self.assertIn("SHA-256", result["message"])
        # A failed one does not stand in the way of the next try.
        again = create(self.server, self.elf, sha256="0" * 64)
        self.assertEqual(again.status, 201)
        self.server.request("DELETE", again.headers["Location"])

    def test_broken_connection(self):
        """What came before the connection broke is kept."""
        data = os.urandom(3 << 20)
        place = create(self.server, data).headers["Location"]
        with socket.create_connection(("127.0.0.1", self.server.port)) as s:
            s.sendall(("PATCH %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n"
                       "Content-Type: application/offset+octet-stream\r\nUpload-Offset: 0\r\n"
                       "Content-Length: %d\r\n\r\n" % (place, self.server.token, len(data)))
                      .encode() + data[:2 << 20])
            time.sleep(0.5)
        end = time.monotonic() + 20
        while time.monotonic() < end:
            received = self.server.get(place).json()["received"]
            if received:
                break
            time.sleep(0.05)
        self.assertGreater(received, 0)
        self.assertLessEqual(received, 2 << 20)
        self.assertEqual(patch(self.server, place, received, data[received:]).status, 204)
        self.assertIn("neither a debug file nor an archive", wait(self.server, place)["message"])

    # --- what becomes of files ---

    def test_stripped_and_debug_file(self):
        path = compile_elf(self.folder.name, "pair", 11)
        stripped, debug = split_elf(path)
        result = send(self.server, read(stripped), "pair")
        self.assertEqual(result["files"][0]["kind"], "executable", result)
        identity = build_id(path)
        self.assertEqual([f["state"] for f in self.files(identity)], ["mapped"])
        self.assertNotIn("debug_info", self.files(identity)[0]["features"])
        result = send(self.server, read(debug), "pair.debug")
        self.assertEqual(result["files"][0]["kind"], "debuginfo", result)
        found = {f["kind"]: f for f in self.files(identity)}
        self.assertEqual((found["debuginfo"]["state"], found["executable"]["state"]),
                         ("mapped", "stored"))
        self.assertIn("lines", found["debuginfo"]["features"])
        # The better one goes: the other's map is in use again.
        status, _ = self.server.json("DELETE", "/api/v1/symbols/files/%d"
                                     % found["debuginfo"]["id"])
        self.assertEqual(status, 204)
        self.assertEqual([f["state"] for f in self.files(identity)], ["mapped"])
        # And it is wanted again.
        status, value = self.server.json("POST", "/api/v1/symbols/have", {"ids": [
            {"debug_id": identity, "kind": "executable"},
            {"debug_id": identity.upper(), "kind": "debuginfo"}, {"debug_id": identity},
            {"debug_id": "00" * 20}]})
        self.assertEqual((status, value), (200, {"missing": [1, 3]}))
        self.assertEqual(create(self.server, read(debug)).status, 201)
        actions = [a["action"] for a in
                   self.server.get("/api/v1/audit").json()["items"] if a["subject"] == identity]
        self.assertEqual(actions, ["symbols.remove", "symbols.upload", "symbols.upload"])

    def test_same_id_other_contents(self):
        path = compile_elf(self.folder.name, "one", 21, "-Wl,--build-id=0xabcdef0123456789")
        send(self.server, read(path))
        path = compile_elf(self.folder.name, "two", 22, "-Wl,--build-id=0xabcdef0123456789")
        send(self.server, read(path))
        found = self.files("abcdef0123456789")
        self.assertEqual(sorted(f["state"] for f in found), ["mapped", "stored"])
        self.assertEqual(max(found, key=lambda f: f["id"])["state"], "mapped")
        audit = self.server.get("/api/v1/audit").json()["items"]
        self.assertIn("symbols.upload.other-contents", [a["action"] for a in audit])

    def test_have_refuses(self):
        for ids in ([{"debug_id": "xyz"}], [{"debug_id": "abc"}], [{}], "no", [{"debug_id": "ab",
                    "kind": "pdf"}], [{"debug_id": "00"}] * 1001):
            status, _ = self.server.json("POST", "/api/v1/symbols/have", {"ids": ids})
            self.assertEqual(status, 400, ids)

    def test_archives(self):
        dsyms = glob.glob(SHARED + "/debug/samply/**/*.dSYM/Contents/Resources/DWARF/*",
                          recursive=True)
        if not dsyms:
            self.skipTest("no ../shared/data")
        body = io.BytesIO()
        with zipfile.ZipFile(body, "w", zipfile.ZIP_DEFLATED) as archive:
            for i, path in enumerate(dsyms):
                archive.write(path, "dSYMs/%d.dSYM/Contents/Resources/DWARF/main" % i)
                archive.writestr("dSYMs/%d.dSYM/Contents/Info.plist" % i, "<plist/>")
        result = send(self.server, body.getvalue(), "App.xcarchive.zip")
        self.assertEqual(result["state"], "done", result)
        self.assertEqual({f["kind"] for f in result["files"]}, {"debuginfo"})
        self.assertEqual(len(result["files"]), len(dsyms))
        for mode in ("w:gz", "w:xz"):
            body = io.BytesIO()
            with tarfile.open(fileobj=body, mode=mode) as archive:
                archive.add(dsyms[0], "a.dSYM/Contents/Resources/DWARF/main")
            self.assertEqual(send(self.server, body.getvalue(), "a.tar")["state"], "done")

    def test_fat_file(self):
        fats = [p for p in glob.glob(SHARED + "/debug/samply/**/*", recursive=True)
                if os.path.isfile(p) and read(p)[:4] == b"\xca\xfe\xba\xbe"]
        if not fats:
            self.skipTest("no ../shared/data")
        result = send(self.server, read(fats[0]), "fat")
        self.assertEqual(result["state"], "done", result)
        self.assertEqual(len({f["arch"] for f in result["files"]}), len(result["files"]))
        self.assertGreater(len(result["files"]), 1)
        # One slice goes: the file stays for the other.
        first, second = [self.files(f["debug_id"])[0] for f in result["files"][:2]]
        self.assertEqual(self.server.json("DELETE", "/api/v1/symbols/files/%d" % first["id"])[0],
                         204)
        reply = self.server.get("/buildid/%s/%s" % (second["debug_id"], second["kind"]))
        self.assertEqual((reply.status, reply.body[:4]), (200, b"\xca\xfe\xba\xbe"))

    def test_map_gsym_breakpad(self):
        tool = sys.argv[2]
        for form in ("symmap", "gsym", "breakpad"):
            path = compile_elf(self.folder.name, "form" + form, 31 + len(form))
            out = os.path.join(self.folder.name, form + ".out")
            subprocess.run([tool, "convert", path, "-q", "--to", form, "-o", out], check=True)
            result = send(self.server, read(out), form)
            self.assertEqual((result["state"], result["files"][0]["kind"]), ("done", "map"), result)
            self.assertTrue(build_id(path).startswith(result["files"][0]["debug_id"][:8]) or
                            form == "breakpad", result)

    def test_useless(self):
        cases = [(b"hello world, no debug file", "neither a debug file nor an archive"),
                 (b"\x7fELF" + b"\0" * 100, "")]
        path = compile_elf(self.folder.name, "noid", 41, "-Wl,--build-id=none")
        cases.append((read(path), "build id"))
        for data, words in cases:
            result = send(self.server, data)
            self.assertEqual(result["state"], "failed", result)
            self.assertIn(words, result["message"] + "".join(f["message"] for f in
                                                             result["files"]))

    # --- bad ones ---

    def test_bombs(self):
        """10 MB that unpack to 10 GB: ended long before."""
        first = gzip.compress(b"\x7fELF" + b"\0" * 1000)
        member = gzip.compress(b"\0" * (100 << 20))  # gzip's members follow each other
        data = first + member * 100
        self.assertLess(len(data), 11 << 20)
        result = send(self.server, data, "bomb.gz")
        self.assertEqual(result["state"], "failed", result)
        self.assertRegex(result["message"], "200 bytes for each|more than 256 MB")
        body = io.BytesIO()
        with zipfile.ZipFile(body, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("a.dSYM/Contents/Resources/DWARF/a", b"\xcf\xfa\xed\xfe" +
                             b"\0" * (300 << 20))
        result = send(self.server, body.getvalue(), "bomb.zip")
        self.assertRegex(result["message"], "DWARF/a: .*(200 bytes for each|more than 256 MB)")

    def test_circles_and_cuts_in_dwarf(self):
        """DW_AT_abstract_origin in a circle, and sections that end too early: read as far as they
        make sense, never without an end."""
        source = os.path.join(self.folder.name, "circle.s")
        with open(source, "w") as out:
            out.write(CIRCLE)
        path = os.path.join(self.folder.name, "circle.so")
        subprocess.run(["cc", "-shared", "-nostdlib", "-Wl,--build-id=sha1", "-o", path, source],
                       check=True)
        result = send(self.server, read(path), "circle.so")
        self.assertEqual(result["state"], "done", result)
        self.assertEqual(result["files"][0]["debug_id"], build_id(path))
        whole = compile_elf(self.folder.name, "cut", 61)
        for section in (".debug_info", ".debug_abbrev", ".debug_line", ".debug_str"):
            part = os.path.join(self.folder.name, "section")
            subprocess.run(["objcopy", "--dump-section", section + "=" + part, whole,
                            "/dev/null"], check=True)
            data = read(part)
            with open(part, "wb") as out:
                out.write(data[:len(data) // 2])
            cut = whole + section
            subprocess.run(["objcopy", "--update-section", section + "=" + part, whole, cut],
                           check=True)
            result = send(self.server, read(cut), "cut")
            self.assertIn(result["state"], ("done", "failed"), result)
            self.assertNotIn("signal", result["message"])
        result = send(self.server, read(whole)[:3000], "cut short")
        self.assertIn(result["state"], ("done", "failed"), result)

    def test_names(self):
        for name, words in (("../../etc/passwd", "leads out"), ("/etc/passwd", "leads out"),
                            ("a\\..\\b", "leads out")):
            body = io.BytesIO()
            with tarfile.open(fileobj=body, mode="w") as archive:
                info = tarfile.TarInfo(name)
                info.size = len(self.elf)
                archive.addfile(info, io.BytesIO(self.elf))
            result = send(self.server, body.getvalue(), "names.tar")
            self.assertEqual(result["state"], "failed", result)
            self.assertIn(words, result["message"])

    def test_nothing_is_left_over(self):
        send(self.server, self.elf + b"1")
        store = os.path.join(self.server.folder, "store", "uploads")
        self.assertEqual(glob.glob(store + "/*/*"), [])
        self.assertEqual(os.listdir(os.path.join(self.server.folder, "tmp")), [])


def converters(name):
    """Processes that convert the upload of this name."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            words = read("/proc/%s/cmdline" % pid).split(b"\0")
        except OSError:
            continue
        if words[0].endswith(b"framewalk-converter") and name.encode() in words:
            found.append(int(pid))
    return found


class Killed(unittest.TestCase):
    """kill -9 of the server while parts come and while it converts."""

    def test_during_parts_and_conversion(self):
        with tempfile.TemporaryDirectory(prefix="framewalk-test-") as folder:
            program = compile_elf(folder)
            data = read(program) + os.urandom(6 << 20)
            server = Server("--disk-reserve", "1M", folder=os.path.join(folder, "data")).start()
            place = create(server, data).headers["Location"]
            with socket.create_connection(("127.0.0.1", server.port)) as s:
                s.sendall(("PATCH %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n"
                           "Content-Type: application/offset+octet-stream\r\nUpload-Offset: 0\r\n"
                           "Content-Length: %d\r\n\r\n" % (place, server.token, len(data)))
                          .encode() + data[:3 << 20])
                server.kill()
            token = server.token
            server = Server("--disk-reserve", "1M", folder=server.folder, token=token).start()
            at = server.get(place).json()["received"]
            self.assertEqual(at, 0)  # nothing was acknowledged
            self.assertEqual(patch(server, place, 0, data[:4 << 20]).status, 204)
            server.kill()
            server = Server("--disk-reserve", "1M", folder=server.folder, token=token).start()
            self.assertEqual(server.get(place).json()["received"], 4 << 20)
            self.assertEqual(patch(server, place, 4 << 20, data[4 << 20:]).status, 204)
            server.kill()  # the conversion is queued, or runs
            leases_run_out(SQLite(server))
            server = Server("--disk-reserve", "1M", folder=server.folder, token=token).start()
            try:
                result = wait(server, place, 120)
                self.assertEqual(result["state"], "done", result)
                self.assertEqual(result["files"][0]["debug_id"], build_id(program))
            finally:
                server.stop()


    def test_during_conversion(self):
        """kill -9 while the child works: it ends as well, and the job is done again."""
        large = sorted(glob.glob("/usr/lib/debug/.build-id/*/*.debug"), key=os.path.getsize)
        if not large or os.path.getsize(large[-1]) < 100 << 20:
            self.skipTest("no large debug file on this machine")
        with tempfile.TemporaryDirectory(prefix="framewalk-test-") as folder:
            data, name = read(large[-1]), "killed-%d" % os.getpid()
            server = Server("--disk-reserve", "1M", folder=os.path.join(folder, "data")).start()
            made = create(server, data, name)
            place, at, token = made.headers["Location"], 0, server.token
            while at < len(data):
                self.assertEqual(patch(server, place, at, data[at:at + (32 << 20)]).status, 204)
                at += 32 << 20
            end = time.monotonic() + 60
            while not converters(name) and time.monotonic() < end:
                time.sleep(0.01)
            self.assertTrue(converters(name))
            server.kill()
            end = time.monotonic() + 20
            while converters(name) and time.monotonic() < end:
                time.sleep(0.05)
            self.assertEqual(converters(name), [])
            leases_run_out(SQLite(server))
            server = Server("--disk-reserve", "1M", folder=server.folder, token=token).start()
            try:
                result = wait(server, place, 180)
                self.assertEqual(result["state"], "done", result)
                status, value = server.json("GET", "/api/v1/symbols/files")
                self.assertEqual((status, len(value["items"])), (200, 1))
                self.assertEqual(value["items"][0]["state"], "mapped")
                self.assertEqual(os.listdir(os.path.join(server.folder, "tmp")), [])
            finally:
                server.stop()


class TwoServers(unittest.TestCase):
    """One database (PostgreSQL) and one store (S3): what one server took, another goes on with."""

    def test_two(self):
        try:
            with postgres.Server() as database, s3.StandIn() as store, \
                    tempfile.TemporaryDirectory(prefix="framewalk-test-") as folder:
                self.share(folder, ["--database", database.database("uploads"), "--store",
                                    store.url("one"), "--disk-reserve", "1M"], store.environment)
        except postgres.Missing as missing:
            self.skipTest(str(missing))

    def share(self, folder, options, environment):
        data = read(compile_elf(folder, "shared", 201)) + os.urandom(3 << 20)
        first = Server(*options, folder=folder + "/one", environment=environment).start()
        second = Server(*options, folder=folder + "/two", environment=environment,
                        token=first.token).start()
        try:
            place = create(first, data).headers["Location"]
            self.assertEqual(patch(first, place, 0, data[:1 << 20]).status, 204)
            first.kill()
            at = second.get(place).json()["received"]
            self.assertEqual(at, 1 << 20)
            self.assertEqual(patch(second, place, at, data[at:]).status, 204)
            result = wait(second, place, 120)
            self.assertEqual(result["state"], "done", result)
            identity = result["files"][0]["debug_id"]
            reply = second.get("/buildid/%s/executable" % identity)
            self.assertEqual((reply.status, reply.body), (200, data))
        finally:
            for server in (first, second):
                if server.process:
                    server.stop()


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
