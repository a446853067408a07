"""Forgetting an installation: nothing of its reports is left in the data folder, the sums are those
of the others, and what is sent again is not taken again.

forget_test.py PATH/framewalk-collector PATH/post_body [--postgres] [--s3]"""
import collections
import os
import random
import re
import sys
import time

import api_support
from keep_support import POSTGRES, S3, Server, check_sums, run

P = "/api/v1/projects/default/"
SEED = int(os.environ.get("SEED", str(random.randrange(1 << 30))))
WINDOW, STEP = 16, 32


def install_of(report):
    return re.search(rb"install-\d{6}", report).group().decode()


def body_bytes(s, ids):
    """{id: bytes as they are stored}, from the packs or the inbox."""
    found, packs = {}, {}
    for id_, key, offset, size, body in s.sql(
            "SELECT HEX(report.report_id), pack.key, body_offset, body_size, HEX(inbox_body.body)"
            " FROM report LEFT JOIN pack ON pack.id = report.pack"
            " LEFT JOIN inbox_body ON report.pack IS NULL AND inbox_body.seq = body_offset"):
        if id_ not in ids:
            continue
        if key:
            if key not in packs:
                packs[key] = s.read_blob(key)
            found[id_] = packs[key][offset:offset + size]
        else:
            found[id_] = bytes.fromhex(body)
    return found


def starts_in(wanted, data):
    """Those of `wanted` whose first 8 bytes the data has at any place: one pass, however many are wanted."""
    by_word = {}
    for piece in wanted:
        by_word.setdefault(int.from_bytes(piece[:8], sys.byteorder), []).append(piece)
    words, found = set(by_word), set()
    for shift in range(min(8, len(data))):
        end = shift + (len(data) - shift) // 8 * 8
        found |= words.intersection(memoryview(data)[shift:end].cast("Q"))
    return {piece for word in found for piece in by_word[word]}


def pieces(bodies, others):
    """Of these bodies and of no other one: what is left of 48 bytes in a row holds one of them."""
    found = {b[i:i + WINDOW] for b in bodies for i in range(0, len(b) - WINDOW + 1, STEP)}
    return found - starts_in(found, b"".join(others))


def found_in(s, wanted):
    """Which files of the data folder, or objects of the store, hold any of them."""
    folder, files = s.folder, []

    def look(name, data):
        if any(piece in data for piece in starts_in(wanted, data)):
            files.append(name)

    for key in s.blobs() if S3 else []:
        look(key, s.read_blob(key))
    for at, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(at, name)
            try:
                with open(path, "rb") as file:
                    look(os.path.relpath(path, folder), file.read())
            except OSError:
                continue
    return files


def forget(s, install):
    before = s.one("SELECT COUNT(*) FROM audit WHERE action = 'install.forgotten'")
    status, value = s.json("POST", P + "forget", {"install": install})
    assert status == 202 and value["job"] > 0, (status, value)
    s.until("SELECT CASE WHEN COUNT(*) > %d THEN 1 ELSE 0 END FROM audit"
            " WHERE action = 'install.forgotten'" % before)
    s.until("SELECT CASE WHEN EXISTS (SELECT 1 FROM job WHERE kind = 'forget') THEN 0 ELSE 1 END")


