"""Two servers on one PostgreSQL and one S3: what one takes the other knows, and when one is killed
under load nothing is lost, doubled or half there.

ROUNDS (3) says how often one is killed; SEED makes it the same again.
"""
import os
import random
import sys
import tempfile
import threading
import time
import unittest

import postgres
import s3
from debug_files import create, named_elf, patch, send, wait
from load import Load, Postgres, check_bodies, check_reports, check_sums, made_reports, until_idle
from server import SKIP, Server

MAKE = next(a for a in sys.argv[1:] if os.path.basename(a).endswith("collector_make"))
ROUNDS = int(os.environ.get("ROUNDS", "3"))
SEED = int(os.environ.get("SEED", str(random.randrange(1 << 30))))


class Pair:
    """Both are started at the same moment, on a database that is empty."""

    def __init__(self, folder, options, environment):
        self.servers = [Server(*options, folder=os.path.join(folder, name), environment=environment)
                        for name in ("one", "two")]
        self.failed = []

    def start_one(self, server):
        try:
            server.start()
        except RuntimeError as failure:
            self.failed.append(str(failure))

    def __enter__(self):
        threads = [threading.Thread(target=self.start_one, args=(s,)) for s in self.servers]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if self.failed:
            self.__exit__()
            raise RuntimeError(self.failed)
        return self.servers

    def __exit__(self, *what):
        for server in self.servers:
            if server.process:
                server.stop()


