#!/usr/bin/env python3
"""What the API refuses, and what becomes of hostile texts of reports."""
import json
import re
import subprocess
import urllib.parse

import api_support
from server import Server, key_file

P = "/api/v1/projects/default/"
READS = ["overview", "groups", "groups/1", "flame", "groups/1/flame", "groups/1/stacks", "groups/1/reports", "reports",
         "reports/" + "0" * 32, "reports/%s/download" % ("0" * 32), "calls", "calls/diff?to=1",
         "calls/stacks", "calls/allow", "calls.csv"]


def check_scopes(server):
    """404 for a project that the token does not reach, as for one that is not there."""
    status, _ = server.json("POST", "/api/v1/projects", {"slug": "other", "name": "Other"})
    assert status == 201
    other = server.new_token(["read", "triage"], project="other")
    symbols = server.new_token(["symbols:read"])
    reader = server.new_token(["read"], project="default")
    for path in READS:
        assert server.get(P + path, token=None).status == 401, path
        assert server.get(P + path, token=symbols).status == 403, path
        reply = server.get(P + path, token=other)
        nowhere = server.get("/api/v1/projects/nowhere/" + path, token=other)
        assert reply.status == nowhere.status == 404, (path, reply.status, nowhere.status)
        assert reply.text().replace("default", "nowhere") == nowhere.text()
        assert server.get(P + path, token=reader).status in (200, 400, 404), path
    allow = {"api": "open", "caller": "*"}
    assert server.json("POST", P + "calls/allow", allow, token=reader)[0] == 403
    assert server.json("POST", P + "calls/allow", allow, token=other)[0] == 404
    assert server.json("DELETE", P + "calls/allow/1", token=other)[0] == 404


def check_queries(server):
    """Unknown names and values are refused, and told what there is."""
    for path, word in (("overview?nope=1", "version"), ("groups?sort=nope", "installs"),
                       ("groups?status=nope", "resolved"), ("overview?version=9.9", "2.10"),
                       ("overview?os=BeOS", "Debian"), ("overview?device=abacus", "till"),
                       ("calls?os=x", "version"), ("reports?q=main", "digits"),
                       ("calls/diff", "to"), ("calls/diff?to=9.9", "2.10"),
                       ("groups?after=x", "next"), ("groups/1/flame?sort=3", "days"),
                       ("flame?version=9.9", "2.10")):
        status, value = server.json("GET", P + path)
        assert status == 400 and word in value["error"], (path, status, value)
    for path in ("overview?days=0", "overview?days=401", "groups?limit=0", "groups?limit=501",
                 "groups?limit=x", "overview?days=9999999999999999999"):
        assert server.json("GET", P + path)[0] == 400, path
    assert server.get(P + "groups/1%00").status in (400, 404)
    for path in ("groups/999999", "groups/x", "groups/-1", "reports/xyz",
                 "reports/" + "A" * 32, "groups/999999/flame", "groups/999999/reports"):
        assert server.json("GET", P + path)[0] in (400, 404), path
    for q in ("%", "_", "\\", "'", "\" OR 1=1 --", "%%%%" * 100, "é" * 300):
        status, value = server.json("GET", P + "groups", query={"q": q})
        assert status in (200, 400), (q, status, value)
    everything = server.json("GET", P + "groups")[1]["total"]
    assert server.json("GET", P + "groups", query={"q": "%"})[1]["total"] < everything


def bad_bodies(server):
    for body in ({}, {"api": "x"}, {"api": "", "caller": "y"}, {"api": 1, "caller": "y"},
                 {"api": "x" * 513, "caller": "y"}, {"api": "x", "caller": "y", "note": 3}, []):
        status, value = server.json("POST", P + "calls/allow", body)
        assert status == 400 and value["error"], (body, status)


# --- hostile texts ---

def strings(value):
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from strings(item)


