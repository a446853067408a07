#!/usr/bin/env python3
"""The order of versions, and what goes by it: lists, the gate, hangs that are fixed in a version, and every number of a
filtered view."""
import json
import sqlite3
import subprocess
import sys
import time

import api_support
from server import Server, key_file

P = "/api/v1/projects/default/"
DAY = 86400000


def must(status, reply):
    assert reply[0] == status, reply
    return reply[1]


FIRST = [0]  # reports that were made: no number twice


def made(version, build="", calls=0, count=1):
    """Reports as of this version (fields 8 and 9 of the session record)."""
    FIRST[0] += count
    about = api_support.field(8, version.encode()) + api_support.field(9, build.encode())
    return [(i, api_support.changed(r, 1, about))
            for i, r in api_support.made_reports(first=FIRST[0] - count, count=count, calls=calls)]


def send(server, key, *args, **more):
    api_support.send(server, key, made(*args, **more))
    api_support.wait_processed(server)


def labels(server):
    return [v["label"] for v in must(200, server.json("GET", P + "versions"))["items"]]


def check_order(server, key):
    """Versions that came in any order, each later than what should be before it."""
    for version in (("3.1.0", "3.0.0", "3.2.0-beta.1", "2.9.0.4", "2.10", "nightly", "helper-7.0",
                                    "3.0.1", "9f3ab2c")):
        send(server, key, version)
        time.sleep(0.01)
    got = labels(server)
    assert [v for v in got if v != "helper-7.0"] == ["3.2.0-beta.1", "3.1.0", "3.0.1", "3.0.0", "2.10", "2.9.0.4", "9f3ab2c",
                                                     "nightly"], got
    overview = must(200, server.json("GET", P + "overview"))
    assert [v["version"] for v in overview["versions"]] == got, overview["versions"]
    assert {v["version"] for v in overview["versions"] if v["prerelease"]} == {"3.2.0-beta.1", "nightly"}


def check_settings(server):
    """Dates and releases that somebody says."""
    today = int(time.time() * 1000)
    for body in ({}, {"version": "3.1.0"}, {"version": "3.1.0", "released_ms": -1}, {"version": 3, "prerelease": True},
                 {"version": "3.1.0", "released_ms": "x"}, {"version": "3.1.0", "prerelease": 1}):
        assert server.json("POST", P + "versions", body)[0] == 400, body
    assert server.json("POST", P + "versions", {"version": "7.7", "prerelease": True})[0] == 404
    must(200, server.json("POST", P + "versions", {"version": "nightly", "released_ms": today + DAY}))
    got = labels(server)
    assert got.index("nightly") < got.index("9f3ab2c"), got
    must(200, server.json("POST", P + "versions", {"version": "nightly", "released_ms": None}))
    got = labels(server)
    assert got.index("nightly") > got.index("9f3ab2c"), got
    assert server.json("POST", P + "versions", {"version": "nightly", "prerelease": True},
                       token=server.new_token(["read"]))[0] == 403
    actions = [a["action"] for a in server.json("GET", "/api/v1/audit")[1]["items"]]
    assert "version.set" in actions


