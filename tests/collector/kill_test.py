"""kill -9 of the server at random moments under load, while debug files come and are converted,
stacks get names, rules change and packs are written: every report that it acknowledged is there
exactly once, in the inbox or processed, with its body; sums are those of the reports; a debug file
whose upload was said to be done is there, as it was sent.

ROUNDS (12) says how often; SEED makes it the same again.
"""
import http.client
import os
import random
import shutil
import sys
import tempfile
import threading
import time

from debug_files import create, named_elf, patch
from load import Load, SQLite, check_bodies, check_reports, check_sums, leases_run_out, made_reports, until_idle
from server import Server

MAKE = next(a for a in sys.argv[1:] if os.path.basename(a).endswith("collector_make"))
ROUNDS = int(os.environ.get("ROUNDS", "12"))
SEED = int(os.environ.get("SEED", str(random.randrange(1 << 30))))
SWEEP = 'UPDATE job SET run_ms = 1 WHERE state = 0 AND kind IN ("packs.sweep", "uploads", "limits", "retention")'


class Files:
    """One after the other is sent; a killed server gets the rest of it next time."""

    def __init__(self, folder, db):
        self.folder, self.db = folder, db
        self.contents = {}  # by build id
        self.done = set()   # said to be converted
        self.ended = False

    def next(self):
        """The build id of an image of the reports that has no map yet, else any."""
        left = [i for i in self.contents if i not in self.done]
        if left:
            return left[0]
        images = [i for i, in self.db.rows("SELECT lower(hex(debug_id)) FROM project_image WHERE has_map = 0 AND"
                                           " length(debug_id) = 20 LIMIT 1")]
        identity = images[0] if images else "%040x" % random.getrandbits(160)
        self.contents[identity] = named_elf(self.folder, identity, size=1 << 20) + os.urandom(300000)
        return identity

    def send(self, server):
        while not self.ended:
            try:
                identity = self.next()
                data = self.contents[identity]
                made = create(server, data, identity)
                place, at = made.headers["Location"], int(made.headers["Upload-Offset"])
                while at < len(data):
                    reply = patch(server, place, at, data[at:at + 100000])
                    at = int(reply.headers["Upload-Offset"])
                while not self.ended:
                    state = server.get(place).json()["state"]
                    assert state != "failed", server.get(place).json()
                    if state == "done":
                        self.done.add(identity)
                        break
                    time.sleep(0.02)
            except (OSError, TypeError, KeyError, ValueError, http.client.HTTPException):
                return  # killed


def disturb(server, db, load, files):
    """What goes on beside the reports, until the server is killed."""
    rules = 0
    while not load.ended:
        try:
            rules += 1
            server.json("PUT", "/api/v1/projects/default/rules",
                        {"text": "image:libpart%d* -> system\n" % (rules % 7)})
            # As if bodies had waited for their minute, and sweeps for their hours.
            db.change("UPDATE inbox SET received_ms = received_ms - 70000 WHERE state = 2")
            db.change(SWEEP.replace('"', "'"))
        except Exception:  # whatever a server that is killed leaves to its clients
            pass
        time.sleep(0.3)


def main():
    print("SEED=%d ROUNDS=%d" % (SEED, ROUNDS), flush=True)
    random.seed(SEED)
    load = Load(made_reports(MAKE, 400 if ROUNDS > 15 else 100))
    compiler = shutil.which("cc")
    with Server("--requests-per-minute", "0", "--disk-reserve", "1M") as server, \
            tempfile.TemporaryDirectory(prefix="framewalk-test-") as folder:
        db, key = SQLite(server), server.new_key()
        files = Files(folder, db)
        started = []
        for round in range(ROUNDS):
            if round:
                began = time.monotonic()
                server.start()
                started.append(time.monotonic() - began)
            files.ended = False
            threads = load.start(server, key, 4)
            others = [threading.Thread(target=disturb, args=(server, db, load, files))]
            if compiler:
                others.append(threading.Thread(target=files.send, args=(server,)))
            for other in others:
                other.start()
            time.sleep(random.uniform(0.05, 1.2))
            server.kill()
            files.ended = True
            load.stop(threads)
            for other in others:
                other.join()
            check_reports(db, load)
            check_sums(db, groups=False)  # jobs may have been moving reports between groups
        leases_run_out(db)
        server.start()
        until_idle(server, 300)
        count = check_reports(db, load)
        check_sums(db)
        check_bodies(server, db, load, 200)
        for identity in files.done:
            reply = server.get("/buildid/%s/executable" % identity)
            assert reply.status == 200 and reply.body == files.contents[identity], (identity, reply.status)
        failed = [j for j in server.json("GET", "/api/v1/server")[1]["jobs"] if j["state"] == "failed"]
        assert not failed, failed
        print("%d reports acknowledged, %d there; %d packs, %d debug files, rules of version %d; slowest start %.2f s;"
              " after %d kills" % (len(load.acknowledged), count, db.one("SELECT COUNT(*) FROM pack"), len(files.done),
                                   db.one("SELECT COALESCE(MAX(version), 0) FROM rules"), max(started), ROUNDS))
        assert len(load.acknowledged) > ROUNDS  # there was a load
        server.stop()


main()
