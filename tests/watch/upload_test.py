#!/usr/bin/env python3
"""upload_test.py DRIVER FRAMEWALK [TEST...]: uploads to a real HTTPS server on this machine that does
everything a server, or the way to it, can do wrong. The server is written from docs/upload.md alone.

Nothing here depends on how long something takes, but for bounds of a minute and more.
"""

import contextlib, gzip, http.server, json, os, random, shutil, signal, socket, socketserver, ssl
import stat, struct, subprocess, sys, tempfile, threading, time, unittest
from email.utils import formatdate

DRIVER, FRAMEWALK = sys.argv[1:3]
KEY = "test-key-0123456789"
MOST = 120  # seconds: what anything may take on a machine that is busy


class Collector(socketserver.ThreadingMixIn, http.server.HTTPServer):
    """Remembers reports by id. `script` says how to answer the next requests, then it is good."""

    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 64

    def __init__(self, tls=None):
        super().__init__(("127.0.0.1", 0), Handler)
        if tls:
            self.socket = tls.wrap_socket(self.socket, server_side=True, do_handshake_on_connect=False)
        self.url = "%s://localhost:%d" % ("https" if tls else "http", self.server_port)
        self.lock = threading.Lock()
        self.reports, self.times, self.acknowledged = {}, {}, set()
        self.requests, self.script, self.refuse, self.always, self.key = [], [], {}, None, KEY
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def handle_error(self, request, client):
        pass  # clients that vanish are what this is about

    def close(self):
        self.shutdown()
        self.server_close()


def split(body):
    """The reports of a request: docs/upload.md."""
    reports, at = [], 0
    while at < len(body):
        end = body.index(b"\n", at)
        report, size = body[at:end].decode("ascii").split(" ")
        at = end + 1
        assert len(report) == 32 and set(report) <= set("0123456789abcdef")
        reports.append((report, body[at : at + int(size)]))
        assert len(reports[-1][1]) == int(size)
        at += int(size)
    return reports


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = MOST

    def log_message(self, *_):
        pass

    def reply(self, status, text="", headers=()):
        data = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Content-Length", str(len(data)))
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)
        self.wfile.flush()

    def reset(self):
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close_connection = True
        socket.socket.close(self.connection)

    def do_POST(self):
        s = self.server
        body = self.rfile.read(int(self.headers["Content-Length"]))
        with s.lock:
            s.requests.append((self.path, dict(self.headers), body))
            action = s.script.pop(0) if s.script else s.always
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        if callable(action) and action(self, body):
            return
        if s.key and self.headers.get("Authorization") != "Bearer " + s.key:
            return self.reply(401)
        if self.path != "/api/v1/reports":
            return self.reply(404)
        assert self.headers["Content-Type"] == "application/vnd.framewalk.reports"
        self.reply(200, self.take(body))

    def take(self, body):
        s, lines = self.server, []
        for report, data in split(body):
            with s.lock:
                s.times[report] = s.times.get(report, 0) + 1
                if report in s.refuse:
                    lines.append("%s refused %s" % (report, s.refuse[report]))
                elif report in s.reports:
                    assert s.reports[report] == data
                    lines.append("%s duplicate" % report)
                else:
                    s.reports[report] = data
                    lines.append("%s accepted" % report)
        with s.lock:  # before the answer goes: what the client may have seen
            s.acknowledged.update(line[:32] for line in lines)
        return "".join(line + "\n" for line in lines)


def status(code, *headers, text=""):
    return lambda h, body: h.reply(code, text, headers) or True


def take_then_reset(h, body):
    h.take(body)
    h.reset()
    return True


