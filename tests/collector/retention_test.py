"""Settings of what is kept, and the clean-up: what goes, what stays, and that sums stay sums.

retention_test.py PATH/framewalk-collector PATH/post_body [--postgres]"""
import fcntl
import os
import time

from keep_support import DAY_MS, POSTGRES, Server, check_sums, run

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


def blobs(s):
    folder = os.path.join(s.folder, "store", "packs")
    return sorted(os.path.join(at, f) for at, _, files in os.walk(folder) for f in files)


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
    before = blobs(s)
    clean_up(s)
    assert len(blobs(s)) == len(before) - 1
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


def check_symbols(s):
    """A file that a report within retention needs stays however long it was not used."""
    needed = s.one("SELECT HEX(id_key) FROM image WHERE id IN (SELECT image FROM image_day)"
                   " AND length(id_key) > 8")
    now = int(time.time() * 1000)
    for name, id_, used in (("needed", needed, 1), ("young", "aa" * 20, now - 170 * DAY_MS),
                            ("old", "bb" * 20, now - 181 * DAY_MS)):
        key = "symbols/%s/%s/executable-%s-0" % (id_[:2], id_[2:], "00" * 32)
        path = os.path.join(s.folder, "store", key)
        os.makedirs(os.path.dirname(path))
        with open(path, "wb") as file:
            file.write(b"x")
        s.sql("INSERT INTO symbol_file (debug_id, arch, kind, name, sha256, size, blob, features,"
              " state, uploaded_ms, uploaded_by, used_ms) VALUES (BYTES'%s', 'x86_64', 1, '%s',"
              " BYTES'%s', 1, '%s', '', 0, 1, 'test', %d)" % (id_, name, id_ * 2, key, used))
    assert preview(s)["symbols"] == 1
    clean_up(s)
    assert sorted(s.sql("SELECT name FROM symbol_file")) == [("needed",), ("young",)]
    assert not os.path.exists(path) and preview(s)["symbols"] == 0


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
        check_waits_for_backup(s)
        check_rows(s)
        check_stacks(s)
        check_other_ages(s)
        check_symbols(s)
        check_disk(s)
        assert not any("rror" in line for line in s.log), s.log
    print("on", "PostgreSQL" if POSTGRES else "SQLite")


run(main)
