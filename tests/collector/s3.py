"""S3-compatible servers for tests, on free loopback ports.

    with s3.StandIn() as server:      # in this process: enough of S3 for us, signatures checked
    with s3.Real() as server:         # versitygw, where it is installed; else Missing is raised
        url = server.url("prefix")    # s3://tests/prefix?endpoint=...
        environment = server.environment

    python3 s3.py [--real] PROGRAM [ARGUMENT...]
        runs the program with FW_S3_URL and the keys in its environment; with the stand-in also
        FW_S3_CONTROL, the address that faults are asked for at: GET FW_S3_CONTROL?kind=503&count=2
        (StandIn.fault).

Signatures are checked as the AWS documentation "Signature Version 4" says, from the request as it
came, so that a client that signs wrongly is refused here as there.
"""
import hashlib
import hmac
import http.server
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
from xml.sax.saxutils import escape

KEY_ID, SECRET, REGION, BUCKET = "tester", "a/secret+of=tests", "us-east-1", "tests"


class Missing(Exception):
    """What is not installed here."""


class Common:
    """What both kinds of server offer."""
    port = 0

    @property
    def environment(self):
        return {"AWS_ACCESS_KEY_ID": KEY_ID, "AWS_SECRET_ACCESS_KEY": SECRET, "no_proxy": "127.0.0.1"}

    def url(self, prefix="", timeout=20):
        return (f"s3://{BUCKET}/{prefix}?endpoint=http://127.0.0.1:{self.port}&region={REGION}"
                f"&timeout={timeout}")


def signature(method, path, query, headers, signed, stamp, scope, secret=SECRET):
    """Of a request, as both sides compute it."""
    pairs = sorted(tuple(p.partition("=")[::2]) for p in query.split("&") if p)
    canonical = "\n".join([
        method, path, "&".join(f"{n}={v}" for n, v in pairs),
        "".join(f"{n}:{' '.join(headers.get(n, '').split())}\n" for n in signed), ";".join(signed),
        headers.get("x-amz-content-sha256", "")])
    text = "\n".join(["AWS4-HMAC-SHA256", stamp, "/".join(scope), hashlib.sha256(canonical.encode()).hexdigest()])
    key = ("AWS4" + secret).encode()
    for part in scope:
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()


