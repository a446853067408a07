"""Tools fetch debug files and names from the server: gdb, debuginfod-find and eu-addr2line as they
are, the paths of symbol servers, and what the Firefox Profiler asks.

    symbol_paths_test.py framewalk-collector framewalk [NAME...]
"""
import concurrent.futures
import gzip
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

from debug_files import send
from server import Server

SHARED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../shared/data")
PROGRAMS = {os.path.basename(a): os.path.abspath(a) for a in sys.argv[1:3]}

SOURCE = """#include <cstdlib>
namespace shop {
__attribute__((noinline)) int divide(int a, int b)
{
    return a / b; /* line 5 */
}
static inline __attribute__((always_inline)) int half(int a)
{
    return divide(a, a - a) + 1; /* line 9 */
}
__attribute__((noinline)) int load(int a)
{
    return half(a) + 1; /* line 13 */
}
}
int main(int argc, char **argv) { (void)argv; return shop::load(argc); }
"""


def have(*tools):
    return all(shutil.which(tool) for tool in tools)


def run(*command, check=True, **rest):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=120, check=False, **rest)
    if check and done.returncode:
        raise AssertionError("%s: %s" % (" ".join(command), done.stdout))
    return done.stdout


class Shop:
    """A program whose debug file and code lie apart, made now."""

    def __init__(self, folder, more=""):
        self.folder = folder
        os.mkdir(folder)
        source = os.path.join(folder, "shop.cc")
        with open(source, "w") as file:
            file.write(SOURCE + more)
        self.whole = os.path.join(folder, "whole")
        self.program = os.path.join(folder, "shop")
        self.debug = os.path.join(folder, "shop.debug")
        run("g++", "-g", "-O1", "-Wl,--build-id", "-o", self.whole, source, cwd=folder)
        run("objcopy", "--only-keep-debug", self.whole, self.debug)
        run("strip", "-o", self.program, self.whole)
        notes = run("readelf", "-n", self.program)
        self.id = [line.split()[-1] for line in notes.splitlines() if "Build ID" in line][0]
        symbols = run("nm", self.whole)
        self.at = {line.split()[2]: int(line.split()[0], 16) for line in symbols.splitlines()
                   if line.split()[1:2] in (["T"], ["t"])}
        os.rename(source, source + ".away") # nobody finds it by its path

    def breakpad_id(self):
        b = bytes.fromhex(self.id)[:16]
        return (b[3::-1] + b[5:3:-1] + b[7:5:-1] + b[8:]).hex().upper() + "0"