def check_one(s, reports, packed):
    """The installation with the most reports goes."""
    counts = collections.Counter(install_of(b) for _, b in reports.values())
    install, count = counts.most_common(1)[0]
    mine = {i for i, (_, b) in reports.items() if install_of(b) == install}
    others = set(reports) - mine
    assert count == len(mine) >= 2
    bodies = body_bytes(s, set(reports))
    assert set(bodies) == set(reports)
    wanted = pieces([bodies[i] for i in mine], [bodies[i] for i in others])
    assert len(wanted) > 20 * count, len(wanted)
    there = found_in(s, wanted)
    # On PostgreSQL what is not packed is not in the folder.
    assert bool(there) == (packed or not POSTGRES), there
    hashes = s.sql("SELECT DISTINCT HEX(install) FROM report WHERE HEX(report_id) = '%s'"
                   % sorted(mine)[0])
    seen = s.one("SELECT COUNT(*) FROM seen")
    forget(s, install)
    left = found_in(s, wanted)
    assert not left, "bytes of bodies are still in %s" % left
    for id_ in mine:
        assert s.json("GET", P + "reports/" + id_)[0] == 404
    assert s.one("SELECT COUNT(*) FROM report WHERE HEX(install) = '%s'" % hashes[0][0]) == 0
    assert s.one("SELECT COUNT(*) FROM group_install WHERE HEX(install) = '%s'"
                 % hashes[0][0]) == 0
    check_sums(s)
    # Every other report has its body, byte for byte.
    for id_ in sorted(others):
        raw = s.get(P + "reports/%s/download?to=raw" % id_)
        assert raw.status == 200 and raw.body == reports[id_][1], (id_, raw.status)
    assert s.one("SELECT COUNT(*) FROM seen") == seen
    check_resend(s, [reports[i] for i in mine])
    check_audit(s, install, hashes[0][0], count)
    for id_ in mine:
        del reports[id_]
    print("%d reports of %s forgotten, %d others whole" % (count, install, len(others)))


def check_resend(s, gone):
    body = b"".join(b"%s %d\n%s" % (i.encode(), len(b), b) for i, b in gone)
    reply = s.post("/api/v1/reports", body, token=s.new_key(),
                   type="application/vnd.framewalk.reports")
    assert reply.status == 200
    assert reply.text().count(" duplicate") == len(gone), reply.text()
    assert s.one("SELECT COUNT(*) FROM inbox WHERE state = 0") == 0


def check_audit(s, install, hash_, count):
    text = s.get("/api/v1/audit?limit=500").text()
    assert install not in text and str(hash_) not in text
    lines = [i for i in s.json("GET", "/api/v1/audit")[1]["items"]
             if i["action"].startswith("install.")]
    assert {i["action"] for i in lines} == {"install.forget", "install.forgotten"}, lines
    assert any("reports %d" % count in i["detail"] for i in lines), lines


def check_let_go(s, reports):
    """Bodies that a pack has and no report names: retention let them go, or a server was killed while
    it wrote the pack. They may be those of whoever is to be forgotten."""
    counts = collections.Counter(install_of(b) for _, b in reports.values())
    install = counts.most_common(1)[0][0]
    mine = [i for i, (_, b) in reports.items() if install_of(b) == install]
    bodies = body_bytes(s, set(reports))
    wanted = pieces([bodies[i] for i in mine], [bodies[i] for i in bodies if i not in mine])
    s.sql("UPDATE report SET pack = NULL, body_offset = NULL, body_size = NULL WHERE HEX(report_id) IN (%s)"
          % ",".join("'%s'" % i for i in mine))
    assert found_in(s, wanted)
    forget(s, install)
    left = found_in(s, wanted)
    assert not left, "bytes of bodies are still in %s" % left
    for id_ in mine:
        del reports[id_]
    for id_ in sorted(reports):
        raw = s.get(P + "reports/%s/download?to=raw" % id_)
        assert raw.status == 200 and raw.body == reports[id_][1], (id_, raw.status)
    assert s.one("SELECT COUNT(*) FROM pack WHERE size <> (SELECT COALESCE(SUM(body_size), 0) FROM report"
                 " WHERE report.pack = pack.id)") == 0
    check_sums(s)


def check_wrong(s):
    for body in ({}, {"install": 7}, {"install": ""}, {"install": "x" * 2000}):
        status, value = s.json("POST", P + "forget", body)
        assert status == 400 and value["error"], (status, value)
    before = s.one("SELECT COUNT(*) FROM report")
    forget(s, "nobody has this id")
    assert s.one("SELECT COUNT(*) FROM report") == before


