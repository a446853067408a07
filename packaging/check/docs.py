#!/usr/bin/env python3
"""docs.py: every link of our Markdown files leads to a file or heading that is there, every file and
folder that they name in `code` exists, and no file of the project has an unprintable name.

Names with a part in capitals (src/arch/NAME.c) stand for any; ELSEWHERE lists what is no file of ours.
"""
import fnmatch
import os
import re
import subprocess
import sys

ELSEWHERE = {
    "hello.c",       # a program of whoever reads the README
    "where.c",       # another one
    "page_files.c",  # made when the page is built
    "profile.proto",  # pprof's
}
KINDS = "c|h|cc|S|py|sh|mjs|ts|tsx|md|yaml|cmake|proto|rules|css|txt"
FOLDERS = "src|tests|docs|packaging|bench|fuzz|web|cmake|examples|include"
LINK = re.compile(r"\]\(([^)#\s]*)(?:#([^)\s]+))?\)")
NAME = re.compile(r"`([\w./*+-]+\.(?:%s)|(?:%s)/[\w./*+-]*)`" % (KINDS, FOLDERS))
ANY = re.compile(r"(^|[/_.])[A-Z]{2,}([/_.]|$)")


def anchors(text):
    """As GitHub makes them of headings."""
    for heading in re.findall(r"(?m)^#+ +(.*)$", text):
        yield re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def without_blocks(text):
    return re.sub(r"(?ms)^```.*?^```", "", text)


def is_there(name, files, folders):
    name = name.rstrip("/")
    if name in ELSEWHERE or ANY.search(os.path.splitext(name)[0]) or name.startswith(("/", ".")):
        return True
    if "*" in name:
        return any(fnmatch.fnmatch(f, name) or fnmatch.fnmatch(f, "*/" + name) for f in files)
    return any(f == name or f.endswith("/" + name) for f in files | folders)


def main():
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                            check=True, capture_output=True).stdout
    raw = [name for name in listed.split(b"\0") if name]
    wrong = ["%r: an unprintable name" % name for name in raw if not re.fullmatch(rb"[!-~]+", name)]
    files = {name.decode("ascii", "replace") for name in raw}
    files = {name for name in files if os.path.exists(name)}
    folders = {folder for name in files for folder in parents(name)}
    for document in sorted(name for name in files if name.endswith(".md")):
        with open(document, encoding="utf-8") as opened:
            text = opened.read()
        for target, anchor in LINK.findall(without_blocks(text)):
            if "://" in target or target.startswith("mailto:"):
                continue
            path = os.path.normpath(os.path.join(os.path.dirname(document), target)) if target else document
            if path not in files | folders:
                wrong.append("%s: the link %s leads nowhere" % (document, target))
            elif anchor and path.endswith(".md"):
                with open(path, encoding="utf-8") as opened:
                    if anchor not in anchors(opened.read()):
                        wrong.append("%s: %s has no heading #%s" % (document, path, anchor))
        for name in NAME.findall(text):
            if not is_there(name, files, folders):
                wrong.append("%s: there is no %s" % (document, name))
    print("\n".join(wrong) or "links and names of files are right")
    return 1 if wrong else 0


def parents(name):
    while name := os.path.dirname(name):
        yield name


if __name__ == "__main__":
    sys.exit(main())
