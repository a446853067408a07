#!/usr/bin/env python3
"""http_test.py PATH/framewalk-collector PATH/http_driver [TEST...]: what the server does with
requests before and around handlers, well-formed and not. http_driver has the handlers."""

import base64, gzip, json, os, re, resource, shutil, socket, ssl, subprocess, sys, tempfile, threading, time, unittest
import urllib.parse, zlib

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import server as server_module
from server import Reply, Server

DRIVER = [a for a in sys.argv[1:] if os.path.basename(a) == "http_driver"][0]
FILE = bytes(range(256)) * 1000
KB, MB = 1 << 10, 1 << 20


class Driver(Server):
    """Server's helpers over http_driver."""

    def __init__(self, *arguments):
        super().__init__()
        self.arguments = list(arguments)

    def start(self):
        with open(os.path.join(self.folder, "file"), "wb") as file:
            file.write(FILE)
        self.process = subprocess.Popen([DRIVER, self.folder] + self.arguments, text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE)
        self.reader = threading.Thread(target=self._read_log, daemon=True)
        self.reader.start()
        for line in self.process.stdout:
            if line.startswith("Listening"):
                self.port = int(re.search(r":(\d+)/", line).group(1))
            if line.startswith("First"):
                self.token = line.split()[-1]
            if line == "Ready\n":
                return self
        raise RuntimeError("".join(self.log))

    def stop(self):
        self.process.stdin.close()
        status = self.process.wait(60)
        self.reader.join(5)
        self.process.stdout.close()
        self.process.stderr.close()
        self.process = None
        assert status == 0, (status, self.log)

    def raw(self, data, timeout=30):
        """What comes back until the server closes, or `timeout`."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=timeout) as s:
            try:
                s.sendall(data)
            except (BrokenPipeError, ConnectionResetError):
                pass
            got = b""
            try:
                while piece := s.recv(65536):
                    got += piece
            except (socket.timeout, ConnectionResetError):
                pass
            return got

    def target(self, target, method="GET"):
        """The status of a request with this target, byte for byte."""
        got = self.raw(b"%s %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
                       % (method.encode(), target))
        return int(got.split(b" ", 2)[1]) if got else None


class Requests(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.s = Driver()
        cls.s.start()

    @classmethod
    def tearDownClass(cls):
        cls.s.__exit__(None, None, None)

    # ---- routes ----

    def test_parts_and_query(self):
        status, value = self.s.json("GET", "/parts/a%20b/x/c/d%2Fe?q=1+2&q=%C3%A9&flag&=v", token=None)
        self.assertEqual(status, 200)
        self.assertEqual(value["id"], "a b")
        self.assertEqual(value["rest"], "c/d/e")
        self.assertEqual(value["path"], "/parts/a b/x/c/d/e")
        self.assertEqual(value["query"], [["q", "1 2"], ["q", "\u00e9"], ["flag", ""], ["", "v"]])

    def test_not_found_and_not_allowed(self):
        reply = self.s.get("/nowhere")
        self.assertEqual(reply.status, 404)
        for path in ("/parts", "/parts/", "/parts/1/y/2", "/parts/1/x/", "/Parts/1", "//parts/1"):
            self.assertEqual(self.s.get(path, token=None).status, 404, path)
        reply = self.s.post("/parts/1")
        self.assertEqual(reply.status, 405)
        self.assertEqual(sorted(reply.headers["Allow"].split(", ")), ["DELETE", "GET", "HEAD"])
        self.assertIn("DELETE", reply.text())
        reply = self.s.request("OPTIONS", "/parts/1")
        self.assertEqual((reply.status, reply.body), (204, b""))
        for method in ("TRACE", "CONNECT", "BREW", "get"):
            self.assertIn(self.s.target(b"/echo", method), (405, 400), method)

    def test_errors_are_json_or_text(self):
        reply = self.s.get("/nowhere", headers={"Accept": "application/json"})
        self.assertEqual(reply.headers["Content-Type"], "application/json")
        self.assertIn("error", reply.json())
        reply = self.s.get("/api/v1/nowhere")
        self.assertIn("error", reply.json())
        reply = self.s.get("/api/v1/nowhere", headers={"Accept": "text/plain"})
        self.assertTrue(reply.headers["Content-Type"].startswith("text/plain"))
        reply = self.s.get("/nowhere")
        self.assertTrue(reply.headers["Content-Type"].startswith("text/plain"))

    def test_bad_targets(self):
        for target in (b"/parts/%00", b"/parts/%0", b"/parts/%zz", b"/parts/..", b"/parts/../etc",
                       b"/parts/%2e%2e/x", b"/parts/.%2E", b"/parts/./1", b"/parts/%0a",
                       b"/parts/%7f", b"/parts/%ff", b"/parts/%c0%ae", b"/parts/1?a=%00",
                       b"/parts/1?a=%ff", b"/parts/1?" + b"a&" * 70, b"*", b"parts",
                       b"/buildid/..%2f..%2fetc/passwd", b"/s/x/../../etc"):
            self.assertEqual(self.s.target(target), 400, target)
        # More arguments than the head's memory holds are answered, too.
        for query in (b"&" * 4000, b"a&" * 2000, b"a=b&" * 1500, b"?" * 4000):
            self.assertIn(self.s.target(b"/parts/1?" + query), (200, 400), query[:4])
        # Unescaped once: what is escaped twice is text.
        reply = self.s.get("/parts/%252e%252e")
        self.assertEqual((reply.status, reply.json()["id"]), (200, "%2e%2e"))
        self.assertEqual(self.s.target(b"http://elsewhere/parts/1"), 200)
        self.assertEqual(self.s.target(b"/parts/1#fragment"), 200)
        self.assertIn(self.s.target(b"/parts/" + b"a" * 9000), (414,))
        self.assertIn(self.s.target(b"/parts/" + b"a" * 100000), (414, None))

    def test_bad_heads(self):
        got = self.s.raw(b"GET /counts HTTP/1.1\r\nHost: x\r\nX: " + b"a" * 200000 + b"\r\n\r\n")
        self.assertTrue(got.startswith(b"HTTP/1.1 431") or got == b"", got[:80])
        many = b"".join(b"X-%d: y\r\n" % i for i in range(5000))
        got = self.s.raw(b"GET /counts HTTP/1.1\r\nHost: x\r\n" + many + b"\r\n")
        self.assertTrue(got.startswith(b"HTTP/1.1 431") or got == b"", got[:80])
        for head in (b"GET /counts\r\n\r\n", b"\0\0\0\0\r\n\r\n", b"GET /counts HTTP/9.9\r\n\r\n",
                     b"GET /counts HTTP/1.1\r\nHost x\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00",
                     b"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
                     b"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999\r\n\r\n",
                     b"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 5x\r\n\r\nhello"):
            got = self.s.raw(head, timeout=1)
            self.assertNotIn(b" 200 ", got.split(b"\r\n")[0], head)
        # More cookies than the head's memory holds: libmicrohttpd may close without an answer,
        # and forgets to tell that the request is over. (The leak checker ends the driver with 1.)
        got = self.s.raw(b"GET /counts HTTP/1.1\r\nHost: x\r\nCookie: " + b"a=b; " * 3000 + b"\r\n\r\n")
        self.assertTrue(got.startswith(b"HTTP/1.1 431") or got == b"", got[:80])
        # Both lengths: the way of request smuggling.
        got = self.s.raw(b"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n"
                         b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /counts HTTP/1.1\r\nHost: x"
                         b"\r\n\r\n", timeout=1)
        self.assertNotIn(b'"made"', got)
        self.assertEqual(self.s.get("/counts").status, 200)

    def test_many_answers_on_one_connection(self):
        connection = self.s.connect()
        for i in range(50):
            connection.request("GET", "/parts/%d" % i)
            self.assertEqual(json.loads(connection.getresponse().read())["id"], str(i))
            connection.request("GET", "/nowhere")
            answer = connection.getresponse()
            answer.read()
            self.assertEqual(answer.status, 404)
        connection.close()

    # ---- bodies ----

    def test_bodies(self):
        for body in (b"", b"x", b"y" * 100, os.urandom(MB)):
            self.assertEqual(self.s.post("/echo", body).body, body)
            for level in (0, 6):
                packed = gzip.compress(body, level)
                if len(packed) <= MB:
                    reply = self.s.post("/echo", packed, headers={"Content-Encoding": "gzip"})
                    self.assertEqual((reply.status, reply.body), (200, body))
        chunked = b"POST /echo HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked" \
                  b"\r\n\r\n5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n"
        self.assertTrue(self.s.raw(chunked).endswith(b"hello world"))
        two = gzip.compress(b"one") + gzip.compress(b"two")
        self.assertEqual(self.s.post("/echo", two, headers={"Content-Encoding": "gzip"}).body, b"onetwo")

    def test_body_limits(self):
        reply = self.s.post("/echo", b"x" * (MB + 1))
        self.assertEqual(reply.status, 413)
        self.assertIn("1048576", reply.text())
        chunk = b"%x\r\n" % (MB + 1) + b"x" * (MB + 1) + b"\r\n0\r\n\r\n"
        got = self.s.raw(b"POST /echo HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
                         b"Transfer-Encoding: chunked\r\n\r\n" + chunk)
        self.assertTrue(got.startswith(b"HTTP/1.1 413"), got[:80])
        # Announced and never sent: answered at once.
        got = self.s.raw(b"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999\r\n\r\n")
        self.assertTrue(got.startswith(b"HTTP/1.1 413"), got[:80])
        got = self.s.raw(b"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 2000000\r\n"
                         b"Expect: 100-continue\r\n\r\n")
        self.assertTrue(got.startswith(b"HTTP/1.1 413"), got[:80])
        got = self.s.raw(b"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nConnection: close\r\n"
                         b"Expect: 100-continue\r\n\r\nhello")
        self.assertTrue(got.startswith(b"HTTP/1.1 100 "), got[:80])
        self.assertTrue(got.endswith(b"hello"), got)

    def test_bombs_and_broken_bodies(self):
        bomb = gzip.compress(b"\0" * (200 * MB), 9)
        self.assertLess(len(bomb), MB)
        reply = self.s.post("/echo", bomb, headers={"Content-Encoding": "gzip"})
        self.assertEqual(reply.status, 413)
        whole = gzip.compress(b"hello" * 1000)
        broken = bytearray(whole)
        broken[-6] ^= 1  # the checksum
        for body in (whole[:-1], whole[:10], b"", b"no gzip", whole + b"x", bytes(broken),
                     zlib.compress(b"hello")):
            reply = self.s.post("/echo", body, headers={"Content-Encoding": "gzip"})
            self.assertEqual(reply.status, 400, body[:20])
            self.assertIn("gzip", reply.text())
        for body in (b"", b"\x28\xb5\x2f\xfd", b"no zstd", b"\x28\xb5\x2f\xfd\x04\xff\xff\xff\xff"):
            reply = self.s.post("/echo", body, headers={"Content-Encoding": "zstd"})
            self.assertEqual(reply.status, 400, body)

    def test_codings(self):
        for coding in ("br", "deflate", "gzip, gzip", "zst"):
            reply = self.s.post("/echo", b"x", headers={"Content-Encoding": coding})
            self.assertEqual(reply.status, 415, coding)
            self.assertIn("gzip", reply.headers["Accept-Encoding"])
        self.assertEqual(self.s.post("/plain", gzip.compress(b"x"),
                                     headers={"Content-Encoding": "gzip"}).status, 415)

    # ---- streamed bodies ----

    def sum_of(self, data):
        total = 0
        for byte in data:
            total = (total * 31 + byte) & 0xffffffff
        return total

    def test_streams(self):
        for size in (0, 1, 1000, 300000):
            data = os.urandom(size)
            reply = self.s.request("PATCH", "/stream", data)
            self.assertEqual(reply.json(), {"bytes": size, "sum": self.sum_of(data)})
        big = b"\0" * (40 * MB)
        self.assertEqual(self.s.request("PATCH", "/stream", big).json()["bytes"], len(big))

    def test_streams_that_end_early(self):
        before = self.s.get("/counts").json()
        reply = self.s.request("PATCH", "/stream?most=1000", b"x" * (2 * MB))
        self.assertEqual((reply.status, reply.text()), (409, "enough\n"))
        reply = self.s.request("PATCH", "/stream", (b"x" * MB for _ in range(65)))
        self.assertEqual(reply.status, 413)
        with socket.create_connection(("127.0.0.1", self.s.port)) as s:
            s.sendall(b"PATCH /stream HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nabc")
        for _ in range(600):
            now = self.s.get("/counts").json()
            if now["dropped"] == before["dropped"] + 3:
                break
            time.sleep(0.1)
        self.assertEqual(now["dropped"], before["dropped"] + 3)
        self.assertEqual(now["made"] - before["made"], 3)

    def test_dropping_blocks_nobody(self):
        """A state that is slow to drop (a part that goes to S3) holds up no other connection."""
        before = self.s.get("/counts").json()
        for _ in range(6):
            with socket.create_connection(("127.0.0.1", self.s.port)) as s:
                s.sendall(b"PATCH /held HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nabc")
                while self.s.get("/counts").json()["made"] == before["made"]:
                    time.sleep(0.01)
                before["made"] += 1
        for _ in range(20):
            self.assertEqual(self.s.get("/counts").json()["dropped"], before["dropped"])
        self.assertEqual(self.s.get("/release").status, 200)
        for _ in range(600):
            if self.s.get("/counts").json()["dropped"] == before["dropped"] + 6:
                return
            time.sleep(0.1)
        self.fail("not all were dropped")

    # ---- late replies ----

    def test_waits(self):
        for path in ("/later", "/later?ms=30", "/changed"):
            self.assertEqual(self.s.get(path).status, 200)
        failed = []

        def many():
            for i in range(100):
                if self.s.get("/later?ms=%d" % (i % 3), token=None).text() != "late\n":
                    failed.append(i)

        threads = [threading.Thread(target=many) for _ in range(8)]
        [t.start() for t in threads]
        [t.join() for t in threads]
        self.assertEqual(failed, [])

    def test_client_leaves_while_it_waits(self):
        for _ in range(20):
            with socket.create_connection(("127.0.0.1", self.s.port)) as s:
                s.sendall(b"GET /later?ms=20 HTTP/1.1\r\nHost: x\r\n\r\n")
        self.assertEqual(self.s.get("/later").text(), "late\n")

    def test_a_handler_that_says_nothing(self):
        self.assertEqual(self.s.get("/silent").status, 500)

    # ---- replies ----

    def test_security_headers(self):
        for path in ("/parts/1", "/nowhere", "/file", "/buildid/1/x"):
            headers = self.s.get(path, token=None).headers
            self.assertEqual(headers["X-Content-Type-Options"], "nosniff")
            self.assertEqual(headers["Referrer-Policy"], "no-referrer")
            self.assertIn("default-src 'self'", headers["Content-Security-Policy"])
            self.assertIn("frame-ancestors 'none'", headers["Content-Security-Policy"])
            self.assertNotIn("unsafe", headers["Content-Security-Policy"])
            self.assertEqual(headers["Cross-Origin-Opener-Policy"], "same-origin")
            self.assertIsNone(headers["Strict-Transport-Security"])
            cross = path.startswith("/buildid")
            self.assertEqual(headers["Access-Control-Allow-Origin"], "*" if cross else None)

    def test_ranges(self):
        def get(value, **headers):
            return self.s.get("/file", headers=dict(headers, **({"Range": value} if value else {})))

        self.assertEqual(get(None).body, FILE)
        for value, part in (("bytes=0-0", FILE[:1]), ("bytes=5-9", FILE[5:10]), ("bytes=-3", FILE[-3:]),
                            ("bytes=255999-", FILE[-1:]), ("bytes=10-99999999", FILE[10:]),
                            ("bytes=-99999999", FILE)):
            reply = get(value)
            self.assertEqual((reply.status, reply.body), (206, part), value)
            self.assertRegex(reply.headers["Content-Range"], r"^bytes \d+-\d+/256000$")
        for value in ("bytes=5-4", "bytes=a-b", "lines=1-2", "bytes=0-1,3-4", "bytes=", "bytes=-",
                      "bytes=1-2x"):
            self.assertEqual((get(value).status, len(get(value).body)), (200, len(FILE)), value)
        for value in ("bytes=256000-", "bytes=-0", "bytes=99999999999999999999999-"):
            reply = get(value)
            self.assertEqual((reply.status, reply.headers["Content-Range"]), (416, "bytes */256000"))
        reply = self.s.request("HEAD", "/file")
        self.assertEqual((reply.status, reply.body, reply.headers["Content-Length"]),
                         (200, b"", str(len(FILE))))

    def test_packed_replies(self):
        plain = self.s.get("/large")
        self.assertIsNone(plain.headers["Content-Encoding"])
        packed = self.s.get("/large", headers={"Accept-Encoding": "br, gzip;q=0.5"})
        self.assertEqual(packed.headers["Content-Encoding"], "gzip")
        self.assertEqual(packed.headers["Vary"], "Accept-Encoding")
        self.assertLess(len(packed.body), len(plain.body) // 2)
        self.assertEqual(packed.json(), plain.json())
        refused = self.s.get("/large", headers={"Accept-Encoding": "gzip;q=0"})
        self.assertIsNone(refused.headers["Content-Encoding"])
        small = self.s.get("/counts", headers={"Accept-Encoding": "gzip"})
        self.assertIsNone(small.headers["Content-Encoding"])

    def test_failures(self):
        expected = {1: 400, 2: 503, 3: 404, 4: 503, 5: 400, 6: 400, 7: 400, 8: 400, 9: 503, 10: 503,
                    11: 507, 12: 500}
        for code, status in expected.items():
            reply = self.s.get("/fail?code=%d" % code)
            self.assertEqual(reply.status, status, code)
            self.assertEqual("internal detail" in reply.text(), status in (400, 404), code)
            self.assertEqual("Retry-After" in reply.headers, status in (503, 507), code)
        for code in ("0", "13", "x", "", "-1", "1x"):
            reply = self.s.get("/fail?code=" + code)
            self.assertEqual(reply.status, 400)
            self.assertIn("1 to 12", reply.text())

    # ---- many ----

    def test_many_at_once(self):
        failed = []

        def many(number):
            body = bytes([number]) * 100000
            for _ in range(20):
                reply = self.s.post("/echo", body, token=None)
                if reply.body != body:
                    failed.append(reply.status)

        threads = [threading.Thread(target=many, args=(n,)) for n in range(32)]
        [t.start() for t in threads]
        [t.join() for t in threads]
        self.assertEqual(failed, [])

    def test_views_leave_threads_for_reports(self):
        """More views than there are threads, none of which ends: what is sent is taken all the same."""
        views = []
        for _ in range(40):
            view = socket.create_connection(("127.0.0.1", self.s.port))
            view.sendall(b"GET /long-view HTTP/1.1\r\nHost: x\r\n\r\n")
            views.append(view)
        running = lambda: self.s.post("/views-count", b"", token=None).json()["running"]
        for _ in range(600):
            if running() == 12:
                break
            time.sleep(0.1)
        for _ in range(20):
            self.assertEqual(self.s.post("/echo", b"report", token=None).body, b"report")
        self.assertEqual(running(), 12)
        self.assertEqual(self.s.post("/views-end", b"", token=None).status, 200)
        for view in views:
            self.assertTrue(view.recv(1000).startswith(b"HTTP/1.1 200"))
            view.close()

    def test_idle_connections_do_not_block(self):
        idle = []
        for _ in range(300):
            s = socket.create_connection(("127.0.0.1", self.s.port))
            s.sendall(b"GET /counts HTTP/1.1\r\nHost:")
            idle.append(s)
        self.assertEqual(self.s.get("/counts").status, 200)
        [s.close() for s in idle]


class Ends(unittest.TestCase):
    def sockets_of(self, s):
        """How many sockets the server has open."""
        folder = "/proc/%d/fd" % s.process.pid
        found = 0
        for name in os.listdir(folder):
            try:
                found += os.readlink(os.path.join(folder, name)).startswith("socket:")
            except OSError:
                pass # closed meanwhile
        return found

    def test_clients_that_leave_early_are_noticed(self):
        """What they sent and their end arrive together, in the middle of a request; long before
        the time for a head is over nothing is left of them."""
        with Driver() as s:
            before = self.sockets_of(s)
            for begin in (b"GET /counts HTTP/1.1\r\n", b"GET /counts HTTP/1.1\r\nHost: x\r\nX: y",
                          b"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nabc",
                          b"PATCH /stream HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nabc",
                          b"POST /nowhere HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nabc", b"GE"):
                for _ in range(20):
                    with socket.create_connection(("127.0.0.1", s.port)) as c:
                        c.sendall(begin)
            until = time.monotonic() + 15
            while self.sockets_of(s) > before and time.monotonic() < until:
                time.sleep(0.1)
            self.assertEqual(self.sockets_of(s), before)
            self.assertEqual(s.get("/counts").status, 200)

    def test_half_closed_connections_are_answered(self):
        with Driver() as s, socket.create_connection(("127.0.0.1", s.port), timeout=30) as c:
            c.sendall(b"GET /later?ms=3000 HTTP/1.1\r\nHost: x\r\n\r\n")
            c.shutdown(socket.SHUT_WR) # a whole request, and no other one
            self.assertTrue(c.recv(1000).startswith(b"HTTP/1.1 200"))

    def test_stop_waits_for_no_half_heads(self):
        driver = Driver()
        driver.start()
        with socket.create_connection(("127.0.0.1", driver.port)) as c:
            c.sendall(b"GET /counts HTTP/1.1\r\nHost: x\r\n")
            for _ in range(20): # what was sent before these was read
                driver.get("/counts")
            driver.stop()
        self.assertFalse([line for line in driver.log if "cut off" in line], driver.log)
        driver.__exit__(None, None, None)

    def test_stop_waits_for_requests(self):
        driver = Driver()
        driver.start()
        answers = []
        thread = threading.Thread(target=lambda: answers.append(driver.get("/later?ms=1500").text()))
        thread.start()
        for _ in range(20):  # the late one was sent before these
            driver.get("/counts")
        slow = socket.create_connection(("127.0.0.1", driver.port))
        driver.stop()
        thread.join()
        slow.close()
        self.assertEqual(answers, ["late\n"])
        driver.__exit__(None, None, None)

    def test_full_disk(self):
        with Driver(str(1 << 62)) as s:
            reply = s.post("/keep", b"x")
            self.assertEqual(reply.status, 507)
            self.assertIn("Retry-After", reply.headers)
            self.assertEqual(s.post("/echo", b"x").status, 200)

    def drips(self, s, begin, results):
        """Whether it was dropped: a byte a second would last for ever."""
        c = socket.create_connection(("127.0.0.1", s.port), timeout=1)
        try:
            c.sendall(begin)
            for _ in range(120):
                c.sendall(b"X")
                try:
                    if not c.recv(100):
                        results.append(True)
                        break
                except socket.timeout:
                    pass
        except (BrokenPipeError, ConnectionResetError):
            results.append(True)
        c.close()

    def test_slow_clients_are_dropped(self):
        with Driver() as s:
            results = []
            threads = [threading.Thread(target=self.drips, args=(s, begin, results)) for begin in (
                b"GET /counts HTTP/1.1\r\nHost: x\r\n", b"G",
                b"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n",
                b"PATCH /stream HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n")]
            [t.start() for t in threads]
            [t.join() for t in threads]
            self.assertEqual(results, [True] * 4)

    def test_one_address_does_not_take_all_connections(self):
        resource.setrlimit(resource.RLIMIT_NOFILE, (4096, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
        with Driver() as s:
            idle = []
            for _ in range(1500):
                idle.append(socket.create_connection(("127.0.0.1", s.port)))
            with socket.create_connection(("127.0.0.1", s.port), timeout=30,
                                          source_address=("127.0.0.2", 0)) as other:
                other.sendall(b"GET /counts HTTP/1.1\r\nHost: x\r\n\r\n")
                self.assertIn(b"200", other.recv(100))
            [c.close() for c in idle]


    def test_connections_of_an_address(self):
        def answered(connection):
            try:
                connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
                return b"200" in connection.recv(100)
            except OSError:
                return False

        with Server("--connections-per-address", "4") as s:
            def come(source):
                return socket.create_connection(("127.0.0.1", s.port), timeout=30, source_address=(source, 0))

            many = [come("127.0.0.1") for _ in range(8)]
            self.assertEqual([answered(c) for c in many], [True] * 4 + [False] * 4)
            for source in ("127.0.0.2", "127.0.0.3"):
                with come(source) as other:
                    self.assertTrue(answered(other), source)
            for c in many:
                c.close()
            until = time.monotonic() + 15
            while time.monotonic() < until:
                with come("127.0.0.1") as again:
                    if answered(again):
                        break
            else:
                self.fail("the address stays locked out")
        with Server("--connections-per-address", "4", "--trusted-proxy", "127.0.0.1") as s:
            many = [socket.create_connection(("127.0.0.1", s.port), timeout=30) for _ in range(8)]
            self.assertEqual([answered(c) for c in many], [True] * 8)
            [c.close() for c in many]


class Life(unittest.TestCase):
    def test_tls(self):
        folder = tempfile.mkdtemp(prefix="framewalk-test-")
        key, cert = os.path.join(folder, "key.pem"), os.path.join(folder, "cert.pem")
        made = subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key,
                               "-out", cert, "-days", "2", "-subj", "/CN=localhost"],
                              capture_output=True)
        if made.returncode:
            self.skipTest("openssl cannot make a certificate")
        with Server("--tls-cert", cert, "--tls-key", key) as s:
            reply = s.get("/healthz", token=None)
            self.assertEqual(reply.status, 200)
            self.assertIn("max-age", reply.headers["Strict-Transport-Security"])
            reply = s.request("POST", "/api/v1/session", json.dumps({"token": s.token}),
                              {"Content-Type": "application/json"}, token=None)
            self.assertIn("Secure", reply.headers["Set-Cookie"])
            self.assertTrue(reply.headers["Set-Cookie"].startswith("__Host-"))
            # A body that is streamed, over TLS.
            data = os.urandom(5 * MB + 17)
            reply = s.request("POST", "/api/v1/uploads", b"", {
                "Tus-Resumable": "1.0.0", "Upload-Length": str(len(data)),
                "Upload-Metadata": "filename " + base64.b64encode(b"x.bin").decode()})
            self.assertEqual(reply.status, 201, reply.body)
            path = urllib.parse.urlsplit(reply.headers["Location"]).path
            reply = s.request("PATCH", path, data, {
                "Tus-Resumable": "1.0.0", "Upload-Offset": "0",
                "Content-Type": "application/offset+octet-stream"})
            self.assertEqual((reply.status, reply.headers["Upload-Offset"]), (204, str(len(data))))
            plain = socket.create_connection(("127.0.0.1", s.port), timeout=30)
            plain.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
            self.assertNotIn(b"200", plain.recv(1000))
            plain.close()
        shutil.rmtree(folder)

    def test_wrong_command_lines(self):
        program = server_module.program()
        for options in (["--nonsense"], ["--listen", "x"], ["--listen", "127.0.0.1:99999"], ["--data"],
                        ["--workers", "many"], ["--upload-limit", "9Q"], ["--tls-cert", "x"], ["word"]):
            done = subprocess.run([program] + options, capture_output=True, text=True, timeout=60)
            self.assertEqual(done.returncode, 2, options)
            self.assertTrue(done.stderr.startswith("framewalk serve: "), done.stderr)
        for options in (["--database", "nonsense:x"], ["--store", "nonsense:x"],
                        ["--listen", "256.1.1.1:0"], ["--tls-cert", "/none", "--tls-key", "/none"]):
            with tempfile.TemporaryDirectory(prefix="framewalk-test-") as folder:
                done = subprocess.run([program, "--data", folder] + options, capture_output=True,
                                      text=True, timeout=60)
                self.assertEqual(done.returncode, 1, options)
                self.assertTrue(done.stderr.startswith("framewalk serve: "), done.stderr)

    def test_port_taken(self):
        with Server() as s:
            done = subprocess.run([server_module.program(), "--data", s.folder, "--listen",
                                   "127.0.0.1:%d" % s.port], capture_output=True, text=True, timeout=60)
            self.assertEqual(done.returncode, 1)
            self.assertIn("in use", done.stderr)

    def test_health_and_figures(self):
        with Server() as s:
            self.assertEqual(s.get("/healthz", token=None).text(), "ok\n")
            for _ in range(3):
                s.get("/api/v1/nothing")
            text = s.get("/metrics", token=None).text()
            self.assertIn('framewalk_requests_total{route="api",status="4xx"} 3', text)
            self.assertIn("framewalk_inbox_waiting 0", text)
            self.assertIn("framewalk_database_up 1", text)
            names = set()
            for line in text.splitlines():  # the text format, as promtool would read it
                self.assertRegex(line, r'^(# (HELP|TYPE) framewalk_\w+ .+|'
                                       r'framewalk_\w+(\{\w+="[^"]*"(,\w+="[^"]*")*\})? [0-9.e+-]+)$')
                if line.startswith("# TYPE"):
                    self.assertNotIn(line.split()[2], names)
                    names.add(line.split()[2])

    def test_page(self):
        with Server() as s:
            reply = s.get("/", token=None)
            self.assertTrue(reply.headers["Content-Type"].startswith("text/html"))
            tag = reply.headers["ETag"]
            for path in ("/groups/12", "/p/default/calls", "/index.html"):
                self.assertEqual(s.get(path, token=None).body, reply.body, path)
            again = s.get("/", headers={"If-None-Match": 'W/"x", ' + tag}, token=None)
            self.assertEqual((again.status, again.body), (304, b""))
            for path in ("/none.js", "/api/v1/none", "/api/none", "/symbols/none", "/.git/config"):
                self.assertEqual(s.get(path).status, 404, path)
            head = s.request("HEAD", "/", token=None)
            self.assertEqual((head.status, head.body, head.headers["Content-Length"]),
                             (200, b"", str(len(reply.body))))

    def test_log_has_no_tokens_and_no_controls(self):
        with Server() as s:
            s.get("/s/fwt_0123456789abcdef/api/v1/server", token=None)
            s.get("/api/v1/server?token=fwt_0123456789abcdef", token="fwt_0123456789abcdef")
            s.get("/api/v1/tokens/%C2%9B31m%E2%80%AE", token=None)
            log = s.log
            s.stop()
        text = "".join(log)
        self.assertIn("401", text)
        self.assertNotIn("0123456789abcdef", text)
        self.assertNotIn("\x9b", text)
        self.assertNotIn("\u202e", text)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]] + [a for a in sys.argv[1:] if not os.path.exists(a)])
