"""Source files: sent with `framewalk push --sources`, fetched by gdb, debuginfod-find, the Firefox
Profiler's protocol and the page; and bundles that mean harm.

    sources_test.py framewalk-collector framewalk [NAME...]
"""
import io
import json
import os
import shutil
import struct
import subprocess
import sys
import tarfile
import tempfile
import time
import unittest
import zipfile

from debug_files import build_id, send
from server import Server, program

TOOL = sys.argv[2]
SHOP = """#include "price.h"
#include <stdlib.h>
int load_prices(int n)
{
    return price(n) + price(n + 1); /* line 5 */
}
int main(int argc, char **argv)
{
    return load_prices(argc) == 7 && atoi(argv[0]) == 0;
}
"""
PRICE = """/* one <b>price</b> & "more" */
static int __attribute__((noinline)) price(int n)
{
    volatile int sum = n;
    sum += %d;
    return sum;
}
"""


class Shop:
    """A program in a folder of its own, whose header is named with a way around."""

    def __init__(self, folder, number=7, identity="sha1"):
        self.folder = folder
        os.makedirs(os.path.join(folder, "src"))
        os.makedirs(os.path.join(folder, "inc"))
        self.source = os.path.join(folder, "src", "shop.c")
        self.header = os.path.join(folder, "inc", "price.h")
        self.texts = {self.source: SHOP, self.header: PRICE % number}
        for path, text in self.texts.items():
            with open(path, "w") as out:
                out.write(text)
        self.program = os.path.join(folder, "shop")
        subprocess.run(["gcc", "-g", "-O1", "-Wl,--build-id=" + identity, "-I../inc", "-o",
                        self.program, self.source], check=True, cwd=os.path.join(folder, "src"))
        self.id = build_id(self.program)
        symbols = subprocess.run(["nm", self.program], capture_output=True, text=True, check=True)
        self.at = {line.split()[2]: int(line.split()[0], 16) for line in
                   symbols.stdout.splitlines() if len(line.split()) == 3}

    def breakpad_id(self):
        b = bytes.fromhex(self.id)[:16]
        return (b[3::-1] + b[5:3:-1] + b[7:5:-1] + b[8:]).hex().upper() + "0"

    def hide(self):
        """Nobody finds the sources by their path."""
        os.rename(os.path.join(self.folder, "src"), os.path.join(self.folder, "away"))


def bundle(files, manifest=None, version=2, **attributes):
    """As other tools make them: deflated, the manifest last. `files`: path -> text."""
    out = io.BytesIO()
    out.write(b"SYSB" + struct.pack("<I", version))
    names = {}
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, text in files.items():
            name = "files" + path if path.startswith("/") else "files/%d" % len(names)
            names[name] = {"type": "source", "path": path, "headers": {}}
            archive.writestr(name, text)
        if manifest is None:
            manifest = json.dumps(dict(attributes, files=names))
        if manifest is not False:
            archive.writestr("manifest.json", manifest)
    return out.getvalue()


def many_entries(count):
    """A zip of so many empty files."""
    parts = [b"SYSB\2\0\0\0"]
    for number in range(count):
        name = b"files/%d" % number
        parts.append(b"PK\3\4" + struct.pack("<HHHHHIIIHH", 20, 0, 0, 0, 33, 0, 0, 0, len(name), 0) + name)
    return b"".join(parts)


