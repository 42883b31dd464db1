# SPDX-License-Identifier: BSD-2-Clause
"""Threads that each burn a known amount of CPU time, with the GIL or without it.

usage: burners.py MILLISECONDS KIND... [--wait]       a thread for each KIND: python, native, mixed

Says READY, works, prints TRUTH and a JSON document, and ends:

    threads   tid, kind, ns of its CPU clock, utime + stime in seconds, CLOCK_MONOTONIC ns at begin
              and end, how often it lost its CPU; pauses as ownclock.paused() has them
"""
import resource
import sys
import threading
import time
import zlib

import ownclock
from ownclock import cpu

RUSAGE_THREAD = getattr(resource, "RUSAGE_THREAD", 1)
DATA = bytes(range(256)) * 4096  # 1 MiB


def python():
    for _ in range(10000):
        pass


def native():
    """Releases the GIL most of the time: such threads run in parallel."""
    zlib.crc32(DATA)


def mixed():
    python()
    native()


def burn(function, total_ns):
    """Works in turns of about the same length."""
    turns, begin, began = [], cpu(), time.monotonic_ns()
    until = begin + total_ns
    while begin < until:
        function()
        end, ended = cpu(), time.monotonic_ns()
        turns.append((end - begin, began, ended))
        begin, began = end, ended
    return turns


def worker(kind, total_ns, gate, found):
    gate.wait()
    usage, switches = resource.getrusage(RUSAGE_THREAD), ownclock.losses(RUSAGE_THREAD)
    began, begin = time.monotonic_ns(), cpu()
    turns = burn(globals()[kind], total_ns)
    end, ended = cpu(), time.monotonic_ns()
    used = resource.getrusage(RUSAGE_THREAD)
    found.append({
        "tid": threading.get_native_id(), "kind": kind, "ns": end - begin,
        "seconds": used.ru_utime + used.ru_stime - usage.ru_utime - usage.ru_stime,
        "began": began, "ended": ended,
        "switches": ownclock.losses(RUSAGE_THREAD) - switches, "pauses": ownclock.paused(turns),
    })


def main():
    kinds = [a for a in sys.argv[2:] if not a.startswith("--")]
    gate, found = threading.Event(), []
    threads = [threading.Thread(target=worker, args=(k, int(sys.argv[1]) * 1000000, gate, found))
               for k in kinds]
    for thread in threads:
        thread.start()
    ownclock.ready()
    began = time.monotonic_ns()
    gate.set()
    for thread in threads:
        thread.join()
    ownclock.tell({"threads": found, "began": began, "ended": time.monotonic_ns()})


if __name__ == "__main__":
    main()
