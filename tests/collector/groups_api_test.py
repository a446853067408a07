"""Rules, their preview, and what people do to groups, over HTTP against the real server."""
import json
import os
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import postgres  # noqa: E402
from server import Server  # noqa: E402

P = "/api/v1/projects/default"
IMAGES = [("Shop", "/private/var/containers/Bundle/Application/X/Shop.app/Shop"),
          ("Guard", "/private/var/containers/Bundle/Application/X/Shop.app/Frameworks/Guard"),
          ("libsystem_kernel.dylib", "/usr/lib/system/libsystem_kernel.dylib")]


def ips(number, guard, work, version="1.0"):
    """A report of a stack: system, Guard at `guard`, Shop at `work`."""
    head = {"app_name": "Shop", "app_version": version, "build_version": "1", "bug_type": "309",
            "timestamp": "2026-11-20 10:00:%02d.00 +0000" % (number % 60),
            "os_version": "iPhone OS 17.0 (21A1)", "name": "Shop",
            "incident_id": "00000000-0000-0000-0000-%012d" % number}
    frames = [{"imageIndex": 2, "imageOffset": 0x1000}, {"imageIndex": 1, "imageOffset": guard},
              {"imageIndex": 0, "imageOffset": work}]
    body = {"procName": "Shop", "procPath": IMAGES[0][1], "incident": head["incident_id"],
            "faultingThread": 0, "cpuType": "ARM-64", "bug_type": "309",
            "captureTime": "2026-11-20 10:00:%02d.0000 +0000" % (number % 60),
            "bundleInfo": {"CFBundleShortVersionString": version, "CFBundleVersion": "1"},
            "exception": {"type": "EXC_CRASH", "signal": "SIGKILL"},
            "threads": [{"id": 1, "triggered": True, "frames": frames}],
            "usedImages": [{"source": "P", "arch": "arm64", "base": 0x100000000 + i * 0x10000000,
                            "size": 0x1000000, "uuid": "%08d-0000-0000-0000-000000000001" % i,
                            "name": name, "path": path} for i, (name, path) in enumerate(IMAGES)]}
    return (json.dumps(head) + "\n" + json.dumps(body)).encode()


def must(status, reply):
    assert reply[0] == status, reply
    return reply[1]


def wait(what, holds):
    end = time.time() + 60
    while not holds():
        assert time.time() < end, what
        time.sleep(0.05)


def groups(server, **query):
    query = dict({"status": "all", "days": 400}, **query)
    return must(200, server.json("GET", P + "/groups", query=query))["items"]


def fill(server):
    """Six stacks: each through Guard in the same place, to three places of work twice."""
    for i in range(6):
        reply = server.post(P + "/import", ips(i, 0x4000, 0x100000 * (1 + i % 3)))
        assert reply.status == 201, (reply.status, reply.text())
    reply = server.post(P + "/import", ips(7, 0x900000, 0x800000, "2.0"))
    assert reply.status == 201
    wait("reports are processed",
         lambda: sum(g["reports"] for g in groups(server)) == 7)


def jobs_done(server):
    jobs = must(200, server.json("GET", "/api/v1/server"))["jobs"]
    return not [job for job in jobs if job["kind"] == "rules"]


