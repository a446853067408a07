"""Calls at scale, for collector.py: a database as after two weeks of a hundred builds a day, and the questions of the
calls view asked of it. Rows are made by SQL alone; the same numbers give the same rows."""
import json
import os
import sqlite3
import time
import urllib.parse

SITES, DAYS = 1000, 5  # places that call in each build, and the days that a build is in use

NUMBERS = "WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ?)"


def fill(path, rows):
    """`rows` of call_day: each build has places of its own, as it has images of its own."""
    versions = max(2, rows // (SITES * DAYS))
    today = int(time.time() // 86400)
    db = sqlite3.connect(path)
    db.execute("PRAGMA synchronous = OFF")
    with db:
        project, = db.execute("SELECT id FROM project WHERE slug = 'default'").fetchone()
        db.executemany("INSERT INTO term (id, kind, text) VALUES (?, 3, ?)",
                       [(1000000 + i, "watched_%d" % i) for i in range(12)])
        db.execute(NUMBERS + " INSERT INTO version (id, project, version, build, first_ms, date_ms, last_ms)"
                   " SELECT 1000000 + i, ?, '3.' || (i / 100), CAST(i AS TEXT), ?, ?, ? FROM n",
                   (versions, project) + (today * 86400000,) * 3)
        db.execute(NUMBERS + " INSERT INTO call_caller (id, project, api, key, image, function, file, line, first_version)"
                   " SELECT 1000000 + i, ?, 1000000 + i % 12, CAST('k' || i AS BLOB), 'lib' || (i % 40) || '.so',"
                   " 'Shop::step_' || i, 'src/step.cpp', i, 1000000 FROM n", (SITES, project))
        db.execute(NUMBERS + " INSERT INTO call_site (id, project, api, image, site_offset, kind, caller, todo)"
                   " SELECT 1000000 + i, ?, 1000000 + (i % ?) % 12, 1000000 + i / ?, i, 1, 1000000 + i % ?, 0 FROM n",
                   (versions * SITES, project, SITES, SITES, SITES))
        # A build is in use from its day on, a hundred a day.
        db.execute("INSERT INTO call_day (project, version, site, day, count) SELECT ?, 1000000 + s.v, s.id,"
                   " ? - (?  - 1 - s.v) / 100 - d.value, 1 + s.id % 7 FROM (SELECT id, (id - 1000000) / ? AS v"
                   " FROM call_site WHERE id >= 1000000) s JOIN json_each('[0, 1, 2, 3, 4]') d ORDER BY s.id, d.value DESC",
                   (project, today, versions, SITES))
        db.execute("INSERT INTO call_caller_day (project, day, caller, count) SELECT d.project, d.day, s.caller,"
                   " SUM(d.count) FROM call_day d JOIN call_site s ON s.id = d.site GROUP BY 1, 2, 3")
        found, = db.execute("SELECT COUNT(*) FROM call_day").fetchone()
    db.close()
    return found


QUESTIONS = {
    "calls": "calls", "calls, 400 days": "calls?days=400", "calls of a build": "calls?days=400&version=3.1+(150)",
    "calls of a version of 100 builds": "calls?days=400&version=3.1", "calls, searched": "calls?q=step_77",
    "calls, not allowed": "calls?allowed=no&days=400", "diff of builds": "calls/diff?from=3.0+(7)&to=3.1+(150)",
    "diff to the last release": "calls/diff?to=3.1+(150)", "one caller's versions":
    "calls/versions?days=400&" + urllib.parse.urlencode({"api": "watched_0", "image": "lib0.so", "caller": "Shop::step_0"}),
    "as CSV": "calls.csv?days=400",
}


def measure(client, rounds):
    """Each question's longest time, ms; the answers are whole."""
    took = {}
    for name, path in QUESTIONS.items():
        for _ in range(rounds):
            body, seconds = client.get(path)
            took[name] = max(took.get(name, 0), seconds * 1000)
        if not path.startswith("calls.csv"):
            assert not json.loads(body)["truncated"] or "versions" in path, path
    assert json.loads(client.get("calls?days=400")[0])["callers"] == SITES
    return took


def size_mb(path):
    return os.path.getsize(path) / 1e6
