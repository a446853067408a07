"""What is stored and is not what came any more: never served as good, told, listed; and what
`serve --check` says of a store.

damage_test.py PATH/framewalk-collector PATH/post_body PATH/framewalk [--postgres] [--s3]"""
import os
import random
import subprocess
import sys
import tempfile
import time

import server as server_module
from api_support import tool
from debug_files import build_id, compile_elf
from keep_support import S3, Server, run

P = "/api/v1/projects/default/"
FLIPS = 50


def put(s, key, data):
    """As a disk would: another file, which no map that is open sees."""
    if S3:
        s.write_blob(key, data)
        return
    path = s.blob_path(key)
    with open(path + ".tmp", "wb") as out:
        out.write(data)
    os.replace(path + ".tmp", path)


def flipped(data, at, bit=0):
    return data[:at] + bytes([data[at] ^ 1 << bit]) + data[at + 1:]


def raw(s, report):
    return s.get(P + "reports/%s/download?to=raw" % report)


def refused(reply):
    assert reply.status == 500, (reply.status, reply.body[:200])
    assert b"damaged" in reply.body or b"not there" in reply.body, reply.body


def listed(s):
    status, value = s.json("GET", "/api/v1/damaged")
    assert status == 200, value
    return value["items"]


def until_listed(s, count):
    end = time.time() + 30
    while len(listed(s)) != count:
        assert time.time() < end, listed(s)
        time.sleep(0.1)
    assert s.json("GET", "/api/v1/server")[1]["damaged"] == count
    assert "framewalk_damaged %d\n" % count in s.get("/metrics").text()


def scrub(s):
    s.run_job("scrub")


def places(s):
    """{report: (key of its pack, offset, size)}"""
    return {r[0].lower(): r[1:] for r in s.sql(
        "SELECT HEX(r.report_id), p.key, r.body_offset, r.body_size FROM report r"
        " JOIN pack p ON p.id = r.pack")}


def check_flips(s, sent):
    """Every report comes back as it was sent, or not at all."""
    where, hit = places(s), set()
    random.seed(13)
    for number in range(FLIPS):
        report = random.choice(sorted(where))
        hit.add(report)
        key, offset, size = where[report]
        data = s.read_blob(key)
        # The header of the body's frame, its end, or anywhere in it.
        at = offset + (number % 8 if number < 16 else size - 1 - number % 8 if number < 24
                       else random.randrange(size))
        put(s, key, flipped(data, at, random.randrange(8)))
        refused(raw(s, report))
        refused(s.get(P + "reports/" + report))
        other = random.choice(sorted(set(where) - {report}))
        reply = raw(s, other)
        assert (reply.status, reply.body) == (200, sent[other]), other
        put(s, key, data)
        reply = raw(s, report)
        assert (reply.status, reply.body) == (200, sent[report])
    until_listed(s, len(hit))
    assert all(i["kind"] == "body" and i["project"] == "default" for i in listed(s))
    scrub(s) # all is right again
    until_listed(s, 0)


def check_short_packs(s, sent):
    where = places(s)
    key, offset, size = max(where.values(), key=lambda w: w[1])
    data = s.read_blob(key)
    for length in len(data) - 1, offset, 1, 0:
        put(s, key, data[:length])
        for report, (pack, at, bytes_) in where.items():
            reply = raw(s, report)
            if pack == key and at + bytes_ > length:
                refused(reply)
            else:
                assert (reply.status, reply.body) == (200, sent[report])
    if S3:
        del S3.objects[s.prefix + key]
    else:
        os.unlink(s.blob_path(key))
    inside = [r for r, w in where.items() if w[0] == key]
    for report in inside:
        refused(raw(s, report))
    until_listed(s, len(inside))
    scrub(s)
    until_listed(s, len(inside))
    put(s, key, data)
    scrub(s)
    until_listed(s, 0)