def check_rules(server):
    rules = must(200, server.json("GET", P + "/rules"))
    assert rules["version"] == 0 and rules["text"] == "" and rules["history"] == []
    assert "function:main -> root" in rules["builtin"]
    assert len(groups(server)) == 4, groups(server)

    bad = server.json("PUT", P + "/rules", {"text": "# ours\nimage:Guard -> boss\n"})
    assert bad[0] == 400 and "line 2" in bad[1]["error"], bad
    assert server.json("PUT", P + "/rules", {"text": 7})[0] == 400
    assert server.json("PUT", P + "/rules", {"text": "#" * 300000})[0] == 400
    assert server.json("POST", P + "/rules/preview", {"text": "x"})[0] == 400

    # Nothing but one function of Guard would count: all that go through it become one group.
    text = "image:Shop -> system\n"
    preview = must(200, server.json("POST", P + "/rules/preview", {"text": text}))
    assert preview["groups_now"] == 4 and preview["groups_then"] == 2, preview
    assert preview["examined_reports"] == 7 and preview["moved_reports"] == 7, preview
    assert [m["groups"] for m in preview["merged"]] == [3] and preview["split"] == [], preview
    assert preview["merged"][0]["title"].startswith("Guard near"), preview
    check_moves(server, preview)
    assert len(groups(server)) == 4
    assert must(200, server.json("GET", P + "/rules"))["version"] == 0

    assert must(200, server.json("PUT", P + "/rules", {"text": text})) == {"version": 1}
    wait("stacks are grouped anew", lambda: jobs_done(server) and len(groups(server)) == 2)
    assert sorted(g["reports"] for g in groups(server)) == [1, 6]
    preview = must(200, server.json("POST", P + "/rules/preview", {"text": ""}))
    assert [s["into"] for s in preview["split"]] == [3], preview
    assert must(200, server.json("PUT", P + "/rules", {"text": ""})) == {"version": 2}
    wait("and as before", lambda: jobs_done(server) and len(groups(server)) == 4)
    assert sum(g["reports"] for g in groups(server)) == 7
    history = must(200, server.json("GET", P + "/rules"))["history"]
    assert [h["version"] for h in history] == [2, 1] and history[0]["created_by"], history


def check_moves(server, preview):
    """Each of the four groups moves into one that there is not yet, and the frame of Shop is why."""
    ids = {g["id"]: g["title"] for g in groups(server)}
    moves = preview["moves"]
    assert preview["moves_of"] == len(moves) == 4, moves
    assert {m["from"]["id"]: m["from"]["title"] for m in moves} == ids, (moves, ids)
    assert [m["to"] for m in moves] == [None] * 4 and sum(m["reports"] for m in moves) == 7, moves
    assert [m["reports"] for m in moves] == sorted((m["reports"] for m in moves), reverse=True)
    assert len(preview["examples"]) == 4, preview["examples"]
    for example in preview["examples"]:
        roles = [{f["frame"]: f["role"] for f in example[why]["frames"]}
                 for why in ("why_now", "why_then")]
        changed = [i for i in roles[0] if roles[0][i] != roles[1][i]]
        assert changed == [2] and roles[1][2] == "system", (roles, example)


def check_stacks(server, group):
    """What was merged has two stacks; one is split off, and comes back by the rules."""
    path = "%s/groups/%d" % (P, group)
    stacks = must(200, server.json("GET", path + "/stacks"))
    assert stacks["total"] == 2 and sum(s["reports"] for s in stacks["items"]) == 6, stacks
    assert all(s["by_hand"] and len(s["frames"]) == 3 for s in stacks["items"]), stacks
    first = must(200, server.json("GET", path + "/stacks", query={"limit": 1}))
    assert first["items"] == stacks["items"][:1] and first["next"], first
    second = must(200, server.json("GET", path + "/stacks", query={"limit": 1, "after": first["next"]}))
    assert second["items"] == stacks["items"][1:] and second["next"] is None, second
    none = must(200, server.json("GET", path + "/stacks", query={"version": "2.0"}))
    assert none["items"] == [] and none["total"] == 0, none
    assert server.json("GET", path + "/stacks", query={"version": "7.7"})[0] == 400
    assert server.json("GET", P + "/groups/99999/stacks")[0] == 404
    part = must(200, act(server, group, "split", stacks=[stacks["items"][0]["id"]]))
    assert part["id"] != group and part["reports"] == stacks["items"][0]["reports"], part
    left = must(200, server.json("GET", path + "/stacks"))
    assert [s["id"] for s in left["items"]] == [stacks["items"][1]["id"]], left
    must(200, act(server, part["id"], "merge", into=group))
    assert must(200, server.json("GET", path + "/stacks"))["total"] == 2


def act(server, group, action, **more):
    return server.json("POST", "%s/groups/%d" % (P, group), dict(action=action, **more))


