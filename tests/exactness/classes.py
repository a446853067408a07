"""Says in which class a difference between two answers falls. The first class that fits is taken, in
the order of CLASSES; level 0 is the innermost frame.
"""
import os.path

CLASSES = {
    "nothing": "we know nothing there, the peer does",
    "more": "the peer knows nothing there, we do",
    "alias": "another name of the symbol table for the same address",
    "version": "the peer's name ends in a symbol version (@@GLIBC_2.34)",
    "scopes": "our name has the scopes that the peer's lacks",
    "part": "a suffix of the compiler (.cold, .part, .constprop ...) more or less",
    "no function": "we have no function name, the peer has",
    "function only ours": "the peer has no function name, we have",
    "short name": "one side has a name of the source, the other its mangled form",
    "line 0, ours": "we say that the line is unknown, the peer names one",
    "line 0, theirs": "the peer says that the line is unknown, we name one",
    "spelling": "the same file, its path put together differently",
    "no file": "we have no file, the peer has",
    "file only ours": "the peer has no file, we have",
    "fewer frames": "our chain is the peer's without some frames",
    "more frames": "the peer's chain is ours without some frames",
    "depth": "chains of different length, otherwise",
    "outer function": "another function altogether",
    "inline function": "another inlined function",
    "call site": "another file or line of a call that was inlined",
    "file": "another file at the address itself",
    "line": "another line at the address itself",
}


NAMES = {"alias", "version", "scopes"}  # the same function, called otherwise


def _spelling(a, b):
    """Whether the paths are of one file: equal after `.` and `..` are resolved, or one ends as the other."""
    a, b = os.path.normpath(a).lstrip("./"), os.path.normpath(b).lstrip("./")
    return a == b or a.endswith("/" + b) or b.endswith("/" + a)


def _stem(name):
    for mark in (".cold", ".part.", ".isra.", ".constprop.", ".llvm.", ".lto_priv."):
        name = name.partition(mark)[0]
    return name


def _within(few, many):
    rest = iter(many)
    return all(any(frame == other for other in rest) for frame in few)


def function_class(ours, theirs, same_place):
    if ours and theirs and same_place(ours, theirs.partition("@")[0]) and ours != theirs.partition("@")[0]:
        return "alias"
    if ours and ours == theirs.partition("@")[0]:
        return "version"
    if theirs and ours.endswith("::" + theirs):
        return "scopes"
    if _stem(ours) == _stem(theirs):
        return "part"
    if not ours:
        return "no function"
    if not theirs:
        return "function only ours"
    if len(ours) != len(theirs) and (f"{len(ours)}{ours}" in theirs or f"{len(theirs)}{theirs}" in ours):
        return "short name"
    return None


def place_class(ours, theirs, level):
    """For two frames whose functions are the same."""
    _, our_file, our_line = ours
    _, their_file, their_line = theirs
    if our_line != their_line:
        if not our_line:
            return "line 0, ours"
        if not their_line:
            return "line 0, theirs"
        return "call site" if level else "line"
    if not our_file:
        return "no file"
    if not their_file:
        return "file only ours"
    if _spelling(our_file, their_file):
        return "spelling"
    return "call site" if level else "file"


def classify(ours, theirs, same_place):
    """None when the answers are equal, a class of NAMES when nothing but names differs. `same_place`
    tells whether two symbols share an address."""
    if ours == theirs:
        return None
    if not ours:
        return "nothing"
    if not theirs:
        return "more"
    if len(ours) != len(theirs):
        names_of_ours, names_of_theirs = [frame[0] for frame in ours], [frame[0] for frame in theirs]
        if _within(names_of_ours, names_of_theirs):
            return "fewer frames"
        if _within(names_of_theirs, names_of_ours):
            return "more frames"
        return "depth"
    named = None
    for level, (a, b) in enumerate(zip(ours, theirs)):
        if a[0] != b[0]:
            outer = level == len(ours) - 1
            kind = function_class(a[0], b[0], same_place) or ("outer function" if outer else "inline function")
            if kind not in NAMES:
                return kind
            named = named or kind
    for level, (a, b) in enumerate(zip(ours, theirs)):
        if a[1:] != b[1:]:
            return place_class(a, b, level)
    return named
