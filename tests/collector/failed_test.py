"""Reports that were accepted and could not be processed: where they are counted, their list, trying
them again, and removing them.

failed_test.py PATH/framewalk-collector PATH/post_body [--postgres]"""
from keep_support import POSTGRES, Server, check_sums, run

P = "/api/v1/projects/default/"
F = P + "failed"


def add(s, number, project=1):
    """A report whose body is no zstd, as a worker finds it."""
    id_ = "%032x" % number
    s.sql("INSERT INTO inbox (project, report_id, received_ms, size, packed) VALUES"
          " (%d, BYTES'%s', %d, 3, 3)" % (project, id_, 1000 + number))
    s.sql("INSERT INTO inbox_body (seq, body) SELECT MAX(seq), BYTES'616263' FROM inbox")
    return id_


def until_failed(s, count):
    s.until("SELECT CASE WHEN COUNT(*) = %d THEN 1 ELSE 0 END FROM inbox WHERE state = 1" % count)


def listed(s, query="", **more):
    status, value = s.json("GET", F + query, **more)
    assert status == 200, value
    return value


def check_list(s, ids):
    items = listed(s)["items"]
    assert [i["report"] for i in items] == ids[::-1], items
    for item in items:
        assert item["attempts"] == 5 and item["size"] == 3 and item["error"], item
    first = listed(s, "?limit=2")
    second = listed(s, "?limit=2&after=" + first["next"])
    assert [i["report"] for i in first["items"] + second["items"]] == ids[::-1][:4]
    assert s.json("GET", "/api/v1/server")[1]["failed_reports"] == len(ids) + 1
    assert "\nframewalk_inbox_failed %d\n" % (len(ids) + 1) in s.get("/metrics").text()
    return {i["report"]: i["id"] for i in items}


def check_access(s, number):
    reader = s.new_token(["read", "triage", "symbols:write"])
    stranger = s.new_token(["admin", "read"], project="other")
    for token, status in (reader, 403), (stranger, 404):
        assert s.json("GET", F, token=token)[0] == status
        for action in "requeue", "delete":
            assert s.json("POST", F + "/" + action, {"ids": [number]}, token=token)[0] == status
    # One of another project is not reached through this one.
    (other,) = s.json("GET", "/api/v1/projects/other/failed", token=stranger)[1]["items"]
    assert s.json("POST", F + "/delete", {"ids": [other["id"]]}) == (200, {"reports": 0, "left": 5})
    assert s.json("GET", "/api/v1/server", token=stranger)[1]["failed_reports"] == 1
    for wrong in ({}, {"ids": []}, {"ids": ["7"]}, {"ids": [0]}, {"ids": 7}, {"all": False}, {"ids": [1] * 1001},
                  {"all": True, "ids": [1.5]}):
        for action in "requeue", "delete":
            status, value = s.json("POST", F + "/" + action, wrong)
            assert status == 400 and value["error"], (wrong, status, value)
    assert len(listed(s)["items"]) == 5


def main():
    with Server() as s:
        assert s.json("POST", "/api/v1/projects", {"slug": "other", "name": "o"})[0] == 201
        s.fill(20)
        ids = [add(s, n) for n in range(1, 6)]
        add(s, 9, project=2)
        until_failed(s, 6)
        numbers = check_list(s, ids)
        check_access(s, numbers[ids[0]])
        # What was wrong is mended: here, the body becomes another report's.
        s.sql("UPDATE inbox_body SET body = (SELECT b.body FROM inbox_body b JOIN inbox i ON i.seq = b.seq"
              " WHERE i.state = 2 ORDER BY i.seq LIMIT 1) WHERE seq = %d" % numbers[ids[0]])
        before = s.one("SELECT COUNT(*) FROM report")
        two = {"ids": [numbers[ids[0]], numbers[ids[1]]]}
        assert s.json("POST", F + "/requeue", two) == (200, {"reports": 2, "left": 3})
        s.until("SELECT COUNT(*) FROM report WHERE HEX(report_id) = '%s'" % ids[0])
        until_failed(s, 5)  # the other one fails again
        assert s.one("SELECT COUNT(*) FROM report") == before + 1
        assert [i["report"] for i in listed(s)["items"]] == ids[:0:-1]
        assert s.json("POST", F + "/requeue", two)[1]["reports"] == 1  # once is enough
        until_failed(s, 5)
        check_sums(s)
        assert s.json("POST", F + "/delete", {"ids": [numbers[ids[1]]]}) == (200, {"reports": 1, "left": 3})
        # One whose body is gone cannot be read again, but removed.
        s.sql("DELETE FROM inbox_body WHERE seq = %d" % numbers[ids[2]])
        assert s.json("POST", F + "/requeue", {"ids": [numbers[ids[2]]]})[1] == {"reports": 0, "left": 3}
        assert s.json("POST", F + "/delete", {"all": True}) == (200, {"reports": 3, "left": 0})
        assert listed(s) == {"items": [], "next": None}
        assert s.one("SELECT COUNT(*) FROM inbox WHERE state = 1 AND project = 2") == 1
        assert s.one("SELECT COUNT(*) FROM inbox_body WHERE seq NOT IN (SELECT seq FROM inbox)") == 0
        lines = [(i["action"], i["detail"]) for i in s.json("GET", "/api/v1/audit")[1]["items"]
                 if i["action"].startswith("reports.")]
        assert lines[::-1] == [("reports.requeue", "2 reports"), ("reports.requeue", "1 reports"),
                               ("reports.delete", "1 reports"), ("reports.delete", "3 reports")], lines
    print("on", "PostgreSQL" if POSTGRES else "SQLite")


run(main)
