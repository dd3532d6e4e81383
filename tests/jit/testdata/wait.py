"""Waits in a function of a thread that its name tells, while another one burns CPU time."""

import ctypes
import threading
import time


def burns(end):
    while time.time() < end:
        sum(range(1000))


def waits(end):
    ctypes.CDLL(None).prctl(15, b"waiter")
    while time.time() < end:
        time.sleep(0.02)


end = time.time() + 1
other = threading.Thread(target=waits, args=(end,))
other.start()
burns(end)
other.join()
