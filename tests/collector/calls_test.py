#!/usr/bin/env python3
"""Calls at scale: answers are made of sums, and these are what the calls add up to, whatever happens to names; where
something is not known, every output says so and the gate fails."""
import csv
import http.server
import io
import json
import sqlite3
import subprocess
import threading
import time

import api_support
from server import Server, key_file

P = "/api/v1/projects/default/"

# What call_caller_day must be: the calls of all places that have the caller.
SUMS = """SELECT COUNT(*) FROM (SELECT COALESCE(a.project, b.project), COALESCE(a.n, 0) AS x, COALESCE(b.n, 0) AS y
 FROM (SELECT d.project, d.day, s.caller, SUM(d.count) AS n FROM call_day d JOIN call_site s ON s.id = d.site
       WHERE s.caller IS NOT NULL GROUP BY 1, 2, 3) a
 FULL JOIN (SELECT project, day, caller, count AS n FROM call_caller_day) b
 ON a.project = b.project AND a.day = b.day AND a.caller = b.caller) WHERE x <> y"""
RAW = """SELECT COALESCE((SELECT SUM(count) FROM call), 0) - COALESCE((SELECT SUM(count) FROM call_day), 0)"""


def must(status, reply):
    assert reply[0] == status, reply
    return reply[1]


def ask(server, sql):
    db = sqlite3.connect("file:%s/db/main.sqlite?mode=ro" % server.folder, uri=True)
    try:
        return db.execute(sql).fetchone()[0]
    finally:
        db.close()


def change(server, sql):
    db = sqlite3.connect("%s/db/main.sqlite" % server.folder, timeout=30)
    with db:
        db.execute(sql)
    db.close()


def named(server):
    """Until the job has named all places."""
    for _ in range(400):
        if ask(server, "SELECT COUNT(*) FROM call_site WHERE todo <> 0") == 0:
            return
        time.sleep(0.05)
    raise AssertionError("places wait for their names")


def gate(server, versions, answer):
    """What the command says of an answer that a collector gave."""
    class Canned(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            body = json.dumps(answer).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *words):
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Canned) as canned:
        threading.Thread(target=canned.handle_request, daemon=True).start()
        return subprocess.run([api_support.tool("framewalk"), "push", "--check-calls", versions, "--to",
                               "http://127.0.0.1:%d" % canned.server_port, "--key-file",
                               key_file(server.folder, "canned.key", server.token)],
                              capture_output=True, text=True, timeout=60)


def key_of(row):
    return row["api"], row["caller"]["image"], row["caller"]["function"]


def check_before_and_after_names(server):
    """An answer is the same while places wait to be named and when they have been."""
    def answers():
        return [must(200, server.json("GET", P + path)) for path in
                ("calls", "calls?version=2.10", "calls?days=1", "calls/diff?to=2.10&from=2.8")]
    named(server)
    assert ask(server, SUMS) == 0 and ask(server, RAW) == 0
    before = answers()
    assert before[0]["rows"] and before[3]["changed"]
    change(server, "UPDATE call_site SET todo = 1")  # as when other maps are in use
    for one, two in zip(before, answers()):
        assert one == two, [(r, s) for k in one if isinstance(one[k], list) for r, s in zip(one[k], two[k]) if r != s][:3]
    # Not named yet at all.
    for statement in ("UPDATE call_site SET caller = NULL, todo = 1 WHERE id % 2 = 0",
                      "DELETE FROM call_caller_day",
                      "INSERT INTO call_caller_day (project, day, caller, count) SELECT d.project, d.day, s.caller,"
                      " SUM(d.count) FROM call_day d JOIN call_site s ON s.id = d.site WHERE s.caller IS NOT NULL"
                      " GROUP BY 1, 2, 3"):
        change(server, statement)
    after = answers()
    for one, two in zip(before, after):
        for rows in ("rows", "new", "gone", "changed"):
            assert {key_of(r): r["count"] for r in one.get(rows, [])} == \
                {key_of(r): r["count"] for r in two.get(rows, [])}
    newer = api_support.field(8, b"2.11")
    api_support.send(server, server.new_key(), [
        (i, api_support.changed(r, 1, newer)) for i, r in api_support.made_reports(seed=77, count=20, calls=1000)])
    api_support.wait_processed(server)
    named(server)  # the job is asked for by what came in, and does all that waits
    assert ask(server, SUMS) == 0 and ask(server, RAW) == 0


