#!/usr/bin/env python3
"""isolation_test.py framewalk-collector post_body framewalk [--postgres] [TEST...]: what one project sends is
its own. A table has every route of the server (--routes) with what a token of another project gets
there; a route that is not in it fails the test."""

import base64, contextlib, hashlib, json, os, subprocess, sys, tempfile, time, unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import postgres
import server as server_module
from api_support import made_reports, record, send as send_reports, tool, wait_processed
from debug_files import create, named_elf, patch, send, wait

POSTGRES = postgres.Server() if "--postgres" in sys.argv else None
ALL = ["reports:write", "symbols:write", "read", "symbols:read", "triage", "admin"]
SHARED_LIBRARY = "cd" * 20


class Server(server_module.Server):
    def __init__(self, *options, **more):
        super().__init__(*options, **more)
        if POSTGRES:
            self.options += ["--database", POSTGRES.database("isolation%d" % id(self))]


def renamed(report, old, new):
    """The report with every record's `old` as `new`, of the same length."""
    assert len(old) == len(new)
    out, at = report[:8], 8
    while at < len(report):
        size = int.from_bytes(report[at:at + 4], "little")
        out += record(report[at + 4], report[at + 12:at + 12 + size].replace(old, new))
        at += 12 + (size + 3) // 4 * 4
    return out


def breakpad(identity):
    b = bytes.fromhex(identity)[:16]
    return (b[3::-1] + b[5:3:-1] + b[7:5:-1] + b[8:]).hex().upper() + "0"


