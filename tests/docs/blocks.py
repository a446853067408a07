"""The code blocks of a Markdown file, with what the comments in front of them say.

<!-- excerpt: WHY -->   not run: a figure, a format, or what no test can have
<!-- file: NAME -->     saved under that name, for the commands that follow
<!-- before: LINE -->   a command that is run first, and not shown
<!-- needs: PACKAGE --> left out, saying so, where the Debian package is not installed
<!-- exit: N -->        the exit status of what is shown
<!-- C++ -->            a C block that is C++, too
<!-- inside: CODE -->   C or Objective-C that stands in a function, behind CODE

Objective-C is compiled for iOS against the headers of tests/apple; it is not run.
"""
import re
import textwrap
from dataclasses import dataclass, field

COMMENT = re.compile(r"<!-- (excerpt|file|before|needs|exit|inside|C\+\+)(?:: (.*?))? -->")


@dataclass
class Block:
    line: int
    language: str  # of a fence; "" of indented ones
    text: str
    said: dict = field(default_factory=dict)


def directives(lines, index):
    """Of the comments right above line `index`."""
    said = {}
    while index > 0 and (not lines[index - 1].strip() or COMMENT.fullmatch(lines[index - 1].strip())):
        index -= 1
        found = COMMENT.fullmatch(lines[index].strip())
        if found:
            said.setdefault(found.group(1), []).insert(0, found.group(2) or "")
    return said


def blocks_of(text):
    lines = text.splitlines()
    at = 0
    while at < len(lines):
        start = at
        if lines[at].startswith("```"):
            at += 1
            while at < len(lines) and not lines[at].startswith("```"):
                at += 1
            yield Block(start + 1, lines[start][3:].strip(), "\n".join(lines[start + 1:at]) + "\n", directives(lines, start))
        elif lines[at].startswith("    ") and (at == 0 or not lines[at - 1].strip()):
            while at < len(lines) and (not lines[at].strip() or lines[at].startswith("    ")):
                at += 1
            yield Block(start + 1, "", textwrap.dedent("\n".join(lines[start:at])).rstrip() + "\n", directives(lines, start))
            continue
        at += 1


def session(text):
    """(command, lines shown) of a block whose commands begin with "$ "."""
    steps = []
    more = False
    for line in text.splitlines():
        if more:
            steps[-1][0] += "\n" + line
        elif line.startswith("$ "):
            steps.append([line[2:], []])
        else:
            steps[-1][1].append(line)
        more = (more or line.startswith("$ ")) and line.endswith("\\")
    for command, shown in steps:
        while shown and not shown[-1].strip():
            shown.pop()
        yield command, shown
