"""What the server stands on fails for a while: the disk is full, files cannot be written, another
process has the database locked, PostgreSQL is restarted, S3 answers nothing or nonsense. What cannot
be stored is refused, it is said in the log and by /healthz, which answers within a second all the
while, and everything goes on without a restart. FAULT_SECONDS (4) says how long a fault lasts.
"""
import atexit
import glob
import os
import pwd
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import postgres
import s3
from debug_files import bomb_zip, create, dwarf_bomb, named_elf, patch, send, wait
from load import Load, Postgres, SQLite, Watch, check_bodies, check_reports, check_sums, made_reports, until_idle
from server import Server, program

MAKE = next(a for a in sys.argv[1:] if os.path.basename(a).endswith("collector_make"))
SHIM = next(a for a in sys.argv[1:] if a.endswith(".so"))
SECONDS = float(os.environ.get("FAULT_SECONDS", "4"))


def until(what, holds, seconds=30):
    """How long it took."""
    began = time.monotonic()
    while not holds():
        assert time.monotonic() < began + seconds, "not in %d s: %s" % (seconds, what)
        time.sleep(0.02)
    return time.monotonic() - began


def read(path):
    with open(path, "rb") as file:
        return file.read()


def healthy(server):
    return server.get("/healthz", token=None).status == 200


