"""Burns CPU time in functions, and prints how much each took, in seconds. Usage: burn.py SECONDS"""

import sys
import time


class Work:
    def much(self, n):
        total = 0
        for i in range(n):
            total += i * i
        return total

    def little(self, n):
        total = 0
        for i in range(n):
            total ^= i
        return total


def natively(n):
    return sorted(str(i * 7919 % 10007) for i in range(n))


def deeper(depth, fn, *args):
    if depth:
        return deeper(depth - 1, fn, *args)
    return fn(*args)


def timed(fn, *args):
    begin = time.process_time()
    deeper(5, fn, *args)
    return time.process_time() - begin


def main():
    work = Work()
    took = {"Work.much": 0.0, "Work.little": 0.0, "natively": 0.0}
    while sum(took.values()) < float(sys.argv[1]):
        took["Work.much"] += timed(work.much, 200000)
        took["Work.little"] += timed(work.little, 100000)
        took["natively"] += timed(natively, 50000)
    print(*took.values())


main()
