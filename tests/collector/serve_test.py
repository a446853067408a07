"""What a server does with passwords on its command line, and with a data folder that others may read.

serve_test.py PATH/framewalk-collector"""
import os
import stat
import subprocess
import tempfile
import unittest

import postgres
from server import Server, program

WORD = "correct-horse"


def command_line(server):
    with open("/proc/%d/cmdline" % server.process.pid, "rb") as file:
        return file.read().split(b"\0")


class Folder(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="framewalk-test-")
        self.addCleanup(self.folder.cleanup)
        self.data = os.path.join(self.folder.name, "data")
        os.mkdir(self.data)

    def refused(self):
        done = subprocess.run([program(), "--data", self.data, "--listen", "127.0.0.1:0"], capture_output=True,
                              text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 1, done)
        self.assertIn("data folder", done.stderr)
        return done.stderr

    def mode(self):
        return stat.S_IMODE(os.stat(self.data).st_mode)

    def test_loose_rights_are_tightened(self):
        """Of an empty folder, and of one that a server kept its data in before."""
        for mode in 0o755, 0o770, 0o711:
            os.chmod(self.data, mode)
            with Server(folder=self.data) as server:
                self.assertEqual(self.mode(), 0o700)
                self.assertEqual(server.get("/healthz").status, 200)
            self.assertIn("could be read by other users", "".join(server.log))
        with Server(folder=self.data) as server:
            pass
        self.assertEqual(server.log, [])

    def test_a_folder_of_others_is_left_alone(self):
        with open(os.path.join(self.data, "thesis.tex"), "w"):
            pass
        os.chmod(self.data, 0o755)
        self.assertIn("chmod 700", self.refused())
        self.assertEqual(self.mode(), 0o755)
        os.chmod(self.data, 0o700)  # nobody else can read it: that is enough
        with Server(folder=self.data):
            pass

    def test_a_folder_with_another_database(self):
        os.mkdir(os.path.join(self.data, "db"))  # as many a project has one
        os.chmod(self.data, 0o755)
        self.assertIn("chmod 700", self.refused())
        self.assertEqual(self.mode(), 0o755)

    def test_a_folder_of_another_user(self):
        if os.geteuid() != 0:
            self.skipTest("only root can give files away")
        os.chown(self.data, 65534, 65534)
        os.chmod(self.data, 0o755)
        self.assertIn("chown", self.refused())
        self.assertEqual(self.mode(), 0o755)

    def test_no_folder(self):
        os.rmdir(self.data)
        with open(self.data, "w"):
            pass
        self.refused()


class Port(unittest.TestCase):
    def test_taken(self):
        """It says which port and what to do, and the first token is left for the start that can print it."""
        with tempfile.TemporaryDirectory(prefix="framewalk-test-") as data, Server() as other:
            done = subprocess.run([program(), "--data", data, "--listen", "127.0.0.1:%d" % other.port],
                                  capture_output=True, text=True, timeout=60, check=False)
            self.assertEqual(done.returncode, 1, done)
            self.assertIn("port %d (--listen takes another)" % other.port, done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
            with Server(folder=data) as server:
                self.assertEqual(server.json("GET", "/api/v1/projects")[0], 200)


class Passwords(unittest.TestCase):
    """On a PostgreSQL that wants one."""

    @classmethod
    def setUpClass(cls):
        cls.database = postgres.Server()
        try:
            cls.database.__enter__()
        except postgres.Missing as missing:
            raise unittest.SkipTest(str(missing))
        cls.database.run_sql("CREATE ROLE alice LOGIN SUPERUSER PASSWORD '%s'" % WORD)
        with open(os.path.join(cls.database.data, "pg_hba.conf"), "w") as file:
            file.write("local all tester trust\nlocal all all scram-sha-256\n")
        cls.database.run_sql("SELECT pg_reload_conf()")
        cls.url = cls.database.database("passwords").replace("user=tester", "user=alice")

    @classmethod
    def tearDownClass(cls):
        cls.database.__exit__(None, None, None)

    def works(self, *options, **environment):
        with Server(*options, environment=environment) as server:
            self.assertEqual(server.json("GET", "/api/v1/projects", token=None)[0], 401)
            self.assertEqual(server.get("/healthz").status, 200)
            self.assertNotIn(WORD.encode(), b"".join(command_line(server)))
            self.assertNotIn(WORD, "".join(server.log + server.said))
            return command_line(server)

    def test_it_is_wanted(self):
        with self.assertRaises(RuntimeError):
            Server("--database", self.url).start()

    def test_command_line(self):
        for url in (self.url + "&password=" + WORD,
                    self.url.replace("postgresql://", "postgresql://alice:%s@" % WORD)):
            words = self.works("--database", url)
            self.assertIn(b"--database", words)
            value = words[words.index(b"--database") + 1]
            self.assertEqual(set(value.replace(b"postgresql://", b"")), {ord("x")})
            self.works("--database=" + url)

    def test_environment(self):
        self.works(FW_DATABASE=self.url + "&password=" + WORD)

    def test_of_libpq(self):
        self.works("--database", self.url, PGPASSWORD=WORD)
        with tempfile.NamedTemporaryFile("w") as file:
            os.chmod(file.name, 0o600)
            file.write("*:*:*:alice:%s\n" % WORD)
            file.flush()
            self.works("--database", self.url, PGPASSFILE=file.name)


class Environment(unittest.TestCase):
    def test_store_and_database(self):
        """The command line counts before the environment; an empty variable is none."""
        with tempfile.TemporaryDirectory(prefix="framewalk-test-") as folder:
            store, other = os.path.join(folder, "store"), os.path.join(folder, "other")
            database = os.path.join(folder, "x.sqlite")
            with Server(environment={"FW_STORE": "file:" + store, "FW_DATABASE": "sqlite:" + database}):
                self.assertTrue(os.path.exists(store) and os.path.exists(database))
            with Server("--store", "file:" + other, environment={"FW_STORE": "file:" + folder + "/no", "FW_DATABASE": ""}):
                self.assertTrue(os.path.exists(other))
                self.assertFalse(os.path.exists(folder + "/no"))


if __name__ == "__main__":
    unittest.main(argv=["serve_test.py"])