def stamp(seconds):
    return time.strftime("%Y-%m-%dT%H:%M:%S.123Z", time.gmtime(seconds))


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, body=b"", **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        if "Content_Length" not in headers:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def error(self, status, code):
        self.answer(status, f'<?xml version="1.0"?>\n<Error><Code>{code}</Code></Error>'.encode())

    def refused(self, body):
        """The code of the error, or None when the request is signed as it should be."""
        words = self.headers.get("Authorization", "")
        if not words.startswith("AWS4-HMAC-SHA256 "):
            return "AccessDenied"
        given = dict(part.strip().split("=", 1) for part in words[len("AWS4-HMAC-SHA256 "):].split(","))
        key_id, *scope = given["Credential"].split("/")
        signed = given["SignedHeaders"].split(";")
        if key_id != KEY_ID:
            return "InvalidAccessKeyId"
        if not {"host", "x-amz-date", "x-amz-content-sha256"} <= set(signed):
            return "AccessDenied"
        path, _, query = self.path.partition("?")
        headers = {name.lower(): value for name, value in self.headers.items()}
        right = signature(self.command, path, query, headers, signed, headers["x-amz-date"], scope)
        if not hmac.compare_digest(right, given["Signature"]):
            return "SignatureDoesNotMatch"
        if headers["x-amz-content-sha256"] != hashlib.sha256(body).hexdigest():
            return "XAmzContentSHA256Mismatch"
        return None

    def handle_any(self):
        store = self.server.store
        path, _, query = self.path.partition("?")
        query = dict(urllib.parse.parse_qsl(query, keep_blank_values=True))
        if path == "/-/fault":
            store.fault(query["kind"], int(query.get("count", "1")))
            return self.answer(200)
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        with store.lock:
            store.requests.append((self.command, self.path))
        if self.faulty(store):
            return None
        code = self.refused(body)
        if code:
            return self.error(403, code)
        bucket, _, key = urllib.parse.unquote(path).lstrip("/").partition("/")
        if bucket != BUCKET:
            return self.error(404, "NoSuchBucket")
        return self.object(store, key, query, body) if key else self.bucket(store, query)

    do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = handle_any

    def faulty(self, store):
        kind = store.next_fault()
        if kind is None:
            return False
        if kind.isdigit():
            self.error(int(kind), {"403": "AccessDenied", "503": "SlowDown", "507": "XMinioStorageFull"}
                       .get(kind, "InternalError"))
        elif kind == "hang":
            store.stopping.wait(30)
            self.close_connection = True
        elif kind == "close":
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
        elif kind == "garbage":
            self.wfile.write(b"\x00\xffthis is no HTTP\r\n\r\n")
            self.close_connection = True
        elif kind == "html":
            self.answer(200, b"<html><body>Please log in to this network<br></body></html>")
        elif kind == "cut":
            self.answer(200, b"half", Content_Length="4000")
            self.close_connection = True
        return True

    def bucket(self, store, query):
        if self.command == "HEAD":
            return self.answer(200)
        if self.command == "GET" and "uploads" in query:
            return self.list_uploads(store, query)
        if self.command != "GET" or query.get("list-type") != "2":
            return self.error(400, "InvalidRequest")
        prefix, after = query.get("prefix", ""), query.get("continuation-token", "")
        with store.lock:
            keys = sorted(k for k in store.objects if k.startswith(prefix) and k > after)
            page, more = keys[:store.page], len(keys) > store.page
            rows = "".join(
                f"<Contents><Key>{escape(k)}</Key><LastModified>{stamp(store.changed.get(k, 1))}</LastModified>"
                f"<ETag>&quot;x&quot;</ETag><Size>{len(store.objects[k])}</Size></Contents>" for k in page)
        token = f"<NextContinuationToken>{escape(page[-1])}</NextContinuationToken>" if more else ""
        return self.answer(200, (
            '<?xml version="1.0" encoding="UTF-8"?>\n<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">'
            f"<IsTruncated>{'true' if more else 'false'}</IsTruncated>{rows}{token}</ListBucketResult>").encode())

    def list_uploads(self, store, query):
        """ListMultipartUploads."""
        prefix = query.get("prefix", "")
        after = query.get("key-marker", ""), query.get("upload-id-marker", "")
        with store.lock:
            all_ = sorted((*store.begun[i], i) for i in store.uploads)
            found = sorted((key, i, when) for key, when, i in all_ if key.startswith(prefix) and (key, i) > after)
        page, more = found[:store.page], len(found) > store.page
        rows = "".join(f"<Upload><Key>{escape(k)}</Key><UploadId>{i}</UploadId><Initiated>{when}</Initiated></Upload>"
                       for k, i, when in page)
        next_ = (f"<NextKeyMarker>{escape(page[-1][0])}</NextKeyMarker><NextUploadIdMarker>{page[-1][1]}"
                 "</NextUploadIdMarker>") if more else ""
        return self.answer(200, (
            '<?xml version="1.0"?>\n<ListMultipartUploadsResult><KeyMarker/><UploadIdMarker/>'
            f"<IsTruncated>{'true' if more else 'false'}</IsTruncated>{next_}{rows}"
            "</ListMultipartUploadsResult>").encode())

    def object(self, store, key, query, body):
        with store.lock:
            if self.command == "PUT" and "uploadId" in query:
                parts = store.uploads.get(query["uploadId"])
                if parts is None:
                    return self.error(404, "NoSuchUpload")
                etag = '"' + hashlib.md5(body).hexdigest() + '"'
                parts[int(query["partNumber"])] = (etag, body)
                return self.answer(200, ETag=etag)
            if self.command == "POST" and "uploads" in query:
                upload = f"up/load+{len(store.begun)}="
                store.uploads[upload] = {}
                store.begun[upload] = key, stamp(time.time())
                return self.answer(200, f"<R><UploadId>{upload}</UploadId></R>".encode())
            if self.command == "POST" and "uploadId" in query:
                return self.complete(store, key, query["uploadId"], body.decode())
            if self.command == "DELETE" and "uploadId" in query:
                store.uploads.pop(query["uploadId"], None)
                return self.answer(204)
            if self.command == "PUT":
                store.objects[key], store.changed[key] = body, time.time()
                return self.answer(200, ETag='"x"')
            if self.command == "DELETE":
                store.objects.pop(key, None)
                return self.answer(204)
            data = store.objects.get(key)
        return self.error(404, "NoSuchKey") if data is None else self.send_object(data)

    def complete(self, store, key, upload, text):
        parts = store.uploads.get(upload)
        if parts is None:
            return self.error(404, "NoSuchUpload")
        named = [part.split("</ETag>")[0].split("<ETag>")[1] for part in text.split("<Part>")[1:]]
        whole = [parts[n] for n in sorted(parts)]
        small = any(len(data) < 5 << 20 for _, data in whole[:-1])
        if [etag for etag, _ in whole] != named or small:
            return self.answer(200, b"<Error><Code>InvalidPart</Code></Error>")
        store.objects[key], store.changed[key] = b"".join(data for _, data in whole), time.time()
        del store.uploads[upload]
        return self.answer(200, b"<R><ETag>&quot;x-2&quot;</ETag></R>")

    def send_object(self, data):
        wanted = self.headers.get("Range")
        if not wanted or self.command == "HEAD":
            if self.command == "HEAD":
                return self.answer(200, Content_Length=str(len(data)))
            return self.answer(200, data, ETag='"x"')
        first, last = wanted[len("bytes="):].split("-")
        first, last = int(first), min(int(last) if last else len(data) - 1, len(data) - 1)
        if first >= len(data):
            return self.error(416, "InvalidRange")
        return self.answer(206, data[first:last + 1], Content_Range=f"bytes {first}-{last}/{len(data)}")