def check_filters(server):
    """They choose before anything is cut."""
    everything = must(200, server.json("GET", P + "calls"))
    assert everything["callers"] == everything["total"] == len(everything["rows"]) and not everything["truncated"]
    assert sum(c["callers"] for c in everything["cells"]) == everything["callers"]
    assert sum(c["count"] for c in everything["cells"]) == sum(r["count"] for r in everything["rows"])
    least = everything["rows"][-1]
    cut = must(200, server.json("GET", P + "calls?limit=1"))
    assert len(cut["rows"]) == 1 and cut["truncated"] and cut["total"] == everything["total"]
    found = must(200, server.json("GET", P + "calls", query={
        "limit": "1", "api": least["api"], "image": least["caller"]["image"] or "",
        "q": (least["caller"]["function"] or least["caller"]["image"] or "")[:6]}))
    assert found["total"] >= 1 and found["callers"] == everything["callers"]
    assert all(r["api"] == least["api"] and r["caller"]["image"] == least["caller"]["image"] for r in found["rows"])
    assert must(200, server.json("GET", P + "calls?allowed=no"))["total"] == everything["not_allowed"]
    assert must(200, server.json("GET", P + "calls?q=nobody-calls-this"))["total"] == 0
    rows = list(csv.reader(io.StringIO(server.get(P + "calls.csv").text())))[1:]
    assert sorted(int(r[5]) for r in rows) == sorted(r["count"] for r in everything["rows"])
    row = everything["rows"][0]
    versions = must(200, server.json("GET", P + "calls/versions", query={
        "api": row["api"], "image": row["caller"]["image"] or "", "caller": row["caller"]["function"] or ""}))
    assert sum(v["count"] for v in versions["items"]) == row["count"] and not versions["truncated"]
    for v in versions["items"]:
        rows = must(200, server.json("GET", P + "calls", query={"version": v["version"]}))["rows"]
        assert [r["count"] for r in rows if key_of(r) == key_of(row)] == [v["count"]]


def check_truncated(server):
    """A caller that counts as "(other)": nobody can say whether it is new."""
    token = key_file(server.folder, "calls.key", server.token)

    def run(*command):
        return subprocess.run([api_support.tool("framewalk")] + list(command) +
                              ["--to", server.url(), "--key-file", token], capture_output=True, text=True, timeout=60)

    must(201, server.json("POST", P + "calls/allow", {"api": "*", "caller": "*"}))
    assert run("push", "--check-calls", "2.8..2.10").returncode == 0
    check_waiting(server)
    check_failed(server)
    check_unnamed(server)
    change(server, "UPDATE call_caller SET image = '(other)', function = '(other)' WHERE id = (SELECT s.caller FROM"
                   " call_site s JOIN call_day d ON d.site = s.id JOIN version v ON v.id = d.version"
                   " WHERE v.version = '2.10' LIMIT 1)")
    assert must(200, server.json("GET", P + "calls/diff?to=2.10&from=2.8"))["truncated"]
    done = run("push", "--check-calls", "2.8..2.10")
    assert done.returncode == 8 and "the check fails" in done.stderr and "calls nothing new" not in done.stdout, done
    done = run("groups", "--calls")
    assert "Not all callers are known" in done.stdout, done
    reply = server.get(P + "calls.csv")
    assert reply.headers["X-Truncated"] == "yes" and "(truncated" in reply.text().splitlines()[-1]


def check_waiting(server):
    """A report that nobody has processed yet may be of the version that is asked about."""
    path = P + "calls/diff?to=2.10&from=2.8&wait="
    assert must(200, server.json("GET", path + "0"))["waiting_reports"] == 0
    change(server, "INSERT INTO inbox (project, report_id, received_ms, size, packed, lease_ms) SELECT id, x'%s', 1, 1, 1,"
                   " %d FROM project WHERE slug = 'default'" % ("ab" * 16, time.time() * 1000 + 1800000)) # as if leased
    diff = must(200, server.json("GET", path + "0"))
    assert diff["waiting_reports"] == 1 and not diff["passes"]
    assert must(200, server.json("GET", path + "1"))["waiting_reports"] == 1
    done = gate(server, "2.8..2.10", answer=diff)
    assert done.returncode == 8 and "1 report still waits to be processed" in done.stderr and \
        "calls nothing new" not in done.stdout, done
    assert server.json("GET", path + "31")[0] == 400
    change(server, "DELETE FROM inbox WHERE received_ms = 1")
    assert must(200, server.json("GET", path + "0"))["passes"]


def check_failed(server):
    """A report that nobody could read may be of the version that is asked about; deleted, it is in nobody's way."""
    path = P + "calls/diff?to=2.10&from=2.8&wait=0"
    change(server, "INSERT INTO inbox (project, report_id, received_ms, size, packed, lease_ms, state) SELECT id, x'%s', 1, 1,"
                   " 1, 0, 1 FROM project WHERE slug = 'default'" % ("cd" * 16))
    diff = must(200, server.json("GET", path))
    assert diff["failed_reports"] == 1 and not diff["waiting_reports"] and not diff["passes"]
    done = gate(server, "2.8..2.10", answer=diff)
    assert done.returncode == 8 and "1 report could not be processed" in done.stderr and \
        "calls nothing new" not in done.stdout, done
    must(200, server.json("POST", P + "failed/delete", {"all": True}))
    diff = must(200, server.json("GET", path))
    assert diff["passes"] and not diff["failed_reports"]