class Case(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if not all(shutil.which(tool) for tool in ("gcc", "readelf", "nm")):
            raise unittest.SkipTest("no compiler here")
        cls.folder = tempfile.mkdtemp(prefix="framewalk-sources-")
        cls.addClassCleanup(shutil.rmtree, cls.folder, True)
        cls.server = Server()
        cls.server.start()
        cls.addClassCleanup(cls.server.__exit__, None, None, None)
        cls.key = os.path.join(cls.folder, "token")
        with open(os.path.join(cls.folder, "token"), "w") as out:
            out.write(cls.server.token)
        os.chmod(cls.key, 0o600)

    def shop(self, number, identity="sha1"):
        return Shop(os.path.join(self.folder, "shop%d" % number), number, identity)

    def push(self, *arguments, check=True):
        done = subprocess.run([TOOL, "push", "--wait", *arguments, "--to", self.server.url(),
                               "--key-file", self.key], capture_output=True, text=True, timeout=100)
        if check:
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def rows(self, identity):
        return [f for f in self.server.get("/api/v1/symbols/files?q=" + identity).json()["items"]]

    def source(self, shop, path):
        return self.server.get("/buildid/%s/source%s" % (shop.id, path))

    def lines(self, shop, path, line, token=True, more=""):
        return self.server.json("GET", "/api/v1/symbols/source" + more, query={
            "image": shop.id, "file": path, "line": line}, token=token)


class Sending(Case):
    def test_pushed(self):
        shop = self.shop(1)
        said = self.push("--sources", shop.program)
        self.assertIn("2 source files found", said)
        self.assertNotIn("not on this machine", said)
        self.assertIn("1 debug file sent, 1 source bundle", said)
        for path, text in shop.texts.items():
            reply = self.source(shop, path)
            self.assertEqual((reply.status, reply.body), (200, text.encode()), path)
            self.assertEqual(reply.headers["X-DEBUGINFOD-SIZE"], str(len(text)))
        kinds = {f["kind"]: f for f in self.rows(shop.id)}
        self.assertEqual(sorted(kinds), ["executable", "sources"])
        self.assertEqual(kinds["sources"]["features"], ["2 files"])
        self.assertEqual((kinds["sources"]["state"], kinds["sources"]["name"]), ("stored", "shop"))

    def test_off_by_default(self):
        shop = self.shop(2)
        self.assertNotIn("source file", self.push(shop.program))
        self.assertEqual(self.source(shop, shop.source).status, 404)
        self.assertEqual(self.lines(shop, shop.source, 5)[0], 404)

    def test_again(self):
        """The same sources are there once; others of the same image stand beside them."""
        shop = self.shop(3)
        for _ in range(2):
            self.push("--sources", shop.program)
        self.assertEqual([f["kind"] for f in self.rows(shop.id)].count("sources"), 1)
        os.remove(shop.header)
        said = self.push("--sources", shop.program)
        self.assertIn("1 source file found, 1 not on this machine", said)
        self.assertEqual([f["kind"] for f in self.rows(shop.id)].count("sources"), 2)
        self.assertEqual(self.source(shop, shop.header).status, 200, "the older ones have it")

    def test_moved(self):
        shop = self.shop(4)
        away = os.path.join(self.folder, "elsewhere")
        shutil.copytree(shop.folder, away)
        shutil.rmtree(shop.folder)
        moved = os.path.join(away, "shop")
        said = self.push("--sources", "--dry-run", moved)
        self.assertIn("0 source files found, 2 not on this machine", said)
        self.assertRegex(said, r"missing most in %s/\w+ \(1\): --source-map" % shop.folder)
        said = self.push("--sources", "--source-map", shop.folder + "=" + away, moved)
        self.assertIn("2 source files found", said)
        self.assertEqual(self.source(shop, shop.source).body, SHOP.encode())

    def test_only_sources(self):
        """A debug file may be another's: what is not named as a source is does not leave the
        machine, nor what the system brought."""
        folder = os.path.join(self.folder, "foreign")
        os.mkdir(folder)
        secret, source = os.path.join(folder, "id_rsa"), os.path.join(folder, "a.c")
        with open(secret, "w") as out:
            out.write("int hidden(void) { return 1; }\n")
        with open(source, "w") as out:
            out.write('#include "id_rsa"\n#include <stdlib.h>\n'
                      "int main(int c, char **v) { return hidden() + (int)(size_t)bsearch("
                      "v, v, (size_t)c, 8, (int (*)(const void *, const void *))hidden); }\n")
        made = os.path.join(folder, "a")
        subprocess.run(["gcc", "-g", "-O2", "-fno-inline", "-Wl,--build-id", "-o", made, source],
                       check=True)
        said = self.push("--sources", made)
        self.assertIn("1 source file found", said)
        self.assertIn("1 left out that are not named as sources are", said)
        reply = self.server.get("/buildid/%s/source%s" % (build_id(made), secret))
        self.assertEqual(reply.status, 404)

    def test_command_line(self):
        for arguments in (["--source-map", "/a=/b"], ["--system-sources"],
                          ["--sources", "--source-map", "none"]):
            done = subprocess.run([TOOL, "push", *arguments, "x", "--to", "http://localhost"],
                                  capture_output=True, text=True)
            self.assertEqual(done.returncode, 2, arguments)


class Fetching(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.one = Shop(os.path.join(cls.folder, "one"), 10, "0x" + "5a" * 16)
        case = cls("test_gdb")
        case.push("--sources", cls.one.program)
        cls.one.hide()

    def client(self):
        cache = tempfile.mkdtemp(dir=self.folder)
        return dict(os.environ, DEBUGINFOD_URLS=self.server.url("/s/" + self.server.token),
                    DEBUGINFOD_CACHE_PATH=cache, HOME=self.folder, DEBUGINFOD_PROGRESS="")

    @unittest.skipUnless(shutil.which("gdb"), "no gdb here")
    def test_gdb(self):
        done = subprocess.run(["gdb", "-nx", "-batch", "-iex", "set debuginfod enabled on", "-ex",
                               "list load_prices", "-ex", "list price.h:4,6", self.one.program],
                              env=self.client(), capture_output=True, text=True, timeout=120)
        self.assertIn("return price(n) + price(n + 1); /* line 5 */", done.stdout, done)
        self.assertIn("sum += 10;", done.stdout)

    @unittest.skipUnless(shutil.which("debuginfod-find"), "no debuginfod-find here")
    def test_debuginfod_find(self):
        for path in self.one.texts:
            done = subprocess.run(["debuginfod-find", "source", self.one.id, path],
                                  env=self.client(), capture_output=True, text=True, timeout=60)
            self.assertEqual(done.returncode, 0, done)
            with open(done.stdout.strip()) as file:
                self.assertEqual(file.read(), self.one.texts[path])

    def test_not_named(self):
        """What the debug information does not name is not given out, whoever sent it."""
        secret = self.one.folder + "/src/secret.c"
        made = bundle({secret: "secret", self.one.source: SHOP, "/etc/passwd": "x",
                       "../../../etc/shadow": "y"}, code_id=self.one.id.upper(), arch="x86_64")
        result = send(self.server, made, "other")
        self.assertEqual(result["state"], "done", result)
        self.assertEqual(result["message"], "sources stored: 4 files")
        self.assertEqual(self.source(self.one, self.one.source).status, 200)
        for path in (secret, "/etc/passwd", "/../../../etc/shadow", "/proc/self/environ",
                     self.one.folder, "/", self.one.source + "x",
                     "/../../../proc/self/environ"):
            self.assertIn(self.source(self.one, path).status, (400, 404), path)
        for path in secret, "/etc/passwd", "../../../etc/shadow", "shop.c", "", "/":
            self.assertEqual(self.lines(self.one, path, 1)[0], 404, path)

    def v1(self, offset, name, **more):
        body = dict({"debugName": "shop", "debugId": self.one.breakpad_id(),
                     "moduleOffset": offset, "file": name}, **more)
        return self.server.post("/source/v1", json.dumps(body), "application/json")

    def test_source_v1(self):
        at = self.one.at["load_prices"]
        reply = self.v1(hex(at), self.one.source)
        self.assertEqual(reply.status, 200, reply.body)
        self.assertEqual(reply.json(), {"symbolsLastModified": None, "sourceLastModified": None,
                                        "file": self.one.source, "source": SHOP})
        around = self.one.folder + "/src/../inc/price.h"
        self.assertEqual(self.v1(hex(self.one.at["price"]), around).json()["source"],
                         self.one.texts[self.one.header])
        self.assertEqual(self.v1(hex(at), self.one.header).status, 404, "not at that offset")
        self.assertEqual(self.v1(hex(at), "/etc/passwd").status, 404)
        self.assertEqual(self.v1("0xfffffff0", self.one.source).status, 404)
        self.assertEqual(self.v1(hex(at), self.one.source, debugId="0" * 33).status, 404)
        for wrong in {"debugId": "zz"}, {"debugId": None}, {"moduleOffset": "-1"}, {"file": 3}:
            self.assertEqual(self.v1(hex(at), self.one.source, **wrong).status, 400, wrong)

    def test_lines(self):
        all_ = SHOP.split("\n")
        for line in range(1, 11):
            status, value = self.lines(self.one, self.one.source, line)
            self.assertEqual(status, 200)
            self.assertEqual(value["pre_context"], all_[max(0, line - 6):line - 1], line)
            self.assertEqual(value["context_line"], all_[line - 1])
            self.assertEqual(value["post_context"], all_[line:min(line + 5, 10)], line)
        self.assertEqual(self.lines(self.one, self.one.header, 1)[1]["context_line"],
                         '/* one <b>price</b> & "more" */')
        status, value = self.server.json("GET", "/api/v1/symbols/source", query={
            "image": self.one.id, "file": self.one.source, "line": 5, "context": 0})
        self.assertEqual((value["pre_context"], value["post_context"]), ([], []))
        self.assertEqual(self.lines(self.one, self.one.source, 11)[0], 404)
        for query in ({}, {"image": "zz", "file": "a", "line": 1}, {"image": self.one.id, "line": 1},
                      {"image": self.one.id, "file": "a"},
                      {"image": self.one.id, "file": "a", "line": 0},
                      {"image": self.one.id, "file": "a", "line": 1, "context": 101}):
            self.assertEqual(self.server.json("GET", "/api/v1/symbols/source", query=query)[0], 400,
                             query)

    def test_frames(self):
        """Frames of groups and reports say that there is source, to those who may read it."""
        at = self.one.at["load_prices"] + 16
        uuid = "5A5A5A5A-5A5A-5A5A-5A5A-5A5A5A5A5A5A"
        text = """Process:               shop [401]
Path:                  /opt/shop
Identifier:            com.example.shop
Version:               1.0 (1)
Code Type:             X86-64 (Native)
OS Version:            macOS 15.1 (24B83)
Report Version:        12
Date/Time:             2026-11-22 08:10:00.000 +0000

Exception Type:  EXC_CRASH (SIGKILL)
Triggered by Thread:  0

Thread 0 Crashed:
0   shop      0x%016x 0x100000000 + %d

Binary Images:
       0x100000000 -        0x10003ffff shop (1.0) <%s> /opt/shop
""" % (0x100000000 + at, at, uuid)
        reply = self.server.post("/api/v1/projects/default/import", text)
        self.assertEqual(reply.status, 201, reply.body)
        for _ in range(100):
            items = self.server.get("/api/v1/projects/default/groups").json()["items"]
            if items:
                break
            time.sleep(0.1)
        group = "/api/v1/projects/default/groups/%s" % items[0]["id"]
        frame = self.server.get(group).json()["heaviest"][0]
        self.assertEqual((frame["function"], frame["sources"]), ("load_prices", self.one.id))
        self.assertEqual(frame["file"], self.one.source)
        status, value = self.lines(self.one, frame["file"], frame["line"])
        self.assertEqual(value["context_line"], SHOP.split("\n")[frame["line"] - 1])
        report = self.server.get("/api/v1/projects/default/reports").json()["items"][0]["id"]
        report = self.server.get("/api/v1/projects/default/reports/" + report).json()
        self.assertEqual(report["threads"][0]["frames"][0]["sources"], self.one.id)
        reader = self.server.new_token(["read"])
        self.assertNotIn("sources", self.server.get(group, token=reader).json()["heaviest"][0])
        self.assertEqual(self.lines(self.one, self.one.source, 5, token=reader)[0], 403)
        self.assertEqual(self.lines(self.one, self.one.source, 5, token=None)[0], 401)


class Hostile(Case):
    def refused(self, data, *words):
        before = self.server.get("/api/v1/symbols/files").json()["items"]
        result = send(self.server, data, "bundle", part=16 << 20)
        self.assertEqual(result["state"], "failed", result)
        for word in words:
            self.assertIn(word, result["message"])
        self.assertEqual(self.server.get("/api/v1/symbols/files").json()["items"], before)
        self.assertEqual(os.listdir(os.path.join(self.server.folder, "tmp")), [])

    def test_refused(self):
        good = {"code_id": "ab" * 20}
        lies = {"files": {"files/a.c": {"type": "source", "path": "/a.c"},
                          "files/b.c": {"type": "source", "path": "/b.c"}}, **good}
        twice = {"files": {"files/a.c": {"path": "/x/../a.c"}, "files/b.c": {"path": "/a.c"}}, **good}
        self.refused(bundle({"/a.c": "a"}, json.dumps(lies)), "files/b.c", "is not there")
        self.refused(bundle({"/a.c": "a", "/b.c": "b", "/c.c": "c"}, json.dumps(lies)),
                     "files/c.c", "does not name it")
        self.refused(bundle({"/a.c": "a", "/b.c": "b"}, json.dumps(twice)), "two files this path")
        self.refused(bundle({"/a.c": "a"}, False), "without manifest.json")
        self.refused(bundle({"/a.c": "a"}, "{"), "no JSON object")
        self.refused(bundle({"/a.c": "a"}, "[]"), "no JSON object")
        self.refused(bundle({"/a.c": "a"}, "[" * 100000), "no JSON object")
        self.refused(bundle({"/a.c": "a"}, '{"files": {}, "files": {}}'), "names something twice")
        self.refused(bundle({"/a.c": "a"}), "code_id")
        self.refused(bundle({"/a.c": "a"}, code_id="ab" * 65), "code_id")
        self.refused(bundle({}, **good), "no source file")
        self.refused(bundle({"/a.c": "a"}, version=9, **good), "version 9")
        self.refused(bundle({"/a.c": "x" * (8 << 20) + "x"}, **good), "a.c", "8 MB")
        self.refused(bundle({"/../../a.c": "a"}, **good), "leads out of the archive")
        self.refused(bundle({"/a.c": os.urandom(100000)}, **good)[:50000], "")
        self.refused(b"SYSB", "")
        self.refused(b"SYSB\2\0\0\0" + os.urandom(5000), "")

    def test_bomb(self):
        out = io.BytesIO()
        out.write(b"SYSB\2\0\0\0")
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
            for number in range(60):
                archive.writestr("files/%d.c" % number, b"\0" * (7 << 20))
        self.refused(out.getvalue(), "unpacks to more than")

    def test_many(self):
        self.refused(many_entries(1000000), "more than 100000 entries")

    def test_long_paths(self):
        """Names that fit nowhere, and one that is no text."""
        self.refused(bundle({"/%s/a.c" % ("x" * 5000): "a"}, code_id="ab" * 20), "too long")
        made = bundle({"/a.c": b"\0\xff\xfe", "/\u202eb.c": ""}, code_id="ab" * 20)
        self.assertEqual(send(self.server, made, "b")["state"], "done")

    def test_lying_store(self):
        """A store whose bytes rot says so, and ends nothing."""
        shop = self.shop(20)
        self.push("--sources", shop.program)
        folder = os.path.join(self.server.folder, "store", "symbols", shop.id[:2], shop.id[2:])
        name = [n for n in os.listdir(folder) if n.startswith("sources-")][0]
        path = os.path.join(folder, name)
        with open(path, "rb") as file:
            whole = file.read()
        os.chmod(path, 0o600)
        for at in list(range(0, len(whole), 7)) + [8, 12, 16, 24]:
            with open(path, "wb") as file:
                file.write(whole[:at] + bytes([whole[at] ^ 0xff]) + whole[at + 1:])
            self.assertIn(self.source(shop, shop.source).status, (200, 404, 500), at)
        with open(path, "wb") as file:
            file.write(whole[:20])
        self.assertIn(self.source(shop, shop.source).status, (404, 500))
        self.assertEqual(self.server.get("/healthz").status, 200)


class Going(Case):
    def files(self, shop):
        folder = os.path.join(self.server.folder, "store", "symbols", shop.id[:2], shop.id[2:])
        return [n for n in os.listdir(folder)] if os.path.isdir(folder) else []

    def test_removed(self):
        """With the last file of an image its sources go, rows and bytes; sent again, they return."""
        shop = self.shop(30)
        self.push("--sources", shop.program)
        row = [f["id"] for f in self.rows(shop.id) if f["kind"] == "executable"][0]
        self.assertTrue(any(n.startswith("sources-") for n in self.files(shop)))
        self.assertEqual(self.server.request("DELETE", "/api/v1/symbols/files/%d" % row).status, 204)
        self.assertEqual(self.rows(shop.id), [])
        self.assertEqual(self.files(shop), [])
        self.assertEqual(self.source(shop, shop.source).status, 404)
        self.push("--sources", shop.program)
        self.assertEqual(self.source(shop, shop.source).status, 200)
        row = [f["id"] for f in self.rows(shop.id) if f["kind"] == "sources"][0]
        self.assertEqual(self.server.request("DELETE", "/api/v1/symbols/files/%d" % row).status, 204)
        self.assertEqual([f["kind"] for f in self.rows(shop.id)], ["executable"])
        self.assertEqual(self.source(shop, shop.source).status, 404)

    def test_no_debug_file(self):
        """Sources alone are no debug file: the program is still wanted."""
        shop = self.shop(31)
        made = bundle({shop.source: SHOP}, code_id=shop.id)
        self.assertEqual(send(self.server, made, "early")["state"], "done")
        status, value = self.server.json("POST", "/api/v1/symbols/have", {"ids": [
            {"debug_id": shop.id}, {"debug_id": shop.id, "kind": "sources"}]})
        self.assertEqual(value["missing"], [0])
        self.assertEqual(self.source(shop, shop.source).status, 404, "nothing names it yet")
        self.push(shop.program)
        self.assertEqual(self.source(shop, shop.source).status, 200)

    def test_backup(self):
        shop = self.shop(32)
        self.push("--sources", shop.program)
        archive = os.path.join(self.folder, "backup.tar")
        done = subprocess.run([program(), "--data", self.server.folder, "--backup", archive],
                              capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done)
        with tarfile.open(archive) as tar:
            self.assertTrue(any("/sources-" in name and shop.id[2:] in name
                                for name in tar.getnames()))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=1)
