#!/usr/bin/env python3
"""docs_test.py DOCUMENT ROOT BUILD CC CXX: the document's code blocks do what it says.

Shell blocks run one after the other in one bash: in a folder that looks like the repository, with BUILD as build/release and
the installed programs and libraries in front. What is shown of their output is compared; numbers, addresses and times
match any. C blocks are compiled and linked, Objective-C and Python are compiled. What comments say about blocks: blocks.py.
"""
import fcntl
import os
import shutil
import socket
import struct
import subprocess
import sys
import tempfile

from blocks import blocks_of, session
from shell import Shell, matches

STUBS = {  # installing is done once, into a folder of the test's; building was done
    "sudo": 'exec "$@"',
    "ldconfig": ":",
    "cmake": ':',
}
ATTEMPTS = 3  # on a busy machine a program's hang may be left out, as it mostly waited for a processor
APPLE = """-target arm64-apple-ios12 -nostdlibinc -isystem {0}/tests/machhost/include -I{0}/include -isystem {0}/tests/apple/include
    -fmodules -fmodule-map-file={0}/include/module.modulemap -fmodule-map-file={0}/src/watch/apple/module.modulemap -fobjc-arc
    -Wall -Wextra -Wno-unused-variable -Werror -fsyntax-only"""
LIBRARIES = {"framewalk/symbolicate.h": "framewalk-symbols", "framewalk/upload.h": "framewalk-upload"}


def alone():
    """In a network of its own, so that the documents' ports are free; without, where that is not allowed."""
    if os.environ.get("FW_DOCS_ALONE") is None and shutil.which("unshare"):
        how = ["unshare", "-n"] if os.getuid() == 0 else ["unshare", "-Un", "--map-current-user", "--keep-caps"]
        if subprocess.run(how + ["true"], capture_output=True, check=False).returncode == 0:
            os.environ["FW_DOCS_ALONE"] = "1"
            os.execvp(how[0], how + [sys.executable] + sys.argv)
    if os.environ.get("FW_DOCS_ALONE"):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:  # "lo" up, as `ip link` does it
            fcntl.ioctl(any_socket, 0x8914, struct.pack("16sh14x", b"lo", 0x1 | 0x40))


def prepare(folder, root, build):
    """The folder's `repository`, `prefix` and `bin`; and the environment for commands."""
    repository, prefix, programs = (os.path.join(folder, name) for name in ("repository", "prefix", "bin"))
    os.makedirs(os.path.join(repository, "build"))
    os.makedirs(programs)
    for name in os.listdir(root):
        if name != "build" and not name.startswith("."):
            os.symlink(os.path.join(root, name), os.path.join(repository, name))
    os.symlink(build, os.path.join(repository, "build", "release"))
    subprocess.run(["cmake", "--install", build, "--prefix", prefix], check=True, stdout=subprocess.DEVNULL)
    for name, line in STUBS.items():
        with open(os.path.join(programs, name), "w", encoding="utf-8") as opened:
            opened.write("#!/bin/sh\n%s\n" % line)
        os.chmod(os.path.join(programs, name), 0o755)
    libraries = os.path.dirname(next(os.path.join(at, "framewalk.pc") for at, _, files in os.walk(prefix)
                                     if "framewalk.pc" in files))
    os.mkdir(os.path.join(folder, "tmp"))
    environment = dict(os.environ, REPOSITORY=repository, TMPDIR=os.path.join(folder, "tmp"), PKG_CONFIG_PATH=libraries, LD_LIBRARY_PATH=os.path.dirname(libraries), LC_ALL="C.UTF-8",
                       HOME=folder, PATH=":".join([programs, os.path.join(prefix, "bin"), os.path.join(build, "examples"),
                                                   os.environ["PATH"]]))
    for name in ("DEBUGINFOD_URLS", "FW_DATABASE", "FW_STORE"):
        environment.pop(name, None)
    return repository, environment


def whole_source(block):
    """The block, in main() if it stands inside a function; what it includes or imports comes first."""
    if "inside" not in block.said:
        return block.text
    lines = block.text.splitlines()
    heads = [line for line in lines if line.startswith(("#", "@import"))]
    body = [line for line in lines if line not in heads]
    return "\n".join(heads + ["int main(void)", "{"] + block.said["inside"] + body + ["}"]) + "\n"


def compile_apple(block, repository, folder):
    """What is wrong with an Objective-C block, or ""."""
    source = os.path.join(folder, "block.m")
    with open(source, "w", encoding="utf-8") as opened:
        opened.write("@import Foundation;\n#include <stdio.h>\n#include <stdlib.h>\n@import Framewalk;\n" + whole_source(block))
    done = subprocess.run(["clang-19", "-fmodules-cache-path=" + os.path.join(folder, "modules")] + APPLE.format(repository).split()
                          + [source], capture_output=True, text=True, check=False)
    return done.stderr if done.returncode else ""


