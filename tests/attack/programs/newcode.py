# SPDX-License-Identifier: BSD-2-Clause
"""Runs ever new code objects with ever new names, each on top of the one before.

    newcode.py DEPTH LENGTH MS     prints READY; DEPTH functions with names of LENGTH characters work for MS
                                   milliseconds, then others do"""
import sys
import time
import types

MS = int(sys.argv[3])


def template(chain, at):
    if at + 1 < len(chain):
        return chain[at + 1](chain, at + 1)
    until = time.perf_counter_ns() + MS * 1000000
    while time.perf_counter_ns() < until:
        pass
    return None


def main():
    depth, length = int(sys.argv[1]), int(sys.argv[2])
    sys.setrecursionlimit(depth + 100)
    made = 0
    print("READY", flush=True)
    while True:
        chain = []
        for _ in range(depth):
            made += 1
            name = ("evil_%d_" % made).ljust(length, "x")
            names = {"co_name": name, "co_qualname": name} if sys.version_info >= (3, 11) else {"co_name": name}
            chain.append(types.FunctionType(template.__code__.replace(**names), globals()))
        chain[0](chain, 0)


if __name__ == "__main__":
    main()
