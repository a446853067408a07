#!/usr/bin/env python3
"""edge_test.py PATH/framewalk-collector [TEST...]: what somebody at the server's edge may try: heads
that can be read in two ways, addresses that are made up, other projects' tokens, and what the log
and the figures tell."""

import contextlib, os, re, socket, sqlite3, subprocess, sys, unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from server import Server, program

ALL = ["reports:write", "symbols:write", "read", "symbols:read", "triage", "admin"]
SECOND = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"


def exchange(server, data):
    """All that comes back until the server closes, or is quiet for a while."""
    with socket.create_connection(("127.0.0.1", server.port)) as c:
        c.settimeout(3)
        c.sendall(data)
        got = b""
        try:
            while piece := c.recv(65536):
                got += piece
        except TimeoutError:
            return got, False
        except ConnectionResetError:
            pass
        return got, True


class Heads(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.s = Server().__enter__()

    @classmethod
    def tearDownClass(cls):
        cls.s.__exit__(None, None, None)

    def test_two_ways_to_read(self):
        """A request that another server may end elsewhere: refused, and nothing behind it read."""
        for head in ("Content-Length: 3\r\nContent-Length: 5", "Content-Length: 3\r\nContent-Length: 3",
                     "Content-Length: 3\r\nTransfer-Encoding: chunked", "Transfer-Encoding: gzip",
                     "Transfer-Encoding: xchunked", "Transfer-Encoding: gzip, chunked",
                     "Transfer-Encoding: identity\r\nTransfer-Encoding: chunked",
                     "Transfer-Encoding:\x0bchunked", "Transfer-Encoding : chunked",
                     "Content-Length : 3", "Content-Length\t: 3", "Host: other\r\nContent-Length: 3",
                     "Content Length: 3", "X(): 1\r\nContent-Length: 3"):
            data = ("POST /api/v1/session HTTP/1.1\r\nHost: x\r\n%s\r\n\r\nabcde" % head).encode()
            got, closed = exchange(self.s, data + SECOND)
            self.assertTrue(got.startswith(b"HTTP/1.1 400 "), (head, got))
            self.assertTrue(closed, head)
            self.assertEqual(got.count(b"HTTP/1.1 "), 1, (head, got))
        got, closed = exchange(self.s, b"POST /api/v1/session HTTP/1.0\r\nTransfer-Encoding: chunked"
                               b"\r\nConnection: keep-alive\r\n\r\n0\r\n\r\n" + SECOND)
        self.assertTrue(got.startswith(b"HTTP/1.") and b" 400 " in got[:16], got)
        self.assertTrue(closed)
        self.assertNotIn(b" 200 ", got)

    def test_answers_of_the_library(self):
        """What libmicrohttpd refuses before it asks us (docs/dependencies.md): the end of the connection, nothing behind it
        is read, and the server goes on."""
        post = b"POST /api/v1/session HTTP/1.1\r\nHost: x\r\n"
        for data, status in ((b"GET /healthz HTTP/1.1\r\n\r\n", b"400"),
                             (post + b"Content-Length: -1\r\n\r\n", b"400"),
                             (post + b"Content-Length: +5\r\n\r\nabcde", b"400"),
                             (post + b"Transfer-Encoding: chunked\r\n\r\n2;a=" + b"b" * 33000 + b"\r\n{}\r\n0\r\n\r\n",
                              b"(?:4..|500)")):
            got, closed = exchange(self.s, data + SECOND)
            self.assertRegex(got, rb"\AHTTP/1\.1 " + status + b" ")
            self.assertNotIn(b" 200 ", got)
            self.assertTrue(closed, data[:60])
            self.assertEqual(self.s.get("/healthz", token=None).status, 200)

    def test_one_way_to_read(self):
        chunked = (b"POST /api/v1/session HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: Chunked\r\n\r\n"
                   b"2\r\n{}\r\n0\r\n\r\n")
        got, _ = exchange(self.s, chunked + SECOND)
        self.assertEqual(re.findall(rb"HTTP/1.1 (\d+)", got), [b"401", b"200"])

    def test_log(self):
        """No secret gets into the log, wherever it was written; nonsense does not fill it."""
        with Server() as s:
            for path in ("/s/" + s.token, "//s/%s/x" % s.token, "/api/v1/" + s.token):
                self.assertIn(s.post(path, token=None).status, (404, 405), path)
            token = s.new_token(["read"], label="a label " + s.token[:40])
            self.assertEqual(s.post("/api/v1/projects", b"{}", token=token).status, 403)
            for _ in range(200):
                exchange(s, b"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: none\r\n\r\n")
            s.stop()
            log = "".join(s.log)
            self.assertIn("405", log)
            self.assertIn("fwt_*", log)
            self.assertNotIn(s.token[:12], log)
            self.assertLess(len(s.log), 150)

    def test_no_core_files(self):
        with open("/proc/%d/limits" % self.s.process.pid) as file:
            soft = [line.split()[4] for line in file if line.startswith("Max core")]
        self.assertEqual(soft, ["0"])


class Projects(unittest.TestCase):
    """A token of one project, with every scope, sees and touches nothing of another one."""

    @classmethod
    def setUpClass(cls):
        cls.s = Server().__enter__()
        status, value = cls.s.json("POST", "/api/v1/projects", {"slug": "other", "name": "Other"})
        assert status == 201, value
        cls.mine = cls.s.new_token(ALL, project="default")

    @classmethod
    def tearDownClass(cls):
        cls.s.__exit__(None, None, None)

    def test_every_route(self):
        routes = subprocess.run([program(), "--routes"], capture_output=True, text=True).stdout
        tried = 0
        for method, pattern in (line.split(" ", 1) for line in routes.splitlines()):
            if "/projects/{" not in pattern:
                continue
            path = re.sub(r"/projects/\{\w+\}", "/projects/other", pattern)
            path = re.sub(r"\{\w+\}", "1", path)
            body = b"{}" if method in ("POST", "PUT") else None
            type = {"Content-Type": "application/json"} if body else {}
            reply = self.s.request(method, path, body, type, token=self.mine)
            self.assertIn(reply.status, (403, 404), (method, path, reply.text()))
            allowed = self.s.request(method, path, body, type)
            self.assertNotEqual(allowed.status, 403, (method, path))
            tried += 1
        self.assertGreater(tried, 15)

    def test_by_query(self):
        for method, path in (("GET", "/api/v1/symbols/missing?project=other"),
                             ("POST", "/api/v1/reports?project=other")):
            type = {"Content-Type": "application/vnd.framewalk.reports"}
            reply = self.s.request(method, path, b"x" if method == "POST" else None, type,
                                   token=self.mine)
            self.assertIn(reply.status, (403, 404), (path, reply.text()))

    def test_of_the_server(self):
        for path in ("/api/v1/audit",):
            self.assertEqual(self.s.get(path, token=self.mine).status, 403, path)
        status, value = self.s.json("GET", "/api/v1/server", token=self.mine)
        self.assertEqual(status, 200)
        limits = value["limits"]
        self.assertEqual((limits["report_bytes"], limits["import_bytes"], limits["part_bytes"]),
                         (2 << 20, 20 << 20, 64 << 20))

    def test_jobs_of_others(self):
        """Subjects of jobs are others' uploads and projects: a failed one of each kind, by hand."""
        database = os.path.join(self.s.folder, "db", "main.sqlite")
        with contextlib.closing(sqlite3.connect(database)) as db, db:
            for kind, subject in (("rules", "1"), ("rules", "2"), ("convert", "0" * 32), ("names", "1")):
                db.execute("INSERT INTO job (kind, subject, payload, state, run_ms, message, created_ms,"
                           " changed_ms) VALUES (?, ?, '', 3, 0, 'failed', 0, 0)", (kind, subject))
        for token, seen in ((self.mine, {("rules", "1")}), (self.s.token, {
                ("rules", "1"), ("rules", "2"), ("convert", "0" * 32), ("names", "1")})):
            jobs = self.s.json("GET", "/api/v1/server", token=token)[1]["jobs"]
            self.assertEqual({(j["kind"], j["subject"]) for j in jobs if j["state"] == "failed"}, seen)

    def test_tokens(self):
        self.assertEqual([i["slug"] for i in self.s.json("GET", "/api/v1/projects", token=self.mine)[1]
                          ["items"]], ["default"])
        theirs = self.s.new_token(["read"], project="other")
        items = self.s.json("GET", "/api/v1/tokens", token=self.mine)[1]["items"]
        self.assertEqual({i["project"] for i in items}, {"default"})
        listed = self.s.json("GET", "/api/v1/tokens")[1]["items"]
        other = [i["id"] for i in listed if i["project"] == "other"]
        self.assertEqual(self.s.request("DELETE", "/api/v1/tokens/%d" % other[0],
                                        token=self.mine).status, 404)
        self.assertEqual(self.s.get("/api/v1/server", token=theirs).status, 200)

    def test_project_of_another_type(self):
        """Never a token of all projects by a mistake."""
        for project in (5, True, False, ["default"], {"slug": "default"}, 0.5):
            for kind in ("token", "key"):
                status, value = self.s.json("POST", "/api/v1/tokens", {
                    "kind": kind, "label": "x", "scopes": ["read"], "project": project})
                self.assertEqual(status, 400, (project, value))


class Addresses(unittest.TestCase):
    def metrics(self, s, token=None, **headers):
        return s.get("/metrics", token=token,
                     headers={k.replace("_", "-"): v for k, v in headers.items()}).status

    def test_figures(self):
        with Server() as s:
            self.assertEqual(self.metrics(s), 200)
            for name in ("X_Forwarded_For", "Forwarded", "Via"):
                self.assertEqual(self.metrics(s, **{name: "127.0.0.1"}), 401, name)
            far = {"X_Forwarded_For": "192.0.2.1"}
            self.assertEqual(self.metrics(s, s.new_token(["read"]), **far), 200)
            self.assertEqual(self.metrics(s, s.new_token(["read"], project="default"), **far), 401)

    def test_trusted_proxy(self):
        with Server("--trusted-proxy", "127.0.0.0/8", "--trusted-proxy", "10.0.0.1") as s:
            for value, status in (("127.0.0.1", 200), ("192.0.2.1", 401), ("192.0.2.1, 10.0.0.1", 401),
                                  ("127.0.0.1, 192.0.2.1", 401), ("127.0.0.1, 10.0.0.1", 200),
                                  ("nonsense", 200), ("::1", 200), ("[::1]:80", 200),
                                  ("[2001:db8::1]:80, 127.0.0.9", 401), (",", 200)):
                self.assertEqual(self.metrics(s, X_Forwarded_For=value), status, value)
            two = b"GET /metrics HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: 127.0.0.1\r\n" \
                  b"x-forwarded-for: 192.0.2.7\r\nConnection: close\r\n\r\n"
            self.assertIn(b" 401 ", exchange(s, two)[0][:20])
            s.stop()
            log = "".join(s.log)
            self.assertIn(" 192.0.2.7 GET /metrics: 401", log)
            self.assertIn(" 2001:db8::1 GET /metrics: 401", log)

    def test_untrusted(self):
        """Without the option, and from a proxy that is another, nothing of it counts."""
        for options in ([], ["--trusted-proxy", "10.0.0.0/8"]):
            with Server(*options) as s:
                for i in range(12):
                    status = s.json("POST", "/api/v1/session", {"token": "x"}, token=None,
                                    headers={"X-Forwarded-For": "192.0.2.%d" % i})[0]
                self.assertEqual(status, 429)

    def test_counted_apart(self):
        with Server("--trusted-proxy", "127.0.0.1") as s:
            def sign_in(address):
                return s.json("POST", "/api/v1/session", {"token": "x"}, token=None,
                              headers={"X-Forwarded-For": address})[0]
            for i in range(20):
                self.assertEqual(sign_in("192.0.2.%d" % i), 401)
            for i in range(12): # one client has many addresses of IPv6
                status = sign_in("2001:db8::%x:1" % i)
            self.assertEqual(status, 429)
            self.assertEqual(sign_in("2001:db8:0:1::1"), 401)

    def test_wrong_options(self):
        for value in ("", "x", "10.0.0.0/33", "::1/129", "10.0.0.1/", "10.0.0.1/a", "10.0.0"):
            done = subprocess.run([program(), "--trusted-proxy", value], capture_output=True, text=True,
                                  timeout=20)
            self.assertEqual(done.returncode, 2, value)
            self.assertIn("--trusted-proxy", done.stderr)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]] + [a for a in sys.argv[2:]], verbosity=1)