def half_answer(h, body):
    text = h.take(body).encode()
    h.send_response(200)
    h.send_header("Content-Length", str(len(text)))
    h.end_headers()
    h.wfile.write(text[: len(text) // 2])
    h.close_connection = True
    return True


def endless_answer(h, body):
    text = h.take(body)
    h.send_response(200)
    h.send_header("Connection", "close")
    h.end_headers()
    h.close_connection = True
    with contextlib.suppress(OSError):
        h.wfile.write(text.encode())
        for _ in range(4096):
            h.wfile.write(b"x" * 65536)
    return True


def slow_answer(h, body):
    text = h.take(body)
    time.sleep(2)
    h.reply(200, text)
    return True


def too_large_above(most):
    def action(h, body):
        if len(split(body)) > most:
            h.reply(413, "at most %d" % most)
            return True
    return action


class UploadTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.base = tempfile.mkdtemp(prefix="upload-test.")
        os.chmod(cls.base, 0o755)
        cls.cert, cls.other = cls.certificate("good", "localhost"), cls.certificate("other", "example.org")

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.base)

    @classmethod
    def certificate(cls, name, host):
        pem = os.path.join(cls.base, name + ".pem")
        key = os.path.join(cls.base, name + ".key")
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj",
                        "/CN=" + host, "-addext", "subjectAltName=DNS:" + host, "-keyout", key, "-out", pem],
                       check=True, capture_output=True)
        return pem, key

    def setUp(self):
        self.folder = tempfile.mkdtemp(dir=self.base)
        self.server = self.collector(self.cert)

    def collector(self, cert):
        tls = None
        if cert:
            tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            tls.load_cert_chain(*cert)
        server = Collector(tls)
        self.addCleanup(server.close)
        return server

    def run_program(self, *command, user=None):
        """`user`: as this one, when root runs the tests, for whom nothing is read-only."""
        env = {k: v for k, v in os.environ.items() if "proxy" not in k.lower()}
        return subprocess.run(command, capture_output=True, text=True, timeout=MOST, env=env,
                              user=user if os.geteuid() == 0 else None)

    def make(self, count=3, size=2000, folder=None):
        out = self.run_program(DRIVER, "make", folder or self.folder, str(count), str(size))
        self.assertEqual(out.returncode, 0, out.stderr)
        return out.stdout.split()

    def now(self, url=None, user=None, **options):
        options = {"key": KEY, "ca_file": self.cert[0], **options}
        words = ["%s=%s" % item for item in options.items() if item[1] is not None]
        out = self.run_program(DRIVER, "now", self.folder, url or self.server.url, *words, user=user)
        self.assertEqual(out.returncode, 0, out.stderr)
        self.assertNotIn(KEY, out.stdout + out.stderr)
        first, message, why = out.stdout.split("\n")[:3]
        return {**json.loads(first), "message": message, "why": why}

    def left(self):
        return {n[:32] for n in os.listdir(self.folder) if n.endswith(".fwr")}

    def push(self, *arguments, url=None, key=KEY, ca=True):
        words = ["--to", url or self.server.url]
        if key:
            path = os.path.join(self.base, "key")
            with open(path, "w") as f:
                f.write(key + "\n")
            os.chmod(path, 0o600)
            words += ["--key-file", path]
        out = self.run_program(FRAMEWALK, "push", *arguments, *words, *(["--ca-file", self.cert[0]] if ca else []))
        self.assertNotIn(KEY, out.stdout + out.stderr)
        return out

    # --- what should happen ---

    def test_all_arrive(self):
        ids = self.make(25)
        content = {i: open(os.path.join(self.folder, i + ".fwr"), "rb").read() for i in ids}
        totals = self.now()
        self.assertEqual((totals["error"], totals["sent"], totals["requests"]), (0, 25, 3))
        self.assertEqual(self.left(), set())
        self.assertEqual(self.server.reports, content)
        self.assertTrue(all(h.get("Content-Encoding") == "gzip" for _, h, _ in self.server.requests))

    def test_uncompressed_and_batch_bytes(self):
        self.make(4, 30000)
        totals = self.now(uncompressed=1, batch_bytes=70000)
        self.assertEqual((totals["sent"], totals["requests"]), (4, 2))
        self.assertNotIn("Content-Encoding", self.server.requests[0][1])

    def test_path_in_url(self):
        self.make(1)
        self.assertEqual(self.now(self.server.url + "/crash/")["error"] != 0, True)
        self.assertEqual(self.server.requests[0][0], "/crash/api/v1/reports")
        self.assertEqual(len(self.left()), 1)

    def test_only_finished_reports_are_touched(self):
        self.make(2)
        others = {}
        for name in ("0" * 32 + ".part", "notes.txt", "1" * 32 + ".fwr.bak", "A" * 32 + ".fwr"):
            others[name] = b"FWREPRT\nnot whole"
            with open(os.path.join(self.folder, name), "wb") as f:
                f.write(others[name])
        os.symlink("notes.txt", os.path.join(self.folder, "2" * 32 + ".fwr"))
        os.mkdir(os.path.join(self.folder, "3" * 32 + ".fwr"))
        totals = self.now()
        self.assertEqual((totals["error"], totals["sent"]), (0, 2))
        for name, data in others.items():
            self.assertEqual(open(os.path.join(self.folder, name), "rb").read(), data)
        self.assertTrue(os.path.islink(os.path.join(self.folder, "2" * 32 + ".fwr")))

    def test_damaged_reports(self):
        ids = self.make(3)
        paths = [os.path.join(self.folder, i + ".fwr") for i in ids]
        whole = open(paths[0], "rb").read()
        with open(paths[0], "ab") as f:  # something behind the last record
            f.write(b"\xff" * 100)
        with open(paths[1], "wb") as f:  # nothing whole in it
            f.write(whole[:15])
        totals = self.now()
        self.assertEqual((totals["sent"], totals["refused"]), (2, 1))
        self.assertEqual(self.server.reports[ids[0]], whole)
        self.assertEqual(self.left(), set())

    def test_refused_for_good_and_retry(self):
        ids = self.make(3)
        self.server.refuse[ids[0]] = "no project\x07 has this app"
        def later(h, body):
            text = h.take(body).replace(ids[1] + " accepted", ids[1] + " retry busy")
            h.reply(200, "\r\n" + text + "x" * 50 + " accepted\n", [("Retry-After", "1000")])
            return True
        self.server.script = [later]
        totals = self.now()
        self.assertEqual((totals["sent"], totals["refused"], totals["waiting"]), (1, 1, 1))
        self.assertEqual(self.left(), {ids[1]})
        self.assertGreaterEqual(self.state()["wait"], 1000000)

    def state(self):
        words = open(os.path.join(self.folder, "upload.state")).read().split()
        return {"set": int(words[2]), "wait": int(words[3]), "failures": int(words[4])}

    # --- what can go wrong ---

    def assert_stays(self, ids, totals, *words):
        self.assertNotEqual(totals["error"], 0)
        for word in words:
            self.assertIn(word, totals["why"])
        self.assertEqual(self.left(), set(ids))

    def test_statuses_that_end_it(self):
        ids = self.make(2)
        for code, word in ((301, "redirect"), (404, "URL"), (405, "URL"), (408, ""), (410, ""), (429, "fewer"),
                           (502, ""), (503, "overloaded"), (504, ""), (507, "full")):
            self.server.script = [status(code, ("Location", "https://localhost:1/"))]
            before = len(self.server.requests)
            self.assert_stays(ids, self.now(), "HTTP %d" % code, word)
            self.assertEqual(len(self.server.requests), before + 1, code)
        self.assertEqual(self.now()["sent"], 2)

    def test_key_not_accepted(self):
        ids = self.make(12)
        self.assert_stays(ids, self.now(key="wrong"), "key")
        self.assertEqual(len(self.server.requests), 1)
        self.assert_stays(ids, self.now(key=None), "wants a key")
        self.server.script = [status(403)]
        self.assert_stays(ids, self.now(), "403")
        self.assertGreaterEqual(self.state()["wait"], 21600 * 1000)

    def test_retry_after(self):
        ids = self.make(1)
        for value, least in (("90000", 90000), (formatdate(time.time() + 86400, usegmt=True), 86000),
                             ("999999999999", 7 * 86400), ("soon", 1), ("-5", 1)):
            self.server.script = [status(503, ("Retry-After", value))]
            self.assert_stays(ids, self.now(first_wait=1, longest_wait=1))
            state = self.state()
            self.assertGreaterEqual(state["wait"], least * 1000, value)
            self.assertLessEqual(state["wait"], 15 * 86400 * 1000)
        self.now()
        self.assertEqual(self.state(), {"set": 0, "wait": 0, "failures": 0})

    def test_growing_waits(self):
        self.make(1)
        for failures in range(1, 6):
            self.server.script = [status(502)]
            self.now(first_wait=10, longest_wait=100)
            state = self.state()
            self.assertEqual(state["failures"], failures)
            self.assertGreaterEqual(state["wait"], 10000)
            self.assertLessEqual(state["wait"], min(100000, 10000 << failures))

    def test_413_splits(self):
        ids = self.make(20)
        self.server.always = too_large_above(3)
        self.assertEqual(self.now()["sent"], 20)
        self.assertEqual(set(self.server.reports), set(ids))

    def test_nginx_in_front(self):
        """A real server on the way: TLS, its own 413, and 502 while the collector is down."""
        nginx = shutil.which("nginx") or (os.path.exists("/usr/sbin/nginx") and "/usr/sbin/nginx")
        if not nginx:
            self.skipTest("nginx is not installed")
        ids = self.make(30, 3000)
        plain = self.collector(None)
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            port = s.getsockname()[1]
        work = tempfile.mkdtemp(dir=self.base)
        temporary = "".join("%s_temp_path %s/%s;" % (n, work, n) for n in
                            ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        with open(os.path.join(work, "nginx.conf"), "w") as f:
            f.write("daemon off; master_process off; pid %s/pid; error_log %s/error.log; events {} http { access_log off;"
                    " %s client_max_body_size 10k; server { listen 127.0.0.1:%d ssl; ssl_certificate %s;"
                    " ssl_certificate_key %s; location / { proxy_pass http://127.0.0.1:%d; } } }"
                    % (work, work, temporary, port, *self.cert, plain.server_port))
        process = subprocess.Popen([nginx, "-p", work, "-e", work + "/start.log", "-c", work + "/nginx.conf"],
                                   stderr=subprocess.DEVNULL)
        self.addCleanup(process.wait)
        self.addCleanup(process.terminate)
        url = "https://localhost:%d" % port
        def answers():
            with contextlib.suppress(OSError):
                return socket.create_connection(("127.0.0.1", port)).close() or True
        self.wait_for(lambda: process.poll() is not None or answers())
        totals = self.now(url, batch=10, uncompressed=1)
        self.assertEqual((totals["sent"], set(plain.reports)), (30, set(ids)), totals)
        self.assertGreater(totals["requests"], 3)  # it refused some
        more = self.make(2, 500)
        plain.close()
        self.assert_stays(more, self.now(url), "502")

    def test_413_for_one(self):
        ids = self.make(5)
        self.server.always = lambda h, body: ids[2].encode() in body and (h.reply(413) or True)
        totals = self.now()
        self.assertEqual((totals["sent"], totals["refused"], self.left()), (4, 1, set()))

    def test_one_report_that_breaks_the_collector(self):
        ids = self.make(8)
        for code in (400, 422, 500):
            more = self.make(4)
            self.server.always = lambda h, body: ids[5].encode() in body and (h.reply(code) or True)
            self.now()
            self.assertEqual(self.left(), {ids[5]})
            self.assertIn(more[0], self.server.reports)

    def test_collector_that_fails_always(self):
        ids = self.make(30)
        self.server.always = status(500)
        self.assert_stays(ids, self.now(), "500")
        self.assertLessEqual(len(self.server.requests), 5)

    def test_lost_answers(self):
        for action in (take_then_reset, half_answer, endless_answer, lambda h, b: h.reset() or True,
                       lambda h, b: setattr(h, "close_connection", True) or True):
            ids = self.make(4)
            self.server.script = [action]
            self.assert_stays(ids, self.now())
            totals = self.now()
            self.assertEqual(totals["sent"] + totals["duplicates"], 4)
            self.assertTrue(set(ids) <= set(self.server.reports))

    def test_answers_that_are_none(self):
        ids = self.make(2)
        for text in ("", "<html>Welcome to our wireless network</html>", ids[0], ids[0] + " accepted",
                     ids[0] + " \n", ids[0] + " acceptedly\n", ids[0].upper().replace("0", "x") + " accepted\n",
                     "\n" * 1000, "accepted\n", ids[0] + " accepted\n" + ids[0] + " retry\n"):
            self.server.script = [status(200, text=text)]
            self.assert_stays(ids, self.now())

    def test_slow_answer(self):
        self.make(2)
        self.server.script = [slow_answer]
        self.assertEqual(self.now()["sent"], 2)

    def test_offline(self):
        ids = self.make(2)
        with socket.socket() as unused:
            unused.bind(("127.0.0.1", 0))
            self.assert_stays(ids, self.now("https://localhost:%d" % unused.getsockname()[1]))
        self.assert_stays(ids, self.now("https://nowhere.invalid"))

    def test_wrong_certificates(self):
        ids = self.make(1)
        self.assert_stays(ids, self.now(ca_file=None), "certificate")
        other = self.collector(self.other)  # another host's, though trusted
        self.assert_stays(ids, self.now(other.url, ca_file=self.other[0]))
        self.assertEqual(other.requests + self.server.requests, [])

    def test_old_tls(self):
        ids = self.make(1)
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(*self.cert)
        tls.minimum_version, tls.maximum_version = ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1
        tls.set_ciphers("ALL:@SECLEVEL=0")
        old = Collector(tls)
        self.addCleanup(old.close)
        self.assert_stays(ids, self.now(old.url))
        self.assertEqual(old.requests, [])

    def test_redirects_do_not_take_the_key_elsewhere(self):
        ids = self.make(1)
        other = self.collector(self.cert)
        for code in (301, 302, 307, 308):
            self.server.script = [status(code, ("Location", other.url + "/api/v1/reports"))]
            self.assert_stays(ids, self.now(), "redirect")
        self.assertEqual(other.requests, [])

    def test_plain_http(self):
        self.make(1)
        plain = self.collector(None)
        self.assertEqual(self.now(plain.url)["sent"], 1)  # the machine itself
        self.assertNotEqual(self.now("http://example.org")["error"], 0)
        self.assertNotEqual(self.now("http://127.0.0.1.example.org")["error"], 0)

    def test_http_to_itself_uses_no_proxy(self):
        self.make(1)
        plain = self.collector(None)
        env = {**os.environ, "http_proxy": self.collector(None).url, "no_proxy": ""}
        out = subprocess.run([DRIVER, "now", self.folder, plain.url, "key=" + KEY], env=env, timeout=MOST,
                             capture_output=True, text=True)
        self.assertEqual(json.loads(out.stdout.split("\n")[0])["sent"], 1)

    def test_key_files(self):
        self.make(1)
        path = os.path.join(self.base, "mode")
        with open(path, "w") as f:
            f.write("  " + KEY + "\r\n")
        os.chmod(path, 0o644)
        totals = self.now(key=None, key_file=path)
        self.assertIn("chmod", totals["why"])
        self.assertEqual(self.server.requests, [])
        os.chmod(path, 0o640)
        self.assertEqual(self.now(key=None, key_file=path)["sent"], 1)
        for bad in ("", "a b", "a\nX-Header: b", "k" * 5000, "\xe9"):
            with open(path, "w") as f:
                f.write(bad)
            self.assertNotEqual(self.now(key=None, key_file=path)["error"], 0, bad)
        self.assertNotEqual(self.now(key=None, key_file="/nowhere/key")["error"], 0)
        self.assertNotEqual(self.now(key=None, key_file=self.base)["error"], 0)

    def test_read_only_folder(self):
        try:
            usable = self.run_program(DRIVER, user=65534).returncode == 2
        except OSError:
            usable = False
        if not usable:
            self.skipTest("another user cannot run the driver where it is")
        ids = self.make(1)
        os.chmod(os.path.join(self.folder, ids[0] + ".fwr"), 0o644)
        os.chmod(self.folder, 0o555)
        self.assert_stays(ids, self.now(user=65534))
        self.assertEqual(self.server.requests, [])
        # With a state from before all can be done but the file's removal.
        state = os.path.join(self.folder, "upload.state")
        open(state, "w").close()
        os.chmod(state, 0o666)
        for turn in range(1, 4):
            totals = self.now(user=65534)
            self.assert_stays(ids, totals, "could not be removed")
            self.assertEqual(self.state()["failures"], turn)  # the wait grows
        self.assertEqual(self.server.times[ids[0]], 3)
        self.server.always = lambda h, body: h.reply(413) or True  # too large, alone
        self.assert_stays(ids, self.now(user=65534), "could not be removed")
        self.assertEqual(self.state()["failures"], 4)
        os.chmod(self.folder, 0o700)

    def test_full_disk(self):
        ids = self.make(3)
        # Files may not grow: as on a full disk, the state cannot be written. Sending goes on.
        out = subprocess.run(["sh", "-c", "trap '' XFSZ; ulimit -f 0; exec \"$@\" | cat", "sh", DRIVER, "now",
                              self.folder, self.server.url, "key=" + KEY, "ca_file=" + self.cert[0]],
                             capture_output=True, text=True, timeout=MOST)
        self.assertEqual(json.loads(out.stdout.split("\n")[0])["sent"], 3, out.stdout + out.stderr)
        self.assertEqual(set(self.server.reports), set(ids))

    # --- many at once, and killed ---

    def test_two_uploaders(self):
        ids = self.make(60)
        words = [DRIVER, "now", self.folder, self.server.url, "key=" + KEY, "ca_file=" + self.cert[0], "batch=5"]
        both = [subprocess.Popen(words, stdout=subprocess.PIPE, text=True) for _ in range(2)]
        out = [p.communicate(timeout=MOST)[0] for p in both]
        self.assertEqual(sum(json.loads(o.split("\n")[0])["sent"] for o in out), 60)
        self.assertEqual(set(self.server.times.values()), {1})  # one at a time: nothing twice
        self.assertEqual(set(self.server.reports), set(ids))

    def test_killed_at_any_moment(self):
        seed = int.from_bytes(os.urandom(4), "little")
        print("seed", seed, file=sys.stderr)
        chance = random.Random(seed)
        words = [DRIVER, "now", self.folder, self.server.url, "key=" + KEY, "ca_file=" + self.cert[0], "batch=3"]
        ids = set()
        for turn in range(60):
            ids |= set(self.make(4, 500))
            process = subprocess.Popen(words, stdout=subprocess.DEVNULL)
            time.sleep(chance.random() ** 2 * 0.15)
            process.kill()
            process.wait()
            with self.server.lock:
                gone = ids - self.left()
                self.assertTrue(gone <= self.server.acknowledged, "removed unacknowledged, seed %d" % seed)
                self.assertTrue(gone <= set(self.server.reports))
        self.assertEqual(self.now()["error"], 0)
        self.assertEqual(self.left(), set())
        self.assertEqual(set(self.server.reports), ids)

    def test_background(self):
        ids = self.make(5)
        words = [DRIVER, "run", self.folder, self.server.url, "key=" + KEY, "ca_file=" + self.cert[0], "poll=1",
                 "first_wait=1", "longest_wait=1"]
        self.server.script = [status(503), status(502, ("Retry-After", "1"))]
        process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.wait_for(lambda: not self.left())
        ids += self.make(5)
        self.wait_for(lambda: not self.left())
        out = process.communicate(timeout=MOST)[0]
        totals = json.loads(out.split("\n")[0])
        self.assertEqual((totals["sent"], totals["failures"], totals["waiting"]), (10, 2, 0))
        self.assertEqual(set(self.server.reports), set(ids))

    def wait_for(self, condition):
        end = time.monotonic() + MOST
        while not condition():
            self.assertLess(time.monotonic(), end)
            time.sleep(0.05)

    def test_wait_outlives_the_process(self):
        ids = self.make(1)
        self.server.script = [status(503, ("Retry-After", "3600"))]
        self.now()
        words = [DRIVER, "run", self.folder, self.server.url, "key=" + KEY, "ca_file=" + self.cert[0], "poll=1"]
        process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        time.sleep(2.5)
        process.communicate(timeout=MOST)
        self.assertEqual(len(self.server.requests), 1)
        # A clock that was an hour and a year ahead when the wait began does not block.
        state = "framewalk-upload 1 %d %d 1 %s" % ((time.time() + 366 * 86400) * 1000, 1500,
                                                   open(os.path.join(self.folder, "upload.state")).read().split()[5])
        with open(os.path.join(self.folder, "upload.state"), "w") as f:
            f.write(state.ljust(95) + "\n")
        process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.wait_for(lambda: not self.left())
        process.communicate(timeout=MOST)
        self.assertEqual(set(self.server.reports), set(ids))

    def test_stop_gives_a_silent_collector_up(self):
        ids = self.make(1)
        let_go = threading.Event()
        self.addCleanup(let_go.set)
        self.server.always = lambda h, b: let_go.wait(MOST) and h.reset() or True
        words = [DRIVER, "run", self.folder, self.server.url, "key=" + KEY, "ca_file=" + self.cert[0], "stop_ms=100"]
        process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.wait_for(lambda: self.server.requests)
        out = process.communicate(timeout=60)[0]  # libcurl itself would wait for a minute
        self.assertEqual(process.returncode, 0, out)
        self.assertEqual(self.left(), set(ids))

    # --- the command ---

    def test_push_folder_and_files(self):
        ids = self.make(3)
        elsewhere = tempfile.mkdtemp(dir=self.base)
        files = [os.path.join(elsewhere, i + ".fwr") for i in self.make(2, folder=elsewhere)]
        os.rename(files[0], os.path.join(elsewhere, "mine.fwr"))
        out = self.push(self.folder, os.path.join(elsewhere, "mine.fwr"), files[1], "--verbose")
        self.assertEqual((out.returncode, out.stderr), (0, ""))
        self.assertIn("\n5 reports sent, 3 of them removed; --keep leaves them\n", out.stdout)
        self.assertEqual(len(self.server.reports), 5)
        self.assertEqual(len(os.listdir(elsewhere)), 2)  # files stay
        self.assertEqual(self.left(), set())  # folders are emptied
        self.assertIn(ids[0], out.stdout)
        out = self.push(files[1])
        self.assertEqual((out.returncode, out.stdout), (0, "1 report sent (1 known already)\n"))
        out = self.push(self.folder)
        self.assertEqual(out.returncode, 0)
        self.assertEqual(out.stdout, "0 reports sent: there are none in the folder; what is sent is removed, unless "
                                     "--keep is given\n")
        self.make(2)
        self.assertEqual(self.push(self.folder).stdout, "2 reports sent and removed; --keep leaves them\n")

    def test_push_keep_and_dry_run(self):
        ids = self.make(2)
        out = self.run_program(FRAMEWALK, "push", "--dry-run", self.folder)
        self.assertEqual(out.returncode, 0)
        self.assertIn("2 reports would be sent", out.stdout)
        self.assertEqual(sorted(os.listdir(self.folder)), sorted(i + ".fwr" for i in ids))
        out = self.push(self.folder, "--keep")
        self.assertEqual((out.returncode, out.stdout), (0, "2 reports sent\n"))
        self.assertEqual(sorted(os.listdir(self.folder)), sorted(i + ".fwr" for i in ids))
        self.assertEqual(len(self.server.reports), 2)

    def test_push_exit_codes(self):
        ids = self.make(2)
        file = os.path.join(self.base, "none.fwr")
        with open(file, "w") as f:
            f.write("no report")
        for code, words, how in (
            (2, [], {}), (2, ["--no-such", self.folder], {}), (2, [self.folder], {"url": "ftp://localhost"}),
            (2, [self.folder], {"url": "https://me:" + KEY + "@localhost"}), (2, [self.folder], {"url": "http://example.org"}),
            (2, [self.folder, "--ca-file", "/nowhere"], {"ca": False}),
            (4, [self.folder], {"key": "wrong"}), (4, [self.folder], {"key": None}), (1, [self.folder], {"ca": False}),
            (5, ["/nowhere"], {}), (5, [file], {}), (8, [self.folder, "/nowhere"], {}), (0, [self.folder], {}),
        ):
            out = self.push(*words, **how)
            self.assertEqual(out.returncode, code, (words, how, out.stdout, out.stderr))
            self.assertEqual(out.stderr != "", code != 0)
            self.assertTrue(all(line.startswith("framewalk: ") for line in out.stderr.splitlines()))
        self.assertEqual(set(self.server.reports), set(ids))

    def test_push_says_what_to_do_next(self):
        self.make(1)
        self.assertIn("--key-file", self.push(self.folder, key=None).stderr)
        self.assertIn("--ca-file", self.push(self.folder, ca=False).stderr)
        self.assertIn("--to", self.push(self.folder, url=self.server.url + "/elsewhere").stderr)
        self.server.script = [status(503, ("Retry-After", "77"))]
        self.assertIn("77 seconds", self.push(self.folder).stderr)
        ids = self.make(1)
        self.server.refuse[ids[0]] = "no app of\x1b[31m this name"
        out = self.push(self.folder)
        self.assertEqual(out.returncode, 8)
        self.assertIn(ids[0] + ".fwr: refused by the collector: no app of?[31m this name", out.stderr)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], warnings="ignore")