def check_index(s, sent):
    """Offsets and sizes of the rows."""
    report = sorted(places(s))[0]
    for column, change in (("body_offset", 1), ("body_size", -1), ("body_size", 1),
                           ("body_size", 100000000), ("body_sum", 1)):
        where = "WHERE HEX(report_id) = '%s'" % report
        if "--postgres" in sys.argv:
            where = "WHERE encode(report_id, 'hex') = '%s'" % report
        s.sql("UPDATE report SET %s = %s + %d %s" % (column, column, change, where))
        refused(raw(s, report))
        s.sql("UPDATE report SET %s = %s - %d %s" % (column, column, change, where))
        assert raw(s, report).body == sent[report]


def check_inbox(s):
    """Before it is in a pack."""
    reports = s.fill(1, seed=77, first=9000)
    if "--postgres" in sys.argv:
        s.sql("UPDATE inbox_body SET body = set_byte(body, 20, get_byte(body, 20) # 1)")
    else:
        body = s.one("SELECT body FROM inbox_body")
        s.sql("UPDATE inbox_body SET body = X'%s'" % flipped(body, 20).hex())
    refused(raw(s, reports[0][0]))
    s.until_packed()
    refused(raw(s, reports[0][0]))
    scrub(s)
    until_listed(s, 1)


def check_old_bodies(s, sent):
    """Of before there were checksums: what can be read is whole and gets one."""
    where = places(s)
    report = sorted(r for r in where if r in sent)[3]
    key, offset, size = where[report]
    data = s.read_blob(key)
    s.sql("UPDATE report SET body_sum = NULL WHERE id NOT IN (SELECT item FROM damaged)")
    put(s, key, data[:offset + 9] + b"\xff" * 40 + data[offset + 49:])
    before = len(listed(s))
    scrub(s)
    refused(raw(s, report))
    until_listed(s, before + 1)
    put(s, key, data)
    scrub(s)
    until_listed(s, before)
    assert s.one("SELECT COUNT(*) FROM report WHERE body_sum IS NULL") <= before


def key_of(s, kind):
    column = "map_blob" if kind == "map" else "blob"
    number = {"map": 1, "file": 1, "sources": 4}[kind]
    return s.one("SELECT %s FROM symbol_file WHERE kind = %d" % (column, number))


def forget_copies(s):
    """Of this machine, of what lies in S3."""
    top = os.path.join(s.folder, "cache")
    for name in os.listdir(top) if S3 else ():
        os.unlink(os.path.join(top, name))