def check_gate(server, key):
    """The last release before a version, however late it or others came."""
    token = key_file(server.folder, "versions.key", server.token)

    def gate(*options):
        done = subprocess.run([api_support.tool("framewalk"), "push", "--to", server.url(), "--key-file", token] +
                              list(options), capture_output=True, text=True, timeout=60)
        return done.returncode, done.stdout, done.stderr

    for version in ("3.1.0", "2.9.0.4", "3.2.0-beta.1", "3.2.0"): # all callers in each
        send(server, key, version, calls=1000, count=40)
    for to, before, prerelease in (("3.2.0", "3.1.0", False), ("3.2.0-beta.1", "3.1.0", False),
                                   ("3.1.0", "3.0.1", False), ("3.0.1", "3.0.0", False), ("2.10", "2.9.0.4", False)):
        diff = must(200, server.json("GET", P + "calls/diff", query={"to": to}))
        assert (diff["from"], diff["from_named"], diff["from_prerelease"]) == (before, False, prerelease), diff["from"]
    # The callers have no names, and each build other places: what they call is allowed, or a gate fails.
    everything = {"api": "*", "caller": "*"}
    code, out, err = gate("--check-calls", "3.2.0")
    assert code == 8 and "has no names: new callers in it cannot be told apart" in err, (code, out, err)
    rule = must(201, server.json("POST", P + "calls/allow", everything))["id"]
    code, out, err = gate("--check-calls", "3.2.0")
    assert code == 0 and "3.2.0 calls nothing new (compared with 3.1.0, the last release before it)" in out, (out, err)
    diff = must(200, server.json("GET", P + "calls/diff?to=2.9.0.4"))
    assert diff["from"] is None and diff["passes"] and not diff["new"] and diff["to_calls"], "nothing came before it"
    diff = must(200, server.json("GET", P + "calls/diff?to=helper-7.0"))
    assert diff["from"] is None and not diff["passes"], "another product's versions are not before it; it has no calls"
    code, out, err = gate("--check-calls", "2.9.0.4")
    must(200, server.json("DELETE", P + "calls/allow/%d" % rule))
    assert code == 0 and "no version came before 2.9.0.4" in out and "--compare-with VERSION" in out, (code, out, err)
    code, out, err = gate("--check-calls", "helper-7.0")
    assert code == 8 and "no watched calls were recorded in helper-7.0: run it with --calls" in err, (code, out, err)
    code, out, err = gate("--check-calls", "3.2.0", "--compare-with", "3.0.0")
    assert code == 9 and "compared with 3.0.0, as named" in out, (code, out, err)
    assert gate("--check-calls", "1..2", "--compare-with", "3")[0] == 2
    assert gate("--compare-with", "3")[0] == 2
    for words in (("3.2.0..3.2.0",), ("..3.2.0",), ("3.2.0..",), ("",), ("3.2.0", "--compare-with", "3.2.0"),
                  ("3.2.0", "--compare-with", "")):
        code, out, err = gate("--check-calls", *words)
        assert code == 2 and not out and err, (words, code, out, err)
    # All builds of a version are compared with themselves as well when one of them is named.
    send(server, key, "3.3.0", build="7", calls=1000, count=40)
    for query in ({"to": "3.3.0 (7)", "from": "3.3.0"}, {"to": "3.3.0", "from": "3.3.0 (7)"}, {"to": "3.2.0", "from": "3.2.0"}):
        assert "same version" in server.json("GET", P + "calls/diff", query=query)[1]["error"], query
    # Asked right after they were sent: not before they are processed.
    rule = must(201, server.json("POST", P + "calls/allow", everything))["id"]
    api_support.send(server, key, made("3.4.0", calls=1000, count=40))
    code, out, err = gate("--check-calls", "3.4.0")
    must(200, server.json("DELETE", P + "calls/allow/%d" % rule))
    assert code == 0 and "3.4.0 calls nothing new (compared with 3.3.0" in out, (code, out, err)
    # Of a version that is watched no more, and the one after it.
    send(server, key, "3.5.0")
    code, out, err = gate("--check-calls", "3.5.0")
    assert code == 8 and "nothing new" not in out and "no watched calls were recorded in 3.5.0" in err, (code, out, err)
    send(server, key, "3.6.0", calls=1000, count=40)
    code, out, err = gate("--check-calls", "3.6.0")
    assert code == 9 and "; no watched calls were recorded in that one" in out, (code, out, err)
    # TestFlight builds have a release's version: somebody says that this one was none.
    must(200, server.json("POST", P + "versions", {"version": "3.1.0", "prerelease": True}))
    assert must(200, server.json("GET", P + "calls/diff?to=3.2.0"))["from"] == "3.0.1"
    must(200, server.json("POST", P + "versions", {"version": "3.1.0", "prerelease": None}))
    assert json.loads(gate("--check-calls", "3.2.0", "--json")[1])["from"] == "3.1.0"


