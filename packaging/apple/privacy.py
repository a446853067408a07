#!/usr/bin/env python3
"""privacy.py [--check] ROOT: writes src/watch/privacy_data.c of src/watch/privacy_apple.txt, whose form stands in its
head. --check writes nothing and fails when the file there is not what it would write."""
import re
import sys

LIMIT = 256  # FW_CALLS_NAMES: "@privacy" is all names of the list at once
KINDS = ("title", "category", "reason", "permission", "call", "by-key", "key")
SELECTOR = r"[A-Za-z_]\w*|(?:[A-Za-z_]\w*:)+"
FORMS = {"title": r"[A-Z][ -~]*", "category": r"NSPrivacyAccessedAPICategory[A-Z]\w*", "reason": r"[0-9A-F]{4}\.[0-9]+",
         "permission": r"-|NS\w+UsageDescription", "key": r"[A-Za-z_]\w*",
         "call": r"[A-Za-z_][\w$]*|[-+]\[[A-Za-z_]\w* (?:%s)\]" % SELECTOR}
FORMS["by-key"] = FORMS["call"]
FIELDS = (("reasons", "reason"), ("permissions", "permission"), ("calls", "call"), ("by_key", "by-key"))


class Malformed(Exception):
    pass


def want(good, number, what):
    if not good:
        raise Malformed("line %d: %s" % (number, what))


def finish(group, number):
    """What each group must have; no name is in two lines of one group."""
    want(len(group["title"]) == 1, number, "group %s: one title" % group["name"])
    reasons = len(group["category"]) == 1 and group["reason"] and not group["permission"]
    permissions = group["permission"] and not group["category"] and not group["reason"]
    want(reasons or permissions, number, "group %s: a category with reasons, or permissions" % group["name"])
    want(group["call"], number, "group %s: calls" % group["name"])
    names = group["call"] + group["by-key"] + group["key"]
    want(len(set(names)) == len(names), number, "group %s: a name twice" % group["name"])


def read(text):
    """The version, the date and the groups."""
    head, groups, number = {}, [], 0
    for number, line in enumerate(text.split("\n"), 1):
        if not line or line.startswith("#"):
            continue
        kind, _, value = line.partition(" ")
        if kind in ("version", "date"):
            want(not groups and kind not in head, number, "%s stands once, before the groups" % kind)
            want(re.fullmatch(r"[1-9]\d{0,8}" if kind == "version" else r"\d{4}-\d\d-\d\d", value), number, kind)
            head[kind] = value
        elif kind == "group":
            want(re.fullmatch(r"[a-z]+(-[a-z]+)*", value), number, "the name of a group")
            want(not groups or groups[-1]["name"] < value, number, "groups are in the order of their names")
            if groups:
                finish(groups[-1], number)
            groups.append(dict({k: [] for k in KINDS}, name=value))
        else:
            want(kind in KINDS and groups, number, "no such line here")
            want(re.fullmatch(FORMS[kind], value), number, "not the form of a %s" % kind)
            lines = groups[-1][kind]
            want(not lines or lines[-1] < value, number, "lines are sorted, and none is there twice")
            lines.append(value)
    want(len(head) == 2 and groups, number, "version, date and groups")
    finish(groups[-1], number)
    calls, by_key = ({n for g in groups for n in g[kind]} for kind in ("call", "by-key"))
    want(not calls & by_key, number, "a name is by-key in one group and not in another: %s" % sorted(calls & by_key))
    want(len(calls | by_key) <= LIMIT, number, "more than %d names" % LIMIT)
    return head, groups


def write(head, groups):
    out = ["/* Written by packaging/apple/privacy.py of privacy_apple.txt, where changes are made. */",
           '#include "watch/privacy.h"', "", "/* clang-format off */",
           "const uint32_t privacy_version = %s;" % head["version"],
           'const char privacy_date[] = "%s";' % head["date"],
           "const char privacy_names[] =", '    "@privacy"']
    out += ['    ", @privacy.%s"' % group["name"] for group in groups]
    out[-1] += ";"
    out += ["const struct privacy_group privacy_groups[] = {"]
    for group in groups:
        out += ['    {.name = "%s",' % group["name"], '     .title = "%s",' % group["title"][0]]
        out += ['     .category = "%s",' % c for c in group["category"]]
        for field, kind in FIELDS:
            values = [v for v in group[kind] if v != "-"]
            out.append("     .%s = (const char *const[]){" % field)
            out += ['         "%s",' % v for v in values]
            out.append("         NULL},")
        out[-1] += "},"
    out += ["};", "const size_t privacy_group_count = sizeof privacy_groups / sizeof *privacy_groups;", ""]
    return "\n".join(out)


def main():
    check = sys.argv[1] == "--check"
    root = sys.argv[-1]
    with open(root + "/src/watch/privacy_apple.txt", encoding="ascii") as source:
        made = write(*read(source.read()))
    path = root + "/src/watch/privacy_data.c"
    if check:
        with open(path, encoding="ascii") as there:
            if there.read() != made:
                sys.exit("%s is not made of privacy_apple.txt: python3 packaging/apple/privacy.py ." % path)
        return
    with open(path, "w", encoding="ascii") as out:
        out.write(made)


if __name__ == "__main__":
    try:
        main()
    except Malformed as why:
        sys.exit("privacy_apple.txt, %s" % why)
