"""A PostgreSQL server for tests, in a temporary folder, on a unix socket.

    with postgres.Server() as server:
        url = server.database("one")    # postgresql://... of a new, empty database
        server.restart()                # immediate=True: as after a crash

    python3 postgres.py PROGRAM [ARGUMENT...]
        runs the program with FW_POSTGRES_URL (a database of its superuser, who may make others)
        and FW_POSTGRES_CONTROL ("WRITE,READ": descriptors; the line "restart", "crash", "stop" or
        "start" is answered by "ok" when it is done).

The server ends with the process that started it, however that ends. Without PostgreSQL: Missing is
raised; the command exits with 77.
"""
import glob
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse


class Missing(Exception):
    """What is not installed here."""


def programs():
    """The folder of initdb and postgres: the newest version's."""
    found = shutil.which("initdb")
    folders = [os.path.dirname(found)] if found else []
    folders += sorted(glob.glob("/usr/lib/postgresql/*/bin"), key=lambda p: float(p.split("/")[4]))
    for folder in reversed(folders):
        if all(os.access(os.path.join(folder, name), os.X_OK) for name in ("initdb", "postgres")):
            return folder
    raise Missing("no PostgreSQL server is installed (package postgresql)")


def as_somebody():
    """PostgreSQL refuses to run as root: words before a command, and the user it then has."""
    if not shutil.which("setpriv"):
        raise Missing("no setpriv (package util-linux)")
    ends = ["setpriv", "--pdeathsig", "INT"]
    if os.geteuid() != 0:
        return ends, pwd.getpwuid(os.geteuid())
    for name in ("postgres", "nobody"):
        try:
            user = pwd.getpwnam(name)
        except KeyError:
            continue
        ids = [f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"]
        return ends + ids, user
    raise Missing("no user that PostgreSQL could run as")


class Server:
    def __init__(self, settings=("fsync=off",)):
        """`settings`: of postgresql.conf. Without fsync what is committed survives the death of the
        server, not of the machine, and a start after a crash takes a second instead of ten."""
        self.settings = list(settings)
        self.process = None

    def __enter__(self):
        folder = programs()
        self.before, user = as_somebody()
        self.user = user.pw_name
        self.programs = folder
        self.folder = tempfile.mkdtemp(prefix="fw-pg-")
        try:
            if os.geteuid() == 0:
                os.chown(self.folder, user.pw_uid, user.pw_gid)
            self.data = os.path.join(self.folder, "data")
            made = subprocess.run(
                [*self.before, os.path.join(folder, "initdb"), "-D", self.data, "-A", "trust", "-U", "tester",
                 "-E", "UTF8", "--locale=C.UTF-8", "--no-sync"],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120,
                cwd=self.folder, check=False)
            if made.returncode:
                raise RuntimeError("initdb failed: " + made.stdout.decode(errors="replace"))
            self.start()
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(self, *_):
        self.stop(immediate=True)
        shutil.rmtree(self.folder, ignore_errors=True)

    def start(self):
        words = [*self.before, os.path.join(self.programs, "postgres"), "-D", self.data, "-k", self.folder,
                 "-c", "listen_addresses="]
        for setting in self.settings:
            words += ["-c", setting]
        self.log = open(os.path.join(self.folder, "log"), "ab")
        self.process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log,
                                        cwd=self.folder, start_new_session=True)
        deadline = time.monotonic() + 60
        ready = os.path.join(self.data, "postmaster.pid")
        while True:
            try:
                with open(ready, encoding="ascii") as lines:
                    if lines.read().rstrip().endswith("ready"):
                        return
            except OSError:
                pass
            if self.process.poll() is not None or time.monotonic() > deadline:
                with open(os.path.join(self.folder, "log"), encoding="utf-8", errors="replace") as log:
                    raise RuntimeError("PostgreSQL does not start: " + log.read()[-2000:])
            time.sleep(0.02)

    def stop(self, immediate=False):
        if self.process is None:
            return
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGQUIT if immediate else signal.SIGINT)
            try:
                self.process.wait(60)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.process = None
        self.log.close()

    def restart(self, immediate=False):
        self.stop(immediate)
        self.start()

    def url(self, database="postgres"):
        return f"postgresql:///{database}?host={urllib.parse.quote(self.folder, safe='')}&user=tester"

    def run_sql(self, sql, database="postgres"):
        """What psql prints: rows a line, columns divided by |."""
        return subprocess.run(
            [os.path.join(self.programs, "psql"), "-XqAt", "-v", "ON_ERROR_STOP=1", "-d", self.url(database),
             "-c", sql], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, timeout=60, check=True
        ).stdout.decode().rstrip("\n")

    def database(self, name):
        self.run_sql(f'CREATE DATABASE "{name}"')
        return self.url(name)


def serve_control(server, requests, answers):
    actions = {"restart": server.restart, "crash": lambda: server.restart(immediate=True),
               "stop": server.stop, "start": server.start}
    with os.fdopen(requests, encoding="ascii") as lines:
        for line in lines:
            actions[line.strip()]()
            os.write(answers, b"ok\n")


def main(words):
    if not words:
        print(__doc__, file=sys.stderr)
        return 2
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    try:
        with Server() as server:
            requests, write = os.pipe()
            read, answers = os.pipe()
            environment = dict(os.environ, FW_POSTGRES_URL=server.url(), FW_POSTGRES_CONTROL=f"{write},{read}")
            program = subprocess.Popen(words, env=environment, pass_fds=(write, read))
            os.close(write)
            os.close(read)
            threading.Thread(target=serve_control, args=(server, requests, answers), daemon=True).start()
            try:
                return program.wait()
            finally:
                if program.poll() is None:
                    program.terminate()
    except Missing as missing:
        print(f"skip: {missing}")
        return 77


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
