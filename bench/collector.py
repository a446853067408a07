#!/usr/bin/env python3
"""The figures of the collector: bench/README.md tells what each means. One line a figure:

    name<TAB>ours<TAB>unit<TAB>peer<TAB>theirs<TAB>ratio<TAB>remark

    collector.py BUILD [NAME]          figures that begin with NAME ("collector": all)

FW_BENCH_MINUTES   how long the load lasts (1; the full run is 10)
FW_BENCH_REPORTS   reports of the filled database (300000)
FW_BENCH_STACKS    stacks that a late debug file names (100000)
FW_BENCH_FOLDER    where databases lie (a folder of its own in BUILD)

Everything runs on this machine: the server, the load, PostgreSQL with fsync, the S3 server. Times are
only worth something when nothing else runs; the remark has the load average of the last minute when
the figure began, and the processor time, which does not depend on that.
"""
import contextlib
import ctypes
import glob
import http.client
import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
sys.path[:0] = [HERE, os.path.join(HERE, "..", "tests", "collector")]
import collector_api  # noqa: E402
import collector_calls  # noqa: E402
import postgres       # noqa: E402
import s3             # noqa: E402

RATE = 210  # offered, reports a second: a little more than what is asked
MINUTES = float(os.environ.get("FW_BENCH_MINUTES", "1"))
REPORTS = int(os.environ.get("FW_BENCH_REPORTS", "300000"))
CALL_ROWS = int(os.environ.get("FW_BENCH_CALLS", "10000000"))
STACKS = int(os.environ.get("FW_BENCH_STACKS", "100000"))
GROUPS = max(500, REPORTS // 100)


def line(name, ours, unit, peer="-", theirs=None, ratio=None, remark=""):
    show = lambda v: "-" if v is None else "%.4g" % v if isinstance(v, float) else str(v)
    print("\t".join([name, show(ours), unit, peer, show(theirs),
                     "-" if ratio is None else "%.2f" % ratio, remark]), flush=True)


def most(name, ours, unit, limit, remark=""):
    line(name, ours, unit, "limit", limit, limit / ours if ours else None, remark)


def load():
    return "load %.1f" % os.getloadavg()[0]


def times(pid):
    """Its processor seconds, and those of its children that ended; (0, 0) when it is gone."""
    try:
        fields = open("/proc/%s/stat" % pid, encoding="ascii").read().rsplit(")", 1)[1].split()
    except OSError:
        return 0, 0, None
    ticks = [int(f) / os.sysconf("SC_CLK_TCK") for f in fields[11:15]]
    return ticks[0] + ticks[1], ticks[2] + ticks[3], fields[1]


def database_cpu(server):
    """Processor seconds of PostgreSQL so far, open connections included."""
    with open(os.path.join(server.data, "postmaster.pid"), encoding="ascii") as lines:
        pid = lines.readline().strip()
    own, ended, _ = times(pid)
    for child in filter(str.isdigit, os.listdir("/proc")):
        used, _, parent = times(child)
        own += used if parent == pid else 0
    return own + ended


def die_with_parent():
    ctypes.CDLL(None).prctl(1, signal.SIGTERM)


def private_folder(path):
    """Of this user alone, as the server wants a folder that has files already."""
    before = os.umask(0o077)
    os.makedirs(path, exist_ok=True)
    os.umask(before)


class Server:
    """The collector on a folder, with a token and a key of the project "default"."""

    def __init__(self, build, folder, database=None, environment=None, store=None):
        self.build, self.folder = build, folder
        self.options = ["--data", folder, "--listen", "127.0.0.1:0", "--requests-per-minute", "0"]
        self.options += ["--database", database] if database else []
        self.options += ["--store", store] if store else []
        self.environment = dict(os.environ, **(environment or {}))
        self.program = os.path.join(build, "src", "framewalk-collector")

    def __enter__(self):
        private_folder(self.folder)
        made = subprocess.run([self.program, "--new-token", *self.options], capture_output=True, text=True,
                              env=self.environment, check=False)
        found = re.search(r"fwt_\S+", made.stdout)
        if not found:
            raise RuntimeError("no token: " + made.stderr)
        self.token = found.group(0)
        begin = time.monotonic()
        self.process = subprocess.Popen([self.program, *self.options], stdout=subprocess.PIPE, text=True,
                                        stderr=open(os.path.join(self.folder, "log"), "w", encoding="utf-8"),
                                        env=self.environment, preexec_fn=die_with_parent)
        for text in self.process.stdout:
            listening = re.search(r"Listening on .*?:(\d+)/", text)
            self.port = int(listening.group(1)) if listening else getattr(self, "port", None)
            if text.startswith("Ready"):
                break
        self.started = time.monotonic() - begin
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(60)

    def ask(self, method, path, value=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        connection.request(method, path, json.dumps(value) if value is not None else None,
                           {"Authorization": "Bearer " + self.token, "Content-Type": "application/json"})
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        if answer.status >= 300:
            raise RuntimeError("%s %s: %d %s" % (method, path, answer.status, body[:200]))
        return json.loads(body) if body else None

    def key(self):
        return self.ask("POST", "/api/v1/tokens",
                        {"kind": "key", "label": "bench", "project": "default"})["secret"]

    def usage(self):
        """Processor milliseconds, most memory in MB, MB written to the disk: of the process so far."""
        cpu = collector_api.cpu_ms(self.process.pid)
        status = open("/proc/%d/status" % self.process.pid, encoding="ascii").read()
        io = open("/proc/%d/io" % self.process.pid, encoding="ascii").read()
        return (cpu, int(re.search(r"VmHWM:\s+(\d+)", status).group(1)) / 1024,
                int(re.search(r"^write_bytes: (\d+)", io, re.M).group(1)) / 1e6)

    def send(self, count, rate, connections, seed=1):
        command = [os.path.join(self.build, "bench", "bench_collector_load"), "--url",
                   "http://127.0.0.1:%d" % self.port, "--key", self.key(), "--token", self.token, "--reports",
                   str(int(count)), "--rate", str(rate), "--connections", str(connections), "--seed", str(seed)]
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, preexec_fn=die_with_parent)


def result_of(sender, seconds):
    """What bench_collector_load printed, by word."""
    text = sender.communicate(timeout=seconds)[0]
    if sender.returncode:
        raise RuntimeError("reports were lost: " + text)
    return {word: float(number) for word, number in re.findall(r"(\w+) ([\d.]+)", text)}


class Bench:
    def __init__(self, build, only):
        self.build, self.only = build, only
        self.folder = os.environ.get("FW_BENCH_FOLDER") or os.path.join(build, "bench", "collector-data")
        shutil.rmtree(self.folder, ignore_errors=True)
        private_folder(self.folder)
        self.postgres, self.failed = None, False

    def wanted(self, suffix, *names):
        """Whether one of these is asked for; `suffix` (".postgres") is part of the name."""
        return any((n + suffix).startswith(self.only) or self.only == n for n in names)

    def program(self, name):
        return os.path.join(self.build, "bench", "bench_collector_" + name)

    def url(self, name):
        """The database `name` of the back end that is measured; NULL: the folder's own."""
        return self.postgres.database(name) if self.postgres else None

    # ---- taking reports in ----

    def ingest(self, suffix, store=None, environment=None, remark=""):
        names = ["collector." + n for n in ("ingest", "accept.p99", "memory", "cost", "ingest.most")]
        if not self.wanted(suffix, *names):
            return
        folder = os.path.join(self.folder, "ingest" + suffix)
        with Server(self.build, folder, self.url("ingest" + suffix), environment, store) as server:
            count, before = RATE * 60 * MINUTES, load()
            engine = self.database_work()
            got = result_of(server.send(count, RATE, 32), 600 * MINUTES + 600)
            cpu, memory, written = server.usage()
            remark = "%.0f s at %d/s offered, %s, processor %.2f ms a report%s" % (
                got["sent"], RATE, before, cpu / count, remark)
            line("collector.ingest" + suffix, got["rate"], "reports/s", "limit", 200, got["rate"] / 200, remark)
            line("collector.ingest" + suffix, got["rate"], "reports/s", "Bugsink, as published", 30,
                 got["rate"] / 30, "its events of 50 KB on another machine with 2 processors; not measured here")
            most("collector.accept.p99" + suffix, got["p99"], "ms", 50,
                 "p50 %.1f, longest %.1f ms; %s" % (got["p50"], got["max"], before))
            most("collector.memory" + suffix, memory, "MB", 512, "most that was resident")
            line("collector.cost" + suffix, cpu / count, "ms", remark="processor time a report, the server's alone")
            if self.postgres:
                seconds, log = (now - then for now, then in zip(self.database_work(), engine))
                line("collector.cost.engine" + suffix, seconds * 1e3 / count, "ms",
                     remark="processor time a report, PostgreSQL's; %.1f KB of its WAL" % (log * 1e3 / count))
            line("collector.cost.written" + suffix, written * 1e3 / count, "KB",
                 remark="a report, by the server to the disk, PostgreSQL's and S3's not included")
            self.wait_for_packs(suffix, server)
            if not store:
                self.sizes(suffix, server, count)
                self.most_ingest(suffix, server)

    def wait_for_packs(self, suffix, server):
        """Bodies are packed a minute after they came at the latest."""
        until = time.monotonic() + 120
        while time.monotonic() < until:
            if not self.postgres:
                database = sqlite3.connect(os.path.join(server.folder, "db", "main.sqlite"), timeout=60)
                left = database.execute("SELECT COUNT(*) FROM inbox").fetchone()[0]
                database.close()
            else:
                left = int(self.postgres.run_sql("SELECT COUNT(*) FROM inbox", "ingest" + suffix))
            if not left:
                return
            time.sleep(2)

    def sizes(self, suffix, server, count):
        remark = "a report in the database"
        stored = sum(os.path.getsize(p) for p in glob.glob(server.folder + "/store/**/*", recursive=True)
                     if os.path.isfile(p))
        if self.postgres:
            database = int(self.postgres.run_sql("SELECT pg_database_size('%s')" % ("ingest" + suffix)))
            kept = int(self.postgres.run_sql("SELECT pg_total_relation_size('report')", "ingest" + suffix))
            remark += "; %.0f bytes of them `report` and its indexes, most of the rest the emptied inbox" % (
                kept / count)
        else:
            connection = sqlite3.connect(os.path.join(server.folder, "db", "main.sqlite"), timeout=60)
            ask = lambda what: connection.execute("PRAGMA " + what).fetchone()[0]
            database = (ask("page_count") - ask("freelist_count")) * ask("page_size")
            connection.close()
        line("collector.cost.database" + suffix, database / count, "bytes", remark=remark)
        if stored:
            line("collector.cost.store" + suffix, stored / count, "bytes", remark="a report in the blob store")

    def most_ingest(self, suffix, server):
        """As fast as it goes, beside what a bare loop does with the same disk."""
        count, before = 20000, load()
        cpu = server.usage()[0]
        got = result_of(server.send(count, 0, 64, seed=2), 900)
        bare = self.bare_commits(64)
        line("collector.ingest.most" + suffix, got["rate"], "reports/s", "bare commits", bare, got["rate"] / bare,
             "64 senders; %s; processor %.2f ms a report; peer: rows of 10 KB into SQLite, 64 a durable commit, "
             "nothing else" % (before, (server.usage()[0] - cpu) / count))

    def bare_commits(self, batch):
        path = os.path.join(self.folder, "bare.sqlite")
        database = sqlite3.connect(path, isolation_level=None)
        database.executescript("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;"
                               "CREATE TABLE t (id BLOB PRIMARY KEY, body BLOB)")
        begin, rows = time.monotonic(), 0
        while time.monotonic() < begin + 5:
            database.execute("BEGIN IMMEDIATE")
            database.executemany("INSERT INTO t VALUES (?, ?)",
                                 [(os.urandom(16), os.urandom(10000)) for _ in range(batch)])
            database.execute("COMMIT")
            rows += batch
        rate = rows / (time.monotonic() - begin)
        database.close()
        os.unlink(path)
        return rate

    # ---- views ----

    def views(self, suffix):
        names = ["collector." + n for n in ("api.p95", "start", "accept.p99.job")]
        if not self.wanted(suffix, *names):
            return
        folder = os.path.join(self.folder, "views" + suffix)
        private_folder(os.path.join(folder, "db"))
        url = self.url("views")
        subprocess.run([self.program("fill"), url or "sqlite:%s/db/main.sqlite" % folder, str(REPORTS), str(GROUPS)],
                       check=True, timeout=3600)
        if self.postgres: # as autovacuum does it in a server that has run for a month
            self.postgres.run_sql("VACUUM ANALYZE", "views")
        with Server(self.build, folder, url) as server:
            most("collector.start" + suffix, server.started * 1e3, "ms", 2000, "with %d reports" % REPORTS)
            before, rows = load(), []
            client = collector_api.Client(server.port, server.token)
            for name, path in collector_api.calls_of(client).items():
                p50, p95, cpu, _ = collector_api.measure(client, server.process.pid, path, 40)
                rows.append((p95, name, p50, cpu))
            for p95, name, p50, cpu in sorted(rows, reverse=True):
                print("# %-34s p50 %6.1f ms  p95 %6.1f ms  processor %5.1f ms%s" %
                      (name, p50, p95, cpu, suffix and " (without the database's)"), flush=True)
            worst = max(rows)
            most("collector.api.p95" + suffix, worst[0], "ms", 100, "worst of %d calls: %s; %d reports; %s" %
                 (len(rows), worst[1], REPORTS, before))
            self.during_job(suffix, server)

    def calls(self, suffix):
        """SQLite alone: its file is filled while no server runs."""
        if not self.wanted(suffix, "collector.calls"):
            return
        folder = os.path.join(self.folder, "calls")
        private_folder(folder)
        with Server(self.build, folder, None) as server:
            token = server.token
        path = os.path.join(folder, "db", "main.sqlite")
        rows, before = collector_calls.fill(path, CALL_ROWS), load()
        with Server(self.build, folder, None) as server:
            took = collector_calls.measure(collector_api.Client(server.port, server.token or token), 3)
        for name, ms in sorted(took.items(), key=lambda item: -item[1]):
            print("# %-34s longest %7.1f ms" % (name, ms), flush=True)
        worst = max(took, key=took.get)
        most("collector.calls", took[worst], "ms", 1000, "longest of %d questions: %s; %d rows, %.0f MB; %s" %
             (len(took), worst, rows, collector_calls.size_mb(path), before))

    def during_job(self, suffix, server):
        """Reports come in while all stacks get their keys anew."""
        before, seconds = load(), 30
        sender = server.send(seconds * 100, 100, 32, seed=3)
        time.sleep(2)
        try:
            server.ask("PUT", "/api/v1/projects/default/rules", {"text": "image:lib0* -> wrapper\n"})
            result = result_of(sender, 1200)
        finally:
            sender.kill()
        most("collector.accept.p99.job" + suffix, result["p99"], "ms", 50,
             "100 reports/s while all stacks of the filled database are keyed anew; longest %.1f ms; %s" %
             (result["max"], before))

    # ---- names ----

    def late(self, suffix):
        if not self.wanted(suffix, "collector.late"):
            return
        program, before = self.program("late"), load()
        if not os.path.exists(program):
            line("collector.late" + suffix, "failed", "s", remark="built without cmocka")
            self.failed = True
            return
        environment = dict(os.environ, FW_GROUPS_STACKS=str(STACKS))
        environment.pop("FW_POSTGRES_URL", None)
        if self.postgres:
            environment["FW_POSTGRES_URL"] = self.postgres.url()
        with subprocess.Popen([program], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              env=environment, preexec_fn=die_with_parent) as process:
            text, found, database = "", None, None
            for one in process.stdout:
                text += one
                if " filled in " in one: # what comes now is the job
                    database = self.database_work()
                found = re.search(r"named in ([\d.]+) s \(processor ([\d.]+) s\)", one)
                if found:
                    break
            if found and self.postgres:
                database = [now - then for now, then in zip(self.database_work(), database)]
            text += process.stdout.read()
        if not found or process.returncode:
            line("collector.late" + suffix, "failed", "s", remark=text[-200:].replace("\n", " "))
            return
        most("collector.late" + suffix, float(found.group(1)), "s", 60,
             "%d stacks of %d reports; processor %s s of the server%s; %s" %
             (STACKS, 2 * STACKS, found.group(2),
              ", %.1f s of PostgreSQL, %.0f MB of its WAL" % tuple(database) if self.postgres else "", before))

    def database_work(self):
        """Processor seconds and MB of WAL so far."""
        if not self.postgres:
            return None
        return database_cpu(self.postgres), float(self.postgres.run_sql("SELECT wal_bytes FROM pg_stat_wal")) / 1e6

    def frames(self):
        if not self.wanted("", "collector.frames"):
            return
        symbol_map = os.path.join(self.folder, "self.map")
        subprocess.run([os.path.join(self.build, "src", "framewalk"), "convert",
                        os.path.join(self.build, "src", "framewalk-collector"), "-o", symbol_map], check=True,
                       capture_output=True, timeout=300)
        before = load()
        run = lambda what: float(subprocess.run([self.program("names"), symbol_map, what], capture_output=True,
                                                text=True, check=True, timeout=600).stdout)
        line("collector.frames", run("frames"), "frames/s",
             remark="one thread, with inlines and tail calls; %s" % before)
        line("collector.frames.lookup", run("lookup"), "ns", remark="one place, never asked before")
        line("collector.frames.again", run("again"), "ns", remark="one place out of 1,000")

    # ---- all ----

    def s3(self):
        if not self.wanted(".postgres.s3", "collector.ingest", "collector.accept.p99"):
            return
        try:
            kind, which = s3.Real(), "versitygw"
            store = kind.__enter__()
        except s3.Missing:
            kind, which = s3.StandIn(), "the stand-in of tests/collector/s3.py"
            store = kind.__enter__()
        try:
            self.ingest(".postgres.s3", store.url("bench"), store.environment, "; S3: " + which)
        finally:
            kind.__exit__(None, None, None)

    def each(self, suffix, part, *arguments):
        """One that fails does not take the others with it."""
        try:
            part(*arguments)
        except Exception as error:  # pylint: disable=broad-except
            line("collector.%s%s" % (part.__name__, suffix), "failed", "-", remark=str(error).replace("\n", " ")[:300])
            self.failed = True

    def run(self):
        self.each("", self.frames)
        for part in (self.ingest, self.views, self.calls, self.late):
            self.each("", part, "")
        try:
            with contextlib.ExitStack() as stack:
                self.postgres = stack.enter_context(postgres.Server(settings=("shared_buffers=256MB",
                                                                              "max_wal_size=2GB")))
                for part in (self.ingest, self.views, self.late):
                    self.each(".postgres", part, ".postgres")
                self.each(".postgres.s3", self.s3)
        except postgres.Missing as missing:
            line("collector.ingest.postgres", "failed", "reports/s", remark=str(missing))
            self.failed = True
        shutil.rmtree(self.folder, ignore_errors=True)
        return 1 if self.failed else 0


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    print("# %s, %d processors, kernel %s, load %s" %
          (time.strftime("%Y-%m-%d %H:%M"), os.cpu_count(), os.uname().release,
           " ".join("%.1f" % l for l in os.getloadavg())), flush=True)
    sys.exit(Bench(os.path.abspath(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else "collector").run())


main()
