"""A server on SQLite, or with --postgres on a PostgreSQL server, and on files, or with --s3 on a
stand-in for S3, whose tables and blobs the test can look into and make older."""
import contextlib
import os
import sqlite3
import sys
import time

import api_support
import postgres
import s3
import server as server_module

DAY_MS = 86400000
POSTGRES = postgres.Server() if "--postgres" in sys.argv else None
S3 = s3.StandIn() if "--s3" in sys.argv else None
names = iter(range(1000))


class Server(server_module.Server):
    def __init__(self, *options, **more):
        super().__init__("--requests-per-minute", "0", *options, **more)
        if POSTGRES:
            self.database = "keep%d" % next(names)
            self.options += ["--database", POSTGRES.database(self.database)]
        if S3:
            self.prefix = "keep%d/" % next(names)
            self.options += ["--store", S3.url(self.prefix)]
            self.environment.update(S3.environment)

    # --- blobs ---

    def blob_path(self, key):
        return os.path.join(self.folder, "store", key)

    def blobs(self, prefix=""):
        """The keys that begin so, sorted."""
        if S3:
            with S3.lock:
                return sorted(k[len(self.prefix):] for k in S3.objects if k.startswith(self.prefix + prefix))
        top = self.blob_path("")
        found = (os.path.relpath(os.path.join(at, f), top) for at, _, files in os.walk(top) for f in files)
        return sorted(k for k in found if k.startswith(prefix) and not os.path.basename(k).startswith("."))

    def read_blob(self, key):
        if S3:
            return S3.objects[self.prefix + key]
        with open(self.blob_path(key), "rb") as file:
            return file.read()

    def write_blob(self, key, data):
        if S3:
            S3.objects[self.prefix + key], S3.changed[self.prefix + key] = data, time.time()
            return
        os.makedirs(os.path.dirname(self.blob_path(key)), exist_ok=True)
        with open(self.blob_path(key), "wb") as file:
            file.write(data)

    def age_blobs(self):
        """As if all were put years ago."""
        for key in self.blobs():
            if S3:
                S3.changed[self.prefix + key] = 1e9
            else:
                os.utime(self.blob_path(key), (1e9, 1e9))

    # --- rows ---

    def sql(self, text):
        """Rows of texts and numbers; HEX(column) for bytes, BYTES'ab12' for a literal."""
        if POSTGRES:
            text = text.replace("HEX(", "ENCODED(").replace("BYTES'", "'\\x")
            while "ENCODED(" in text:
                before, rest = text.split("ENCODED(", 1)
                column, rest = rest.split(")", 1)
                text = "%sencode(%s, 'hex')%s" % (before, column, rest)
            lines = POSTGRES.run_sql(text, self.database).splitlines()
            return [tuple(int(v) if v.lstrip("-").isdigit() and len(v) < 20 else v or None
                          for v in line.split("|")) for line in lines]
        db = sqlite3.connect(os.path.join(self.folder, "db", "main.sqlite"), timeout=30)
        try:
            db.create_function("HEX", 1, lambda value: None if value is None else value.hex())
            rows = db.execute(text.replace("BYTES'", "X'")).fetchall()
            db.commit()
            return rows
        finally:
            db.close()

    def one(self, text):
        return self.sql(text)[0][0]

    def until(self, text, seconds=120):
        """Until the statement gives another number than 0."""
        end = time.time() + seconds
        while not self.one(text):
            assert time.time() < end, "not within %d s: %s" % (seconds, text)
            time.sleep(0.1)

    def run_job(self, kind):
        """Lets a periodic job run now, and waits for its end."""
        before = self.one("SELECT MAX(changed_ms) FROM job WHERE kind = '%s'" % kind)
        time.sleep(0.002)
        self.sql("UPDATE job SET run_ms = 0 WHERE kind = '%s' AND state = 0" % kind)
        self.until("SELECT COUNT(*) FROM job WHERE kind = '%s' AND state = 0 AND run_ms > 0"
                   " AND message = '' AND changed_ms > %d" % (kind, before))

    def fill(self, count, seed=1, first=0, calls=0):
        """[(id, bytes)] of reports that were sent and processed."""
        key = self.new_key()
        reports = api_support.made_reports(seed, first, count, calls)
        api_support.send(self, key, reports)
        api_support.wait_processed(self)
        return reports

    def until_packed(self):
        """Bodies wait a minute for their pack: here they are told to be older."""
        self.sql("UPDATE inbox SET received_ms = 0 WHERE state = 2")
        self.until("SELECT CASE WHEN EXISTS (SELECT 1 FROM inbox WHERE state = 2) THEN 0"
                   " ELSE 1 END")