def hostile_reports():
    """Made reports whose version, device, system, executable and keys are hostile."""
    texts = [t.encode() for t in api_support.HOSTILE] + api_support.INVALID + [b"A" * 900000]
    reports = api_support.made_reports(seed=77, count=len(texts))
    out = []
    for text, (id_, report) in zip(texts, reports):
        about = b"".join(api_support.field(n, text) for n in (7, 8, 9, 10, 12, 15)) \
            if len(text) < 1000 else api_support.field(8, text)
        keys = api_support.field(1, api_support.field(1, text[:200000]) +
                                 api_support.field(2, text[:200000]))
        report = api_support.changed(report, 1, about)
        out.append((id_, api_support.changed(report, 2, keys)))
    return out


def hostile_dump(text):
    """framewalk dump --json with names of its own."""
    frame = {"address": "0x401000", "kind": "return", "image": "/opt/" + text, "function": text,
             "build_id": "ab" * 20, "image_offset": 4096, "file": text, "line": 3, "inlines": []}
    return json.dumps({"framewalk_dump": 1, "version": 1,
                       "process": {"name": text, "pid": 1, "executable": text, "version": text},
                       "threads": [{"tid": 1, "name": text, "frames": [frame]}]}).encode()


def must_be_json(server, path):
    reply = server.get(path)
    assert reply.status in (200, 400, 404), (path, reply.status, reply.body[:300])
    reply.body.decode("utf-8")
    value = reply.json()
    for text in strings(value):
        assert len(text.encode()) <= 16384 + 3, (path, len(text))
        text.encode("utf-8")
    raw = reply.text()
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f]", raw), path
    return value


def check_hostile(server, key):
    reports = hostile_reports()
    api_support.send(server, key, reports)
    api_support.wait_processed(server)
    for text in api_support.HOSTILE:
        reply = server.post(P + "import", hostile_dump(text))
        assert reply.status in (200, 201, 400, 415, 422), (text, reply.status, reply.body)
    api_support.wait_processed(server)
    overview = must_be_json(server, P + "overview")
    assert any("<script>" in v["version"] for v in overview["versions"]), overview["versions"]
    found = must_be_json(server, P + "reports?limit=500")["items"]
    listed = {r["id"] for r in found}
    assert {i for i, _ in reports} <= listed
    shown = set()
    for item in found:
        report = must_be_json(server, P + "reports/" + item["id"])
        shown |= set(strings(report))
        for to in ("raw", "text", "json", "speedscope", "firefox", "collapsed", "pprof"):
            reply = server.get(P + "reports/%s/download?to=%s" % (item["id"], to))
            assert reply.status in (200, 422), (to, reply.status)
            assert "\n" not in reply.headers.get("Content-Disposition", "")
            if reply.status == 200 and to in ("json", "speedscope", "firefox"):
                json.loads(reply.body.decode("utf-8"))
    assert any("<script>alert(1)</script>" in t for t in shown)
    assert any("\ufffd" in t for t in shown), "bytes that are no text become U+FFFD"
    for version in overview["versions"]:
        label = version["version"] + (" (%s)" % version["build"] if version["build"] else "")
        for path in ("overview", "groups", "calls", "reports"):
            must_be_json(server, P + path + "?" + urllib.parse.urlencode({"version": label[:2000]}))
    for group in must_be_json(server, P + "groups?limit=500")["items"]:
        must_be_json(server, P + "groups/%d" % group["id"])
        must_be_json(server, P + "groups/%d/flame" % group["id"])


def check_csv(server):
    """RFC 4180, and nothing that a spreadsheet takes for a formula."""
    import csv
    import io
    text = server.get(P + "calls.csv").text()
    assert text.count("\r\n") == text.count("\n")
    rows = list(csv.reader(io.StringIO(text)))
    assert len(rows) > 4 and len({len(r) for r in rows}) == 1, rows[:2]
    for row in rows[1:]:
        assert not any(c[:1] in ("=", "+", "-", "@") for c in row), row
    calls = server.json("GET", P + "calls")[1]["rows"]
    assert [int(r[5]) for r in rows[1:]] == [c["count"] for c in calls]


