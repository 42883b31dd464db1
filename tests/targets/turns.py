# SPDX-License-Identifier: BSD-2-Clause
"""Threads that use the interpreter's lock in turns that are far shorter than krait's samples are apart.

usage: turns.py lockers|pool|queue|spin|own COUNT SECONDS

lockers take turns through one threading.Lock, pool is a multiprocessing.pool.ThreadPool with small jobs, queue has
workers that take jobs of 2 ms from a queue.Queue, spin has loops that want the lock all the time, own runs such loops in
interpreters with locks of their own (3.13 and later). Prints TRUTH and a
JSON document: ns that passed, and CPU time of the process.
"""
import json
import multiprocessing.pool
import queue
import sys
import threading
import time

KIND, COUNT, SECONDS = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])


def work(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


def start(function, *args):
    thread = threading.Thread(target=function, args=args)
    thread.start()
    return thread


def lockers(end):
    lock = threading.Lock()

    def locker():
        while time.monotonic() < end:
            with lock:
                work(0.0002)

    for thread in [start(locker) for _ in range(COUNT)]:
        thread.join()


def pool(end):
    with multiprocessing.pool.ThreadPool(COUNT) as workers:
        while time.monotonic() < end:
            workers.map(work, [0.0002] * 4 * COUNT, 1)


def queued(end):
    jobs = queue.Queue(2 * COUNT)

    def worker():
        while jobs.get():
            work(0.002)

    threads = [start(worker) for _ in range(COUNT)]
    while time.monotonic() < end:
        jobs.put(True)
    for _ in threads:
        jobs.put(False)
    for thread in threads:
        thread.join()


def spin(end):
    def loop():
        while time.monotonic() < end:
            pass

    for thread in [start(loop) for _ in range(COUNT)]:
        thread.join()


def own(end):
    import _interpreters

    code = "import time\nwhile time.monotonic() < %r:\n    pass\n" % end
    for thread in [start(_interpreters.exec, _interpreters.create("isolated"), code) for _ in range(COUNT)]:
        thread.join()


def main():
    began, cpu = time.monotonic_ns(), time.process_time_ns()
    {"lockers": lockers, "pool": pool, "queue": queued, "spin": spin, "own": own}[KIND](time.monotonic() + SECONDS)
    print("TRUTH", json.dumps({"passed": time.monotonic_ns() - began, "cpu": time.process_time_ns() - cpu}))


if __name__ == "__main__":
    main()