def check_fixed(server, key):
    """Fixed in a version that has not come out."""
    send(server, key, "4.0", count=40)
    group = next(r["group"]["id"] for r in must(200, server.json("GET", P + "reports"))["items"]
                 if r["version"] == "4.0" and r["group"])
    path = P + "groups/%d" % group

    def of(version):
        """So many that the group has some of them."""
        send(server, key, version, count=40)
        assert must(200, server.json("GET", path, query={"version": version}))["reports"] > 0, version
        g = must(200, server.json("GET", path))
        return g["status"], g["reopened"], g["resolved_version"], g["history"]

    for text in ("4.2\n", "\x1b[2J4.2", "4.2\t", "4.2\x7f", "4.2 (7\n)"):
        for word in ("version", "after"):
            status, value = server.json("POST", path, {"action": "resolve", word: text})
            assert status == 400 and "one line" in value["error"], (text, status, value)
    must(200, server.json("POST", path, {"action": "resolve", "version": "4.2.0"}))
    for version in ("4.1", "4.2.0-rc.1", "helper-9.0", "4.0"):
        assert of(version)[:2] == ("resolved", False), version
    status, reopened, version, history = of("4.2")
    assert (status, reopened, version) == ("open", True, "4.2.0")
    assert [(e["action"], e["who"], e["detail"]) for e in history] == \
        [("reopened", "", "4.2"), ("resolve", "admin", "in 4.2.0")], history
    must(200, server.json("POST", path, {"action": "resolve"}))
    now = must(200, server.json("GET", path))
    assert (now["resolved_version"], now["resolved_after"]) == ("4.2", True), now
    assert of("4.2")[0] == "resolved"
    status, _, _, history = of("4.10")
    assert status == "open" and history[0]["detail"] == "4.10", history


def check_scopes(server):
    """Every number of a list and of a hang's page is of the reports that the filters choose."""
    reports = []
    after = None
    while True:
        page = must(200, server.json("GET", P + "reports", query={"limit": "500", **({"after": after} if after else {})}))
        reports += page["items"]
        after = page["next"]
        if not after:
            break
    versions = sorted({r["version"] for r in reports})
    systems, devices = (sorted({r[k] for r in reports if r[k]}) for k in ("os", "device"))
    queries = [{}] + [{"version": v} for v in versions[:6]] + [{"os": o} for o in systems[:2]] + \
        [{"os": systems[0], "device": devices[0], "version": versions[0]}, {"device": devices[0]}]
    checked = 0
    for query in queries:
        chosen = [r for r in reports if r["group"] and r["kind"] == "hang" and r["ending"] != "vetoed" and
                  all(r[k] == v or (k == "version" and r[k].startswith(v + " (")) for k, v in query.items())]
        for sort in ("blocked", "longest", "last", "installs"):
            listed = must(200, server.json("GET", P + "groups", query={**query, "status": "all", "limit": "500",
                                                                       "days": "400", "sort": sort}))["items"]
            ids = {r["group"]["id"] for r in chosen}
            assert {g["id"] for g in listed} == ids, (query, sort)
            for g in listed:
                of = [r for r in chosen if r["group"]["id"] == g["id"]]
                expect_numbers(g, of, (query, sort))
                expect_installs(server, g, query)
                checked += 1
            if sort in ("longest", "last"):
                ranks = [g["longest_ns" if sort == "longest" else "last_ms"] for g in listed]
                assert ranks == sorted(ranks, reverse=True), (query, sort)
        for g in listed[:3]:
            of = [r for r in chosen if r["group"]["id"] == g["id"]]
            one = must(200, server.json("GET", P + "groups/%d" % g["id"], query={**query, "days": "400"}))
            expect_numbers(one, of, query)
            count, blocked = len(of), sum(r["duration_ns"] for r in of)
            for part in ("versions", "days", "os", "devices"):
                named = [r for r in of if part not in ("os", "devices") or r["os" if part == "os" else "device"]]
                assert sum(p["reports"] for p in one[part]) == len(named), (query, part, one[part])
            assert sum(p["blocked_ns"] for p in one["days"]) == blocked
            assert sum(b["reports"] for b in one["histogram"]) == count, query
            stacks = must(200, server.json("GET", P + "groups/%d/stacks" % g["id"], query={**query, "days": "400"}))
            assert one["coverage"]["of"] == stacks["total"] and stacks["blocked_ns"] == blocked, (query, stacks["total"])
            share = stacks["items"][0]["blocked_ns"] / blocked if blocked else 1
            assert abs(one["coverage"]["blocked_share"] - share) < 1e-4
        overview = must(200, server.json("GET", P + "overview", query={**query, "days": "400"}))
        assert sum(d["reports"] for d in overview["days"]) == len(chosen), query
        assert sum(overview["classes"][c] for c in ("below_500ms", "below_2s", "below_8s", "above")) == len(chosen)
        assert sum(v["reports"] for v in overview["versions"]) == len(chosen)
    assert checked > 50


