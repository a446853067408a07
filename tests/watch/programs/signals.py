"""A loop that hangs, takes back every handler of real-time signals, and hangs again."""
import select
import signal
import time


def compute():
    end = time.monotonic() + 0.5
    while time.monotonic() < end:
        pass


def wait():
    poll = select.poll()
    for _ in range(12):
        poll.poll(5)


wait()
compute()
wait()
for number in range(signal.SIGRTMIN, signal.SIGRTMAX + 1):
    signal.signal(number, signal.SIG_DFL)
compute()
wait()