def check_unnamed(server):
    """New callers in an image without names: the same build has the same places, another one has not."""
    token = key_file(server.folder, "unnamed.key", server.token)
    run = lambda: subprocess.run([api_support.tool("framewalk"), "push", "--check-calls", "2.8..2.10", "--to", server.url(),
                                  "--key-file", token], capture_output=True, text=True, timeout=60)
    rule = must(200, server.json("GET", P + "calls/allow"))["items"][0]["id"]
    before = must(200, server.json("GET", P + "calls/diff?to=2.10&from=2.8"))
    assert before["passes"] and not before["unnamed"]
    must(200, server.json("DELETE", P + "calls/allow/%d" % rule))
    assert must(200, server.json("GET", P + "calls/diff?to=2.10&from=2.8"))["unnamed"], "other places"
    change(server, "INSERT OR IGNORE INTO call_day (project, version, site, day, count) SELECT d.project, (SELECT MIN(id)"
                   " FROM version WHERE version = '2.8'), d.site, d.day, 1 FROM call_day d JOIN version v"
                   " ON v.id = d.version WHERE v.version = '2.10'")
    both = "SELECT {0} FROM call_site s JOIN call_caller c ON c.id = s.caller WHERE c.function = '' AND EXISTS (SELECT 1" \
           " FROM call_day d JOIN version v ON v.id = d.version WHERE d.site = s.id AND v.version = '2.10') AND EXISTS" \
           " (SELECT 1 FROM call_day d JOIN version v ON v.id = d.version WHERE d.site = s.id AND v.version = '2.8')"
    caller = ask(server, both.format("s.caller") + " GROUP BY s.caller HAVING COUNT(*) > 1 LIMIT 1")
    image = ask(server, "SELECT image FROM call_caller WHERE id = %d" % caller)
    same = must(200, server.json("GET", P + "calls/diff?to=2.10&from=2.8"))
    assert not same["unnamed"], "the same places"
    # One of them is new.
    site = ask(server, both.format("MIN(s.id)") + " AND s.caller = %d" % caller)
    change(server, "DELETE FROM call_day WHERE site = %d AND version IN (SELECT id FROM version WHERE version = '2.8')" % site)
    diff = must(200, server.json("GET", P + "calls/diff?to=2.10&from=2.8"))
    assert [r["caller"]["image"] for r in diff["unnamed"]] == [image] and not diff["passes"], diff["unnamed"]
    done = run()
    assert "the image %s has no names: new callers in it cannot be told apart" % image in done.stderr and \
        done.returncode in (8, 9), done
    must(201, server.json("POST", P + "calls/allow", {"api": "*", "caller": "*"}))
    assert must(200, server.json("GET", P + "calls/diff?to=2.10&from=2.8"))["passes"], "all that it calls is allowed"
    assert run().returncode == 0


def check_retention(server):
    """What nothing refers to goes: days, then places, callers and versions."""
    change(server, "UPDATE call SET last_ms = 1000")
    change(server, "UPDATE OR IGNORE call_day SET day = 1")
    change(server, "UPDATE OR IGNORE call_caller_day SET day = 1")
    change(server, "UPDATE version SET last_ms = 1000 WHERE version = '2.8'")
    change(server, "DELETE FROM call_day WHERE day > 1")
    change(server, "DELETE FROM call_caller_day WHERE day > 1")
    status, value = server.json("POST", P + "retention", {})
    assert status in (200, 202), value
    for _ in range(400):
        left = [ask(server, "SELECT COUNT(*) FROM " + t) for t in ("call", "call_day", "call_caller_day", "call_site",
                                                                   "call_caller")]
        if left == [0] * 5 and not ask(server, "SELECT COUNT(*) FROM version WHERE version = '2.8'"):
            break
        time.sleep(0.05)
    assert left == [0] * 5, left
    assert ask(server, "SELECT COUNT(*) FROM version WHERE version = '2.8'") == 0
    assert ask(server, "SELECT COUNT(*) FROM version") > 0
    # The same places come again.
    api_support.send(server, server.new_key(), api_support.made_reports(seed=2, first=1000, count=40, calls=1000))
    api_support.wait_processed(server)
    named(server)
    assert ask(server, SUMS) == 0 and ask(server, "SELECT COUNT(*) FROM call_site") > 0


