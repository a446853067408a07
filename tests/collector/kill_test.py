"""kill -9 of the server at random moments under load: every report that it acknowledged is there
exactly once, in the inbox or processed, with its body; sums are those of the reports.

ROUNDS (15) says how often; SEED makes it the same again.
"""
import http.client
import os
import random
import sqlite3
import subprocess
import sys
import threading
import time

from server import Server

TYPE = "application/vnd.framewalk.reports"
MAKE = next(a for a in sys.argv[1:] if os.path.basename(a).endswith("collector_make"))
ROUNDS = int(os.environ.get("ROUNDS", "15"))
SEED = int(os.environ.get("SEED", str(random.randrange(1 << 30))))
MADE = 400  # different reports; later ones are the same under other ids


class Load:
    """Senders that note what was acknowledged, and send again what was not."""

    def __init__(self, reports):
        self.reports, self.lock = reports, threading.Lock()
        self.next, self.left, self.acknowledged, self.ended = 0, [], {}, False

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

    def send(self, server, key):
        connection = None
        number = None
        while not self.ended:
            number = self.take()
            id, report = self.report(number)
            try:
                connection = connection or server.connect(10)
                connection.request("POST", "/api/v1/reports",
                                   b"%s %d\n%s" % (id.encode(), len(report), report),
                                   {"Content-Type": TYPE, "Authorization": "Bearer " + key})
                answer = connection.getresponse()
                text = answer.read().decode()
            except (OSError, http.client.HTTPException):
                connection = None
                with self.lock:
                    self.left.append(number)
                return
            if answer.status == 200 and text.split()[1] in ("accepted", "duplicate"):
                with self.lock:
                    self.acknowledged[id] = number
            else:
                assert answer.status in (503, 507) or text.split()[1] == "retry", text
                with self.lock:
                    self.left.append(number)


def bytes_of(id):
    return bytes.fromhex(id)


def table():
    rows = []
    for i in range(256):
        for _ in range(8):
            i = i >> 1 ^ (0x82F63B78 if i & 1 else 0)
        rows.append(i)
    return rows


TABLE = table()


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = TABLE[(crc ^ byte) & 0xFF] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


def patched(report, old, new):
    if old == new:
        return report
    size = int.from_bytes(report[8:12], "little")
    payload = report[20:20 + size].replace(old, new, 1)
    crc = crc32c(report[8:16] + payload).to_bytes(4, "little")
    return report[:16] + crc + payload + report[20 + size:]


def open_database(server):
    return sqlite3.connect("file:%s/db/main.sqlite?mode=ro" % server.folder, uri=True)


def check(server, load):
    """Of a server that is down."""
    db = open_database(server)
    one = lambda sql: db.execute(sql).fetchone()[0]
    there = {}
    for table in "SELECT report_id FROM report", "SELECT report_id FROM inbox WHERE state = 0":
        for id, in db.execute(table):
            there[id.hex()] = there.get(id.hex(), 0) + 1
    for id in load.acknowledged:
        assert there.get(id) == 1, "%s is there %d times" % (id, there.get(id, 0))
    assert max(there.values(), default=1) == 1
    assert one("SELECT COUNT(*) FROM inbox WHERE state = 1") == 0
    assert one("SELECT COUNT(*) FROM seen") == len(there)
    assert one("SELECT COUNT(*) FROM inbox WHERE seq NOT IN (SELECT seq FROM inbox_body)") == 0
    assert one("SELECT COUNT(*) FROM inbox_body WHERE seq NOT IN (SELECT seq FROM inbox)") == 0
    assert one("SELECT COUNT(*) FROM report WHERE pack IS NULL AND"
               " body_offset NOT IN (SELECT seq FROM inbox WHERE state = 2)") == 0
    assert one("SELECT COUNT(*) FROM report WHERE pack IS NOT NULL AND"
               " pack NOT IN (SELECT id FROM pack)") == 0
    for key, in db.execute("SELECT key FROM pack"):
        assert os.path.exists(os.path.join(server.folder, "store", key)), key
    assert one("SELECT COALESCE(SUM(reports), 0) FROM project_day") == one(
        "SELECT COUNT(*) FROM report")
    assert one("SELECT COALESCE(SUM(blocked_ns), 0) FROM hang_group") == one(
        "SELECT COALESCE(SUM(duration_ns), 0) FROM report")
    assert one("SELECT COALESCE(SUM(reports), 0) FROM group_day") == one(
        "SELECT COUNT(*) FROM report")
    db.close()
    return len(there)


def main():
    print("SEED=%d ROUNDS=%d" % (SEED, ROUNDS))
    random.seed(SEED)
    reports = []
    for number in range(MADE if ROUNDS > 15 else 100):
        made = subprocess.run([MAKE, "9", str(number)], stdout=subprocess.PIPE, check=True).stdout
        reports.append((made[:32].decode(), made[33:]))
    load = Load(reports)
    with Server("--requests-per-minute", "0") as server:
        key = server.new_key()
        for round in range(ROUNDS):
            if round:
                server.start()
            load.ended = False
            senders = [threading.Thread(target=load.send, args=(server, key)) for _ in range(4)]
            for sender in senders:
                sender.start()
            time.sleep(random.uniform(0.05, 1.2))
            server.kill()
            load.ended = True
            for sender in senders:
                sender.join()
            count = check(server, load)
        server.start()
        end = time.time() + 100
        while server.json("GET", "/api/v1/server")[1]["waiting_reports"] and time.time() < end:
            time.sleep(0.1)
        assert server.json("GET", "/api/v1/server")[1]["waiting_reports"] == 0
        server.stop()
        count = check(server, load)
        print("%d reports acknowledged, %d there, after %d kills" % (
            len(load.acknowledged), count, ROUNDS))
        assert len(load.acknowledged) > ROUNDS  # there was a load


main()
