# SPDX-License-Identifier: BSD-2-Clause
"""Half of its time in CPython's own C functions, exported and static ones; the other half in the application that embeds it, if
that is embed_own.c."""
try:
    import own
    work = own.work
except ImportError:
    work = abs

ITEMS = [(i * 7919) % 1009 for i in range(400)]


def interpreter():
    for _ in range(10):
        sorted(ITEMS)
        "".join(map(str, ITEMS))
        dict.fromkeys(ITEMS)


def application():
    work(100000)


print("READY", flush=True)
while True:
    interpreter()
    application()
