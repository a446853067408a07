"""Debug files for tests: compiled here, and the protocol that sends them."""
import base64
import hashlib
import io
import os
import shutil
import subprocess
import time
import zipfile

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


def bomb_zip(size):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        with archive.open("a", "w", force_zip64=True) as file:
            for _ in range(size >> 20):
                file.write(b"\0" * (1 << 20))
    return out.getvalue()


def dwarf_bomb(folder, depth=60000):
    """Units whose entries are nested that deep, and an abbreviation with thousands of attributes."""
    source = os.path.join(folder, "bomb.s")
    with open(source, "w") as out:
        out.write('.text\nf: .byte 0xc3\n.section .debug_abbrev,"",%progbits\n'
                  '.byte 1, 0x11, 1, 0, 0\n.byte 2, 0x0b, 1, 0, 0\n.byte 3, 0x2e, 0\n')
        out.write(".byte 0x03, 0x08\n" * 5000)
        out.write('.byte 0, 0, 0\n.section .debug_info,"",%progbits\nstart: .4byte end - begin\n'
                  'begin: .2byte 4\n.4byte 0\n.byte 8\n.byte 1\n')
        out.write(".fill %d, 1, 2\n.byte 3\n.fill 5000, 1, 0\n.fill %d, 1, 0\nend:\n" % (depth, depth))
        # A line program that advances for ever.
        out.write('.section .debug_line,"",%%progbits\n.4byte 0x7fffffff\n.2byte 4\n.fill %d, 1, 0x14\n' % (1 << 20))
    path = os.path.join(folder, "bomb.so")
    subprocess.run(["cc", "-shared", "-nostdlib", "-Wl,--build-id=sha1", "-o", path, source], check=True)
    with open(path, "rb") as file:
        return file.read()