def made_of(report, apis, os_name=None):
    """A report of calls of other functions, and of another system."""
    if b"getaddrinfo" in report:
        names = [api_support.field(1, api_support.field(1, api.encode()) + b"\x10\x64\x18\x01\x28\x01") for api in apis]
        report = api_support.changed(report, 9, b"".join(names), instead=True)
    return api_support.changed(report, 1, api_support.field(10, os_name.encode())) if os_name else report


def check_groups(server):
    """Groups of what Apple requires a reason for or guards with a permission, with their codes."""
    by_key = "-[NSURL getResourceValue:forKey:error:]"
    apis = ["statfs", by_key, "mine", "-[CLLocationManager requestLocation]"]
    key = server.new_key()
    api_support.send(server, key, [(i, made_of(r, apis)) for i, r in api_support.made_reports(21, 9000, 40, 1000)])
    api_support.wait_processed(server)
    named(server)

    def groups():
        privacy = must(200, server.json("GET", P + "calls"))["privacy"]
        assert privacy["version"] >= 1 and len(privacy["date"]) == 10
        return {g["name"]: g for g in privacy["groups"]}
    # Another system's statfs() is nobody's but its own.
    found = groups()
    assert "statfs" not in str(found) and set(found) == {"location", "disk-space", "file-timestamp"}, found
    api_support.send(server, key, [(i, made_of(r, apis, "iOS"))
                                   for i, r in api_support.made_reports(22, 9500, 10, 1000)])
    api_support.wait_processed(server)
    named(server)
    found = groups()
    disk = found["disk-space"]
    assert disk["category"] == "NSPrivacyAccessedAPICategoryDiskSpace" and not disk["permissions"]
    assert disk["reasons"] == ["7D9E.1", "85F4.1", "B728.1", "E174.1"]
    assert disk["apis"] == [{"api": by_key, "by_key": True}, {"api": "statfs", "by_key": False}], disk
    assert found["file-timestamp"]["reasons"] == ["0A2A.1", "3B52.1", "C617.1", "DDA9.1"]
    assert found["location"]["category"] is None and "NSLocationWhenInUseUsageDescription" in \
        found["location"]["permissions"] and not found["location"]["reasons"]
    everything = must(200, server.json("GET", P + "calls"))
    rows = must(200, server.json("GET", P + "calls?group=disk-space"))
    assert rows["callers"] == everything["callers"] and rows["total"] == len(rows["rows"]) > 0
    assert {r["api"] for r in rows["rows"]} == {"statfs", by_key}
    assert rows["total"] == sum(r["api"] in ("statfs", by_key) for r in everything["rows"])
    assert must(200, server.json("GET", P + "calls?group=contacts"))["total"] == 0
    for wrong in ("disk", "@privacy", "nothing"):
        status, value = server.json("GET", P + "calls", query={"group": wrong})
        assert status == 400 and " disk-space " in str(value) and "user-defaults" in str(value), value
    rows = list(csv.reader(io.StringIO(server.get(P + "calls.csv?group=disk-space").text())))
    assert rows[0][-1] == "groups" and len(rows) > 1
    of = {r[0].lstrip("'"): r[-1] for r in rows[1:]}
    assert of["statfs"] == "disk-space: 7D9E.1 85F4.1 B728.1 E174.1", of
    assert of[by_key] == "disk-space (by key): 7D9E.1 85F4.1 B728.1 E174.1; " \
        "file-timestamp (by key): 0A2A.1 3B52.1 C617.1 DDA9.1", of
    diff = must(200, server.json("GET", P + "calls/diff?to=2.10&from=2.8"))
    assert {g["name"] for g in diff["privacy"]["groups"]} <= set(found) and diff["privacy"]["groups"]


def check_limits(server):
    """Before a limit is reached, everybody is told."""
    assert "limits" not in server.get("/healthz", token=None).text()
    change(server, "UPDATE made SET made = 9000 WHERE kind = 4")  # versions
    limits = {i["kind"]: i for i in must(200, server.json("GET", P + "limits"))["items"]}
    assert limits["versions"] == {"kind": "versions", "made": 9000, "most": 10000, "near": True}, limits
    assert not limits["groups"]["near"]
    assert 'framewalk_limit_used{project="default",kind="versions"} 0.900' in server.get("/metrics").text()
    (id_, report), = api_support.made_reports(seed=5, count=1)
    report = api_support.changed(report, 1, api_support.field(8, b"77.0"))
    api_support.send(server, server.new_key(), [(id_, report)])
    api_support.wait_processed(server)
    assert "limits: " in server.get("/healthz", token=None).text()


def main():
    with Server("--requests-per-minute", "0") as server:
        key = server.new_key()
        api_support.send(server, key, api_support.made_reports(seed=2, count=200, calls=1000))
        api_support.wait_processed(server)
        check_before_and_after_names(server)
        check_filters(server)
        check_groups(server)
        check_truncated(server)
        check_retention(server)
        check_limits(server)


if __name__ == "__main__":
    main()