class Cluster(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.database = postgres.Server()
        try:
            cls.database.__enter__()
        except postgres.Missing as missing:
            print("skip:", missing)
            sys.exit(SKIP)
        cls.store = s3.StandIn().__enter__()
        cls.folder = tempfile.TemporaryDirectory(prefix="framewalk-test-")
        options = ["--database", cls.database.database("cluster"), "--store", cls.store.url("here"),
                   "--disk-reserve", "1M", "--requests-per-minute", "0", "--workers", "2"]
        cls.pair = Pair(cls.folder.name, options, cls.store.environment)
        cls.servers = cls.pair.__enter__()
        cls.db = Postgres(cls.database, "cluster")
        cls.reports = made_reports(MAKE, 100)

    @classmethod
    def tearDownClass(cls):
        cls.pair.__exit__()
        cls.store.__exit__()
        cls.database.__exit__(None, None, None)
        cls.folder.cleanup()

    def setUp(self):
        one, two = self.servers
        for server in self.servers:
            if not server.process:
                server.start()
        one.token = two.token = one.token or two.token

    def test_1_began_together(self):
        """One migrated; what both show first works on both."""
        first = [line for s in self.servers for line in s.said if line.startswith("First token")]
        self.assertGreaterEqual(len(first), 1)
        for line in first:
            for server in self.servers:
                reply = server.get("/api/v1/server", token=line.split(": ")[1].strip())
                self.assertEqual(reply.status, 200, reply.body)
        self.assertEqual(self.db.one("SELECT COUNT(*) FROM project"), 1)

    def test_2_access(self):
        one, two = self.servers
        token = one.new_token(["read"])
        self.assertEqual(two.get("/api/v1/server", token=token).status, 200)
        self.assertEqual(one.get("/api/v1/server", token=token).status, 200)
        reply = one.request("POST", "/api/v1/session", b'{"token": "%s"}' % token.encode(),
                            {"Content-Type": "application/json"}, token=None)
        self.assertEqual(reply.status, 200, reply.body)
        cookie = {"Cookie": reply.headers["Set-Cookie"].split(";")[0]}
        for server in self.servers:
            self.assertEqual(server.get("/api/v1/server", token=None, headers=cookie).status, 200)
        found = [t for t in two.json("GET", "/api/v1/tokens")[1]["items"]
                 if t["kind"] == "token" and not t.get("revoked_ms") and t["scopes"] == ["read"]]
        for item in found:
            self.assertIn(two.request("DELETE", "/api/v1/tokens/%d" % item["id"]).status, (200, 204))
        # The other remembers what it looked up for some seconds.
        end = time.monotonic() + 15
        while True:
            left = [s.get("/api/v1/server", token=t, headers=h).status for s in self.servers
                    for t, h in ((token, None), (None, cookie))]
            if left == [401] * 4:
                break
            self.assertLess(time.monotonic(), end, left)
            time.sleep(0.1)

    def test_3_upload(self):
        """Begun on one, gone on with on the other while that one is dead, converted, served by both."""
        one, two = self.servers
        data = named_elf(self.folder.name, "ab" * 20, "begun") + os.urandom(2 << 20)
        place = create(one, data).headers["Location"]
        self.assertEqual(patch(one, place, 0, data[:1 << 20]).status, 204)
        one.kill()
        at = two.get(place).json()["received"]
        self.assertEqual(at, 1 << 20)
        self.assertEqual(patch(two, place, at, data[at:]).status, 204)
        self.assertEqual(wait(two, place)["state"], "done")
        one.start()
        for server in self.servers:
            reply = server.get("/buildid/%s/executable" % ("ab" * 20))
            self.assertEqual((reply.status, reply.body), (200, data))

    def test_4_names_on_the_other(self):
        """A debug file that one got names frames on the other within two seconds."""
        one, two = self.servers
        identity = "cd" * 20
        text = "%s+0x9010\n" % identity
        ask = lambda: two.post("/api/v1/symbolicate", text.encode(), "text/plain").text()
        self.assertNotIn("named_", ask())
        self.assertEqual(send(one, named_elf(self.folder.name, identity))["state"], "done")
        end = time.monotonic() + 2
        while "named_" not in ask():
            self.assertLess(time.monotonic(), end, ask())
            time.sleep(0.05)

    def put_rules(self, server, text):
        """It waits for the workers' transactions, on a busy machine longer than it may."""
        for _ in range(5):
            status, value = server.json("PUT", "/api/v1/projects/default/rules", {"text": text}, timeout=60)
            if status != 503:
                break
            print("rules have to wait:", [line for line in server.log if "rules" in line][-1:])
        self.assertEqual(status, 200, value)

    def test_5_killed_under_load(self):
        random.seed(SEED)
        print("SEED=%d ROUNDS=%d" % (SEED, ROUNDS))
        load = Load(self.reports)
        key = self.servers[0].new_key()
        identities = []
        for round in range(ROUNDS):
            dead, lives = random.sample(self.servers, 2)
            threads = load.start(dead, key) + load.start(lives, key)
            time.sleep(random.uniform(0.5, 1.5))
            if not identities:
                identities = [i for i, in self.db.rows("SELECT encode(debug_id, 'hex') FROM project_image"
                                                       " WHERE length(debug_id) = 20 AND has_map = 0 ORDER BY id")]
            if identities:  # jobs run while it is killed
                identity = identities.pop(0)
                send(dead, named_elf(self.folder.name, identity), seconds=100)
            self.put_rules(lives, "image:libpart%d* -> system\n" % round)
            time.sleep(random.uniform(0, 0.5))
            dead.kill()
            self.assertEqual(lives.get("/healthz").status, 200)
            time.sleep(random.uniform(0, 0.5))
            load.stop(threads)
            dead.start()
        # What the dead held is free when its lease runs out, after a minute.
        began = time.monotonic()
        until_idle(self.servers[0], 120)
        waited = time.monotonic() - began
        for server in self.servers:
            self.assertEqual(server.get("/healthz").status, 200)
        count = check_reports(self.db, load)
        check_sums(self.db)
        for server in self.servers:
            check_bodies(server, self.db, load)
        failed = [j for j in self.servers[0].json("GET", "/api/v1/server")[1]["jobs"] if j["state"] == "failed"]
        self.assertEqual(failed, [])
        self.assertGreater(len(load.acknowledged), 10 * ROUNDS)
        print("%d acknowledged, %d there after %d kills; idle %.1f s after" %
              (len(load.acknowledged), count, ROUNDS, waited))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
