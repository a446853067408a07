"""Clients that mean harm, against one server: it answers /healthz within a second, stays below
400 MB, and no answer is a 500. What each part of the server refuses by itself is in http_test.py,
access_test.py, api_test.py and uploads_test.py; here it comes all at once and end to end.
"""
import gzip
import io
import json
import os
import random
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import api_support
from debug_files import bomb_zip, dwarf_bomb, send
from load import TYPE, SQLite, Watch, line, made_reports, until_idle
from server import Server, program

MAKE = next(a for a in sys.argv[1:] if os.path.basename(a).endswith("collector_make"))
P = "/api/v1/projects/default/"
MB = 1 << 20
# The sanitizers' own memory is not the server's.
SANITIZED = any(word in open(program(), "rb").read() for word in (b"__asan_init", b"__tsan_init"))


def frames_ips(frames, images=1, threads=1):
    """A crash report with that many frames."""
    head = b'{"app_name":"a","bug_type":"309","os_version":"x"}\n'
    one = b",".join([b'{"imageOffset":%d}' % (i % 10) for i in range(10)])
    body = io.BytesIO()
    body.write(b'{"procName":"a","faultingThread":0,"threads":[')
    for thread in range(threads):
        body.write(b'%s{"triggered":true,"frames":[%s]}' % (
            b"," if thread else b"", b",".join([one] * (frames // threads // 10))))
    body.write(b'],"usedImages":[' + b",".join([b'{"name":"%d"}' % i for i in range(images)]) + b"]}")
    return head + body.getvalue()


class Hostile(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server("--requests-per-minute", "0", "--disk-reserve", "1M", "--upload-limit", "256M",
                            "--unpacked-limit", "128M", "--convert-memory", "512M", "--convert-seconds", "10").start()
        cls.key = cls.server.new_key()
        cls.watch = Watch(cls.server).__enter__()
        cls.folder = tempfile.TemporaryDirectory(prefix="framewalk-test-")

    @classmethod
    def tearDownClass(cls):
        cls.watch.__exit__()
        peak = cls.peak()
        log = "".join(cls.server.log)
        cls.server.__exit__(None, None, None)
        cls.folder.cleanup()
        print("server's memory at most %d MB, slowest /healthz %.2f s" % (peak >> 10, cls.watch.slowest))
        assert cls.watch.wrong == [], cls.watch.wrong[:3]
        assert cls.watch.texts == {"ok"}, cls.watch.texts
        assert SANITIZED or peak < 400 << 10, peak
        assert cls.watch.slowest < 1 or SANITIZED or os.getloadavg()[0] > 2 * os.cpu_count(), cls.watch.slowest
        assert not re.search(r": 500 after", log), re.findall(".*: 500 after.*", log)[:5]

    @classmethod
    def peak(cls):
        """In kB."""
        with open("/proc/%d/status" % cls.server.process.pid) as status:
            return int(re.search(r"VmHWM:\s+(\d+)", status.read()).group(1))

    def at_once(self, count, work):
        """The answers' statuses."""
        statuses, lock = [], threading.Lock()

        def one(number):
            try:
                status = work(number)
            except OSError:
                status = 0  # dropped
            with lock:
                statuses.append(status)
        threads = [threading.Thread(target=one, args=(i,)) for i in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        print(self.id().split(".")[-1], {s: statuses.count(s) for s in set(statuses)}, "peak %d MB" % (self.peak() >> 10),
              flush=True)
        self.assertNotIn(500, statuses)
        return set(statuses)

    # --- bombs ---

    def test_packed_bodies(self):
        bombs = [gzip.compress(b"\0" * (500 * MB), 9)]
        zstd = subprocess.run(["zstd", "-q", "-19", "-c"], input=b"\0" * (500 * MB), stdout=subprocess.PIPE,
                              check=False) if subprocess.run(["which", "zstd"], stdout=subprocess.DEVNULL,
                                                             check=False).returncode == 0 else None
        codings = ["gzip"]
        if zstd:
            bombs.append(zstd.stdout)
            codings.append("zstd")
        paths = ["/api/v1/reports", P + "import", "/api/v1/symbolicate", "/symbolicate/v5"]

        def work(number):
            which = number % len(bombs)
            return self.server.post(paths[number % 4], bombs[which], TYPE, token=self.key if number % 4 < 2 else True,
                                    headers={"Content-Encoding": codings[which]}).status
        self.assertLessEqual(self.at_once(16, work), {413, 503, 400, 415})

    def test_archives_and_debug_files(self):
        if subprocess.run(["which", "cc"], stdout=subprocess.DEVNULL, check=False).returncode:
            self.skipTest("no C compiler")
        for name, data in (("bomb.zip", bomb_zip(1 << 30)), ("bomb.so", dwarf_bomb(self.folder.name)),
                           ("gz.tar.gz", gzip.compress(b"\0" * (300 * MB)))):
            result = send(self.server, data, name, seconds=100)
            self.assertIn(result["state"], ("done", "failed"))
            print(name, result["state"], result["message"][:100])

    # --- reports ---

    def test_a_million_frames(self):
        """More than half a million are refused; as many as are taken can be looked at."""
        body = gzip.compress(frames_ips(1000000), 1)
        self.assertLessEqual(self.at_once(6, lambda number: self.server.post(
            P + "import", body, token=self.key, headers={"Content-Encoding": "gzip"}, timeout=120).status), {422, 503})
        body = gzip.compress(frames_ips(500000), 1)
        self.at_once(6, lambda number: self.server.post(
            P + "import", body, token=self.key, headers={"Content-Encoding": "gzip"}, timeout=120).status)
        body = gzip.compress(frames_ips(500000, threads=10000), 1)
        self.at_once(3, lambda number: self.server.post(
            P + "import", body, token=self.key, headers={"Content-Encoding": "gzip"}, timeout=120).status)
        self.at_once(6, lambda number: self.server.post(
            "/api/v1/symbolicate", body, headers={"Content-Encoding": "gzip"}, timeout=120).status)
        until_idle(self.server)
        large = [r["id"] for r in self.server.json("GET", P + "reports?days=400")[1]["items"]]
        self.assertGreaterEqual(len(large), 2)
        self.at_once(12, lambda number: self.server.get(P + "reports/" + large[number % 2], timeout=120).status)
        self.at_once(12, lambda number: self.server.get(P + "reports/%s/download?to=text" % large[number % 2],
                                                        timeout=120).status)

    def test_a_million_images(self):
        body = gzip.compress(frames_ips(10, images=1000000), 1)
        self.at_once(6, lambda number: self.server.post(
            P + "import", body, token=self.key, headers={"Content-Encoding": "gzip"}, timeout=120).status)

    def test_frames_of_ours(self):
        """A million fields behind the first record of our own format, as far as 2 MB hold them."""
        id, report = made_reports(MAKE, 1, 77)[0]
        for kind in range(1, 24):
            try:
                big = api_support.changed(report, kind, b"\x0a\x00" * 900000)
            except AssertionError:
                continue
            reply = self.server.post("/api/v1/reports", line(id, big), TYPE, token=self.key)
            self.assertIn(reply.status, (200, 400), kind)

    def test_deep_json(self):
        deep = [b"[" * (10 * MB), b'{"a":' * (2 * MB), b'{"threads":' + b"[" * MB,
                b'{"app_name":"a","bug_type":"309"}\n' + b'{"threads":[' * 500000]
        paths = [(P + "import", "x"), ("/symbolicate/v5", "application/json"), ("/api/v1/symbols/have", "application/json"),
                 ("/api/v1/tokens", "application/json"), (P + "rules/preview", "application/json"),
                 ("/api/v1/symbolicate", "text/plain"), ("/api/v1/session", "application/json")]
        work = [(path, type, body) for path, type in paths for body in deep]
        statuses = self.at_once(len(work), lambda n: self.server.post(work[n][0], work[n][2], work[n][1],
                                                                      timeout=120).status)
        self.assertLessEqual(statuses, {0, 400, 403, 413, 415, 422, 429, 503, 200})

    # --- connections ---

    def raw(self, data, seconds=5):
        with socket.create_connection(("127.0.0.1", self.server.port), timeout=seconds) as s:
            try:
                s.sendall(data)
                return s.recv(100)
            except OSError:
                return b""

    def test_heads(self):
        for head in (b"GET /healthz HTTP/1.1\r\nHost: x\r\n" + b"X: " + b"a" * (4 * MB) + b"\r\n\r\n",
                     b"GET /healthz HTTP/1.1\r\nHost: x\r\n" + b"".join(b"X%d: y\r\n" % i for i in range(100000)) + b"\r\n",
                     b"GET /" + b"a" * MB + b" HTTP/1.1\r\nHost: x\r\n\r\n",
                     b"GET /?" + b"a=b&" * 200000 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
                     b"A" * MB, b"\0" * MB, b"\r\n" * MB,
                     b"GET /healthz HTTP/1.1\r\nHost: x\r\nCookie: " + b"a=b;" * 100000 + b"\r\n\r\n"):
            answer = self.raw(head)
            self.assertNotIn(b" 200 ", answer[:20])
            self.assertNotIn(b" 500 ", answer[:20])

    def test_slow(self):
        """Heads that never end, bodies that never come, replies that nobody reads: 600 connections."""
        connections = []
        head = b"POST /api/v1/reports HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Type: %s\r\n" \
               % (self.key.encode(), TYPE.encode())
        auth = b"Authorization: Bearer %s\r\n" % self.server.token.encode()
        try:
            for number in range(600):
                s = socket.create_connection(("127.0.0.1", self.server.port), timeout=5)
                kind = number % 3
                if kind == 0:
                    s.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\nX-")
                elif kind == 1:
                    s.sendall(head + b"Content-Length: 20000000\r\n\r\n" + b"x" * 1000)
                else:
                    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                    s.sendall((b"GET " + P.encode() + b"overview HTTP/1.1\r\nHost: x\r\n" + auth + b"\r\n") * 20)
                connections.append(s)
            began = time.monotonic()
            while time.monotonic() < began + 5:
                self.assertEqual(self.server.get("/api/v1/server").status, 200)
                for s in random.sample(connections, 20):
                    try:
                        s.send(b"x")
                    except OSError:
                        pass
        finally:
            for s in connections:
                s.close()

    # --- access ---

    def test_wrong_tokens(self):
        """From one address: after some tries it is told to wait; who has a good one is served."""
        statuses = self.at_once(400, lambda n: self.server.get(
            "/api/v1/server", token="fwt_%064x" % random.getrandbits(256)).status)
        self.assertLessEqual(statuses, {401, 429, 503, 0})
        self.assertEqual(self.server.get("/api/v1/server").status, 200)

    def test_paths(self):
        """Tricks in every part of every route: nothing but refusals, nothing of the machine."""
        listed = subprocess.run([program(), "--routes"], stdout=subprocess.PIPE, check=True, text=True).stdout
        tricks = ["..", "%2e%2e", "..%2f..%2f..%2fetc%2fpasswd", "..%252f..%252fetc%252fpasswd", "%00", "a%00b",
                  "....//", "..%5c..%5cetc", "%c0%ae%c0%ae", "~root", "-1", "9223372036854775808", "1e400",
                  "'%20OR%201=1--", "%22;DROP%20TABLE%20report;--", "%ff%fe", "a" * 5000, "", ".", "*", "$(id)",
                  "%0d%0aSet-Cookie:%20a=b"]
        routes = [words.split()[:2] for words in listed.splitlines() if len(words.split()) >= 2]
        self.assertGreater(len(routes), 40)
        secret = open("/etc/passwd", "rb").read()[:20]
        count = 0
        for method, pattern in routes:
            parts = re.findall(r"\{[^}]*\}", pattern)
            for trick in tricks if parts else []:
                for part in parts:
                    path = pattern.replace(part, trick, 1)
                    path = re.sub(r"\{[^}]*\}", "default", path)
                    reply = self.server.request(method, path, b"{}" if method != "GET" else None,
                                                {"Content-Type": "application/json"} if method != "GET" else None)
                    count += 1
                    self.assertNotEqual(reply.status, 500, (method, path))
                    self.assertNotIn(secret, reply.body, (method, path))
                    self.assertNotIn("Set-Cookie", reply.headers)
        print(count, "paths")

    # --- what one key may bring ---

    def test_floods(self):
        """Three more of everything than there may be: they count as "(other)"."""
        with Server("--requests-per-minute", "0", "--disk-reserve", "1M") as server:
            db, key = SQLite(server), server.new_key()
            # As if the project had brought nearly all that it may.
            for kind, most in ((1, 10000), (2, 10000), (4, 10000), (5, 100000), (6, 1000000), (7, 100000)):
                db.change("INSERT OR REPLACE INTO made VALUES (1, %d, %d)" % (kind, most - 3))
            for number in range(8):
                reply = server.post(P + "import", flood_ips(number), token=key)
                self.assertEqual(reply.status, 201, reply.body)
                until_idle(server)
            self.assertEqual(db.one("SELECT COUNT(*) FROM report"), 8)
            for sql in ("version", "term WHERE kind = 1", "term WHERE kind = 2", "image", "stack", "hang_group"):
                self.assertEqual(db.one("SELECT COUNT(*) FROM " + sql), 4, sql)
            self.assertEqual(db.rows("SELECT reports FROM hang_group ORDER BY id"), [("1",)] * 3 + [("5",)])
            overview = server.json("GET", P + "overview?days=400")[1]
            self.assertIn("(other)", [v["version"] for v in overview["versions"]])
            self.assertEqual(sum(v["reports"] for v in overview["versions"]), 8)
            groups = server.json("GET", P + "groups?days=400&status=all")[1]["items"]
            self.assertEqual(sorted(g["reports"] for g in groups), [1, 1, 1, 5])
            self.assertTrue(any("further ones count as (other)" in text for text in server.log))
            for item in groups:
                self.assertEqual(server.get(P + "groups/%d" % item["id"]).status, 200)
            # What was there before goes on to be told apart.
            reply = server.post(P + "import", flood_ips(0, 1), token=key)
            until_idle(server)
            self.assertEqual(sorted(db.rows("SELECT reports FROM hang_group")), sorted([("1",)] * 2 + [("2",), ("5",)]))


def flood_ips(number, again=0):
    head = {"app_name": "Shop", "app_version": "%d.0" % number, "build_version": "", "bug_type": "309",
            "timestamp": "2026-11-20 10:%02d:%02d.00 +0000" % (again, number), "os_version": "OS %d" % number,
            "incident_id": "0"}
    body = {"procName": "Shop", "faultingThread": 0, "modelCode": "Phone%d" % number,
            "captureTime": "2026-11-20 10:%02d:%02d.0000 +0000" % (again, number), "bug_type": "309",
            "bundleInfo": {"CFBundleShortVersionString": "%d.0" % number},
            "threads": [{"triggered": True, "frames": [{"imageIndex": 0, "imageOffset": 4096}]}],
            "usedImages": [{"source": "P", "arch": "arm64", "base": 4294967296, "size": 65536, "name": "Shop%d" % number,
                            "path": "/Applications/Shop%d" % number, "uuid": "%08d-0000-0000-0000-000000000001" % number}]}
    return (json.dumps(head) + "\n" + json.dumps(body)).encode()


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + [a for a in sys.argv[1:] if a.startswith("Hostile")], verbosity=2)