class Isolation(unittest.TestCase):
    """Alice's project has reports and debug files; Mallory has every right in another project, and
    sends reports with the same build ids under other names, before Alice does."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="framewalk-isolation-")
        cls.addClassCleanup(cls.folder.cleanup)
        cls.s = Server().__enter__()
        cls.addClassCleanup(cls.s.__exit__, None, None, None)
        for slug in "alice", "mallory":
            assert cls.s.json("POST", "/api/v1/projects", {"slug": slug, "name": slug})[0] == 201
        cls.alice = cls.s.new_token(ALL, "alice", "alices-build-machine")
        cls.mallory = cls.s.new_token(ALL, "mallory", "mallory")
        alices_key = cls.s.new_key("alice", "alices-app")
        reports = made_reports(seed=3, count=40, calls=500)
        theirs = [(i, renamed(renamed(r, b"/opt/shop/lib/", b"/mnt/evil/lib/"), b"libcatalog",
                              b"libmallory")) for i, r in reports]
        send_reports(cls.s, cls.s.new_key("mallory"), theirs)
        wait_processed(cls.s)
        send_reports(cls.s, alices_key, reports)
        wait_processed(cls.s)
        cls.report = reports[0][0]
        missing = cls.of("alice", cls.alice, "/api/v1/symbols/missing?project=alice&limit=200")
        cls.image = {i["name"]: i["debug_id"] for i in missing["items"]}["libcatalog.so.2"]
        cls.elf = named_elf(cls.folder.name, cls.image).replace(b"named_", b"alice_")
        cls.upload = cls.send_as(cls.alice, cls.elf, "libcatalog.so.2.secret")
        cls.file = cls.of("alice", cls.alice, "/api/v1/symbols/files")["items"][0]["id"]
        cls.settle()
        cls.group = cls.of("alice", cls.alice, "/api/v1/projects/alice/groups")["items"][0]["id"]
        cls.secrets = [b"/opt/shop/lib/", b"libcatalog", b"alice_", b"alices-", b".secret"]

    @classmethod
    def of(cls, project, token, path):
        reply = cls.s.get(path, token=token)
        assert reply.status == 200, (path, reply.status, reply.body)
        return reply.json()

    @classmethod
    def send_as(cls, token, data, name):
        class As:
            def __getattr__(self, attribute):
                return getattr(cls.s, attribute)

            @staticmethod
            def request(method, path, body=None, headers=None, **rest):
                return cls.s.request(method, path, body, headers, token=token)

            @staticmethod
            def get(path):
                return cls.s.get(path, token=token)
        made = create(As(), data, name)
        assert made.status in (200, 201), (made.status, made.body)
        place, at = made.headers["Location"], int(made.headers["Upload-Offset"])
        if at < len(data):
            reply = patch(As(), place, at, data[at:])
            assert reply.status == 204, (reply.status, reply.body)
        result = wait(As(), place)
        assert result["state"] == "done", result
        return result["id"]

    @classmethod
    def settle(cls):
        """Until no job runs."""
        end = time.monotonic() + 60
        while time.monotonic() < end:
            jobs = cls.s.json("GET", "/api/v1/server")[1]["jobs"]
            if not [j for j in jobs if j["kind"] in ("names", "convert", "groups")]:
                return
            time.sleep(0.1)
        raise AssertionError("jobs still run: %s" % jobs)

    # ---- what a reply may have ----

    def clean(self, reply, what):
        body = reply.body
        if reply.headers.get("Content-Encoding") == "gzip":
            body = reply.text().encode()
        for secret in self.secrets:
            self.assertNotIn(secret, body, what)
        return reply

    def request(self, method, path, value=None, token=None, **headers):
        body = value if isinstance(value, bytes) else json.dumps(value).encode() \
            if value is not None else None
        if value is not None:
            headers.setdefault("Content-Type", "application/json")
        return self.s.request(method, path, body, headers, token=token or self.mallory)

    def refused(self, status, method, path, value=None, **headers):
        reply = self.clean(self.request(method, path, value, **headers), path)
        self.assertEqual(reply.status, status, (method, path, reply.body))

    def as_if_absent(self, method, path, here, absent, value=None, **headers):
        """Another's thing gets the answer of one that is not there at all."""
        theirs = self.request(method, path % here, value, **headers)
        none = self.request(method, path % absent, value, **headers)
        self.clean(theirs, path)
        self.assertGreaterEqual(theirs.status, 400, (method, path))
        self.assertEqual((theirs.status, theirs.body.replace(str(here).encode(), b"")),
                         (none.status, none.body.replace(str(absent).encode(), b"")),
                         (method, path))

    # ---- the table ----

    def of_project(self, method, pattern):
        """A route of a project: another's is as one that is not there, one's own is clean."""
        part = "{project}" if "{project}" in pattern else "{P}"
        number = self.report if "/reports/{id}" in pattern else str(self.group)
        bodies = {"PUT": {"text": "function:x -> app\n"}, "POST": {"install": "x", "ids": [],
                  "status": "ignored", "text": "", "api": "open", "caller": "x", "note": ""}}
        value = bodies.get(method)
        path = pattern.replace("{id}", number).replace("%", "%%").replace(part, "%s")
        self.as_if_absent(method, path, "alice", "nobody-has-it", value)
        if "{id}" in pattern: # another's group or report, below one's own project
            reply = self.clean(self.request(method, path % "mallory", value), path)
            if "/reports/" not in pattern: # the same report was sent to both
                self.assertGreaterEqual(reply.status, 400, (method, path, reply.body))
        elif method == "GET":
            self.clean(self.request(method, path % "mallory"), path)

    def buildid(self, method, pattern):
        path = pattern.replace("{name}", ".text").replace("{rest...}", "opt/shop/lib/a.c")
        self.as_if_absent(method, path.replace("{id}", "%s"), self.image, "ef" * 20)

    def layouts(self, method, pattern):
        for layout in "%s/%s/debuginfo", "%s/%s/executable", "%s/%s/breakpad", \
                ".build-id/%s/%s.debug", ".build-id/%s/%s":
            self.refused(404, "GET", "/symbols/" + layout % (self.image[:2], self.image[2:]))
        sym = "/symbols/libcatalog.so.2/%s/libcatalog.so.2.sym" % breakpad(self.image)
        self.assertIn(b"alice_", self.s.get(sym, token=self.alice).body)
        self.refused(404, "GET", sym)

    def v5(self, method, pattern):
        job = {"jobs": [{"memoryMap": [["x", breakpad(self.image)]], "stacks": [[[0, 8192]]]}]}
        own = self.request("POST", pattern, job, token=self.alice)
        self.assertIn(b"alice_0", own.body)
        reply = self.clean(self.request("POST", pattern, job), pattern)
        self.assertEqual(reply.json()["results"][0]["found_modules"],
                         {"x/" + breakpad(self.image): False})

    def symbolicate(self, method, pattern):
        for line in "%s+0x2000" % self.image, "libcatalog.so.2.secret+0x2000":
            own = self.request("POST", pattern, line.encode(), token=self.alice)
            self.assertIn(b"alice_0", own.body)
            reply = self.request("POST", pattern, line.encode())
            self.assertNotIn(b"alice_", reply.body)

    def have(self, method, pattern):
        asked = {"ids": [{"debug_id": self.image}]}
        self.assertEqual(self.request("POST", pattern, asked, self.alice).json()["missing"], [])
        self.assertEqual(self.request("POST", pattern, asked).json()["missing"], [0])
        self.refused(404, "POST", pattern, dict(asked, project="alice"))
        # Who sends what is to be shared sends it though a project has it for itself.
        self.assertEqual(self.request("POST", pattern, asked, self.s.token).json()["missing"], [0])

    def missing(self, method, pattern):
        self.as_if_absent("GET", pattern + "?project=%s", "alice", "nobody-has-it")
        mine = self.clean(self.request("GET", pattern + "?project=mallory&limit=200"), pattern).json()
        names = {i["debug_id"]: i["name"] for i in mine["items"]}
        self.assertEqual(names[self.image], "libmallory.so.2")

    def files(self, method, pattern):
        for query in "", "?q=libcat", "?q=" + self.image, "?q=" + self.image[:6]:
            self.assertEqual([f for f in self.request("GET", pattern + query)
                              .json()["items"] if f["project"]], [], query)

    def one_file(self, method, pattern):
        if method == "PATCH":
            for project in "mallory", None:
                self.refused(403, method, pattern.replace("{id}", str(self.file)),
                             {"project": project})
        else:
            self.as_if_absent(method, pattern.replace("{id}", "%s"), self.file, 99999999)
        there = self.s.get("/buildid/%s/executable" % self.image, token=self.alice)
        self.assertEqual(there.body, self.elf)

    def uploads(self, method, pattern):
        """The same bytes are sent again: that they are here is not told."""
        digest = base64.b64encode(hashlib.sha256(self.elf).hexdigest().encode()).decode()
        for project, status in ("", 201), (",project " + base64.b64encode(b"alice").decode(), 404):
            reply = self.clean(self.request(method, pattern, None, **{
                "Upload-Length": str(len(self.elf)), "Tus-Resumable": "1.0.0",
                "Upload-Metadata": "filename YQ==,sha256 " + digest + project}), pattern)
            self.assertEqual(reply.status, status, reply.body)
        reply = self.request(method, pattern, None, self.alice, **{
            "Upload-Length": str(len(self.elf)), "Tus-Resumable": "1.0.0",
            "Upload-Metadata": "filename YQ==,sha256 " + digest})
        self.assertEqual(reply.status, 200) # who sent it is told

    def one_upload(self, method, pattern):
        headers = {"Tus-Resumable": "1.0.0"}
        if method == "PATCH":
            headers.update({"Upload-Offset": "0", "Content-Type": "application/offset+octet-stream"})
        self.as_if_absent(method, pattern.replace("{id}", "%s"), self.upload, "0" * 32,
                          b"x" if method == "PATCH" else None, **headers)

    def sources(self, method, pattern):
        if method == "GET":
            self.as_if_absent(method, pattern + "?image=%s&file=/a.c&line=1", self.image, "ef" * 20)
        else:
            self.refused(404, method, pattern, {"debugId": breakpad(self.image), "moduleOffset":
                                                "0x1000", "file": "/opt/shop/lib/a.c"})

    def server_of_all(self, method, pattern):
        value = self.clean(self.request(method, pattern), pattern).json()
        self.assertEqual([j for j in value["jobs"] if j["kind"] != "rules"], [])

    def projects(self, method, pattern):
        if method == "POST":
            self.refused(403, method, pattern, {"slug": "third", "name": "x"})
        else:
            items = self.request(method, pattern).json()["items"]
            self.assertEqual([p["slug"] for p in items], ["mallory"])

    def tokens(self, method, pattern):
        numbers = {t["label"]: t["id"] for t in
                   self.s.json("GET", "/api/v1/tokens?limit=500")[1]["items"]}
        if method == "POST":
            for kind in "token", "key":
                of_alice, of_nobody = (self.request(method, pattern, {
                    "kind": kind, "label": "x", "scopes": ["read"], "project": p}) for p in ("alice", "nobody"))
                self.assertEqual((of_alice.status, of_alice.body), (of_nobody.status, of_nobody.body))
                self.assertEqual(of_alice.status, 403)
            self.refused(403, method, pattern, {"kind": "token", "label": "x", "scopes": ["read"],
                                                "project": None})
        elif method == "DELETE":
            self.as_if_absent(method, pattern.replace("{id}", "%s"),
                              numbers["alices-build-machine"], 99999999)
        else:
            self.clean(self.request(method, pattern + "?limit=500"), pattern)

    def own_session(self, method, pattern):
        self.clean(self.request(method, pattern, {"token": "x"} if method == "POST" else None),
                   pattern)

    def server_alone(self, method, pattern):
        self.refused(403, method, pattern)

    def reports(self, method, pattern):
        """They go where the key is of: setUpClass sent the same ids to both projects."""
        for slug, token in ("alice", self.alice), ("mallory", self.mallory):
            for report in self.of(slug, token, "/api/v1/projects/%s/reports" % slug)["items"][:1]:
                self.assertTrue(report)

    def damaged(self, method, pattern):
        """Alice's damaged file is her business alone."""
        path = os.path.join(self.s.folder, "store", "symbols", self.image[:2], self.image[2:])
        name = next(n for n in os.listdir(path) if n.startswith("executable-"))
        with open(os.path.join(path, name), "r+b") as file:
            file.write(b"X")
        try:
            get = "/buildid/%s/executable" % self.image
            self.assertEqual(self.s.get(get, token=self.alice).status, 500)
            end = time.monotonic() + 30
            while not self.of("alice", self.alice, pattern)["items"]:
                self.assertLess(time.monotonic(), end)
                time.sleep(0.1)
            self.assertEqual(self.clean(self.request(method, pattern), pattern).json()["items"], [])
            self.assertEqual(self.request("GET", "/api/v1/server").json()["damaged"], 0)
            self.assertEqual(self.request("GET", get).status, 404)
        finally:
            with open(os.path.join(path, name), "r+b") as file:
                file.write(self.elf[:1])

    def same_for_all(self, method, pattern):
        """Nothing of a project is in it; what it shows does not depend on who asks."""
        self.clean(self.request(method, pattern.replace("{rest...}", "x")), pattern)

    TABLE = {
        "/api/v1/session": own_session, "/api/v1/projects": projects, "/api/v1/tokens": tokens,
        "/api/v1/tokens/{id}": tokens, "/api/v1/audit": server_alone,
        "/api/v1/server/clock": server_alone, "/api/v1/damaged": damaged, "/api/v1/reports": reports,
        "/api/v1/openapi.yaml": same_for_all, "/api/v1/server": server_of_all,
        "/healthz": same_for_all, "/metrics": same_for_all, "/": same_for_all,
        "/{rest...}": same_for_all, "/api/v1/symbols/source": sources, "/source/v1": sources,
        "/buildid/{id}/executable": buildid, "/buildid/{id}/debuginfo": buildid,
        "/buildid/{id}/section/{name}": buildid, "/buildid/{id}/source/{rest...}": buildid,
        "/symbols/{rest...}": layouts, "/symbolicate/v5": v5, "/api/v1/symbolicate": symbolicate,
        "/api/v1/symbols/have": have, "/api/v1/symbols/missing": missing,
        "/api/v1/symbols/files": files, "/api/v1/symbols/files/{id}": one_file,
        "/api/v1/uploads": uploads, "/api/v1/uploads/{id}": one_upload,
    }
    SAME_FOR_ALL = {("OPTIONS", "/api/v1/uploads")}

    def test_every_route(self):
        listed = subprocess.run([server_module.program(), "--routes"], check=True,
                                capture_output=True, text=True).stdout.split("\n")
        for method, pattern in (line.split(" ", 1) for line in listed if line):
            with self.subTest(route=method + " " + pattern):
                if (method, pattern) in self.SAME_FOR_ALL:
                    check = Isolation.same_for_all
                elif pattern.startswith(("/api/v1/projects/{project}/", "/api/v1/projects/{P}/")):
                    check = Isolation.of_project
                else:
                    check = self.TABLE.get(pattern)
                self.assertIsNotNone(check, "say in TABLE what another project's token gets here")
                check(self, method, pattern)

    # ---- names ----

    def titles(self, slug, token):
        return self.of(slug, token, "/api/v1/projects/%s/groups?limit=200" % slug)["items"]

    def test_each_has_its_own_image_names(self):
        """Whoever comes first with a build id does not decide what others' images are called."""
        alices, mallorys = str(self.titles("alice", self.alice)), \
            str(self.titles("mallory", self.mallory))
        self.assertNotIn("mallory", alices)
        self.assertNotIn("libcatalog", mallorys)
        self.assertIn("libmallory", mallorys)

    def test_debug_files_name_frames_of_their_project_alone(self):
        self.assertIn("alice_", str(self.titles("alice", self.alice)))
        self.assertNotIn("alice_", str(self.titles("mallory", self.mallory)))
        for slug, wanted in ("alice", True), ("mallory", False): # the same for who sees all
            text = self.s.get("/api/v1/projects/%s/flame" % slug).text()
            self.assertEqual("alice_" in text, wanted, slug)

    # ---- two files of one build id; sharing ----

    def names_at(self, token):
        reply = self.request("POST", "/api/v1/symbolicate", b"%s+0x2000" % self.image.encode(),
                             token=token)
        return reply.text()

    def files_of(self, token, identity):
        return [f for f in self.of("", token, "/api/v1/symbols/files")["items"]
                if f["debug_id"] == identity]

    def test_the_same_build_id_from_both(self):
        other = self.elf.replace(b"alice_", b"evil__")
        self.send_as(self.mallory, other, "libmallory.so.2")
        self.settle()
        mine = self.files_of(self.mallory, self.image)
        try:
            self.assertEqual([(f["name"], f["project"]) for f in mine],
                             [("libmallory.so.2", "mallory")])
            self.assertIn("evil__0", self.names_at(self.mallory))
            self.assertIn("alice_0", self.names_at(self.alice))
            self.assertNotIn("evil__", str(self.titles("alice", self.alice)))
            for token, data in (self.alice, self.elf), (self.mallory, other):
                reply = self.s.get("/buildid/%s/executable" % self.image, token=token)
                self.assertEqual(reply.body, data)
        finally:
            for file in mine:
                self.assertEqual(self.request("DELETE", "/api/v1/symbols/files/%d" % file["id"])
                                 .status, 204)
            self.settle()
        self.assertIn("alice_0", self.names_at(self.alice))
        self.assertNotIn("_0", self.names_at(self.mallory))

    def test_the_same_bytes_from_both(self):
        self.send_as(self.mallory, self.elf, "copy")
        mine = self.files_of(self.mallory, self.image)
        self.assertEqual(len(mine), 1)
        self.assertEqual(self.request("DELETE", "/api/v1/symbols/files/%d" % mine[0]["id"]).status,
                         204)
        self.settle()
        reply = self.s.get("/buildid/%s/executable" % self.image, token=self.alice)
        self.assertEqual((reply.status, reply.body), (200, self.elf))

    def test_shared_files(self):
        """What a token of all projects sends is everybody's; nobody else replaces or removes it."""
        data = named_elf(self.folder.name, SHARED_LIBRARY, "system").replace(b"named_", b"everys")
        self.send_as(self.s.token, data, "libsystem.so")
        line = ("%s+0x2000" % SHARED_LIBRARY).encode()
        for token in self.alice, self.mallory, self.s.token:
            self.assertIn(b"everys0", self.request("POST", "/api/v1/symbolicate", line, token).body)
        listed = self.files_of(self.mallory, SHARED_LIBRARY)
        self.assertEqual([(f["project"], f["uploaded_by"]) for f in listed], [(None, "")])
        number = listed[0]["id"]
        self.refused(404, "DELETE", "/api/v1/symbols/files/%d" % number)
        self.refused(403, "PATCH", "/api/v1/symbols/files/%d" % number, {"project": "mallory"})
        self.send_as(self.mallory, data.replace(b"everys", b"evil__"), "libsystem.so")
        for token, name in (self.alice, b"everys0"), (self.s.token, b"everys0"), \
                (self.mallory, b"evil__0"):
            self.assertIn(name, self.request("POST", "/api/v1/symbolicate", line, token).body)
        # An administrator of all gives it to one project, and shares it again.
        for whose, sees in ({"project": "alice"}, False), ({"project": None}, True):
            self.assertEqual(self.request("PATCH", "/api/v1/symbols/files/%d" % number, whose,
                                          self.s.token).status, 204)
            seen = [f["id"] for f in self.of("mallory", self.mallory,
                                             "/api/v1/symbols/files")["items"]]
            self.assertEqual(number in seen, sees, whose)
        self.settle()

    def test_push_says_whose_debug_files_are(self):
        key = server_module.key_file(self.folder.name, "all", self.s.token)
        path = os.path.join(self.folder.name, "pushed.so")
        for number, (options, whose) in enumerate([([], None), (["--project", "alice"], "alice")]):
            identity = "%02x" % (0x70 + number) * 20
            named_elf(self.folder.name, identity, "pushed")
            subprocess.run([tool("framewalk"), "push", "--wait", path, "--to", self.s.url(),
                            "--key-file", key] + options, check=True, capture_output=True)
            self.assertEqual([f["project"] for f in self.files_of(self.s.token, identity)], [whose])
            self.assertEqual(len(self.files_of(self.mallory, identity)), whose is None)
        wrong = subprocess.run([tool("framewalk"), "push", path, "--to", self.s.url(), "--key-file",
                                key, "--project", "nobodys"], capture_output=True, text=True)
        self.assertNotEqual(wrong.returncode, 0)
        self.assertIn("nobodys", wrong.stderr)

    def test_without_a_token_there_are_shared_files_alone(self):
        with Server("--open-symbols") as s:
            own = s.new_token(ALL, "default", "own")
            data = named_elf(self.folder.name, "ab" * 20, "open")
            made = create(s, data, "open", token=own)
            place = made.headers["Location"]
            self.assertEqual(patch(s, place, 0, data, token=own).status, 204)
            self.assertEqual(wait(s, place)["state"], "done")
            path = "/buildid/%s/executable" % ("ab" * 20)
            self.assertEqual(s.get(path, token=own).status, 200)
            self.assertEqual(s.get(path, token=None).status, 404)
            number = s.json("GET", "/api/v1/symbols/files")[1]["items"][0]["id"]
            self.assertEqual(s.json("PATCH", "/api/v1/symbols/files/%d" % number,
                                    {"project": None})[0], 204)
            self.assertEqual(s.get(path, token=None).status, 200)


def main():
    wanted = [a for a in sys.argv[1:] if not os.path.exists(a) and a != "--postgres"]
    unittest.main(argv=[sys.argv[0]] + wanted)


if __name__ == "__main__":
    try:
        with POSTGRES or contextlib.nullcontext():
            main()
    except postgres.Missing as missing:
        print("skip: %s" % missing)
        sys.exit(server_module.SKIP)
