"""What PostgreSQL's plans cost must not hang on when it last looked at the tables: the same work is
done with statistics that were never taken, taken before the work, taken in the middle of it, and
wrong ones. Of each statement the pages that were read are compared.

plans_test.py PATH/framewalk-collector PATH/test_groups PATH/collector_fill PATH/post_body"""
import os
import re
import subprocess
import sys
import threading
import time

import keep_support
import postgres

GROUPS, FILL = sys.argv[2:4]
STACKS, REPORTS, PLACES = 3000, 8000, 200
SETTINGS = ("fsync=off", "autovacuum=off", "shared_buffers=256MB",
            "shared_preload_libraries=pg_stat_statements", "pg_stat_statements.max=10000")
# A statement may read so many times the pages that it reads with other statistics, and so many more.
# The spare is what it takes to read one of the test's tables once.
FACTOR, SPARE = 4, 12000


def pages_of(pg, database):
    """{statement: (calls, pages)} so far, lists of values of any length as one statement."""
    rows = pg.run_sql(
        "SELECT calls || ' ' || shared_blks_hit + shared_blks_read || ' ' || regexp_replace(query, '\\s+', ' ', 'g')"
        " FROM pg_stat_statements JOIN pg_database d ON d.oid = dbid"
        " WHERE datname = '%s' AND query !~ '^(ANALYZE|CREATE|VACUUM)'" % database)
    found = {}
    for row in rows.splitlines():
        calls, pages, query = row.split(" ", 2)
        query = re.sub(r"\(\$\d+(, ?\$\d+)*\)(, ?\(\$\d+(, ?\$\d+)*\))*", "(...)", query)
        query = re.sub(r"\$\d+", "?", query)
        known = found.get(query, (0, 0))
        found[query] = (known[0] + int(calls), known[1] + int(pages))
    return found


def work_of(pg, database, before):
    """{statement: pages} of those that ran since."""
    found = {}
    for query, (calls, pages) in pages_of(pg, database).items():
        calls_before, pages_before = before.get(query, (0, 0))
        if calls > calls_before:
            found[query] = pages - pages_before
    return found


def name_late_stacks(pg, statistics):
    """The job of a debug file that comes late, as tests/collector/groups_test.c makes it."""
    environment = dict(os.environ, FW_POSTGRES_URL=pg.url(), FW_GROUPS_STACKS=str(STACKS))
    done = 0
    with subprocess.Popen([GROUPS], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          env=environment) as program:
        for line in program.stdout:
            if " filled in " in line:
                before = pages_of(pg, "t1")
                if statistics == "before":
                    pg.run_sql("ANALYZE", "t1")
                if statistics == "middle":
                    analyst = threading.Thread(target=analyze_in_the_middle, args=(pg,))
                    analyst.start()
            if "named in" in line:
                done = 1
                break
        program.kill()
    assert done, "the job did not end"
    return work_of(pg, "t1", before)


def analyze_in_the_middle(pg):
    """Again and again while the tables grow: one of them falls on a bad moment."""
    for groups in (2, 20, 100, 400):
        while int(pg.run_sql("SELECT COUNT(*) FROM hang_group", "t1")) < groups:
            time.sleep(0.01)
        pg.run_sql("ANALYZE", "t1")


PATHS = ("overview", "overview?days=30", "groups", "groups?q=step_3", "groups?sort=installs", "flame",
         "reports", "calls", "calls/diff?to=2.7", "retention")


def look_at_all(server):
    get = lambda path: server.json("GET", "/api/v1/projects/default/" + path)
    for path in PATHS:
        status, value = get(path)
        assert status == 200, (path, status, value)
    assert server.json("GET", "/api/v1/symbols/missing?project=default")[0] == 200
    groups = get("groups?limit=20")[1]["items"]
    assert groups
    for group in groups[:5]:
        for path in ("", "/flame", "/stacks", "/reports"):
            status, value = get("groups/%d%s" % (group["id"], path))
            assert status == 200, (path, status, value)


def month(pg, statistics):
    """Views, intake, and retention of a database that has run for a month."""
    server = keep_support.Server() # which makes the database, and is not started yet
    subprocess.run([FILL, pg.url(server.database), str(REPORTS), str(PLACES)], check=True, timeout=600,
                   stdout=subprocess.DEVNULL)
    if statistics != "never":
        pg.run_sql("ANALYZE", server.database)
    if statistics == "wrong": # of tables that grew to ten times their size
        pg.run_sql("UPDATE pg_class SET reltuples = reltuples / 10, relpages = relpages / 10 + 1"
                   " WHERE relkind IN ('r', 'i') AND relnamespace = 'public'::regnamespace",
                   server.database)
    before = pages_of(pg, server.database)
    with server: # calls have their names before somebody looks, else it is chance how many are named then
        server.until("SELECT CASE WHEN EXISTS (SELECT 1 FROM call_site WHERE todo <> 0) THEN 0 ELSE 1 END")
        look_at_all(server)
        server.fill(200, calls=3)
        status, value = server.json("PUT", "/api/v1/projects/default/settings",
                                    {"row_days": 8, "body_days": 8})
        assert status == 200, value
        assert server.json("POST", "/api/v1/projects/default/retention")[0] == 202
        server.run_job("retention")
    return work_of(pg, server.database, before)


def fresh(pg, statistics):
    """Intake of a new server, of which the statistics know the first reports."""
    with keep_support.Server() as server:
        server.fill(20)
        if statistics == "early":
            pg.run_sql("ANALYZE", server.database)
        before = pages_of(pg, server.database)
        server.fill(1500, seed=2, calls=3)
        return work_of(pg, server.database, before)


def compare(name, works):
    """Of each statement: the most pages of any kind of statistics beside the fewest."""
    wrong = []
    for query in set().union(*works.values()):
        pages = {statistics: work[query] for statistics, work in works.items() if query in work}
        if len(pages) < 2: # what a minute's pause does may fall into one and not into the other
            continue
        least, most = min(pages.values()), max(pages.values())
        if most > FACTOR * least + SPARE:
            wrong.append("%s: %s\n    %s" % (name, pages, query[:400]))
    total = {statistics: sum(work.values()) for statistics, work in works.items()}
    print(name, "pages read:", total, flush=True)
    assert min(total.values()) > 1000, "nothing was measured"
    if max(total.values()) > 2 * min(total.values()):
        wrong.append("%s: %s pages in all" % (name, total))
    return wrong


def measured(work, statistics):
    with postgres.Server(settings=SETTINGS) as pg:
        pg.run_sql("CREATE EXTENSION pg_stat_statements")
        keep_support.POSTGRES = pg
        return work(pg, statistics)


def main():
    try:
        wrong = compare("names", {s: measured(name_late_stacks, s) for s in ("never", "before", "middle")})
        wrong += compare("fresh", {s: measured(fresh, s) for s in ("never", "early")})
        wrong += compare("month", {s: measured(month, s) for s in ("never", "full", "wrong")})
    except postgres.Missing as missing:
        print("skip:", missing)
        sys.exit(77)
    assert not wrong, "\n".join(["plans hang on statistics:"] + wrong)


main()