# What docs/collector.md, "Sums", says about a sum and the reports; each must give 0.
COUNTS = "((kind = 1 AND ending <> 4) OR kind >= 100)"
DIFFERENCES = {
    "project_day": """SELECT COUNT(*) FROM
        (SELECT project, day, version, SUM(reports) AS reports, SUM(blocked) AS blocked FROM
          (SELECT project, day, version, reports, blocked_ns AS blocked FROM project_day
           UNION ALL SELECT project, day, version, -1, -duration_ns FROM report
           WHERE {counts}) AS u GROUP BY project, day, version) AS d
        WHERE reports <> 0 OR blocked <> 0""",
    "project_day slow": """SELECT COUNT(*) FROM project_day
        WHERE reports <> slow0 + slow1 + slow2 + slow3 OR slow0 < 0 OR slow1 < 0 OR slow2 < 0
        OR slow3 < 0 OR killed < 0 OR sessions < 0 OR observed_ns < 0""",
    "sessions": """SELECT COUNT(*) FROM
        (SELECT project, day, version, SUM(n) AS n, SUM(observed) AS observed FROM
          (SELECT project, day, version, sessions AS n, observed_ns AS observed FROM project_day
           UNION ALL SELECT project, day, version, -1, -observed_ns FROM session) AS u
         GROUP BY project, day, version) AS d WHERE n <> 0 OR observed <> 0""",
    "term_day": """SELECT COUNT(*) FROM
        (SELECT project, term, day, version, SUM(n) AS n, SUM(blocked) AS blocked FROM
          (SELECT project, term, day, version, reports AS n, blocked_ns AS blocked FROM term_day
           UNION ALL SELECT project, os, day, version, -1, -duration_ns FROM report
           WHERE {counts} AND os IS NOT NULL
           UNION ALL SELECT project, device, day, version, -1, -duration_ns FROM report
           WHERE {counts} AND device IS NOT NULL) AS u
         GROUP BY project, term, day, version) AS d WHERE n <> 0 OR blocked <> 0""",
    "group_day": """SELECT COUNT(*) FROM
        (SELECT group_id, day, version, SUM(n) AS n, SUM(blocked) AS blocked FROM
          (SELECT group_id, day, version, reports AS n, blocked_ns AS blocked FROM group_day
           UNION ALL SELECT group_id, day, version, -1, -duration_ns FROM report
           WHERE group_id IS NOT NULL) AS u GROUP BY group_id, day, version) AS d
        WHERE n <> 0 OR blocked <> 0""",
    "extremes of group_day": """SELECT COUNT(*) FROM group_day d JOIN
        (SELECT group_id, day, version, MAX(duration_ns) AS longest, MIN(started_ms) AS first, MAX(started_ms) AS last
         FROM report GROUP BY group_id, day, version) AS r
        ON r.group_id = d.group_id AND r.day = d.day AND r.version = d.version
        WHERE r.longest <> d.longest_ns OR r.first <> d.first_ms OR r.last <> d.last_ms""",
    "hang_group": """SELECT COUNT(*) FROM
        (SELECT id, SUM(n) AS n, SUM(blocked) AS blocked, SUM(installs) AS installs FROM
          (SELECT id, reports AS n, blocked_ns AS blocked, installs FROM hang_group
           UNION ALL SELECT group_id, -1, -duration_ns, 0 FROM report WHERE group_id IS NOT NULL
           UNION ALL SELECT group_id, 0, 0, -1 FROM group_install) AS u GROUP BY id) AS d
        WHERE n <> 0 OR blocked <> 0 OR installs <> 0""",
    "group_install": """SELECT COUNT(*) FROM
        (SELECT group_id, install, SUM(n) AS n FROM
          (SELECT group_id, install, reports AS n FROM group_install
           UNION ALL SELECT group_id, install, -1 FROM report
           WHERE group_id IS NOT NULL AND install IS NOT NULL) AS u
         GROUP BY group_id, install) AS d WHERE n <> 0""",
    "moving": "SELECT COUNT(*) FROM hang_group WHERE moving <> 0",
    "dangling": """SELECT COUNT(*) FROM report WHERE stack IS NOT NULL
        AND NOT EXISTS (SELECT 1 FROM stack WHERE stack.id = report.stack)""",
    "flame": """SELECT COUNT(*) FROM flame
        WHERE NOT EXISTS (SELECT 1 FROM stack WHERE stack.id = flame.stack)
        OR NOT EXISTS (SELECT 1 FROM stack WHERE stack.id = flame.key_stack)""",
    "stack_image": """SELECT COUNT(*) FROM stack_image
        WHERE NOT EXISTS (SELECT 1 FROM stack WHERE stack.id = stack_image.stack)""",
    "bodies": """SELECT COUNT(*) FROM report WHERE pack IS NOT NULL
        AND NOT EXISTS (SELECT 1 FROM pack WHERE pack.id = report.pack)""",
}


def check_sums(server):
    for name, sql in DIFFERENCES.items():
        wrong = server.one(sql.replace("{counts}", COUNTS))
        assert wrong == 0, "%s: %s rows are not what the reports add up to" % (name, wrong)


def run(main):
    """Exit status 77 when there is no PostgreSQL."""
    try:
        with POSTGRES or contextlib.nullcontext(), S3 or contextlib.nullcontext():
            main()
    except postgres.Missing as missing:
        print("skip: %s" % missing)
        sys.exit(server_module.SKIP)