def check_copies(s, ask, good):
    """A copy that was damaged is fetched anew."""
    top = os.path.join(s.folder, "cache")
    for name in os.listdir(top) if S3 else ():
        path = os.path.join(top, name)
        with open(path, "rb") as file:
            data = file.read()
        with open(path, "wb") as file:
            file.write(flipped(data, len(data) // 2))
    reply = ask()
    assert reply.status == 200 and good(reply.body)


def check_file(s, kind, ask, good):
    key = key_of(s, kind)
    data = s.read_blob(key)
    for change in ([flipped(data, at) for at in (0, 1, len(data) // 2, len(data) - 1)] +
                   [data[:-1], data[:len(data) // 2], b"", data + b"x", None]):
        if change is None and S3:
            del S3.objects[s.prefix + key]
        elif change is None:
            os.unlink(s.blob_path(key))
        else:
            put(s, key, change)
        forget_copies(s)
        refused(ask())
        put(s, key, data)
        forget_copies(s)
        reply = ask()
        assert reply.status == 200 and good(reply.body), (kind, reply.status, reply.body[:200])
    check_copies(s, ask, good)
    scrub(s)


def check_debug_files(s, folder):
    path = compile_elf(folder)
    if not path:
        print("note: no compiler: debug files are not looked at")
        return
    with open(path, "rb") as file:
        elf = file.read()
    key = server_module.key_file(folder, "token", s.token)
    subprocess.run([tool("framewalk"), "push", "--wait", "--sources", path, "--to", s.url(),
                    "--key-file", key], check=True, capture_output=True)
    identity = build_id(path)
    check_file(s, "file", lambda: s.get("/buildid/%s/executable" % identity),
               lambda body: body == elf)
    source = "/buildid/%s/source%s.c" % (identity, path)
    check_file(s, "sources", lambda: s.get(source), lambda body: b"load_prices" in body)
    b = bytes.fromhex(identity)[:16]
    breakpad = (b[3::-1] + b[5:3:-1] + b[7:5:-1] + b[8:]).hex().upper() + "0"
    sym = "/symbols/%s/%s/%s.sym" % (os.path.basename(path), breakpad, os.path.basename(path))
    map_key = key_of(s, "map")
    data = s.read_blob(map_key)
    assert b"load_prices" in s.get(sym).body
    random.seed(5)
    for change in ([flipped(data, random.randrange(len(data)), 3) for _ in range(3)] +
                   [flipped(data, 9), data[:-1], data[:100]]):
        s.stop() # a map that is open stays what it was
        forget_copies(s)
        put(s, map_key, change)
        s.start()
        refused(s.get(sym))
        refused(s.get(source))
        text = s.post("/api/v1/symbolicate", b"%s+0x2000" % identity.encode()).body
        assert b"load_prices" not in text
        put(s, map_key, data)
    scrub(s)


# ---- serve --check ----

def check_command(s):
    done = subprocess.run([server_module.program(), "--check", "--data", s.folder] +
                          [o for o in s.options if o not in ("--requests-per-minute", "0")],
                          capture_output=True, text=True, env=s.environment, timeout=120)
    return done.returncode, done.stdout.splitlines(), done.stderr


def state_of_files(s):
    if S3:
        return {k: (len(v), S3.changed[k]) for k, v in S3.objects.items()}
    found = {}
    for at, _, files in os.walk(os.path.join(s.folder, "store")):
        for name in files:
            about = os.stat(os.path.join(at, name))
            found[os.path.join(at, name)] = (about.st_size, about.st_mtime_ns, about.st_ino)
    return found


def check_check(s, broken):
    """`broken`: so many things are damaged before."""
    stray = "packs/20260101/00ff.pack"
    s.write_blob(stray, b"nobody's")
    s.age_blobs()
    where = places(s)
    report = sorted(r for r in where)[1]
    key, offset, size = where[report]
    data = s.read_blob(key)
    before = state_of_files(s)
    status, lines, errors = check_command(s)
    assert status == (1 if broken else 0), (status, lines, errors)
    assert [l for l in lines if "nobody" not in l and l.startswith("unreferenced: ")] == \
        ["unreferenced: %s, 8 bytes" % stray], lines
    assert len([l for l in lines if l.startswith("damaged: ")]) == broken, lines
    assert state_of_files(s) == before, "a check changes nothing"
    put(s, key, flipped(data, offset + size // 2))
    file_key = key_of(s, "file")
    file = s.read_blob(file_key)
    if S3:
        del S3.objects[s.prefix + file_key]
    else:
        os.unlink(s.blob_path(file_key))
    status, lines, errors = check_command(s)
    assert status == 1, (status, lines, errors)
    assert any(l.startswith("damaged: body of report %s (%s): " % (report, key))
               for l in lines), lines
    assert any(l.startswith("missing: debug file shop (%s): " % file_key) for l in lines), lines
    put(s, key, data)
    put(s, file_key, file)
    status, lines, errors = check_command(s)
    assert len([l for l in lines if l.startswith(("damaged", "missing"))]) == broken, lines
    with tempfile.TemporaryDirectory() as empty:
        done = subprocess.run([server_module.program(), "--check", "--data", empty],
                              capture_output=True, text=True, timeout=60)
        assert done.returncode == 3 and "no database" in done.stderr, done


def main():
    with tempfile.TemporaryDirectory(prefix="framewalk-damage-") as folder, Server() as s:
        sent = dict(s.fill(30))
        s.until_packed()
        for check in check_flips, check_short_packs, check_index:
            began = time.time()
            check(s, sent)
            print("%s: %.1f s" % (check.__name__, time.time() - began))
        check_debug_files(s, folder)
        check_inbox(s)
        check_old_bodies(s, sent)
        check_check(s, 1)


if __name__ == "__main__":
    run(main)