class SymbolPaths(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if not have("g++", "objcopy", "strip", "readelf", "nm"):
            raise unittest.SkipTest("no compiler here")
        cls.folder = tempfile.mkdtemp(prefix="framewalk-symbols-")
        cls.addClassCleanup(shutil.rmtree, cls.folder, True)
        cls.shop = Shop(os.path.join(cls.folder, "shop"))
        cls.server = Server()
        cls.server.start()
        cls.addClassCleanup(cls.server.__exit__, None, None, None)
        cls.store(cls.shop.program, cls.shop.debug)

    @classmethod
    def store(cls, *files, server=None):
        """Uploads them; the debug ids."""
        ids = []
        for path in files:
            result = send(server or cls.server, cls.read(path), os.path.basename(path))
            if result["state"] != "done":
                raise AssertionError(result)
            ids += [file["debug_id"] for file in result["files"]]
        return ids

    @staticmethod
    def read(path):
        with open(path, "rb") as file:
            return file.read()

    def get(self, path, **rest):
        return self.server.get(path, **rest)

    # ---- debuginfod ----

    def test_files(self):
        for kind, path in ("debuginfo", self.shop.debug), ("executable", self.shop.program):
            reply = self.get("/buildid/%s/%s" % (self.shop.id, kind))
            self.assertEqual(reply.status, 200)
            self.assertEqual(reply.body, self.read(path))
            self.assertEqual(reply.headers["Content-Type"], "application/octet-stream")
            self.assertEqual(reply.headers["X-DEBUGINFOD-SIZE"], str(os.path.getsize(path)))
            self.assertEqual(reply.headers["X-DEBUGINFOD-FILE"], os.path.basename(path))
            self.assertRegex(reply.headers["Last-Modified"], r"^\w{3}, \d\d \w{3} \d{4} .* GMT$")
            self.assertEqual(reply.headers["Cache-Control"], "private")
            self.assertEqual(reply.headers["Access-Control-Allow-Origin"], "*")

    def test_head_and_ranges(self):
        path = "/buildid/%s/debuginfo" % self.shop.id
        whole = self.read(self.shop.debug)
        reply = self.server.request("HEAD", path)
        self.assertEqual((reply.status, reply.body), (200, b""))
        self.assertEqual(reply.headers["Content-Length"], str(len(whole)))
        reply = self.get(path, headers={"Range": "bytes=64-127"})
        self.assertEqual((reply.status, reply.body), (206, whole[64:128]))
        self.assertEqual(reply.headers["Content-Range"], "bytes 64-127/%d" % len(whole))
        self.assertEqual(self.get(path, headers={"Range": "bytes=999999999-"}).status, 416)

    def test_sections(self):
        for name in ".text", ".debug_line", ".comment":
            section = os.path.join(self.folder, "section")
            owner = self.shop.program if name == ".text" else self.shop.debug
            run("objcopy", "--dump-section", name + "=" + section, owner, os.devnull)
            reply = self.get("/buildid/%s/section/%s" % (self.shop.id, name))
            self.assertEqual(reply.status, 200, name)
            self.assertEqual(reply.headers["X-DEBUGINFOD-SIZE"], str(len(reply.body)))
            self.assertEqual(reply.body, self.read(section), name)
        part = self.get("/buildid/%s/section/.text" % self.shop.id, headers={"Range": "bytes=2-5"})
        self.assertEqual((part.status, len(part.body)), (206, 4))
        self.assertEqual(self.get("/buildid/%s/section/.bss" % self.shop.id).status, 404)
        self.assertEqual(self.get("/buildid/%s/section/.none" % self.shop.id).status, 404)

    def test_not_found(self):
        other = "00" * 20
        for path in ("/buildid/%s/debuginfo" % other, "/buildid/%s/executable" % other,
                     "/buildid/%s/section/.text" % other, "/buildid/zz/debuginfo",
                     "/buildid/%s/debuginfo" % self.shop.id.upper(),
                     "/buildid/%s/debuginfo" % self.shop.id[:-1],
                     "/buildid/%s/source/etc/passwd" % self.shop.id, "/symbols/etc/passwd/x"):
            reply = self.get(path)
            self.assertEqual((reply.status, reply.body), (404, b"not found"), path)
        for path in ("/buildid/%s/source/..%%2f..%%2fetc/passwd" % self.shop.id,
                     "/symbols/..%2f..%2fetc%2fpasswd", "/symbols/../../etc/passwd"):
            self.assertIn(self.get(path).status, (400, 404), path)

    def test_access(self):
        path = "/buildid/%s/debuginfo" % self.shop.id
        self.assertEqual(self.get(path, token=None).status, 401)
        self.assertEqual(self.get("/s/%s%s" % (self.server.token, path), token=None).status, 200)
        self.assertEqual(self.get("/s/fwt_wrong" + path, token=None).status, 401)
        with Server("--open-symbols", folder=None) as server:
            self.store(self.shop.debug, server=server)
            reply = server.get(path, token=None)
            self.assertEqual(reply.status, 200)
            self.assertEqual(reply.headers["Cache-Control"], "public")

    def client(self):
        cache = tempfile.mkdtemp(dir=self.folder)
        return dict(os.environ, DEBUGINFOD_URLS=self.server.url("/s/" + self.server.token),
                    DEBUGINFOD_CACHE_PATH=cache, HOME=self.folder, DEBUGINFOD_PROGRESS=""), cache

    @unittest.skipUnless(have("gdb"), "no gdb here")
    def test_gdb(self):
        environment, cache = self.client()
        said = run("gdb", "-nx", "-batch", "-iex", "set debuginfod enabled on", "-ex", "run", "-ex",
                   "bt", self.shop.program, env=environment, check=False)
        if "ptrace" in said and "not permitted" in said:
            self.skipTest("no ptrace here")
        self.assertRegex(said, r"shop::divide \(a=1, b=(b@entry=)?0\)")
        self.assertRegex(said, r"shop\.cc:5\b")
        self.assertRegex(said, r"#1 .*shop::half.*shop\.cc:9\b")
        self.assertRegex(said, r"#2 .*shop::load.*shop\.cc:13\b")
        self.assertEqual(self.read(os.path.join(cache, self.shop.id, "debuginfo")),
                         self.read(self.shop.debug))

    @unittest.skipUnless(have("gdb"), "no gdb here")
    def test_gdb_core(self):
        """Of a core alone gdb fetches the program as well, by its build id."""
        environment, cache = self.client()
        core = os.path.join(self.folder, "core")
        said = run("gdb", "-nx", "-batch", "-ex", "set debuginfod enabled off", "-ex", "run", "-ex",
                   "generate-core-file " + core, self.shop.program, check=False)
        if not os.path.exists(core):
            self.skipTest("no core: " + said[-200:])
        away = self.shop.program + ".moved"
        os.rename(self.shop.program, away)
        try:
            said = run("gdb", "-nx", "-batch", "-iex", "set debuginfod enabled on", "-ex",
                       "core-file " + core, "-ex", "bt", env=environment, check=False)
        finally:
            os.rename(away, self.shop.program)
        self.assertRegex(said, r"shop::divide .*shop\.cc:5\b")
        self.assertTrue(os.path.exists(os.path.join(cache, self.shop.id, "executable")), said)

    @unittest.skipUnless(have("debuginfod-find", "eu-addr2line"), "no elfutils here")
    def test_elfutils(self):
        environment, _ = self.client()
        for kind, path in ("debuginfo", self.shop.debug), ("executable", self.shop.program):
            found = run("debuginfod-find", kind, self.shop.id, env=environment).split()[-1]
            self.assertEqual(self.read(found), self.read(path))
        at = "%#x" % (self.shop.at["_ZN4shop6divideEii"])
        said = run("eu-addr2line", "-f", "-e", self.shop.program, at, env=environment)
        self.assertRegex(said, r"shop\.cc:[345]\b")
        self.assertNotEqual(run("debuginfod-find", "debuginfo", "ab" * 20, env=environment,
                                check=False).strip()[-20:], "")

    @unittest.skipUnless(have("llvm-symbolizer-19"), "no llvm-symbolizer here")
    def test_llvm(self):
        environment, _ = self.client()
        at = "%#x" % (self.shop.at["_ZN4shop6divideEii"])
        said = run("llvm-symbolizer-19", "--debuginfod", "--obj=" + self.shop.program, at,
                   env=environment)
        if "shop.cc" not in said:
            self.skipTest("this llvm-symbolizer has no debuginfod client")
        self.assertRegex(said, r"shop::divide")
        self.assertRegex(said, r"shop\.cc:[345]\b")

    @unittest.skipUnless(have("lldb-19"), "no lldb here")
    def test_lldb(self):
        environment, _ = self.client()
        cache = os.path.join(self.folder, "lldb")
        locator = "settings set plugin.symbol-locator.debuginfod."
        said = run("lldb-19", "-x", "-b", "-O",
                   locator + "server-urls " + self.server.url("/s/" + self.server.token), "-O",
                   locator + "cache-path " + cache, "-o", "target create " + self.shop.program, "-o",
                   "image lookup -v -a %#x" % self.shop.at["_ZN4shop6divideEii"],
                   env=environment, check=False)
        if "invalid value path" in said:
            self.skipTest("this lldb has no debuginfod client")
        self.assertIn("shop::divide(int, int)", said)
        self.assertRegex(said, r"shop\.cc:[345]\b")

    # ---- layouts of symbol servers ----

    def test_layouts(self):
        id, program, debug = self.shop.id, self.read(self.shop.program), self.read(self.shop.debug)
        for path, expected in {
                id[:2] + "/" + id[2:] + "/executable": program,
                id[:2] + "/" + id[2:] + "/debuginfo": debug,
                id[:2] + "/" + id[2:]: program,
                id[:2] + "/" + id[2:] + ".debug": debug,
                ".build-id/" + id[:2] + "/" + id[2:] + ".debug": debug,
                "shop/elf-buildid-" + id + "/shop": program,
                "sh/shop/elf-buildid-" + id + "/shop": program,
                "_.debug/elf-buildid-sym-" + id + "/_.debug": debug}.items():
            reply = self.get("/symbols/" + path)
            self.assertEqual(reply.status, 200, path)
            self.assertEqual(reply.body, expected, path)

    def test_breakpad(self):
        breakpad = self.shop.breakpad_id()
        reply = self.get("/symbols/shop/%s/shop.sym" % breakpad)
        self.assertEqual(reply.status, 200)
        lines = reply.text().splitlines()
        self.assertEqual(lines[0].split()[:4], ["MODULE", "Linux", "x86_64", breakpad])
        at = self.shop.at["_ZN4shop6divideEii"]
        self.assertTrue([line for line in lines if line.startswith("FUNC %x " % at)], lines)
        same = self.get("/symbols/%s/%s/breakpad" % (self.shop.id[:2], self.shop.id[2:]))
        self.assertEqual(same.text(), reply.text())

    @unittest.skipUnless(os.path.isdir(SHARED), "no shared data here")
    def test_macho(self):
        stored = os.path.join(SHARED, "debug/samply/other/abstract-linkage-names/out/mac-dsym/main.dSYM"
                              "/Contents/Resources/DWARF/main")
        [uuid] = self.store(stored)
        upper = uuid.upper()
        lldb = "/".join(upper[i:i + 4] for i in range(0, 20, 4)) + "/" + upper[20:]
        for layout in (uuid[:2] + "/" + uuid[2:] + "/debuginfo", lldb,
                       "_.dwarf/mach-uuid-sym-" + uuid + "/_.dwarf"):
            reply = self.get("/symbols/" + layout)
            self.assertEqual(reply.status, 200, layout)
            self.assertEqual(reply.body, self.read(stored), layout)
        self.assertEqual(self.get("/symbols/" + lldb + ".app").status, 404)
        self.assertEqual(self.get("/symbols/" + lldb.lower()).status, 404)
        self.assertEqual(self.get("/symbols/x/%s0/x.sym" % upper).status, 200)

    # ---- names ----

    def v5(self, request, headers=None, **rest):
        return self.server.post("/symbolicate/v5", json.dumps(request), "application/json", headers,
                                **rest)

    def job(self):
        at = self.shop.at
        return {"memoryMap": [["shop", self.shop.breakpad_id()], ["none.so", "AB" * 16 + "0"],
                              ["unused.so", "CD" * 16 + "0"]],
                "stacks": [[[0, at["_ZN4shop6divideEii"]], [0, at["_ZN4shop4loadEi"] + 8],
                            [1, 4096], [-1, 77]]]}

    def test_v5(self):
        reply = self.v5({"jobs": [self.job()]})
        self.assertEqual(reply.status, 200)
        self.assertEqual(reply.headers["Access-Control-Allow-Origin"], "*")
        result = reply.json()["results"][0]
        frames = result["stacks"][0]
        self.assertEqual(frames[0]["function"], "shop::divide(int, int)")
        self.assertEqual(frames[0]["function_offset"], "0x0")
        self.assertTrue(frames[0]["file"].endswith("shop.cc"))
        self.assertIn(frames[0]["line"], (3, 4, 5))
        self.assertEqual(frames[1]["function"], "shop::load(int)")
        self.assertEqual(frames[1]["line"], 13)
        self.assertEqual(frames[1]["inlines"][0]["line"], 9)
        self.assertTrue(frames[1]["inlines"][0]["function"].startswith("shop::half"))
        self.assertNotIn("function", frames[2])
        self.assertNotIn("function", frames[3])
        self.assertEqual(result["found_modules"],
                         {"shop/" + self.shop.breakpad_id(): True, "none.so/" + "AB" * 16 + "0": False,
                          "unused.so/" + "CD" * 16 + "0": None})
        self.assertEqual(self.v5(self.job()).json()["results"], [result]) # a bare job
        self.assertEqual(self.v5({"jobs": [self.job()] * 10}).json()["results"], [result] * 10)
        debug = self.v5({"jobs": [self.job()]}, {"Debug": "true"}).json()
        self.assertEqual(debug["results"], [result])
        self.assertEqual(debug["debug"]["modules"], {"count": 2, "found": 1})

    def test_late(self):
        """Names of a file are there as soon as its upload is done, though they were asked before."""
        late = Shop(os.path.join(self.folder, "late"), "// another\n")
        job = {"memoryMap": [["late", late.breakpad_id()]],
               "stacks": [[[0, late.at["_ZN4shop6divideEii"]]]]}
        answer = self.v5(job).json()["results"][0]
        self.assertEqual(list(answer["found_modules"].values()), [False])
        self.assertEqual(self.get("/buildid/%s/debuginfo" % late.id).status, 404)
        self.assertEqual(self.store(late.debug), [late.id])
        answer = self.v5(job).json()["results"][0]
        self.assertEqual(answer["stacks"][0][0]["function"], "shop::divide(int, int)")
        self.assertEqual(self.get("/buildid/%s/debuginfo" % late.id).body, self.read(late.debug))
        self.assertEqual(self.get("/buildid/%s/executable" % late.id).status, 404)

    def test_v5_packed(self):
        body = gzip.compress(json.dumps(self.job()).encode())
        reply = self.server.post("/symbolicate/v5", body, "application/json",
                                 {"Content-Encoding": "gzip"})
        self.assertEqual(reply.status, 200)

    def test_v5_first(self):
        """The first request with a token, whose check takes longer, and a body that comes later."""
        body = json.dumps(self.job()).encode()
        for wait in 0, 0.2:
            with Server(folder=self.server.folder, token=self.server.token) as server:
                connection = server.connect()
                connection.putrequest("POST", "/s/%s/symbolicate/v5" % server.token)
                connection.putheader("Content-Length", str(len(body)))
                if wait:
                    connection.endheaders()
                    time.sleep(wait)
                    connection.send(body)
                else:
                    connection.endheaders(body)
                self.assertEqual(connection.getresponse().status, 200)
                connection.close()

    def test_v5_refused(self):
        good = self.job()
        for wrong in ({"jobs": [good] * 11}, {"jobs": "x"}, {"memoryMap": []}, [], {},
                      dict(good, stacks=[[[9, 1]]]), dict(good, stacks=[[["a", 1]]]),
                      dict(good, memoryMap=[["shop", "xyz"]] * 2),
                      dict(good, memoryMap=[["../shop", "AB"]] * 2)):
            self.assertEqual(self.v5(wrong).status, 400, wrong)
        self.assertEqual(self.server.post("/symbolicate/v5", b"{\"jobs\"", "application/json").status,
                         400)

    def test_v5_preflight(self):
        reply = self.server.request("OPTIONS", "/symbolicate/v5", None, {
            "Origin": "https://profiler.firefox.com", "Access-Control-Request-Method": "POST",
            "Access-Control-Request-Headers": "content-type"}, token=None)
        self.assertIn(reply.status, (200, 204))
        self.assertEqual(reply.headers["Access-Control-Allow-Origin"], "*")
        self.assertIn("POST", reply.headers["Access-Control-Allow-Methods"])

    @unittest.skipUnless(os.path.isdir(SHARED), "no shared data here")
    def test_v5_recorded(self):
        """The requests that others recorded: the same answer as the command's."""
        folder = os.path.join(SHARED, "reports")
        requests = [n for n in os.listdir(folder) if n.startswith("symbolicate-v5-request")]
        self.assertTrue(requests)
        for name in requests:
            path = os.path.join(folder, name)
            theirs = json.loads(subprocess.run(
                [PROGRAMS["framewalk"], "symbolicate", path], stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL, env=dict(os.environ, DEBUGINFOD_URLS=""), timeout=60,
                check=False).stdout)
            reply = self.server.post("/symbolicate/v5", self.read(path), "application/json")
            self.assertEqual(reply.status, 200, name)
            self.assertEqual(reply.json(), theirs, name)

    def test_v5_as_command(self):
        """The same answer as the command's with the same files."""
        path = os.path.join(self.folder, "request.json")
        at = self.shop.at["_ZN4shop6divideEii"]
        job = dict(self.job(), stacks=[[[0, a] for a in range(at - 64, at + 256)]])
        with open(path, "w") as file:
            json.dump(job, file)
        theirs = json.loads(subprocess.run(
            [PROGRAMS["framewalk"], "symbolicate", "--debug", self.shop.folder, path],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False, timeout=60).stdout)
        self.assertEqual(self.v5(job).json(), theirs)

    def test_source(self):
        body = json.dumps({"debugName": "shop", "debugId": self.shop.breakpad_id(),
                           "moduleOffset": "0x1000", "file": "/etc/passwd"})
        self.assertEqual(self.server.post("/source/v1", body, "application/json").status, 404)
        self.assertEqual(self.server.post("/source/v1", b"{}", "application/json").status, 400)

    def test_addresses(self):
        at = self.shop.at["_ZN4shop6divideEii"]
        for image in "shop", self.shop.id: # `shop` and `shop.debug` are names of one image
            body = "%s+0x%x\n" % (image, at)
            reply = self.server.post("/api/v1/symbolicate", body, "text/plain")
            self.assertEqual(reply.status, 200, body)
            self.assertIn("shop::divide(int, int)", reply.text())
            self.assertIn("shop.cc:", reply.text())
        reply = self.server.post("/api/v1/symbolicate", "unknown.so+0x10\n", "text/plain",
                                 {"Accept": "application/json"})
        value = reply.json()
        self.assertEqual(value["text"], "unknown.so+0x10\n")
        self.assertEqual(value["missing"], [{"debug_id": "", "name": "unknown.so"}])
        self.assertEqual(self.server.post("/api/v1/symbolicate", "no report", "text/plain").status,
                         422)

    def test_limits(self):
        """Too large is 413; of large ones that come at once some are told to come again."""
        big = b"0x1\n" * (1 << 17)
        self.assertEqual(self.server.post("/api/v1/symbolicate", big * 17, "text/plain").status, 413)
        self.assertEqual(self.server.post("/symbolicate/v5", big * 9, "text/plain").status, 413)
        with concurrent.futures.ThreadPoolExecutor(6) as pool:
            replies = list(pool.map(lambda _: self.server.post(
                "/api/v1/symbolicate", big, "text/plain"), range(6)))
        statuses = {reply.status for reply in replies}
        self.assertIn(200, statuses)
        self.assertLessEqual(statuses, {200, 503})
        for reply in replies:
            if reply.status == 503:
                self.assertTrue(reply.headers["Retry-After"])
            else:
                self.assertEqual(reply.text().encode(), big)
        self.assertEqual(self.server.post("/api/v1/symbolicate", big, "text/plain").status, 200)

    @unittest.skipUnless(os.path.isdir(SHARED), "no shared data here")
    def test_reports(self):
        """Reports of all forms without a known image come back as they were; with hostile bytes
        too."""
        folder = os.path.join(SHARED, "reports")
        seen = 0
        for name in sorted(os.listdir(folder)):
            body = self.read(os.path.join(folder, name))
            if not name.endswith((".ips", ".crash", ".json", ".log")) or len(body) > 8 << 20:
                continue
            reply = self.server.post("/api/v1/symbolicate", body, "application/octet-stream",
                                     {"Accept": "application/json"})
            if reply.status == 422:
                continue
            self.assertEqual(reply.status, 200, name)
            value = reply.json()
            seen += 1
            if not name.startswith("symbolicate-v5") and not b"\xff" in body:
                self.assertEqual(value["text"], body.decode(errors="replace"), name)
        self.assertGreater(seen, 8)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=1)
