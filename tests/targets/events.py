# SPDX-License-Identifier: BSD-2-Clause
"""Page faults and context switches whose number the kernel itself says: one function touches new
memory, another waits. Says before it ends how many of each there were in which function."""
import json
import mmap
import resource
import sys
import time

PAGES = 2000
NAPS = 200


def faults():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_minflt + usage.ru_majflt


def switches():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_nvcsw + usage.ru_nivcsw


def touch(memory):
    for page in range(PAGES):
        memory[page * mmap.PAGESIZE] = 1


def wait():
    for _ in range(NAPS):
        time.sleep(0.001)


def spin(until):
    count = 0
    while time.monotonic() < until:
        count += 1
    return count


def main():
    told = {"faults": 0, "switches": 0}
    for _ in range(int(sys.argv[1]) if len(sys.argv) > 1 else 3):
        with mmap.mmap(-1, PAGES * mmap.PAGESIZE) as memory:
            before = faults()
            touch(memory)
            told["faults"] += faults() - before
        before = switches()
        wait()
        told["switches"] += switches() - before
    spin(time.monotonic() + 0.1)
    print("TOLD " + json.dumps(told), flush=True)


if __name__ == "__main__":
    main()
    sys.exit(0)