class StandIn(Common):
    def __init__(self, page=1000):
        self.page = page       # keys of one answer to a list
        self.objects = {}      # whole ones, by key
        self.uploads = {}      # of several parts, not put together yet
        self.changed = {}      # when each was put
        self.begun = {}        # (key, time) of each that was ever begun
        self.requests = []     # (method, path) as they came
        self.faults = []
        self.lock = threading.Lock()
        self.stopping = threading.Event()

    def __enter__(self):
        class Server(http.server.ThreadingHTTPServer):
            request_queue_size = 128

            def handle_error(self, *_):
                pass  # clients go away
        self.server = Server(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.server.store = self
        self.port = self.server.server_port
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_):
        self.stopping.set()
        self.server.shutdown()
        self.server.server_close()

    def fault(self, kind, count=1):
        """What the next `count` requests get: a status, hang, close, garbage, html, cut; "none"
        ends all that is left."""
        with self.lock:
            self.faults = [] if kind == "none" else self.faults + [kind] * count

    def next_fault(self):
        with self.lock:
            return self.faults.pop(0) if self.faults else None

    @property
    def control(self):
        return f"http://127.0.0.1:{self.port}/-/fault"


class Real(Common):
    """versitygw over a folder: an implementation that is not ours."""
    control = ""

    def __enter__(self):
        program = os.environ.get("FW_VERSITYGW") or shutil.which("versitygw")
        if not program or not shutil.which("setpriv"):
            raise Missing("no versitygw (go install github.com/versity/versitygw/cmd/versitygw@latest)")
        self.folder = tempfile.mkdtemp(prefix="fw-s3-")
        os.makedirs(os.path.join(self.folder, "objects", BUCKET))
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.process = subprocess.Popen(
            ["setpriv", "--pdeathsig", "TERM", program, "-p", f"127.0.0.1:{self.port}", "-a", KEY_ID, "-s", SECRET,
             "--region", REGION, "--quiet", "--keep-alive", "posix", "--sidecar",
             self.made("sidecar"), os.path.join(self.folder, "objects")],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 30
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return self
            except OSError:
                if self.process.poll() is not None or time.monotonic() > deadline:
                    self.__exit__(None, None, None)
                    raise RuntimeError("versitygw does not start") from None
                time.sleep(0.05)

    def made(self, name):
        path = os.path.join(self.folder, name)
        os.makedirs(path, exist_ok=True)
        return path

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(20)
        shutil.rmtree(self.folder, ignore_errors=True)


def main(words):
    real = words[:1] == ["--real"]
    if not words[real:]:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        with (Real() if real else StandIn(page=7)) as server:
            environment = dict(os.environ, **server.environment, FW_S3_URL=server.url("some/prefix", timeout=2))
            if server.control:
                environment["FW_S3_CONTROL"] = server.control
            return subprocess.run(words[real:], env=environment, check=False).returncode
    except Missing as missing:
        print(f"skip: {missing}")
        return 77


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
