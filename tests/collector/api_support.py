"""What the tests of the API share: a server with reports in it, and hostile ones."""
import os
import subprocess
import sys
import time

from crc32c import crc32c
from server import Server

HOSTILE = ["<script>alert(1)</script>", "\"'`</title>", "line\nbreak\ttab\x1b[31m\x7f",
           "\u202egnp.exe", "=cmd|'/c calc'!A1", "{{7*7}}${7*7}", "%s%n%00", "-[Shop load:]",
           "\U0001f4a5" * 50]
INVALID = [b"\xff\xfe<b>", b"\xc0\xaf..", b"\xed\xa0\x80", b"ok\xe2\x82"]


def tool(name):
    return next(a for a in sys.argv[1:] if os.path.basename(a) == name)


def made_reports(seed=1, first=0, count=60, calls=0):
    """[(id, bytes)]"""
    body = subprocess.run([tool("post_body"), str(seed), str(first), str(count), str(calls),
                           str(int(time.time() * 1000))], check=True, capture_output=True).stdout
    reports = []
    while body:
        line, body = body.split(b"\n", 1)
        id_, size = line.decode().split()
        reports.append((id_, body[:int(size)]))
        body = body[int(size):]
    return reports


def send(server, key, reports):
    for start in range(0, len(reports), 50):
        some = reports[start:start + 50]
        body = b"".join(b"%s %d\n%s" % (i.encode(), len(b), b) for i, b in some)
        reply = server.post("/api/v1/reports", body, token=key,
                            type="application/vnd.framewalk.reports")
        assert reply.status == 200, (reply.status, reply.body)
        lines = reply.text().split("\n")
        assert sum(" accepted" in line for line in lines) == len(some), reply.text()


def wait_processed(server):
    for _ in range(600):
        status, value = server.json("GET", "/api/v1/server")
        assert status == 200, value
        if value["waiting_reports"] == 0:
            return
        time.sleep(0.05)
    raise AssertionError("reports are still waiting: %s" % value)


# --- records of a Framewalk report, changed from outside (docs/report-format.md) ---

def varint(n):
    out = b""
    while n > 127:
        out, n = out + bytes([n & 127 | 128]), n >> 7
    return out + bytes([n])


def field(number, text):
    return varint(number << 3 | 2) + varint(len(text)) + text


def record(type_, payload):
    head = len(payload).to_bytes(4, "little") + bytes([type_, 0, 0, 0])
    padded = payload + b"\0" * (-len(payload) % 4)
    return head + crc32c(head + payload).to_bytes(4, "little") + padded


def changed(report, type_, more, instead=False):
    """The report with `more` behind the payload of its first record of that type, or instead of it."""
    out, at, done = report[:8], 8, False
    while at < len(report):
        size = int.from_bytes(report[at:at + 4], "little")
        kind, end = report[at + 4], at + 12 + (size + 3) // 4 * 4
        if kind == type_ and not done:
            out, done = out + record(kind, (b"" if instead else report[at + 12:at + 12 + size]) + more), True
        else:
            out += report[at:end]
        at = end
    assert done
    return out
