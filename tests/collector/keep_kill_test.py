"""kill -9 of the server in the middle of retention: nothing is half deleted. A row of a pack always has
its blob; a blob without a row goes with the sweep; sums are those of the reports that are left.

keep_kill_test.py PATH/framewalk-collector PATH/post_body [--postgres] [--s3]
ROUNDS (6) says how often; SEED makes it the same again.
"""
import os
import random
import time

from keep_support import DAY_MS, POSTGRES, S3, Server, check_sums, run

P = "/api/v1/projects/default/"
ROUNDS = int(os.environ.get("ROUNDS", "6"))
SEED = int(os.environ.get("SEED", str(random.randrange(1 << 30))))
HELD = 5  # packs of a round


def fill(s, number, kept):
    for part in range(HELD):
        for id_, body in s.fill(30, seed=1 + number * HELD + part):
            kept[id_] = body
        s.until_packed()


def make_old(s, number):
    """Most packs are older than body_days, and some reports older than row_days."""
    s.sql("UPDATE pack SET created_ms = created_ms - %d WHERE id %% 4 <> 0" % (31 * DAY_MS))
    if number % 2:
        s.sql("UPDATE project SET settings = '{\"body_days\": 3, \"row_days\": 5}'")


def check_whole(s, kept):
    """Right after the start, whatever the killed one was doing."""
    assert s.one("SELECT COUNT(*) FROM report WHERE pack IS NOT NULL"
                 " AND NOT EXISTS (SELECT 1 FROM pack WHERE pack.id = report.pack)") == 0
    assert s.one("SELECT COUNT(*) FROM report WHERE pack IS NULL AND body_offset IS NOT NULL"
                 " AND NOT EXISTS (SELECT 1 FROM inbox_body WHERE seq = body_offset)") == 0
    there = set(s.blobs("packs/"))
    for key, in s.sql("SELECT key FROM pack"):
        if key not in there:  # it went, row first, since
            assert s.sql("SELECT key FROM pack WHERE key = '%s'" % key) == [], "a row without its blob: " + key
    for id_, in random.sample(s.sql("SELECT HEX(report_id) FROM report"), 10):
        raw = s.get(P + "reports/%s/download?to=raw" % id_)
        assert raw.status in (200, 404, 410), (id_, raw.status, raw.body)
        assert raw.status != 200 or raw.body == kept[id_]


def one_round(s, number, kept):
    """Whether the job was running when the server was killed."""
    fill(s, number, kept)
    make_old(s, number)
    assert s.json("POST", P + "retention")[0] == 202
    end = time.time() + random.uniform(0, 0.3)
    while time.time() < end:
        if s.one("SELECT COUNT(*) FROM job WHERE kind = 'retention' AND state = 1"):
            time.sleep(random.uniform(0, 0.08))
            break
    s.kill()
    running = s.one("SELECT COUNT(*) FROM job WHERE kind = 'retention' AND state = 1")
    s.sql("UPDATE job SET lease_ms = 0 WHERE state = 1")  # it would be over in a minute
    s.start()
    check_whole(s, kept)
    s.until("SELECT CASE WHEN EXISTS (SELECT 1 FROM job WHERE kind = 'retention' AND (state = 1 OR run_ms <= %d))"
            " THEN 0 ELSE 1 END" % (time.time() * 1000))
    s.run_job("retention")
    left = s.one("SELECT COUNT(*) FROM pack WHERE created_ms < %d" % (time.time() * 1000 - 30 * DAY_MS))
    assert left == 0, left
    s.age_blobs()
    s.run_job("packs.sweep")
    assert set(s.blobs("packs/")) == {k for k, in s.sql("SELECT key FROM pack")}
    check_whole(s, kept)
    check_sums(s)
    return running


def main():
    print("SEED=%d" % SEED)
    random.seed(SEED)
    kept = {}
    with Server() as s:
        hits = sum(one_round(s, number, kept) for number in range(ROUNDS))
    print("%d kills, %d of them while it ran, on %s and %s" % (
        ROUNDS, hits, "PostgreSQL" if POSTGRES else "SQLite", "S3" if S3 else "files"))


run(main)
