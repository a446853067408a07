"""framewalk serve --backup under load, --restore elsewhere, and what is refused.

backup_test.py PATH/framewalk-collector PATH/post_body"""
import hashlib
import io
import json
import os
import shutil
import sqlite3
import subprocess
import tarfile
import tempfile
import threading
import time

import api_support
from server import Server, program

P = "/api/v1/projects/default/"


def command(*words):
    return subprocess.run([program(), *words], capture_output=True, text=True, timeout=300)


class Load(threading.Thread):
    """Sends, and notes what was acknowledged."""

    def __init__(self, server, reports):
        super().__init__()
        self.server, self.reports = server, reports
        self.key = server.new_key()
        self.done, self.ended, self.failed = {}, False, None

    def run(self):
        try:
            for id_, body in self.reports:
                if self.ended:
                    return
                api_support.send(self.server, self.key, [(id_, body)])
                self.done[id_] = body
        except Exception as failed:
            self.failed = failed


def check_whole(folder, token, reports):
    """Every one of them is there once, with its body."""
    with Server("--requests-per-minute", "0", folder=folder, token=token) as s:
        api_support.wait_processed(s)
        for id_, body in reports.items():
            raw = s.get(P + "reports/%s/download?to=raw" % id_)
            assert raw.status == 200 and raw.body == body, (id_, raw.status, raw.body[:100])
        reply = s.post("/api/v1/reports", b"".join(
            b"%s %d\n%s" % (i.encode(), len(b), b) for i, b in list(reports.items())[:50]),
            token=s.new_key(), type="application/vnd.framewalk.reports")
        assert reply.text().count(" duplicate") == min(50, len(reports)), reply.text()[:300]
        assert s.json("GET", P + "overview")[1]["top"]
        assert not any("rror" in line for line in s.log), s.log


def names_of(path):
    with tarfile.open(path) as tar:
        return [m.name for m in tar]


def check_under_load(s, place):
    """Reports come in, old bodies go and an installation is forgotten meanwhile."""
    first = Load(s, api_support.made_reports(1, 0, 600))
    first.start()
    while len(first.done) < 200:
        time.sleep(0.01)
        assert not first.failed, first.failed
    for number in range(3):
        path = os.path.join(place, "%d.tar" % number)
        before = dict(first.done)
        s.json("POST", P + "retention")
        made = command("--backup", path, "--data", s.folder)
        assert made.returncode == 0, made.stderr
        assert os.stat(path).st_mode & 0o077 == 0
        assert os.listdir(place) == ["%d.tar" % number]
        folder = os.path.join(place, "restored")
        restored = command("--restore", path, "--data", folder + "/")
        assert restored.returncode == 0, restored.stderr
        check_whole(folder, s.token, before)
        shutil.rmtree(folder)
        os.unlink(path)
        print("backup %d: %d reports acknowledged before it, all there" % (number, len(before)))
    first.ended = True
    first.join()
    assert not first.failed, first.failed
    return first.done


def check_packed(s, place, reports):
    """With packs, and with blobs that no row names: those are not in it."""
    end = time.time() + 100
    db = sqlite3.connect(s.folder + "/db/main.sqlite", timeout=30)
    db.execute("UPDATE inbox SET received_ms = 0 WHERE state = 2")  # they wait no longer
    db.commit()
    while db.execute("SELECT COUNT(*) FROM inbox").fetchone()[0]:
        assert time.time() < end
        time.sleep(0.2)
    db.close()
    orphan = os.path.join(s.folder, "store", "packs", "20200101", "00.pack")
    os.makedirs(os.path.dirname(orphan))
    with open(orphan, "wb") as file:
        file.write(b"nobody's")
    path = os.path.join(place, "packed.tar")
    assert command("--backup", path, "--data", s.folder).returncode == 0
    names = names_of(path)
    assert names[0] == "db/main.sqlite" and names[-1] == "manifest.json"
    assert any(n.startswith("store/packs/") for n in names)
    assert "store/packs/20200101/00.pack" not in names
    folder = os.path.join(place, "empty")
    os.mkdir(folder)
    assert command("--restore", path, "--data", folder).returncode == 0
    check_whole(folder, s.token, reports)
    # What is there is not touched.
    again = command("--restore", path, "--data", folder)
    assert again.returncode == 1 and "not empty" in again.stderr, again.stderr
    check_whole(folder, s.token, reports)
    return path