def check_actions(server):
    ids = [g["id"] for g in groups(server, sort="reports")]
    for action, status in (("ignore", "ignored"), ("open", "open"), ("resolve", "resolved")):
        assert must(200, act(server, ids[0], action))["status"] == status
    newest = must(200, server.json("GET", P + "/versions"))["items"][0]["version"]
    for body, version, after in (({"version": "1.0"}, "1.0", False), ({"version": "7.7 (2)"}, "7.7 (2)", False),
                                 ({"after": "1.0"}, "1.0", True), ({}, newest, True)):
        group = must(200, act(server, ids[0], "resolve", **body))
        assert (group["resolved_version"], group["resolved_after"]) == (version, after), group
    for body in ({"version": 7}, {"version": ""}, {"version": "1", "after": "1"}, {"after": "x" * 300}):
        assert act(server, ids[0], "resolve", **body)[0] == 400, body
    assert must(200, act(server, ids[0], "open"))["resolved_version"] is None
    hostile = "<script>alert(1)</script>\u202e\n\"'"
    assert must(200, act(server, ids[0], "note", note=hostile))["note"] == hostile
    assert act(server, ids[0], "note", note="x" * 5000)[0] == 400
    assert act(server, ids[0], "note")[0] == 400
    assert act(server, ids[0], "burn")[0] == 400
    assert act(server, 99999, "ignore")[0] == 404

    assert act(server, ids[0], "merge", into=ids[0])[0] == 400
    assert act(server, ids[0], "merge", into=99999)[0] == 404
    assert act(server, ids[0], "merge")[0] == 400
    into = must(200, act(server, ids[0], "merge", into=ids[1]))
    assert into["id"] == ids[1] and into["reports"] == 4, into
    assert act(server, ids[0], "ignore")[0] == 400
    # A report that would have come into the merged group comes into the other.
    at = 0x100000 * (1 + 0)
    for i, work in enumerate((at, 2 * at, 3 * at)):
        assert server.post(P + "/import", ips(20 + i, 0x4000, work)).status == 201
    wait("late reports", lambda: sum(g["reports"] for g in groups(server)) == 10)
    assert must(200, server.json("GET", "%s/groups/%d" % (P, ids[1])))["reports"] == 6
    # Rules leave it as it is.
    assert must(200, server.json("PUT", P + "/rules", {"text": "image:Shop -> system\n"}))
    wait("other rules", lambda: jobs_done(server))
    assert must(200, server.json("GET", "%s/groups/%d" % (P, ids[1])))["reports"] == 6
    must(200, server.json("PUT", P + "/rules", {"text": ""}))
    wait("no rules", lambda: jobs_done(server))
    check_stacks(server, ids[1])
    must(200, act(server, ids[1], "split", stacks=None))
    wait("parted again", lambda: jobs_done(server) and
         sorted(g["reports"] for g in groups(server)) == [1, 3, 3, 3])
    assert act(server, ids[1], "split", stacks=["a"])[0] == 400
    assert act(server, ids[1], "split", stacks=[99999])[0] == 404


def check_rights(server):
    group = groups(server)[0]["id"]
    must(201, server.json("POST", "/api/v1/projects", {"slug": "other", "name": "Other"}))
    reader = server.new_token(["read"])
    stranger = server.new_token(["read", "triage"], project="other")
    path = "%s/groups/%d" % (P, group)
    assert server.json("POST", path, {"action": "ignore"}, token=None)[0] == 401
    assert server.json("POST", path, {"action": "ignore"}, token=reader)[0] == 403
    assert server.json("POST", path, {"action": "ignore"}, token=stranger)[0] in (403, 404)
    assert server.json("PUT", P + "/rules", {"text": ""}, token=reader)[0] == 403
    assert server.json("PUT", P + "/rules", {"text": ""}, token=stranger)[0] in (403, 404)
    assert server.json("GET", P + "/rules", token=stranger)[0] in (403, 404)
    other = "/api/v1/projects/other/groups/%d" % group
    assert server.json("POST", other, {"action": "ignore"}, token=stranger)[0] == 404
    assert must(200, server.json("GET", path))["status"] == "open"
    actions = {line["action"] for line in must(200, server.json("GET", "/api/v1/audit"))["items"]}
    assert {"group.ignore", "group.merge", "group.resolve", "group.note", "group.split",
            "rules.put"} <= actions, actions


def check(server):
    fill(server)
    check_rules(server)
    check_actions(server)
    check_rights(server)


def main():
    with Server() as server:
        check(server)
    try:
        with postgres.Server() as database:
            with Server("--database", database.database("groups")) as server:
                check(server)
    except postgres.Missing as missing:
        print("skipped for PostgreSQL:", missing)


main()