class Faults(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.reports = made_reports(MAKE, 60)

    def through(self, server, db, fault, word=None, accepts=False, seconds=SECONDS):
        """Load, the fault (a function that gives the function that ends it), and what must hold then."""
        load = Load(self.reports)
        key = server.new_key()
        threads = load.start(server, key, 4, patient=True)
        until("reports are taken", lambda: len(load.acknowledged) > 50)
        with Watch(server) as watch:
            end = fault()
            time.sleep(seconds)
            before = len(load.acknowledged)
            end()
            again = until("reports are taken again", lambda: len(load.acknowledged) > before + 20)
            well = until("/healthz is well", lambda: healthy(server))
        time.sleep(0.5)
        load.stop(threads)
        self.assertEqual(watch.wrong, [])
        # The machine may be busy; what is meant is that the fault does not hold it up.
        self.assertLess(watch.slowest, 3.0, watch.texts)
        if word:
            self.assertTrue(watch.said(word), watch.texts)
            self.assertTrue(any(word in line for line in server.log), server.log[-20:])
        if not accepts:
            self.assertGreater(load.refusals, 0)
        until_idle(server)
        check_reports(db, load)
        check_sums(db)
        check_bodies(server, db, load, 10)
        print("%s: taken again after %.2f s, well after %.2f s, slowest /healthz %.2f s, slowest answer %.1f s,"
              " %d taken, %d refused; %s" % (self.id().split(".")[-1], again, again + well, watch.slowest,
                                             load.slowest, len(load.acknowledged), load.refusals,
                                             sorted(watch.texts)), flush=True)
        return watch

    # --- SQLite and files ---

    def preloaded(self, number):
        fault = tempfile.NamedTemporaryFile(prefix="framewalk-test-", suffix=".fault")
        name = fault.name
        fault.close()

        def begin():
            with open(name + ".new", "w") as out:
                out.write(str(number))
            os.rename(name + ".new", name)
            return lambda: os.unlink(name)
        server = Server("--requests-per-minute", "0", "--disk-reserve", "1M", environment={
            "LD_PRELOAD": SHIM, "FW_FAULT_FILE": name, "ASAN_OPTIONS": "verify_asan_link_order=0"})
        return server, begin

    def test_disk_full(self):
        server, fault = self.preloaded(28)
        with server:
            self.through(server, SQLite(server), fault, "full")

    def test_read_only(self):
        server, fault = self.preloaded(30)
        with server:
            self.through(server, SQLite(server), fault, "stored")

    def test_file_size_limit(self):
        """A limit on the size of files, as `ulimit -f` sets it, ends no server."""
        import resource
        with Server("--requests-per-minute", "0", "--disk-reserve", "1M") as server:
            def fault():
                resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (65536, resource.RLIM_INFINITY))
                return lambda: resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE,
                                                (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
            self.through(server, SQLite(server), fault, "stored")

    def test_reserve(self):
        """Less free than the reserve: 507, and /healthz says so."""
        with Server("--disk-reserve", "1000T") as server:
            load = Load(self.reports)
            id, report = load.report(0)
            body = b"%s %d\n%s" % (id.encode(), len(report), report)
            reply = server.post("/api/v1/reports", body, "application/vnd.framewalk.reports", token=server.new_key())
            self.assertEqual(reply.status, 507, reply.body)
            made = server.request("POST", "/api/v1/uploads", b"", {"Upload-Length": "1000", "Tus-Resumable": "1.0.0"})
            self.assertEqual(made.status, 507, made.body)
            health = server.get("/healthz")
            self.assertEqual(health.status, 503)
            self.assertIn("disk", health.text())

    def test_locked(self):
        """Another process writes to the SQLite file and does not end."""
        with Server("--requests-per-minute", "0", "--disk-reserve", "1M") as server:
            def fault():
                other = sqlite3.connect(server.folder + "/db/main.sqlite", timeout=60, isolation_level=None,
                                        check_same_thread=False)
                other.execute("BEGIN IMMEDIATE")
                return lambda: (other.execute("ROLLBACK"), other.close())
            self.through(server, SQLite(server), fault, accepts=True)

    def test_store_cannot_be_written(self):
        """As an ordinary user (root may write everywhere): bodies wait in the database."""
        if os.geteuid() != 0 or not shutil.which("setpriv"):
            self.skipTest("needs root and setpriv")
        user = pwd.getpwnam("nobody")
        folder = tempfile.mkdtemp(prefix="framewalk-test-")
        os.chown(folder, user.pw_uid, user.pw_gid)
        server = Unprivileged("--requests-per-minute", "0", "--disk-reserve", "1M", folder=folder)
        try:
            with server:
                store = os.path.join(folder, "store")

                def fault():
                    for name, _, _ in os.walk(store):
                        os.chmod(name, 0o500)

                    def end():
                        for name, _, _ in os.walk(store):
                            os.chmod(name, 0o700)
                    # As if the bodies had waited for their minute.
                    SQLite(server).change("UPDATE inbox SET received_ms = received_ms - 70000")
                    return end
                self.through(server, SQLite(server), fault, "store", accepts=True)
                until("bodies are in packs", lambda: SQLite(server).one("SELECT COUNT(*) FROM pack") > 0)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    # --- the converter ---

    def convert_as(self, kind):
        """Debug files that crash, loop or explode, and good ones after each."""
        if not shutil.which("cc"):
            self.skipTest("no C compiler")
        large = [p for p in glob.glob("/usr/lib/debug/.build-id/*/*.debug") if os.path.getsize(p) > 100 << 20]
        folder = tempfile.mkdtemp(prefix="framewalk-test-")
        if kind is Unprivileged:
            os.chown(folder, pwd.getpwnam("nobody").pw_uid, -1)
        options = ["--disk-reserve", "1M", "--requests-per-minute", "0", "--convert-memory", "128M",
                   "--convert-output", "64M", "--convert-seconds", "4"]
        try:
            with kind(*options, folder=folder + "/data" if kind is Server else folder) as server, Watch(server) as watch:
                for number, (data, state, word) in enumerate((
                        (dwarf_bomb(folder), "done", ""), (bomb_zip(1 << 30), "failed", "bytes"),
                        (read(min(large, key=os.path.getsize)) if large else None, "stored", ""))):
                    if data:
                        result = send(server, data, "bad", part=16 << 20, seconds=100)
                        print(self.id().split(".")[-1], result["state"], result["message"][:100], flush=True)
                        states = [f["state"] for f in result["files"]] or [result["state"]]
                        self.assertIn(state, [result["state"]] + states, result)
                        self.assertIn(word, result["message"])
                    good = send(server, named_elf(folder, "%040x" % (number + 1), "good%d" % number))
                    self.assertEqual(good["state"], "done", good)
                if large:
                    self.crash(server, read(max(large, key=os.path.getsize)))
            self.assertEqual((watch.wrong, watch.texts), ([], {"ok"}))
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def crash(self, server, data):
        """A signal of the sort that damaged memory brings."""
        place, at = create(server, data, "crashes").headers["Location"], 0
        while at < len(data):
            self.assertEqual(patch(server, place, at, data[at:at + (32 << 20)]).status, 204)
            at += 32 << 20
        children = lambda: [int(pid) for task in glob.glob("/proc/%d/task/*/children" % server.process.pid)
                            for pid in open(task).read().split()]
        until("the converter runs", children)
        os.kill(children()[0], signal.SIGSEGV)
        result = wait(server, place, 60)
        print("crashed:", result["state"], result["message"][:100])
        self.assertNotIn("mapped", [f["state"] for f in result["files"]], result)
        self.assertEqual(send(server, named_elf(os.path.dirname(server.folder), "ef" * 20, "after"))["state"], "done")

    def test_converter(self):
        self.convert_as(Server)

    def test_converter_of_an_ordinary_user(self):
        """Landlock and seccomp alone: without root there is no chroot and no other user."""
        if os.geteuid() != 0 or not shutil.which("setpriv"):
            self.skipTest("needs root and setpriv")
        self.convert_as(Unprivileged)

    # --- PostgreSQL ---

    def with_postgres(self, immediate):
        try:
            with postgres.Server() as database:
                options = ["--database", database.database("faults"), "--requests-per-minute", "0",
                           "--disk-reserve", "1M"]
                with Server(*options) as server:
                    def fault():
                        database.stop(immediate)
                        return database.start
                    self.through(server, Postgres(database, "faults"), fault, "database")
        except postgres.Missing as missing:
            self.skipTest(str(missing))

    def test_postgres_restarted(self):
        self.with_postgres(False)

    def test_postgres_crashes(self):
        self.with_postgres(True)

    # --- S3 ---

    def with_s3(self, kind):
        with s3.StandIn() as store:
            options = ["--store", store.url("faults", timeout=5), "--requests-per-minute", "0", "--disk-reserve", "1M"]
            with Server(*options, environment=store.environment) as server:
                def fault():
                    SQLite(server).change("UPDATE inbox SET received_ms = received_ms - 70000")
                    until("bodies are in packs", lambda: SQLite(server).one("SELECT COUNT(*) FROM pack") > 0)
                    ids = [i for i, in SQLite(server).rows(
                        "SELECT lower(hex(report_id)) FROM report WHERE pack IS NOT NULL")]
                    store.fault(kind, 100000)
                    SQLite(server).change("UPDATE inbox SET received_ms = received_ms - 70000")
                    readers = [threading.Thread(target=self.read_bodies, args=(server, ids), daemon=True)
                               for _ in range(24)]  # more than there are handlers
                    for reader in readers:
                        reader.start()
                    return lambda: store.fault("none")
                self.through(server, SQLite(server), fault, "store", accepts=True,
                             seconds=max(SECONDS, 12 if kind == "hang" else 0))
                SQLite(server).change("UPDATE inbox SET received_ms = received_ms - 70000")
                until("bodies are in packs", lambda: SQLite(server).one("SELECT COUNT(*) FROM pack") > 0)

    def read_bodies(self, server, ids):
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            try:
                server.get("/api/v1/projects/default/reports/%s/download?to=raw" % random.choice(ids), timeout=60)
            except OSError:
                pass
            time.sleep(0.01)

    def test_s3_500(self):
        self.with_s3("500")

    def test_s3_403(self):
        self.with_s3("403")

    def test_s3_silent(self):
        self.with_s3("hang")


class Unprivileged(Server):
    """Run by nobody, from copies of the programs: the build tree may be where nobody else can go."""

    def start(self):
        user = pwd.getpwnam("nobody")
        folder = tempfile.mkdtemp(prefix="framewalk-test-")
        atexit.register(shutil.rmtree, folder, True)
        programs = os.path.join(folder, "programs")
        os.mkdir(programs)
        for name in ("framewalk-collector", "framewalk-converter"):
            shutil.copy(os.path.join(os.path.dirname(program()), name), programs)
        shim = os.path.join(folder, "framewalk-collector")
        with open(shim, "w") as out:
            out.write("#!/bin/sh\nexec setpriv --reuid=%d --regid=%d --clear-groups %s/framewalk-collector \"$@\"\n" %
                      (user.pw_uid, user.pw_gid, programs))
        for path in (shim, folder, programs):
            os.chmod(path, 0o755)
        words, sys.argv[1:] = sys.argv[1:], [shim]
        try:
            return super().start()
        finally:
            sys.argv[1:] = words


if __name__ == "__main__":
    # The converter's take as long as all others together: they are a run of their own.
    named = [a for a in sys.argv[1:] if a.startswith("Faults.")] or [
        "Faults." + name for name in dir(Faults) if name.startswith("test_") and "converter" not in name]
    unittest.main(argv=sys.argv[:1] + named, verbosity=2)