def expect_installs(server, g, query):
    """Answers tell no installations: the database is asked in another way."""
    db = sqlite3.connect("file:%s/db/main.sqlite?mode=ro" % server.folder, uri=True)
    found, = db.execute(
        "SELECT COUNT(DISTINCT r.install) FROM report r JOIN version v ON v.id = r.version"
        " LEFT JOIN term o ON o.id = r.os LEFT JOIN term d ON d.id = r.device WHERE r.group_id = ?1"
        " AND (?2 IS NULL OR v.version = ?2 OR v.version || ' (' || v.build || ')' = ?2)"
        " AND (?3 IS NULL OR o.text = ?3) AND (?4 IS NULL OR d.text = ?4)",
        (g["id"], query.get("version"), query.get("os"), query.get("device"))).fetchone()
    db.close()
    assert g["installs"] == found, (query, g["installs"], found)


def expect_numbers(g, of, where):
    times = [r["started_ms"] for r in of]
    expected = {"reports": len(of), "blocked_ns": sum(r["duration_ns"] for r in of),
                "longest_ns": max(r["duration_ns"] for r in of), "killed": sum(r["ending"] == "killed" for r in of),
                "first_ms": min(times), "last_ms": max(times)}
    got = {k: g[k] for k in expected}
    assert got == expected, (where, got, expected)
    assert {g["first_version"], g["last_version"]} <= {r["version"] for r in of}, (where, g)


def check_many(server, key):
    """Beyond 100 the overview counts them as one, and loses none."""
    reports = []
    for i in range(150):
        reports += made("8.%d" % i)
    api_support.send(server, key, reports)
    api_support.wait_processed(server)
    overview = must(200, server.json("GET", P + "overview"))
    assert len(overview["versions"]) == 100 < overview["versions_in_all"]
    assert [v["version"] for v in overview["versions"][:2]] == ["8.149", "8.148"]
    assert any(d["version"] is None for d in overview["days"])
    assert sum(overview["classes"][c] for c in ("below_500ms", "below_2s", "below_8s", "above")) == \
        sum(d["reports"] for d in overview["days"])


def main():
    with Server("--requests-per-minute", "0") as server:
        key = server.new_key()
        check_order(server, key)
        check_settings(server)
        check_gate(server, key)
        check_fixed(server, key)
        api_support.send(server, key, api_support.made_reports(seed=9, count=120))
        api_support.wait_processed(server)
        check_scopes(server)
        check_many(server, key)


if __name__ == "__main__":
    main()