def compile_block(block, repository, environment, compilers):
    """What is wrong with a C block, or ""."""
    wrong = ""
    wanted = ["framewalk"] + [name for header, name in LIBRARIES.items() if header in block.text]
    flags = subprocess.run(["pkg-config", "--cflags", "--libs"] + wanted, env=environment, check=True,
                           capture_output=True, text=True).stdout.split()
    for compiler, standard, suffix in compilers if "C++" in block.said else compilers[:1]:
        source = os.path.join(repository, "block" + suffix)
        with open(source, "w", encoding="utf-8") as opened:
            opened.write(whole_source(block))
        done = subprocess.run([compiler, standard, "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", source, "-o", source + ".out"]
                              + flags, env=environment, capture_output=True, text=True, check=False)
        wrong += done.stderr if done.returncode else ""
    return wrong


class Document:
    def __init__(self, shell, repository, environment, compilers):
        self.shell, self.repository, self.environment, self.compilers = shell, repository, environment, compilers
        self.ran = self.excerpts = 0
        self.missing = []

    def check(self, block):
        """What is wrong with the block, or ""."""
        if "excerpt" in block.said:
            self.excerpts += 1
            return "" if block.said["excerpt"][0] else "an excerpt of what?"
        for package in block.said.get("needs", []):
            asked = subprocess.run(["dpkg-query", "-W", "-f", "${db:Status-Abbrev}", package], capture_output=True, check=False)
            if asked.stdout != b"ii ":
                self.missing.append("%d needs %s" % (block.line, package))
                return ""
        self.ran += 1
        for line in block.said.get("before", []):
            printed, status = self.shell.run(line)
            if status:
                return "before it: %s\n%s" % (line, printed)
        if "file" in block.said:
            folder = self.shell.run("pwd")[0].strip()
            with open(os.path.join(folder, block.said["file"][0]), "w", encoding="utf-8") as opened:
                opened.write(block.text)
        if block.language == "c":
            return compile_block(block, self.repository, self.environment, self.compilers)
        if block.language == "objc":
            if not shutil.which("clang-19"):
                self.missing.append("%d needs clang-19" % block.line)
                return ""
            return compile_apple(block, self.repository, os.path.dirname(self.repository))
        if block.language == "python":
            compile(block.text, "line %d" % block.line, "exec")
            return ""
        if block.language not in ("", "sh"):
            return "nothing is known about blocks of %s" % block.language
        return "" if "file" in block.said else self.run(block)

    def run(self, block):
        wanted = int(block.said.get("exit", ["0"])[0])
        if not block.text.startswith("$ "):
            printed, status = self.shell.run(block.text)
            return "" if status == wanted else "ended with %d:\n%s" % (status, printed)
        for command, shown in session(block.text):
            if command.rstrip().endswith("&"):
                printed, status = self.shell.start(command, shown), wanted
            else:
                printed, status = self.shell.run(command)
            if status != wanted:
                return "%s\nended with %d:\n%s" % (command, status, printed)
            if not matches(shown, printed):
                return "%s\nshown:\n%s\nprinted:\n%s" % (command, "\n".join(shown), printed)
        return ""


def run(name, root, build, compilers):
    with open(os.path.join(root, name), encoding="utf-8") as opened:
        blocks = list(blocks_of(opened.read()))
    if all(block.said.get("excerpt", [""])[0] for block in blocks):
        print("%s: nothing to run, %d excerpts" % (name, len(blocks)))
        return []
    with tempfile.TemporaryDirectory() as folder:
        repository, environment = prepare(folder, root, build)
        shell = Shell(repository, environment)
        document = Document(shell, repository, environment, compilers)
        wrong = []
        try:
            for block in blocks:
                told = document.check(block)
                if told:
                    wrong.append("%s:%d: %s" % (name, block.line, told))
        finally:
            shell.end()
    print("\n".join(wrong))
    print("%s: %d blocks did what is shown, %d are excerpts%s" % (
        name, document.ran - len(wrong), document.excerpts, "".join(", left out: line " + line for line in document.missing)))
    return wrong


def main():
    name, root, build, cc, cxx = sys.argv[1:]
    alone()
    compilers = [(cc, "-std=c11", ".c"), (cxx, "-std=c++17", ".cc")]
    for _ in range(ATTEMPTS):
        if not run(name, root, build, compilers):
            sys.exit(0)
    sys.exit(1)


if __name__ == "__main__":
    main()
