"""Answers of the sides to the same addresses: {address: [(function, path, line), ...]}, innermost
frame first; unknown parts are "" and 0, an address that a side knows nothing of has no frames.

A peer's answers are kept in the build folder, by the file's identity and the addresses.
"""
import hashlib
import json
import os
import subprocess


def frames_of(parts):
    """Without frames that say nothing at all."""
    return [part for part in parts if part != ("", "", 0)]


def _known(text):
    return "" if text in ("??", "?") else text


def _ask(command, addresses, stale_after, cache):
    """What the command prints for these addresses, from the cache when it was asked before."""
    text = "".join(f"{address:#x}\n" for address in addresses)
    times = [str(os.stat(path).st_mtime_ns) for path in stale_after]
    key = hashlib.sha256("\0".join(command + times + [text]).encode()).hexdigest()[:24]
    path = os.path.join(cache, key)
    if not os.path.exists(path):
        os.makedirs(cache, exist_ok=True)
        with open(path + ".part", "wb") as out:
            subprocess.run(command, input=text.encode(), stdout=out, stderr=subprocess.DEVNULL, check=True)
        os.rename(path + ".part", path)
    with open(path, encoding="utf-8", errors="surrogateescape") as file:
        return file.read()


def llvm(path, arch, addresses, cache):
    """llvm-symbolizer."""
    command = ["llvm-symbolizer-19", f"--obj={path}", "--functions=linkage", "--inlines", "--no-demangle",
               "--output-style=JSON"] + ([f"--default-arch={arch}"] if arch else [])
    answers = {}
    for line in _ask(command, addresses, [path], cache).splitlines():
        entry = json.loads(line)
        if "Address" not in entry:
            continue
        answers[int(entry["Address"], 16)] = frames_of(
            [(s["FunctionName"], s["FileName"], s["Line"]) for s in entry.get("Symbol", [])])
    return answers


def addr2line(program, path, addresses, cache):
    """binutils' addr2line, or gimli's, which prints the same."""
    answers, address, frames, function = {}, None, None, None
    for line in _ask([program, "-a", "-f", "-i", "-e", path], addresses, [path], cache).splitlines():
        if line.startswith("0x") and function is None:
            address, frames = int(line, 16), []
            answers[address] = frames
        elif function is None:
            function = line
        else:
            place, _, number = line.partition(" (discriminator")[0].rpartition(":")
            frames.append((_known(function), _known(place), int(number) if number.isdigit() else 0))
            function = None
    return {address: frames_of(frames) for address, frames in answers.items()}


def ours(framewalk, path, arch, addresses):
    """The command, as people run it but without a cache of maps; never from our own cache."""
    command = [framewalk, "symbolicate", "--json", "--no-demangle", "--no-cache"] + (
        ["--arch", arch] if arch else []) + [path]
    text = "".join(f"{address:#x}\n" for address in addresses)
    result = subprocess.run(command, input=text.encode(), stdout=subprocess.PIPE, check=False, timeout=600)
    if result.returncode not in (0, 8): # 8: all that can be said, for some of its files are missing
        result.check_returncode()
    return parse_ours(result.stdout)


def parse_ours(output):
    """Of `framewalk symbolicate --json --no-demangle`."""
    answers = {}
    for line in output.decode("utf-8", "surrogateescape").splitlines():
        entry = json.loads(line)
        answers[int(entry["address"], 16)] = frames_of(
            [(f.get("mangled", f.get("function", "")), f.get("file", ""), f.get("line", 0)) for f in entry["frames"]])
    return answers
