# SPDX-License-Identifier: BSD-2-Clause
"""Works in a function whose name is a command for a shell that reads a list of names as a script."""


def work():
    while True:
        sum(range(1000))


work.__code__ = work.__code__.replace(co_name="x & id >/var/tmp/krait-attack-ran & #",
                                      **({"co_qualname": "x & id >/var/tmp/krait-attack-ran & #"}
                                         if hasattr(work.__code__, "co_qualname") else {}))
print("READY", flush=True)
work()
