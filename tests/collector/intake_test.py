"""POST /api/v1/reports and the import of other tools' reports, as clients see them."""
import glob
import gzip
import json
import os
import re
import subprocess
import sys
import time

from server import SKIP, Server

TYPE = "application/vnd.framewalk.reports"
LOAD = next(a for a in sys.argv[1:] if os.path.basename(a).endswith("collector_make"))
DATA = next((a for a in sys.argv[1:] if a.endswith("reports") and os.path.isdir(a)), None)


def make(number):
    """(id, bytes) of a made-up report."""
    made = subprocess.run([LOAD, "5", str(number)], stdout=subprocess.PIPE, check=True).stdout
    return made[:32].decode(), made[33:]


def body(*reports):
    return b"".join(b"%s %d\n%s" % (i.encode(), len(b), b) for i, b in reports)


def verdicts(reply):
    assert reply.status == 200, (reply.status, reply.text())
    return {line.split(" ")[0]: line.split(" ", 2)[1:] for line in reply.text().splitlines()}


def until_processed(server):
    while server.json("GET", "/api/v1/server")[1]["waiting_reports"]:
        time.sleep(0.05)


def test_verdicts(server, key):
    reports = [make(i) for i in range(5)]
    junk = ("0123456789abcdef" * 2, b"nothing")
    other = ("f" * 32, reports[4][1])
    large = ("e" * 32, b"x" * (3 << 20))
    empty = ("d" * 32, b"")
    cut = (reports[3][0], reports[3][1][:-5])
    got = verdicts(server.post("/api/v1/reports",
                               body(*reports[:3], junk, other, large, cut, empty), TYPE, token=key))
    assert [got[r[0]] for r in reports[:3]] == [["accepted"]] * 3, got
    assert got[cut[0]] == ["accepted"], got
    for refused in junk, other, large, empty:
        assert got[refused[0]][0] == "refused" and len(got[refused[0]][1]) > 5, got
        assert re.fullmatch("[ -~]{1,127}", got[refused[0]][1])
    packed = server.post("/api/v1/reports", gzip.compress(body(*reports)), TYPE, token=key,
                         headers={"Content-Encoding": "gzip"})
    got = verdicts(packed)
    assert [got[r[0]][0] for r in reports] == ["duplicate"] * 4 + ["accepted"], got
    until_processed(server)


def test_other_forms(server, key):
    one = make(20)
    good = body(one)
    for bad in (b"", b"\n", good[:-1], good + b"\n", b"X" + good, good.replace(b" ", b"  ", 1),
                one[0].encode() + b" 0%d\n" % len(one[1]) + one[1],
                one[0].encode() + b" +%d\n" % len(one[1]) + one[1],
                one[0].upper().encode() + good[32:] if one[0].upper() != one[0] else b"",
                one[0].encode() + b" 99999999\n" + one[1], one[0].encode() + b" \n",
                body(*[("%032x" % i, b"") for i in range(101)])):
        reply = server.post("/api/v1/reports", bad, TYPE, token=key)
        assert reply.status == 400, (bad[:60], reply.status)
        assert "error" in reply.json() or reply.text(), bad[:60]
    assert server.post("/api/v1/reports", good, "text/plain", token=key).status == 415
    assert server.post("/api/v1/reports", good, TYPE, token=None).status == 401
    assert server.post("/api/v1/reports", b"x" * (30 << 20), TYPE, token=key).status == 413
    reply = server.post("/api/v1/reports", b"not gzip", TYPE, token=key,
                        headers={"Content-Encoding": "gzip"})
    assert reply.status == 400, reply.status
    assert verdicts(server.post("/api/v1/reports", good, TYPE, token=key))[one[0]] == ["accepted"]


def test_projects(server, key):
    one = make(30)
    assert server.json("POST", "/api/v1/projects", {"slug": "second", "name": "Second"})[0] == 201
    all_of_them = server.new_token(["reports:write"])
    # Of all projects, and none said: the one that is always there.
    other = make(31)
    assert verdicts(server.post("/api/v1/reports", body(other), TYPE, token=all_of_them)) == \
        {other[0]: ["accepted"]}
    assert verdicts(server.post("/api/v1/reports", body(other), TYPE, token=key)) == \
        {other[0]: ["duplicate"]}
    for path, status in (("?project=nowhere", 404), ("?project=second", 200)):
        assert server.post("/api/v1/reports" + path, body(one), TYPE,
                           token=all_of_them).status == status
    assert server.post("/api/v1/reports?project=second", body(one), TYPE, token=key).status == 403
    # The same id in another project is another report.
    assert verdicts(server.post("/api/v1/reports", body(one), TYPE, token=key)) == \
        {one[0]: ["accepted"]}


