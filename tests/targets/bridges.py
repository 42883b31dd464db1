# SPDX-License-Identifier: BSD-2-Clause
"""C calls Python calls C, five times, each time in another way (bridges.c). argv: the folder of
bridges_native, and towers: five letters each, of by_alloca, by_signal, by_other_stack, by_jump, by_fibre.
They are built and torn down in the main thread and in one whose stack lies below those of signals and fibres."""
import sys
import threading

sys.path.insert(0, sys.argv[1])
import bridges_native as native  # noqa: E402

WAYS = {f.__name__[3]: f for f in (native.by_alloca, native.by_signal, native.by_other_stack,
                                   native.by_jump, native.by_fibre)}
ways = []


def spin():
    for _ in range(30):
        pass


def level1():
    spin()
    ways[1](level2)


def level2():
    spin()
    ways[2](level3)


def level3():
    spin()
    ways[3](level4)


def level4():
    spin()
    ways[4](level5)


def level5():
    spin()


def tower(n):
    for _ in range(n):
        ways[0](level1)


def named(name):
    """A function for each tower, whose name says which it is."""
    names = {"co_name": "tower_" + name}
    if hasattr(tower.__code__, "co_qualname"):
        names["co_qualname"] = names["co_name"]
    return type(tower)(tower.__code__.replace(**names), globals())


towers = {name: named(name) for name in sys.argv[2:]}


def nothing():
    pass


def work(rounds):
    native.set_up(nothing)
    for _ in range(rounds):
        for letters, function in towers.items():
            ways[:] = [WAYS[letter] for letter in letters]
            function(20)


def main():
    while True:
        work(50)
        thread = threading.Thread(target=work, args=(50,))
        thread.start()
        thread.join()


print("READY", flush=True)
main()