def check_allow(server):
    """Patterns of callers: what fits is allowed, and a difference knows it."""
    rows = server.json("GET", P + "calls")[1]["rows"]
    image = rows[0]["caller"]["image"]
    status, rule = server.json("POST", P + "calls/allow",
                               {"api": "o?en", "caller": image[:3] + "*!*", "note": "=1+1"})
    assert status == 201, rule
    for row in server.json("GET", P + "calls")[1]["rows"]:
        fits = row["api"] == "open" and (row["caller"]["image"] or "").startswith(image[:3])
        assert row["allowed"] == fits, row
    diff = server.json("GET", P + "calls/diff?to=2.10&from=1.0")[1]
    assert {json.dumps(r) for r in diff["not_allowed"]} == \
        {json.dumps(r) for r in diff["new"] if not r["allowed"]}
    assert all(r["before"] == 0 < r["after"] for r in diff["new"])
    assert all(r["after"] == 0 < r["before"] for r in diff["gone"])
    assert server.json("DELETE", P + "calls/allow/%d" % rule["id"])[0] == 200
    assert server.json("DELETE", P + "calls/allow/%d" % rule["id"])[0] == 404
    actions = [a["action"] for a in server.json("GET", "/api/v1/audit")[1]["items"]]
    assert "calls.allow" in actions and "calls.forbid" in actions


def check_push(server):
    """The last step of a build: exit codes, text and JSON."""
    token = key_file(server.folder, "check.key", server.token)

    def push(*options):
        done = subprocess.run([api_support.tool("framewalk"), "push", "--to", server.url(),
                               "--key-file", token] + list(options), capture_output=True,
                              text=True, timeout=60)
        return done.returncode, done.stdout, done.stderr

    diff = server.json("GET", P + "calls/diff?from=1.0&to=2.10")[1]
    assert diff["new"] and diff["not_allowed"]
    code, out, err = push("--check-calls", "1.0..2.10")
    assert code == 9 and "%d of them not allowed" % len(diff["not_allowed"]) in out, (out, err)
    assert out.count("\n  not allowed  ") == len(diff["not_allowed"]), out
    code, out, err = push("--check-calls", "1.0..2.10", "--json")
    assert code == 9 and json.loads(out) == diff, err
    assert push("--check-calls", "2.10..2.10")[0] == 2
    status, rule = server.json("POST", P + "calls/allow", {"api": "*", "caller": "*"})
    code, out, err = push("--check-calls", "1.0..2.10")
    assert code == 0 and "0 of them not allowed" in out, (code, out, err)
    server.json("DELETE", P + "calls/allow/%d" % rule["id"])
    code, out, err = push("--check-calls", "9.9")
    assert code == 1 and "2.10" in err and not out, (code, out, err)
    assert push("--check-calls", "2.10", "--project", "../x")[0] == 1
    assert push("--check-calls", "2.10", "a-path")[0] == 2
    with open(token, "w") as file:
        file.write("fwt_" + "x" * 43)
    assert push("--check-calls", "2.10")[0] == 4


def main():
    with Server("--requests-per-minute", "0") as server:
        key = server.new_key()
        api_support.send(server, key, api_support.made_reports(count=40))
        api_support.send(server, key, api_support.made_reports(seed=2, count=40, calls=1000))
        (id_, first), = api_support.made_reports(seed=3, count=1, calls=1000)
        first = api_support.changed(first, 1, api_support.field(8, b"1.0") +
                                    api_support.field(9, b"1"))
        api_support.send(server, key, [(id_, first)])
        api_support.wait_processed(server)
        check_scopes(server)
        check_queries(server)
        bad_bodies(server)
        check_allow(server)
        check_csv(server)
        check_push(server)
        check_hostile(server, key)
        check_csv(server)


if __name__ == "__main__":
    main()
