"""A server whose machine's clock is wrong: nothing is lost, and everybody is told.

clock_test.py PATH/framewalk-collector PATH/post_body PATH/set_clock.so [--postgres]"""
import os
import sys
import time

from api_support import made_reports, send, wait_processed
from keep_support import DAY_MS, POSTGRES, Server, check_sums, run

P = "/api/v1/projects/default/"
DAY = 86400
LATER = 402 * DAY
PRELOAD = next(a for a in sys.argv[1:] if os.path.basename(a).endswith("set_clock.so"))


class Clocked(Server):
    def __init__(self, **more):
        super().__init__(**more)
        self.clock = os.path.join(self.folder, "clock-of-the-test")
        self.environment.update(LD_PRELOAD=PRELOAD, FW_CLOCK_FILE=self.clock)

    def set(self, real, boot=0):
        """Seconds by which the wall clock and the uptime are off."""
        with open(self.clock + ".new", "w") as out:
            out.write("%d %d\n" % (real, boot))
        os.rename(self.clock + ".new", self.clock)

    def believed(self):
        status, value = self.json("GET", "/api/v1/server")
        assert status == 200, value
        assert value["clock"]["believed"] == (value["clock"]["message"] == ""), value["clock"]
        return value["clock"]["believed"]

    def reports(self):
        return self.one("SELECT COUNT(*) FROM report")

    def try_to_remove(self):
        """The job runs, and says that it removes nothing."""
        self.sql("UPDATE job SET run_ms = 0, message = '' WHERE kind = 'retention' AND state = 0")
        self.until("SELECT COUNT(*) FROM job WHERE kind = 'retention' AND message LIKE"
                   " 'nothing is removed: this machine%'")

    def remove(self):
        self.sql("UPDATE job SET run_ms = 0, message = '' WHERE kind = 'retention' AND state = 0")
        self.run_job("retention")


def check_told(s, believed):
    assert s.believed() == believed
    health = s.get("/healthz", token=None)
    assert health.status == 200 and ("clock: this machine" in health.text()) != believed
    line = "framewalk_clock_believed %d\n" % believed
    assert line in s.get("/metrics").text()


def check_jump(s):
    """402 days ahead for ten seconds."""
    count = s.reports()
    token = s.new_token(["read"], expires_ms=int((time.time() + 3600) * 1000))
    s.set(LATER)
    check_told(s, False)
    s.try_to_remove()
    assert s.reports() == count
    assert s.get("/api/v1/server", token=token).status == 200, "tokens end when their time is over"
    key = s.new_key()
    send(s, key, made_reports(seed=9, first=1000, count=5))
    wait_processed(s)
    assert s.reports() == count + 5
    newest = s.one("SELECT MAX(received_ms) FROM report")
    assert abs(newest - time.time() * 1000) < 3600000, newest
    end = time.time() + 30
    while not any("clock: this machine's clock has jumped" in line for line in s.log):
        assert time.time() < end, s.log
        time.sleep(0.2)
    s.set(0)
    check_told(s, True)
    s.remove()
    assert s.reports() == count + 5
    check_sums(s)


def check_start_ahead(s):
    """Off for long, or a wrong clock: nobody can tell, so nothing goes until somebody says so."""
    count = s.reports()
    s.stop()
    s.set(LATER)
    s.start()
    check_told(s, False)
    s.try_to_remove()
    assert s.reports() == count
    stuck = int(s.one("SELECT MAX(run_ms) FROM job WHERE kind = 'limits'"))
    assert stuck > (time.time() + 300 * DAY) * 1000, "the time that was counted is the clock's"
    s.stop()
    s.set(0)
    s.start()
    check_told(s, True)
    s.until("SELECT COUNT(*) FROM job WHERE kind = 'limits' AND run_ms < %d"
            % ((time.time() + DAY) * 1000)) # what the wrong clock put off comes round
    s.remove()
    assert s.reports() == count


def check_start_behind(s):
    s.stop()
    s.set(-20 * 365 * DAY)
    s.start()
    check_told(s, False)
    count = s.reports()
    send(s, s.new_key(), made_reports(seed=9, first=2000, count=3))
    wait_processed(s)
    assert s.reports() == count + 3
    least = s.one("SELECT MIN(received_ms) FROM report")
    assert abs(least - time.time() * 1000) < 3600000, least
    s.set(0)
    check_told(s, True)


def check_lasts(s):
    """After a day the clock is believed; what is too old then goes."""
    s.set(LATER)
    check_told(s, False)
    s.set(LATER + DAY + 60, DAY + 60)
    check_told(s, True)
    s.remove()
    assert s.reports() == 0
    check_sums(s)


def check_confirmed(s):
    s.fill(20, seed=4)
    reader = s.new_token(["read", "triage"])
    s.set(2 * LATER, DAY + 60)
    check_told(s, False)
    s.try_to_remove()
    assert s.reports() == 20
    assert s.json("POST", "/api/v1/server/clock", {}, token=reader)[0] == 403
    status, value = s.json("POST", "/api/v1/server/clock", {})
    assert status == 200 and value["believed"], value
    check_told(s, True)
    s.remove()
    assert s.reports() == 0
    actions = [i["action"] for i in s.json("GET", "/api/v1/audit")[1]["items"]]
    assert "clock.confirm" in actions


def check_two_servers(s):
    """One of two has a wrong clock: it goes by the other's, and removes nothing."""
    s.fill(20, seed=5)
    other = Clocked(folder=s.folder + "-other", token=s.token)
    os.makedirs(other.folder, 0o700, exist_ok=True)
    other.options = list(s.options) + ["--store", "file:" + os.path.join(s.folder, "store")]
    other.own_folder = True
    other.set(LATER)
    with other:
        status, value = other.json("GET", "/api/v1/server")
        assert "another server" in value["clock"]["message"], value["clock"]
        assert abs(value["clock"]["now_ms"] - time.time() * 1000) < 3600000, value["clock"]
        check_told(other, False)
        check_told(s, True)
        assert s.reports() == 20


def main():
    with Clocked() as s:
        if POSTGRES:
            check_two_servers(s)
        s.fill(40)
        for check in check_jump, check_start_ahead, check_start_behind, check_lasts, \
                check_confirmed:
            began = time.time()
            check(s)
            print("%s: %.1f s" % (check.__name__, time.time() - began))


if __name__ == "__main__":
    run(main)
