"""A script without a loop: it sleeps for three seconds, again and again for a moment."""
import time


def load_all():
    end = time.monotonic() + 3
    while time.monotonic() < end:
        time.sleep(0.05)  # line: nap


load_all()
