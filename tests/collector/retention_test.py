"""Settings of what is kept, and the clean-up: what goes, what stays, and that sums stay sums.

retention_test.py PATH/framewalk-collector PATH/post_body [--postgres] [--s3]"""
import fcntl
import os
import time

from keep_support import DAY_MS, POSTGRES, S3, Server, check_sums, run

P = "/api/v1/projects/default/"


def settings(s, **change):
    status, value = s.json("PUT", P + "settings", change)
    assert status == 200, value
    return value


def check_settings(s):
    usual = {"body_days": 30, "row_days": 400, "symbols_days": 180, "disk_share": 0.85}
    assert s.json("GET", P + "settings") == (200, usual)
    for wrong in ({"body_days": 0}, {"body_days": 1.5}, {"row_days": 100000}, {"row_days": "9"},
                  {"disk_share": 1.5}, {"disk_share": "x"}, {"disk_share": 0}, {"other": 1},
                  {"body_days": 401}, {"row_days": True}, {"body_days": None}):
        status, value = s.json("PUT", P + "settings", wrong)
        assert status == 400 and value["error"], (wrong, status, value)
    assert s.json("GET", P + "settings") == (200, usual)
    assert s.json("PUT", P + "settings", {"body_days": 7, "disk_share": 0.5})[0] == 200
    assert s.json("GET", P + "settings")[1] == dict(usual, body_days=7, disk_share=0.5)
    assert s.json("PUT", P + "settings", usual) == (200, usual)
    reader = s.new_token(["read", "triage"])
    assert s.json("GET", P + "settings", token=reader)[0] == 200
    assert s.json("PUT", P + "settings", usual, token=reader)[0] == 403
    for path in ("forget", "retention"):
        assert s.json("POST", P + path, {"install": "x"}, token=reader)[0] == 403
    assert s.json("PUT", "/api/v1/projects/nowhere/settings", usual)[0] == 404
    lines = [i for i in s.json("GET", "/api/v1/audit")[1]["items"] if i["action"] == "settings.put"]
    assert len(lines) == 2 and '"body_days":7' in lines[1]["detail"], lines


def preview(s):
    status, value = s.json("GET", P + "retention")
    assert status == 200, value
    return value


def clean_up(s):
    status, value = s.json("POST", P + "retention")
    assert status == 202, value
    s.run_job("retention")


def audited(s):
    return [i["detail"] for i in s.json("GET", "/api/v1/audit")[1]["items"]
            if i["action"] == "retention.remove"]


def check_bodies(s, reports):
    """Of two packs the older one goes."""
    first = s.one("SELECT MIN(id) FROM pack")
    old = [r[0] for r in s.sql("SELECT HEX(report_id) FROM report WHERE pack = %d" % first)]
    assert 0 < len(old) < len(reports)
    assert all(v == 0 for k, v in preview(s).items() if k != "disk_used"), preview(s)
    s.sql("UPDATE pack SET created_ms = created_ms - %d WHERE id = %d" % (31 * DAY_MS, first))
    expected = preview(s)
    assert expected["bodies"] == len(old) and expected["body_bytes"] > 0, expected
    before = s.blobs("packs/")
    clean_up(s)
    assert len(s.blobs("packs/")) == len(before) - 1
    for id_, _ in reports:
        there = s.json("GET", P + "reports/" + id_)
        assert there[0] == 200 and there[1]["body"] == (id_ not in old), (id_, there[1]["body"])
    raw = s.get(P + "reports/%s/download?to=raw" % old[0])
    assert raw.status == 410, raw.status
    assert "bodies %d" % len(old) in audited(s)[0], audited(s)
    assert preview(s)["bodies"] == 0
    check_sums(s)