def rewritten(path, to, change):
    """The same backup with other contents: change(name, bytes) gives bytes, or None: left out. The
    manifest is true again."""
    files, manifest = [], None
    with tarfile.open(path) as tar:
        for member in tar:
            data = tar.extractfile(member).read()
            if member.name == "manifest.json":
                manifest = json.loads(data)
                continue
            changed = change(member.name, data)
            if changed is not None:
                files.append((member.name, changed))
    manifest["files"] = [[n, len(b), hashlib.sha256(b).hexdigest()] for n, b in files]
    with tarfile.open(to, "w", format=tarfile.PAX_FORMAT) as tar:
        for name, data in files + [("manifest.json", json.dumps(manifest).encode())]:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))


def newer(name, data):
    if name != "db/main.sqlite":
        return data
    with tempfile.NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        db = sqlite3.connect(file.name)
        db.execute("UPDATE schema_version SET version = 1000")
        db.commit()
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        db.close()
        with open(file.name, "rb") as changed:
            return changed.read()


def check_damaged(place, path):
    with open(path, "rb") as file:
        whole = file.read()
    folder = os.path.join(place, "damaged")
    bad = os.path.join(place, "bad.tar")

    def refused(word):
        result = command("--restore", bad, "--data", folder)
        assert result.returncode == 1 and word in result.stderr, (word, result.stderr)
        assert not os.path.exists(folder) and not os.path.exists(folder + ".restoring")

    for cut in (0, 100, 511, len(whole) // 2, len(whole) - 20000):
        with open(bad, "wb") as file:
            file.write(whole[:cut])
        refused("nothing was restored")
    at = whole.rindex(b"store/packs/", 0, len(whole) * 9 // 10) + 2048
    with open(bad, "wb") as file:
        file.write(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1:])
    refused("damaged")
    rewritten(path, bad, newer)
    refused("schema 1000")
    rewritten(path, bad, lambda name, data: None if ".pack" in name else data)
    refused("cannot open blob")
    rewritten(path, bad, lambda name, data: None if name == "db/main.sqlite" else data)
    refused("no database")
    for name in ("store/../../evil", "store/.new/x", "../evil", "/tmp/evil", "db/other"):
        with tarfile.open(bad, "w", format=tarfile.PAX_FORMAT) as tar:
            info = tarfile.TarInfo(name)
            info.size = 4
            tar.addfile(info, io.BytesIO(b"evil"))
        refused("nothing was restored")
    with tarfile.open(bad, "w") as tar:
        info = tarfile.TarInfo("store/link")
        info.type, info.linkname = tarfile.SYMTYPE, "/etc"
        tar.addfile(info)
    refused("nothing was restored")
    assert "evil" not in os.listdir(place)
    rewritten(path, bad, lambda name, data: data)
    assert command("--restore", bad, "--data", folder).returncode == 0


def check_refused(place, s):
    path = os.path.join(place, "none.tar")
    for words, said in ((["--database", "postgresql:///x"], "pg_dump"),
                        (["--store", "s3://b/p?endpoint=http://127.0.0.1:1&region=r"], "versioning"),
                        (["--data", os.path.join(place, "nowhere")], "no database")):
        result = command("--backup", path, "--data", s.folder, *words)
        assert result.returncode == 1 and said in result.stderr, (words, result.stderr)
        assert not os.path.exists(path), words
    assert not os.path.exists(os.path.join(place, "nowhere"))
    result = command("--restore", path, "--data", os.path.join(place, "x"),
                     "--database", "postgresql:///x")
    assert result.returncode == 1 and "--data alone" in result.stderr
    result = command("--backup", os.path.join(place, "no", "such", "folder.tar"),
                     "--data", s.folder)
    assert result.returncode == 1, result.stderr
    # A pack that is named and not there: no backup that pretends to be whole.
    packs = [os.path.join(at, n) for at, _, names in
             os.walk(os.path.join(s.folder, "store", "packs")) for n in names if n != "00.pack"]
    os.rename(packs[0], os.path.join(place, "away"))
    result = command("--backup", path, "--data", s.folder)
    assert result.returncode == 1 and "blob" in result.stderr, result.stderr
    assert not os.path.exists(path)
    os.rename(os.path.join(place, "away"), packs[0])


def main():
    place = tempfile.mkdtemp(prefix="framewalk-backup-")
    try:
        with Server("--requests-per-minute", "0") as s:
            reports = check_under_load(s, place)
            path = check_packed(s, place, reports)
            check_damaged(place, path)
            check_refused(place, s)
        # Of a server that does not run, too.
        stopped = os.path.join(place, "stopped")
        assert command("--restore", path, "--data", stopped).returncode == 0
        assert command("--backup", path + "2", "--data", stopped).returncode == 0
    finally:
        shutil.rmtree(place, ignore_errors=True)


main()
