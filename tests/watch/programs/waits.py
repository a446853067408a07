"""A script that waits inside of the standard library: its own line is to blame."""
import threading
import time


def load_profile():
    for _ in range(20):
        time.sleep(0.05)
    threading.Event().wait(3)  # line: wait


load_profile()