def check_waits_for_backup(s):
    """While somebody holds the store no blob goes; its row does, and the sweep finds the blob."""
    pack, key = s.sql("SELECT id, key FROM pack")[0]
    path = os.path.join(s.folder, "store", key)
    with open(os.path.join(s.folder, "store", ".lock"), "a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        s.sql("UPDATE pack SET created_ms = created_ms - %d WHERE id = %d" % (31 * DAY_MS, pack))
        clean_up(s)
        assert s.sql("SELECT id FROM pack WHERE id = %d" % pack) == []
        assert os.path.exists(path)
        os.utime(path, (1e9, 1e9))
    s.run_job("packs.sweep")
    assert not os.path.exists(path)


def check_rows(s):
    today = int(time.time() * 1000) // DAY_MS
    settings(s, body_days=3, row_days=4)
    old = s.one("SELECT COUNT(*) FROM report WHERE day < %d" % (today - 4))
    left = s.one("SELECT COUNT(*) FROM report WHERE day >= %d" % (today - 4))
    assert old and left
    expected = preview(s)
    assert expected["reports"] == old and expected["day_sums"] and expected["sessions"], expected
    clean_up(s)
    assert s.one("SELECT COUNT(*) FROM report") == left
    for table in ("project_day", "term_day", "image_day", "session", "report", "group_day"):
        assert s.one("SELECT COUNT(*) FROM %s WHERE day < %d" % (table, today - 4)) == 0, table
    assert s.one("SELECT COUNT(*) FROM project_day") > 0
    assert "reports %d" % old in audited(s)[0], audited(s)[0]
    check_sums(s)
    # A report that was removed is not taken again: its id is known for 90 days.
    assert s.one("SELECT COUNT(*) FROM seen") >= old + left


def check_stacks(s):
    """Stacks that no report has and that were not seen for long go, and what names them."""
    unused = ("stack.pinned = 0 AND NOT EXISTS"
              " (SELECT 1 FROM report WHERE report.stack = stack.id)")
    s.sql("UPDATE stack SET last_ms = last_ms - %d" % (10 * DAY_MS))
    gone = s.one("SELECT COUNT(*) FROM stack WHERE " + unused)
    kept = s.one("SELECT COUNT(*) FROM stack WHERE NOT (%s)" % unused)
    assert gone and kept
    assert preview(s)["stacks"] == gone
    clean_up(s)
    assert s.one("SELECT COUNT(*) FROM stack") == kept
    check_sums(s)
    assert s.one("SELECT COUNT(*) FROM hang_group WHERE reports = 0 AND status = 0") == 0
    for group in s.json("GET", P + "groups?limit=100")[1]["items"]:
        for path in ("", "/flame", "/reports"):
            status, value = s.json("GET", P + "groups/%d%s" % (group["id"], path))
            assert status == 200, value
    # New reports with the same stacks: what workers remembered of them is void.
    s.fill(200, seed=1, first=100000)
    check_sums(s)


def check_other_ages(s):
    s.sql("UPDATE seen SET received_ms = received_ms - %d WHERE report_id IN"
          " (SELECT report_id FROM seen ORDER BY report_id LIMIT 10)" % (89 * DAY_MS))
    assert preview(s)["seen"] == 0
    s.sql("UPDATE seen SET received_ms = received_ms - %d WHERE received_ms < %d" % (
        2 * DAY_MS, (time.time() * 1000) - 80 * DAY_MS))
    s.sql("UPDATE audit SET at_ms = at_ms - %d WHERE id = (SELECT MIN(id) FROM audit)" % (
        401 * DAY_MS))
    s.sql("UPDATE call SET last_ms = last_ms - %d" % (60 * DAY_MS))
    calls = s.one("SELECT COUNT(*) FROM call")
    s.sql("INSERT INTO inbox (project, report_id, received_ms, size, packed, state, error)"
          " VALUES (1, BYTES'00112233445566778899aabbccddeeff', 1, 3, 3, 1, 'no')")
    s.sql("INSERT INTO inbox_body (seq, body) SELECT seq, BYTES'616263' FROM inbox WHERE state = 1")
    expected = preview(s)
    assert (expected["seen"], expected["audit_log"], expected["unreadable"], expected["calls"]) == (
        10, 1, 1, calls) and calls, expected
    clean_up(s)
    again = preview(s)
    assert not any(again[k] for k in ("seen", "audit_log", "unreadable", "calls")), again
    assert s.one("SELECT COUNT(*) FROM inbox WHERE state = 1") == 0
    assert s.one("SELECT COUNT(*) FROM inbox_body WHERE seq NOT IN (SELECT seq FROM inbox)") == 0


IPS = b'''{"app_name":"Shop","bug_type":"309","os_version":"macOS 15","timestamp":"%s"}
{"procName":"Shop","faultingThread":0,"threads":[{"triggered":true,"frames":[%s]}],
"usedImages":[{"name":"libother.dylib","base":4096,"size":65536,"arch":"arm64",
"uuid":"00112233-4455-6677-8899-aabbccddeeff"}]}'''


def send_names(s, first, count):
    """A crash report whose frames have names; a new one each time."""
    frames = b",".join(b'{"imageIndex":0,"imageOffset":%d,"symbol":"brought_%d","symbolLocation":1}' % (16 * n, n)
                       for n in range(first, first + count))
    reply = s.post(P + "import", IPS % (time.strftime("%Y-%m-%d %H:%M:%S.00 +0000", time.gmtime()).encode(), frames))
    assert reply.status == 201, reply.body
    s.until("SELECT CASE WHEN EXISTS (SELECT 1 FROM inbox WHERE state = 0) THEN 0 ELSE 1 END")


def check_names(s):
    """Names that reports brought go when none brought them again, and are limited."""
    count, ours = "SELECT COUNT(*) FROM brought_name", " WHERE function LIKE 'brought%'"
    assert s.one(count + ours) == 0
    now = time.time() * 1000
    send_names(s, 0, 8)
    assert s.one(count + ours) == 8
    assert s.one("SELECT MIN(last_ms) FROM brought_name" + ours) >= now - 60000
    made = s.one("SELECT made FROM made WHERE kind = 8")
    assert made == s.one(count)
    s.sql("UPDATE brought_name SET last_ms = last_ms - %d" % (20 * DAY_MS))
    s.stop()  # a worker remembers for a day what it has seen
    s.start()
    send_names(s, 0, 3)  # brought again
    assert s.one(count + ours) == 8
    assert s.one(count + ours + " AND last_ms >= %d" % (now - 60000)) == 3
    assert preview(s)["names"] == s.one("SELECT COUNT(*) FROM (SELECT DISTINCT image, frame_offset, flags"
                                        " FROM brought_name WHERE last_ms < %d) AS d" % (now - 60000)) >= 5
    clean_up(s)
    assert s.one(count) == s.one(count + ours) == 3 and preview(s)["names"] == 0
    assert "names " in audited(s)[0], audited(s)
    # At the limit nothing more is kept; the count is made right again by the job.
    s.sql("UPDATE made SET made = 999999 WHERE kind = 8")
    send_names(s, 100, 5)  # five places, of which one fits
    assert s.one(count) == 4
    s.run_job("limits")
    assert s.one("SELECT made FROM made WHERE kind = 8") == 4
    send_names(s, 200, 5)
    assert s.one(count) == 9
    check_sums(s)


def check_orphans(s):
    """Blobs that no row names are swept when they are old, however they came to be there."""
    s.write_blob("packs/20260101/left.pack", b"x" * 100)
    s.write_blob("symbols/ab/cdef/executable-%s-0" % ("00" * 32), b"x")
    s.write_blob("uploads/%s/0-abcdef01" % ("12" * 16), b"x")
    named = {k for k, in s.sql("SELECT key FROM pack")}
    assert named < set(s.blobs())
    s.run_job("packs.sweep")
    s.run_job("uploads")
    assert "packs/20260101/left.pack" in s.blobs()  # it is young
    s.age_blobs()
    s.run_job("packs.sweep")
    s.run_job("uploads")
    assert set(s.blobs("packs/")) == named
    assert s.blobs("uploads/") == []
    assert not [k for k in s.blobs("symbols/") if "cdef/" in k]


def check_pages(s, remove):
    """SQLite's file keeps its size, and what became free in it is used again."""
    if POSTGRES:
        return remove()
    remove()
    pages, free = s.one("PRAGMA page_count"), s.one("PRAGMA freelist_count")
    assert free > 20, free
    s.sql("CREATE TABLE filler (data BLOB)")
    s.sql("INSERT INTO filler VALUES (zeroblob(%d))" % (4096 * free // 2))
    assert s.one("PRAGMA page_count") == pages, "it grew though pages were free"
    s.sql("DROP TABLE filler")
    assert s.one("PRAGMA page_count") == pages


def check_symbols(s):
    """A file that a report within retention needs stays however long it was not used."""
    needed = s.one("SELECT HEX(id_key) FROM image WHERE id IN (SELECT image FROM image_day)"
                   " AND length(id_key) > 8")
    now = int(time.time() * 1000)
    for name, id_, used in (("needed", needed, 1), ("young", "aa" * 20, now - 170 * DAY_MS),
                            ("old", "bb" * 20, now - 181 * DAY_MS)):
        key = "symbols/%s/%s/executable-%s-0" % (id_[:2], id_[2:], "00" * 32)
        s.write_blob(key, b"x")
        s.sql("INSERT INTO symbol_file (debug_id, arch, kind, name, sha256, size, blob, features,"
              " state, uploaded_ms, uploaded_by, used_ms) VALUES (BYTES'%s', 'x86_64', 1, '%s',"
              " BYTES'%s', 1, '%s', '', 0, 1, 'test', %d)" % (id_, name, id_ * 2, key, used))
    assert preview(s)["symbols"] == 1
    clean_up(s)
    assert sorted(s.sql("SELECT name FROM symbol_file")) == [("needed",), ("young",)]
    assert key not in s.blobs() and preview(s)["symbols"] == 0


def check_disk(s):
    """Above the share the oldest bodies go, those of the last day stay."""
    if preview(s)["disk_used"] <= 0.01:
        return print("note: the disk is empty, the guard was not tested")
    s.fill(30, seed=7)
    s.until_packed()
    settings(s, disk_share=0.01)
    kept = s.one("SELECT COUNT(*) FROM pack")
    clean_up(s)
    assert s.one("SELECT COUNT(*) FROM pack") == kept > 0
    first = s.one("SELECT MIN(id) FROM pack")
    s.sql("UPDATE pack SET created_ms = created_ms - %d WHERE id = %d" % (2 * DAY_MS, first))
    assert preview(s)["bodies"] == 0
    clean_up(s)
    assert s.one("SELECT COUNT(*) FROM pack") == kept - 1
    assert s.one("SELECT COUNT(*) FROM pack WHERE id = %d" % first) == 0
    check_sums(s)


def main():
    with Server() as s:
        check_settings(s)
        reports = s.fill(120) + s.fill(60, seed=2, calls=500)
        s.until_packed()
        more = s.fill(20, seed=3)
        s.until_packed()
        check_sums(s)
        check_bodies(s, reports + more)
        if not S3:  # its provider makes backups
            check_waits_for_backup(s)
        check_pages(s, lambda: check_rows(s))
        check_stacks(s)
        check_other_ages(s)
        check_names(s)
        check_symbols(s)
        check_orphans(s)
        check_disk(s)
        assert not any("rror" in line for line in s.log), s.log
    print("on", "PostgreSQL" if POSTGRES else "SQLite", "and", "S3" if S3 else "files")


run(main)
