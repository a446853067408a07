"""One bash that runs a document's commands one after the other, and comparing what they print with what is shown."""
import os
import re
import signal
import subprocess
import threading
import time

MARK = "\x1e"
PATIENCE_S = 120
# Of a line that is shown: what stands for itself (a line of a source file), and what differs from run to run.
PIECES = re.compile(r"(?P<rest>\.\.\.)|(?P<place>\.(?:c|h|cc|cpp|m|S|py|swift):\d+)|(?P<token>fw[ti]_\w+)"
                    r"|(?P<time>(?<=\d )m?s\b)|(?P<hex>0x[0-9a-f]+)|(?P<id>\b[0-9a-f]{32}\b)|(?P<number>\d[\dT.,:-]*Z?)|(?P<space>[ \t]+)")

HANG = re.compile(r" +\d+\. \d")  # under it stands what lies further in, by its share: something else each time


def pattern_of_line(line):
    """A regular expression: numbers, addresses, units of time and runs of spaces match any such."""
    made, end = "", 0
    for piece in PIECES.finditer(line):
        made += re.escape(line[end:piece.start()])
        kind, end = piece.lastgroup, piece.end()
        made += {"rest": ".*", "place": re.escape(piece.group()), "id": "[0-9a-f]{32}",
                 "token": r"fw[ti]_\w+", "time": "m?s", "hex": "0x[0-9a-f]+",
                 "number": r"\d[\dT.,:-]*Z?", "space": r"[ \t]*" if piece.start() == 0 else r"[ \t]+"}[kind]
    return made + re.escape(line[end:])


def pattern_of(lines):
    made = ""
    for line in lines:
        if line.strip() == "...":
            made += r"(?:.*\n)*?"
        elif not line.strip():
            made += r"\s*\n"
        else:
            made += pattern_of_line(line.rstrip()) + r"[ \t]*\n"
            if HANG.match(line):
                made += r"(?: +\d+ % in .*\n)*"
    return re.compile(made)


def matches(lines, printed):
    printed = printed.strip("\n").rstrip()
    return pattern_of(lines).fullmatch(printed + "\n" if printed else "") is not None


class Shell:
    """A bash in a folder of its own; what it leaves behind is ended with it."""

    def __init__(self, folder, environment):
        self.folder = folder
        self.count = 0
        self.bash = subprocess.Popen(["bash"], cwd=folder, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                     stderr=subprocess.STDOUT, start_new_session=True, text=True, errors="replace")

    def run(self, commands):
        """What the lines print, and the first exit status but 0."""
        self.count += 1
        script = os.path.join(self.folder, ".commands-%d" % self.count)
        with open(script, "w", encoding="utf-8") as opened:
            opened.write(commands + "\n")
        self.bash.stdin.write("failed=0; trap 'failed=$?' ERR; . %s </dev/null; failed=$failed; trap - ERR; "
                              "printf '%s%%d\\n' \"$failed\"\n" % (script, MARK))
        self.bash.stdin.flush()
        timer = threading.Timer(PATIENCE_S, self.end)
        timer.start()
        printed = ""
        for line in self.bash.stdout:
            before, mark, status = line.partition(MARK)
            printed += before
            if mark:
                timer.cancel()
                return printed, int(status)
        timer.cancel()
        return printed + "(the shell ended, or the command did not in %d s)\n" % PATIENCE_S, -1

    def start(self, command, shown):
        """A command that ends in "&": what it has printed once that is what is shown, or in vain."""
        self.count += 1
        log = os.path.join(self.folder, ".log-%d" % self.count)
        self.run("%s >%s 2>&1 &" % (command.rstrip().removesuffix("&"), log))
        printed = ""
        for _ in range(PATIENCE_S * 10):
            if os.path.exists(log):
                with open(log, encoding="utf-8", errors="replace") as opened:
                    printed = opened.read()
                if (matches(shown, printed) if shown else True):
                    break
            time.sleep(0.1)
        return printed

    def end(self):
        try:
            os.killpg(self.bash.pid, signal.SIGTERM)
            time.sleep(0.3)
            os.killpg(self.bash.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
