"""The calls of the collector's page, asked one after the other: for collector.py. The parameters
change from round to round so that no cache of ours answers.
"""
import http.client
import json
import os
import time
import urllib.parse


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
        "flame of a version": lambda i: "groups/%d/flame?%s" % (pick(groups, i), q(version=pick(versions, i))),
        "flame of all": lambda i: "flame?" + q(version=pick(versions, i)) if i % 2 else "flame",
        "flame of all, 30 days": lambda i: "flame?days=30",
        "stacks of a group": lambda i: "groups/%d/stacks" % pick(groups, i),
        "reports of a group": lambda i: "groups/%d/reports" % pick(groups, i),
        "reports": lambda i: "reports",
        "reports of a version": lambda i: "reports?" + q(version=pick(versions, i)),
        "calls": lambda i: "calls",
        "calls, diff": lambda i: "calls/diff?" + q(to=versions[0]),
        "calls, stacks": lambda i: "calls/stacks?api=watched_%d&image=lib01.so" % (i % 12),
    }


def measure(client, pid, path, rounds):
    """Median and 95th percentile in milliseconds, the server's own processor time, the largest answer."""
    times, size, before = [], 0, cpu_ms(pid)
    for i in range(rounds):
        body, took = client.get(path(i))
        times.append(took * 1000)
        size = max(size, len(body))
    times.sort()
    return times[rounds // 2], times[int(rounds * 0.95)], (cpu_ms(pid) - before) / rounds, size
