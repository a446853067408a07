#!/usr/bin/env python3
"""How long each call of the collector's page takes, on a database that collector_fill made.

    collector_api.py SERVER FOLDER [--database URL] [--rounds N]

Prints for each call: median and 95th percentile in milliseconds, the server's own processor time
(PostgreSQL's is not in it), and the size of the answer; last
the worst 95th percentile as the figure collector.api.p95. The parameters change from round to round
so that no cache of ours answers.
"""
import argparse
import http.client
import json
import os
import re
import subprocess
import time
import urllib.parse


def start(arguments):
    command = [arguments.server, "--data", arguments.folder, "--listen", "127.0.0.1:0",
               "--requests-per-minute", "0"]
    if arguments.database:
        command += ["--database", arguments.database]
    made = subprocess.run(command[:1] + ["--new-token"] + command[1:], capture_output=True,
                          text=True)
    token = re.search(r"fwt_\S+", made.stdout).group(0)
    begin = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    port = None
    for line in process.stdout:
        found = re.search(r"Listening on .*?:(\d+)/", line)
        port = int(found.group(1)) if found else port
        if line.startswith("Ready"):
            break
    return process, port, token, time.monotonic() - begin


def cpu_ms(pid):
    """User and system time of the server so far: other programs' load is not in it."""
    fields = open("/proc/%d/stat" % pid).read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) * 1000 / os.sysconf("SC_CLK_TCK")


class Client:
    def __init__(self, port, token):
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        self.headers = {"Authorization": "Bearer " + token}

    def get(self, path):
        begin = time.monotonic()
        self.connection.request("GET", "/api/v1/projects/default/" + path, headers=self.headers)
        answer = self.connection.getresponse()
        body = answer.read()
        took = time.monotonic() - begin
        assert answer.status == 200, (path, answer.status, body[:300])
        return body, took


def q(**values):
    return urllib.parse.urlencode(values)


def calls_of(client):
    value = lambda path: json.loads(client.get(path)[0])
    overview = value("overview?days=30")
    os_ = [p["name"] for p in overview["platforms"]["os"]]
    devices = [p["name"] for p in overview["platforms"]["devices"]]
    versions = [v["version"] for v in overview["versions"]]
    groups = [g["id"] for g in value("groups?limit=200&days=30")["items"]]
    page2 = value("groups")["next"]
    pick = lambda items, i: items[i % len(items)]
    return {
        "overview": lambda i: "overview",
        "overview, 30 days": lambda i: "overview?days=30",
        "overview of a version": lambda i: "overview?" + q(version=pick(versions, i)),
        "overview of a system": lambda i: "overview?" + q(os=pick(os_, i)),
        "overview of a device": lambda i: "overview?" + q(device=pick(devices, i)),
        "groups": lambda i: "groups",
        "groups, second page": lambda i: "groups?after=" + page2,
        "groups, searched": lambda i: "groups?q=step_%d" % (i * 37),
        "groups by installs, of a system": lambda i: "groups?sort=installs&" + q(os=pick(os_, i)),
        "group": lambda i: "groups/%d" % pick(groups, i),
        "group, of a system": lambda i: "groups/%d?%s" % (pick(groups, i), q(os=pick(os_, i))),
        "the largest group": lambda i: "groups/%d?days=30" % groups[0],
        "flame": lambda i: "groups/%d/flame" % pick(groups, i),
        "reports of a group": lambda i: "groups/%d/reports" % pick(groups, i),
        "reports": lambda i: "reports",
        "reports of a version": lambda i: "reports?" + q(version=pick(versions, i)),
        "calls": lambda i: "calls",
        "calls, diff": lambda i: "calls/diff?" + q(to=versions[0]),
        "calls, stacks": lambda i: "calls/stacks?api=watched_%d&image=lib01.so" % (i % 12),
    }


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("server")
    parser.add_argument("folder")
    parser.add_argument("--database")
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--label", default="")
    arguments = parser.parse_args()
    process, port, token, started = start(arguments)
    try:
        client = Client(port, token)
        print("start\t%.0f ms" % (started * 1000))
        worst = 0
        for name, path in calls_of(client).items():
            times, size, before = [], 0, cpu_ms(process.pid)
            for i in range(arguments.rounds):
                body, took = client.get(path(i))
                times.append(took * 1000)
                size = max(size, len(body))
            cpu = (cpu_ms(process.pid) - before) / arguments.rounds
            times.sort()
            p95 = times[int(len(times) * 0.95)]
            worst = max(worst, p95)
            print("%-34s p50 %7.1f ms  p95 %7.1f ms  cpu %6.1f ms  %8d bytes" %
                  (name, times[len(times) // 2], p95, cpu, size), flush=True)
        print("collector.api.p95%s\t%.1f\tms" % (arguments.label, worst))
    finally:
        process.terminate()
        process.wait()


if __name__ == "__main__":
    main()
