#!/usr/bin/env python3
"""privacy_test.py ROOT: the list of groups is well-formed, privacy_data.c is made of it, our own privacy manifest names
reasons that it knows, and a list that is not well-formed is refused with its line."""
import os
import plistlib
import subprocess
import sys
import tempfile

ROOT = sys.argv[1]
TOOL = ROOT + "/packaging/apple/privacy.py"
LIST = ROOT + "/src/watch/privacy_apple.txt"

BROKEN = (  # what is replaced, by what, what is said
    ("reason 3EC4.1\nreason 54BD.1\n", "", "a category with reasons"),
    ("reason 3EC4.1\n", "reason 3EC4\n", "not the form of a reason"),
    ("reason 3EC4.1\nreason 54BD.1\n", "reason 54BD.1\nreason 3EC4.1\n", "lines are sorted"),
    ("permission NSContactsUsageDescription\n", "", "or permissions"),
    ("call fstatvfs\n", "call fstatvfs\ncall fstatvfs\n", "none is there twice"),
    ("call fstatvfs\n", "call fstatvfs\ncall NSFileSystemSize\n", "lines are sorted"),
    ("call +[UITextInputMode activeInputModes]", "call +[UITextInputMode active InputModes]", "not the form of a call"),
    ("call +[UITextInputMode activeInputModes]", "call +[UITextInputMode a:b]", "not the form of a call"),
    ("call +[UITextInputMode activeInputModes]", "call [UITextInputMode activeInputModes]", "not the form of a call"),
    ("call +[UITextInputMode activeInputModes]\n", "", "calls"),
    ("key NSFileSystemSize\n", "key getattrlist\n", "lines are sorted"),
    ("by-key -[NSFileManager attributesOfFileSystemForPath:error:]\n",
     "by-key -[NSDictionary fileModificationDate]\n", "a name is by-key in one group and not in another"),
    ("group bluetooth", "group zoo", "groups are in the order"),
    ("version 1", "version one", "version"),
    ("title Tracking\n", "title Tracking\ncolour red\n", "no such line"),
    ("call -[ASIdentifierManager advertisingIdentifier]\n",
     "call -[ASIdentifierManager advertisingIdentifier]\n" + "".join("call f%03d\n" % i for i in range(200)), "more than 256"),
)


def run(*arguments):
    return subprocess.run([sys.executable, TOOL, *arguments], capture_output=True, text=True, timeout=60)


def check_manifest(text):
    reasons, category = {}, None
    for line in text.split("\n"):
        kind, _, value = line.partition(" ")
        if kind == "group":
            category = None
        elif kind == "category":
            category = value
        elif kind == "reason":
            reasons.setdefault(category, set()).add(value)
    with open(ROOT + "/packaging/apple/PrivacyInfo.xcprivacy", "rb") as file:
        declared = plistlib.load(file)["NSPrivacyAccessedAPITypes"]
    assert declared
    for one in declared:
        known = reasons[one["NSPrivacyAccessedAPIType"]]
        assert set(one["NSPrivacyAccessedAPITypeReasons"]) <= known, one


def check_broken(text):
    with tempfile.TemporaryDirectory() as folder:
        os.makedirs(folder + "/src/watch")
        for was, becomes, says in BROKEN:
            assert text.count(was) == 1, was
            with open(folder + "/src/watch/privacy_apple.txt", "w", encoding="ascii") as file:
                file.write(text.replace(was, becomes))
            got = run(folder)
            assert got.returncode == 1 and says in got.stderr and "line " in got.stderr, (becomes, got.stderr)
            assert not os.path.exists(folder + "/src/watch/privacy_data.c"), becomes
        # Another list makes another file, which --check sees.
        with open(folder + "/src/watch/privacy_apple.txt", "w", encoding="ascii") as file:
            file.write(text)
        assert run(folder).returncode == 0 and run("--check", folder).returncode == 0
        with open(folder + "/src/watch/privacy_apple.txt", "w", encoding="ascii") as file:
            file.write(text.replace("version 1\n", "version 2\n"))
        got = run("--check", folder)
        assert got.returncode == 1 and "is not made of privacy_apple.txt" in got.stderr, got.stderr


def main():
    got = run("--check", ROOT)
    assert got.returncode == 0, got.stderr
    with open(LIST, encoding="ascii") as file:
        text = file.read()
    check_manifest(text)
    check_broken(text)


main()