def test_import(server, key):
    path = "/api/v1/projects/default/import"
    for text in b"", b"hello", b"{}", b"\0" * 100, make(40)[1]:
        reply = server.post(path, text, token=key)
        assert reply.status == 422, (text[:20], reply.status, reply.text())
    spindump = (b"Date/Time:        2026-11-18 10:00:00.000 +0000\nData Source:      Stackshots\n"
                b"Command:          Shop\nCrashReporter Key: 1234\nEvent:            hang\n"
                b"Duration:         3.50s\nSteps:            35 (100ms sampling interval)\n\n"
                b"Process:          Shop [1]\nPath: /Users/anna/Shop\n\n"
                b'  Thread 0x1    DispatchQueue "com.apple.main-thread"(1)    35 samples (1-35)\n'
                b"  35  start + 1 (Shop + 16) [0x100000010]\n"
                b"    35  work + 1 (Shop + 32) [0x100000020]\n")
    first = server.post(path, spindump, token=key)
    assert first.status == 201, first.text()
    made = first.json()
    assert made["kind"] == "spindump" and not made["duplicate"]
    again = server.post(path, spindump, token=key)
    assert again.status == 200 and again.json()["id"] == made["id"] and again.json()["duplicate"]
    assert server.post("/api/v1/projects/nowhere/import", spindump).status == 404
    until_processed(server)
    if not DATA:
        return print("the test data is not there: only made-up reports were imported")
    kinds = {}
    for file in sorted(glob.glob(DATA + "/*")):
        with open(file, "rb") as opened:
            reply = server.post(path, opened.read(), token=key)
        assert reply.status in (201, 422), (file, reply.status, reply.text())
        kinds[os.path.basename(file)] = reply.json().get("kind")
    until_processed(server)
    taken = [k for k in kinds.values() if k]
    assert {"ips", "stackshot", "metrickit", "kscrash"} <= set(taken), kinds
    assert len(taken) >= 14, kinds
    print("imported", len(taken), "of", len(kinds), "files")


SPINDUMP = ("Date/Time:        2026-11-18 10:00:00.000 +0000\nData Source:      Stackshots\n"
            "Command:          Shop\nEvent:            hang\nDuration:         %.2fs\n"
            "Steps:            35 (100ms sampling interval)\n\nProcess:          Shop [1]\n"
            "Path: /Applications/Shop\n\n"
            '  Thread 0x1    DispatchQueue "com.apple.main-thread"(1)    35 samples (1-35)\n'
            "  35  start + 1 (Shop + 16) [0x100000010]\n"
            "    35  work + %d (Shop + %d) [%#x]\n")


def test_heaviest_stack(server):
    """A group shows the stack with the most time, not the one that came first."""
    assert server.json("POST", "/api/v1/projects", {"slug": "weights", "name": "w"})[0] == 201
    for seconds, at in (1.0, 0x100), (9.0, 0x120), (2.5, 0x140):
        text = SPINDUMP % (seconds, at, 4096 + at, 0x100001000 + at)
        assert server.post("/api/v1/projects/weights/import", text.encode()).status == 201
        until_processed(server)
    (group,) = server.get("/api/v1/projects/weights/groups?days=400").json()["items"]
    assert group["title"] == "work" and group["reports"] == 3, group
    whole = server.get("/api/v1/projects/weights/groups/%d" % group["id"]).json()
    assert whole["heaviest"][0]["offset"] == "0x1120", whole["heaviest"]
    assert abs(whole["coverage"]["blocked_share"] - 9 / 12.5) < 0.01, whole["coverage"]


def test_brought_names(server):
    """Names that a report has itself name its group, its stacks, and keep it there."""
    if not DATA:
        return print("the test data is not there: no report with names")
    path = DATA + "/kscrash-report-bugsnag.json"
    for slug in "one", "other":
        assert server.json("POST", "/api/v1/projects", {"slug": slug, "name": slug})[0] == 201
    with open(path, "rb") as opened:
        text = opened.read()
    assert server.post("/api/v1/projects/one/import", text).status == 201
    nameless = re.sub(rb'"symbol_name":"[^"]*"', b'"symbol_name":""', text)
    assert nameless != text
    assert server.post("/api/v1/projects/other/import", nameless).status == 201
    until_processed(server)
    (group,) = server.get("/api/v1/projects/one/groups?days=400").json()["items"]
    assert group["title"] == "-[OverwriteLinkRegisterScenario run]", group
    assert group["section"] == "app" and group["image"] == "macOSTestApp", group
    whole = server.get("/api/v1/projects/one/groups/%d" % group["id"]).json()
    assert whole["heaviest"][0]["function"] == "-[OverwriteLinkRegisterScenario run]", whole
    (other,) = server.get("/api/v1/projects/other/groups?days=400").json()["items"]
    assert other["section"] == "unnamed", other  # names are a project's own
    # Other rules make the key anew, with the same names.
    rules = "function:-[OverwriteLinkRegisterScenario *] -> wrapper\n"
    assert server.json("PUT", "/api/v1/projects/one/rules", {"text": rules})[0] == 200
    for _ in range(600):
        (group,) = server.get("/api/v1/projects/one/groups?days=400").json()["items"]
        if group["title"] != "-[OverwriteLinkRegisterScenario run]":
            break
        time.sleep(0.1)
    assert group["title"] == "-[MainWindowController runScenario:] block", group


def check_database(server):
    import sqlite3
    db = sqlite3.connect("file:%s/db/main.sqlite?mode=ro" % server.folder, uri=True)
    assert db.execute("SELECT COUNT(*) FROM inbox WHERE state <> 2").fetchone()[0] == 0
    (count,), = db.execute("SELECT COUNT(*) FROM report WHERE kind >= 100 AND stack IS NULL")
    assert count == 0
    (duration,), = db.execute("SELECT duration_ns FROM report WHERE kind = 106"
                              " AND project = (SELECT id FROM project WHERE slug = 'default')")
    assert duration == 3500000000


def main():
    with Server() as server:
        key = server.new_key()
        test_verdicts(server, key)
        test_other_forms(server, key)
        test_projects(server, key)
        test_import(server, key)
        test_heaviest_stack(server)
        test_brought_names(server)
        until_processed(server)
        check_database(server)


main()
