"""Reports under load, and what must be true of a database afterwards, whatever happened to servers.

    load = Load(made_reports(program, 100))
    threads = load.start(server, key, 4)    # senders; they end when the server does
    load.stop(threads)
    check_reports(SQLite(path), load); check_sums(...); check_bodies(...)
"""
import http.client
import random
import sqlite3
import subprocess
import threading
import time

from crc32c import crc32c

TYPE = "application/vnd.framewalk.reports"


def made_reports(program, count, seed=9):
    """(id, bytes) of `count` different reports; Load sends them again under other ids."""
    reports = []
    for number in range(count):
        made = subprocess.run([program, str(seed), str(number)], stdout=subprocess.PIPE, check=True).stdout
        reports.append((made[:32].decode(), made[33:]))
    return reports


def line(id, report):
    """A report in a request's body."""
    return b"%s %d\n%s" % (id.encode(), len(report), report)


class Load:
    """Senders that note what was acknowledged, and send again what was not."""

    def __init__(self, reports):
        self.reports, self.lock = reports, threading.Lock()
        self.next, self.left, self.acknowledged, self.ended = 0, [], {}, False
        self.failed = []  # answers that no server should give
        self.refusals = 0
        self.slowest = 0.0

    def take(self):
        with self.lock:
            if self.left:
                return self.left.pop(random.randrange(len(self.left)))
            self.next += 1
            return self.next - 1

    def report(self, number):
        id, bytes = self.reports[number % len(self.reports)]
        new = "%032x" % (int(id, 16) ^ number // len(self.reports))
        # The id in the report's first record (behind its head), and that record's checksum.
        return new, patched(bytes, bytes_of(id), bytes_of(new))

    def send(self, server, key, patient=False):
        """Until the server or the load ends. A patient one goes on when nobody answers."""
        connection = None
        while not self.ended:
            number = self.take()
            id, report = self.report(number)
            began = time.monotonic()
            try:
                connection = connection or server.connect(60)
                connection.request("POST", "/api/v1/reports", line(id, report),
                                   {"Content-Type": TYPE, "Authorization": "Bearer " + key})
                answer = connection.getresponse()
                text = answer.read().decode()
            except (OSError, http.client.HTTPException):
                connection = None
                with self.lock:
                    self.left.append(number)
                if not patient:
                    return
                time.sleep(0.05)
                continue
            words = text.split()
            with self.lock:
                self.slowest = max(self.slowest, time.monotonic() - began)
                if answer.status == 200 and words[1] in ("accepted", "duplicate"):
                    self.acknowledged[id] = number
                    continue
                self.left.append(number)
                self.refusals += 1
                if answer.status not in (503, 507) and not (answer.status == 200 and words[1] == "retry"):
                    self.failed.append((answer.status, text))
                    return
            time.sleep(0.05)

    def start(self, server, key, count=4, patient=False):
        self.ended = False
        threads = [threading.Thread(target=self.send, args=(server, key, patient), daemon=True)
                   for _ in range(count)]
        for thread in threads:
            thread.start()
        return threads

    def stop(self, threads):
        self.ended = True
        for thread in threads:
            thread.join()
        assert not self.failed, self.failed[:3]


class Watch:
    """Asks /healthz all the time."""

    def __init__(self, server):
        self.server, self.ended = server, False
        self.slowest, self.texts, self.wrong = 0.0, set(), []
        self.thread = threading.Thread(target=self.run, daemon=True)

    def run(self):
        while not self.ended:
            began = time.monotonic()
            try:
                reply = self.server.get("/healthz", token=None, timeout=30)
                if reply.status not in (200, 503):
                    self.wrong.append((reply.status, reply.body))
                self.texts.add(reply.text().strip())
            except OSError as failure:
                self.wrong.append(repr(failure))
            self.slowest = max(self.slowest, time.monotonic() - began)
            time.sleep(0.05)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ended = True
        self.thread.join()

    def said(self, word):
        return any(word in text for text in self.texts)


def bytes_of(id):
    return bytes.fromhex(id)


def patched(report, old, new):
    if old == new:
        return report
    size = int.from_bytes(report[8:12], "little")
    payload = report[20:20 + size].replace(old, new, 1)
    crc = crc32c(report[8:16] + payload).to_bytes(4, "little")
    return report[:16] + crc + payload + report[20 + size:]


# --- what is in a database ---

class SQLite:
    hex = "lower(hex(%s))"

    def __init__(self, server):
        self.path = server.folder + "/db/main.sqlite"

    def rows(self, sql):
        """Tuples of texts ('' for NULL)."""
        db = sqlite3.connect("file:%s?mode=ro" % self.path, uri=True, timeout=60)
        try:
            return [tuple("" if v is None else str(v) for v in row) for row in db.execute(sql)]
        finally:
            db.close()

    def change(self, sql):
        db = sqlite3.connect(self.path, timeout=60)
        with db:
            db.execute(sql)
        db.close()

    def one(self, sql):
        return int(self.rows(sql)[0][0])


class Postgres(SQLite):
    hex = "encode(%s, 'hex')"

    def __init__(self, server, name):
        self.server, self.name = server, name

    def rows(self, sql):
        text = self.server.run_sql(sql, self.name)
        return [tuple(row.split("|")) for row in text.split("\n")] if text else []

    def change(self, sql):
        self.server.run_sql(sql, self.name)


def check_reports(db, load):
    """Every acknowledged report is there once, with its row and its body. How many there are."""
    there = {}
    for source in "FROM report", "FROM inbox WHERE state IN (0, 1)":
        for id, in db.rows("SELECT %s %s" % (db.hex % "report_id", source)):
            there[id] = there.get(id, 0) + 1
    for id in load.acknowledged:
        assert there.get(id) == 1, "%s is there %d times" % (id, there.get(id, 0))
    assert max(there.values(), default=1) == 1
    assert db.one("SELECT COUNT(*) FROM inbox WHERE state = 1") == 0, db.rows(
        "SELECT seq, attempts, error FROM inbox WHERE state = 1")
    assert db.one("SELECT COUNT(*) FROM seen") == len(there)
    for sql in ("FROM inbox WHERE seq NOT IN (SELECT seq FROM inbox_body)",
                "FROM inbox_body WHERE seq NOT IN (SELECT seq FROM inbox)",
                "FROM report WHERE pack IS NULL AND body_offset NOT IN (SELECT seq FROM inbox WHERE state = 2)",
                "FROM inbox WHERE state = 2 AND seq NOT IN (SELECT body_offset FROM report WHERE pack IS NULL)",
                "FROM report WHERE pack IS NOT NULL AND pack NOT IN (SELECT id FROM pack)",
                # A server that is killed while rows are moved to a pack leaves those that were not to another one.
                "FROM pack WHERE size < (SELECT SUM(body_size) FROM report WHERE report.pack = pack.id)",
                "FROM report JOIN pack ON pack.id = report.pack WHERE body_offset + body_size > pack.size",
                "FROM report a JOIN report b ON b.pack = a.pack AND b.id <> a.id AND b.body_offset >= a.body_offset"
                " AND b.body_offset < a.body_offset + a.body_size"):
        assert db.one("SELECT COUNT(*) " + sql) == 0, (sql, db.rows("SELECT * %s LIMIT 5" % sql))
    return len(there)


DURATIONS = ("SUM(CASE WHEN duration_ns < 500000000 THEN 1 ELSE 0 END),"
             " SUM(CASE WHEN duration_ns >= 500000000 AND duration_ns < 2000000000 THEN 1 ELSE 0 END),"
             " SUM(CASE WHEN duration_ns >= 2000000000 AND duration_ns < 8000000000 THEN 1 ELSE 0 END),"
             " SUM(CASE WHEN duration_ns >= 8000000000 THEN 1 ELSE 0 END)")
COUNTED = "FROM report WHERE ((kind = 1 AND ending <> 4) OR kind >= 100)"
KILLED = "SUM(CASE WHEN ending = 2 THEN 1 ELSE 0 END)"
# name: (as it is kept, as it is made from the reports)
OF_DAYS = {
    "project_day": (
        "SELECT project, day, version, reports, blocked_ns, killed, slow0, slow1, slow2, slow3"
        " FROM project_day WHERE reports > 0",
        "SELECT project, day, version, COUNT(*), SUM(duration_ns), %s, %s %s GROUP BY project, day, version"
        % (KILLED, DURATIONS, COUNTED)),
    "term_day": (
        "SELECT project, term, day, version, reports, blocked_ns, killed, slow0, slow1, slow2, slow3 FROM term_day",
        "SELECT project, os, day, version, COUNT(*), SUM(duration_ns), %s, %s %s AND os IS NOT NULL"
        " GROUP BY project, os, day, version UNION ALL"
        " SELECT project, device, day, version, COUNT(*), SUM(duration_ns), %s, %s %s AND device IS NOT NULL"
        " GROUP BY project, device, day, version"
        % (KILLED, DURATIONS, COUNTED, KILLED, DURATIONS, COUNTED)),
}
OF_GROUPS = {
    "hang_group": (
        "SELECT id, reports, blocked_ns, killed, installs FROM hang_group WHERE reports > 0",
        "SELECT group_id, COUNT(*), SUM(duration_ns), %s, COUNT(DISTINCT install) %s AND group_id IS NOT NULL"
        " GROUP BY group_id" % (KILLED, COUNTED)),
    "group_day": (
        "SELECT group_id, day, version, reports, blocked_ns, killed, longest_ns, first_ms, last_ms FROM group_day WHERE reports > 0",
        "SELECT group_id, day, version, COUNT(*), SUM(duration_ns), %s, MAX(duration_ns), MIN(started_ms), MAX(started_ms) %s AND group_id IS NOT NULL"
        " GROUP BY group_id, day, version" % (KILLED, COUNTED)),
    "group_install": (
        "SELECT group_id, install, reports FROM group_install WHERE reports > 0",
        "SELECT group_id, install, COUNT(*) %s AND group_id IS NOT NULL AND install IS NOT NULL"
        " GROUP BY group_id, install" % COUNTED),
    "report": (  # a report is where its stack is
        "SELECT report.id, report.group_id FROM report JOIN stack ON stack.id = report.stack"
        " WHERE report.group_id IS NOT NULL",
        "SELECT report.id, stack.group_id FROM report JOIN stack ON stack.id = report.stack"
        " WHERE report.group_id IS NOT NULL"),
}


def check_sums(db, groups=True):
    """`groups`: no job is moving reports between groups."""
    for name, (kept, remade) in dict(OF_DAYS, **(OF_GROUPS if groups else {})).items():
        for a, b, words in ((kept, remade, "kept and not so"), (remade, kept, "missing")):
            wrong = db.rows("SELECT * FROM (%s) AS a EXCEPT SELECT * FROM (%s) AS b LIMIT 3" % (a, b))
            assert not wrong, "%s: %s: %s" % (name, words, wrong)


def check_bodies(server, db, load, count=40):
    """The bodies of some reports are what was sent."""
    rows = db.rows("SELECT id, %s FROM report ORDER BY id" % (db.hex % "report_id"))
    for row, id in random.sample(rows, min(count, len(rows))):
        if id not in load.acknowledged:
            continue
        reply = server.get("/api/v1/projects/default/reports/%s/download?to=raw" % id)
        if reply.status == 404:
            reply = server.get("/api/v1/projects/default/reports/%s/download?to=raw" % row)
        assert reply.status == 200, (reply.status, reply.body[:200])
        assert reply.body == load.report(load.acknowledged[id])[1], id


def leases_run_out(db):
    """What a killed server held is free after a minute: as if that had passed. Before the next one starts."""
    db.change("UPDATE inbox SET lease_ms = 1 WHERE lease_ms > 0")
    db.change("UPDATE job SET lease_ms = 1 WHERE state = 1")


def until_idle(server, seconds=100):
    """No report waits and no job of those that somebody asked for."""
    end = time.monotonic() + seconds
    while True:
        value = server.json("GET", "/api/v1/server", timeout=60)[1]
        busy = [j for j in value["jobs"] if j["state"] != "failed" and j["kind"] in ("convert", "names", "rules")]
        if not value["waiting_reports"] and not busy:
            return value
        assert time.monotonic() < end, value
        time.sleep(0.1)
