"""The collector for tests: started on a free port with a temporary folder, ended by its pid.

    from server import Server
    with Server() as server:
        status, body = server.json("GET", "/api/v1/server")

The program is the first argument of the test (or the environment's FRAMEWALK_COLLECTOR).
"""
import gzip
import http.client
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import urllib.parse

SKIP = 77


def program():
    named = [a for a in sys.argv[1:] if os.path.basename(a) == "framewalk-collector"]
    found = named[0] if named else os.environ.get("FRAMEWALK_COLLECTOR")
    if not found or not os.access(found, os.X_OK):
        sys.exit("usage: %s PATH/framewalk-collector" % sys.argv[0])
    return found


def key_file(folder, name, secret):
    """A file that its owner alone may read, as --key-file wants it: its path."""
    path = os.path.join(folder, name)
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as out:
        out.write(secret)
    return path


class Reply:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    def text(self):
        body = self.body
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        return body.decode()

    def json(self):
        return json.loads(self.text())


class Server:
    """`options` are added to the command line; `folder` is kept when it is given; `token` is that
    of a folder that was served before."""

    def __init__(self, *options, folder=None, token=None, environment=None):
        self.options, self.token = list(options), token
        self.own_folder = folder is None
        self.folder = folder or tempfile.mkdtemp(prefix="framewalk-test-")
        self.environment = dict(os.environ, **(environment or {}))
        self.process, self.log = None, []
        self.tls = "--tls-cert" in options

    def start(self):
        command = [program(), "--data", self.folder, "--listen", "127.0.0.1:0"] + self.options
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        text=True, env=self.environment)
        self.reader = threading.Thread(target=self._read_log, daemon=True)
        self.reader.start()
        self.said = []
        for line in self.process.stdout:
            self.said.append(line)
            listening = re.match(r"Listening on .*?:(\d+)/$", line) or \
                re.match(r"Listening on \S+ port (\d+):", line)
            first = re.match(r"First token \(shown once\): (\S+)", line)
            if listening:
                self.port = int(listening.group(1))
            if first:
                self.token = first.group(1)
            if line.startswith("Ready"):
                return self
        self.process.wait()
        self.reader.join()
        raise RuntimeError("the server did not start: %s" % "".join(self.log))

    def _read_log(self):
        for line in self.process.stderr:
            self.log.append(line)

    def stop(self, number=signal.SIGTERM, seconds=30):
        """The exit status; negative: killed by that signal."""
        if self.process and self.process.poll() is None:
            self.process.send_signal(number)
        try:
            status = self.process.wait(seconds) if self.process else None
        except subprocess.TimeoutExpired:
            self.process.kill()  # no test leaves a server behind
            self.process.wait()
            raise
        if self.process:
            self.process.stdout.close()
            self.reader.join(5)
            self.process.stderr.close()
        self.process = None
        return status

    def kill(self):
        return self.stop(signal.SIGKILL)

    def __enter__(self):
        try:
            return self.start()
        except BaseException:
            self.__exit__(*sys.exc_info())
            raise

    def __exit__(self, kind, value, trace):
        try:
            if self.process:
                self.stop()
        finally:
            if self.log and kind:
                sys.stderr.write("".join(self.log[-50:]))
            if self.own_folder:
                shutil.rmtree(self.folder, ignore_errors=True)

    def url(self, path=""):
        return "%s://127.0.0.1:%d%s" % ("https" if self.tls else "http", self.port, path)

    def connect(self, timeout=30):
        if not self.tls:
            return http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        import ssl
        context = ssl._create_unverified_context()
        return http.client.HTTPSConnection("127.0.0.1", self.port, timeout=timeout, context=context)

    def request(self, method, path, body=None, headers=None, token=True, timeout=30):
        """A Reply. token True: the first one; None: none; else that one."""
        headers = dict(headers or {})
        if token is True:
            token = self.token
        if token:
            headers.setdefault("Authorization", "Bearer " + token)
        connection = self.connect(timeout)
        try:
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            return Reply(answer.status, answer.headers, answer.read())
        finally:
            connection.close()

    def get(self, path, **rest):
        return self.request("GET", path, **rest)

    def post(self, path, body=b"", type="application/octet-stream", headers=None, **rest):
        return self.request("POST", path, body, dict(headers or {}, **{"Content-Type": type}), **rest)

    def json(self, method, path, value=None, query=None, **rest):
        """(status, JSON or None) of a request with a JSON body."""
        headers = dict(rest.pop("headers", None) or {})
        body = None
        if value is not None:
            body = json.dumps(value).encode()
            headers["Content-Type"] = "application/json"
        if query:
            path += "?" + urllib.parse.urlencode(query)
        reply = self.request(method, path, body, headers, **rest)
        return reply.status, json.loads(reply.text()) if reply.body else None

    def new_key(self, project="default", label="test"):
        """An ingest key of a project."""
        status, value = self.json("POST", "/api/v1/tokens",
                                  {"kind": "key", "label": label, "project": project})
        assert status == 201, value
        return value["secret"]

    def new_token(self, scopes, project=None, label="test", **more):
        status, value = self.json("POST", "/api/v1/tokens", dict(
            {"kind": "token", "label": label, "scopes": list(scopes), "project": project}, **more))
        assert status == 201, value
        return value["secret"]
