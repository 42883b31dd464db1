# SPDX-License-Identifier: BSD-2-Clause
"""A storm of forks: ALIVE children at a time, each works for some milliseconds and is gone.
usage: forks.py ALIVE"""
import gc
import json
import os
import sys

import oracle
import work

PRIMING_CHILDREN = 4


def leaf(n):
    for _ in range(n):
        pass


def middle(n):
    leaf(n)
    leaf(n)


def child(own):
    middle(20 if own else 60000)
    if own:
        sys.setprofile(None)
        # What a child can have, by the way of the same pipe; its parent is waiting.
        os.write(1, b"ORACLE %s\n" % json.dumps(own.as_json()).encode())
    os._exit(0)


def reap(done):
    _, _, usage = os.wait4(-1, 0)
    done[0] += 1
    done[1] += int(1e9 * (usage.ru_utime + usage.ru_stime))


def storm(alive, own, done):
    """Endless, or a few one after another while their stacks are noted in own."""
    running = started = 0
    while not own or started < PRIMING_CHILDREN:
        if running == (1 if own else alive):
            reap(done)
            running -= 1
        if os.fork() == 0:
            child(own)
        running += 1
        started += 1
    while running:
        reap(done)
        running -= 1


def main():
    gc.disable()
    alive, done, own = int(sys.argv[1]), work.pairs(), oracle.Oracle()
    for again in (own, None):
        if again:
            sys.setprofile(own.trace)
        else:
            sys.setprofile(None)
            oracle.say(own)
        storm(alive, again, done)


if __name__ == "__main__":
    main()
