"""Debug files for tests: compiled here, and the protocol that sends them."""
import base64
import hashlib
import os
import shutil
import subprocess
import time

SOURCE = """
static int __attribute__((noinline)) price(int n) { volatile int sum = n; sum += %d; return sum; }
int load_prices(int n) { return price(n) + price(n + 1); }
int main(int argc, char **argv) { return load_prices(argc) == 7 && argv[0] == 0; }
"""
TYPE = {"Content-Type": "application/offset+octet-stream"}


def compile_elf(folder, name="shop", number=7, *options):
    """A program with debug information and a build id of its own. None: no compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if not compiler:
        return None
    source, path = os.path.join(folder, name + ".c"), os.path.join(folder, name)
    with open(source, "w") as out:
        out.write(SOURCE % number)
    subprocess.run([compiler, "-g", "-O1", "-Wl,--build-id=sha1", *options, "-o", path, source],
                   check=True)
    return path


def build_id(path):
    text = subprocess.run(["readelf", "-n", path], capture_output=True, text=True,
                          check=True).stdout
    return text.split("Build ID:")[1].split()[0]


def split_elf(path):
    """(stripped, debug file) of a program."""
    debug, stripped = path + ".debug", path + ".stripped"
    subprocess.run(["objcopy", "--only-keep-debug", path, debug], check=True)
    subprocess.run(["objcopy", "--strip-all", path, stripped], check=True)
    return stripped, debug


def create(server, data, name="file", sha256=True, length=None, token=True):
    metadata = "filename " + base64.b64encode(name.encode()).decode()
    if sha256:
        digest = sha256 if isinstance(sha256, str) else hashlib.sha256(data).hexdigest()
        metadata += ",sha256 " + base64.b64encode(digest.encode()).decode()
    return server.request("POST", "/api/v1/uploads", b"", {
        "Upload-Length": str(len(data) if length is None else length), "Tus-Resumable": "1.0.0",
        "Upload-Metadata": metadata}, token=token)


def patch(server, place, offset, data, token=True, **headers):
    return server.request("PATCH", place, data, dict(
        TYPE, **{"Upload-Offset": str(offset), "Tus-Resumable": "1.0.0"}, **headers), token=token)


def wait(server, place, seconds=60):
    """What became of an upload."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = server.get(place).json()
        if value["state"] in ("done", "failed"):
            return value
        time.sleep(0.05)
    raise AssertionError("not converted: %s" % value)


def send(server, data, name="file", part=1 << 20, seconds=60):
    """Sends all of it; what became of it."""
    made = create(server, data, name)
    assert made.status in (200, 201), (made.status, made.body)
    place = made.headers["Location"]
    at = int(made.headers["Upload-Offset"])
    while at < len(data):
        reply = patch(server, place, at, data[at:at + part])
        assert reply.status == 204, (reply.status, reply.body)
        at = int(reply.headers["Upload-Offset"])
    return wait(server, place, seconds)


def named_elf(folder, identity, name="named", size=4 << 20, step=1 << 15):
    """A library of that build id whose code is functions of `step` bytes, from offset 0x1000 on."""
    source, path = os.path.join(folder, name + ".s"), os.path.join(folder, name + ".so")
    with open(source, "w") as out:
        out.write(".text\n")
        for number in range(size // step):
            out.write(".globl named_%d\n.type named_%d, %%function\nnamed_%d: .skip %d, 0x90\n"
                      ".size named_%d, %d\n" % (number, number, number, step, number, step))
    subprocess.run(["cc", "-shared", "-nostdlib", "-Wl,--build-id=0x" + identity, "-o", path, source],
                   check=True)
    with open(path, "rb") as file:
        return file.read()