def send_made(s, reports, seed, count, calls=0):
    made = api_support.made_reports(seed, 0, count, calls)
    api_support.send(s, s.new_key(), made)
    for id_, body in made:
        reports[id_] = (id_, body)
    api_support.wait_processed(s)


def check_killed(s, reports):
    """kill -9 at any moment of the job: another server goes on with it."""
    for _ in range(6):
        counts = collections.Counter(install_of(b) for _, b in reports.values())
        install = counts.most_common(1)[0][0]
        mine = {i for i, (_, b) in reports.items() if install_of(b) == install}
        bodies = body_bytes(s, set(reports))
        wanted = pieces([bodies[i] for i in mine], [bodies[i] for i in bodies if i not in mine])
        assert s.json("POST", P + "forget", {"install": install})[0] == 202
        time.sleep(random.uniform(0, 0.15))
        s.kill()
        # Its lease would be over in a minute.
        s.sql("UPDATE job SET lease_ms = 0 WHERE state = 1")
        s.start()
        s.until("SELECT CASE WHEN EXISTS (SELECT 1 FROM job WHERE kind = 'forget') THEN 0"
                " ELSE 1 END")
        # What a killed server left in the store goes with the sweep, which leaves young ones alone.
        s.age_blobs()
        s.until("SELECT CASE WHEN EXISTS (SELECT 1 FROM job WHERE kind = 'packs.sweep'"
                " AND state = 0 AND run_ms > changed_ms) THEN 1 ELSE 0 END")
        s.run_job("packs.sweep")
        left = found_in(s, wanted)
        assert not left, "bytes of bodies are still in %s" % left
        for id_ in mine:
            del reports[id_]
        assert s.one("SELECT COUNT(*) FROM report") == len(reports)
        check_sums(s)


def main():
    print("SEED=%d" % SEED)
    random.seed(SEED)
    with Server() as s:
        reports = {}
        send_made(s, reports, 1, 500)
        send_made(s, reports, 2, 100, calls=500)
        check_one(s, reports, packed=False)
        check_wrong(s)
        s.until_packed()
        check_one(s, reports, packed=True)
        # Both at once: packs, and bodies that wait.
        send_made(s, reports, 3, 300)
        check_one(s, reports, packed=True)
        # A report that nobody could read may be anybody's.
        s.sql("INSERT INTO inbox (project, report_id, received_ms, size, packed, state, error)"
              " VALUES (1, BYTES'00112233445566778899aabbccddeeff', 1, 3, 3, 1, 'no')")
        s.sql("INSERT INTO inbox_body (seq, body) SELECT seq, BYTES'616263' FROM inbox"
              " WHERE state = 1")
        forget(s, "nobody has this id")
        assert s.one("SELECT COUNT(*) FROM inbox WHERE state = 1") == 0
        # Asked twice at the same moment, by two people: two installations.
        counts = collections.Counter(install_of(b) for _, b in reports.values())
        two = [i for i, _ in counts.most_common(2)]
        gone = sum(counts[i] for i in two)
        s.until_packed()
        for install in two:
            assert s.json("POST", P + "forget", {"install": install})[0] == 202
        s.until("SELECT CASE WHEN EXISTS (SELECT 1 FROM job WHERE kind = 'forget') THEN 0"
                " ELSE 1 END")
        assert s.one("SELECT COUNT(*) FROM report") == len(reports) - gone
        check_sums(s)
        for id_, body in list(reports.values()):
            if install_of(body) in two:
                del reports[id_]
        check_let_go(s, reports)
        check_killed(s, reports)
        for id_, body in reports.values():
            raw = s.get(P + "reports/%s/download?to=raw" % id_)
            assert raw.status == 200 and raw.body == body
        assert not any("rror" in line for line in s.log), s.log
    print("on", "PostgreSQL" if POSTGRES else "SQLite", "and", "S3" if S3 else "files")


run(main)
