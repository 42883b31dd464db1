# SPDX-License-Identifier: BSD-2-Clause
"""Functions whose names or files are unusual: scripts outside ASCII, lambdas, comprehensions,
class bodies, decorators, closures, methods of all kinds, code from exec() with odd file names."""
import functools

import oracle


def spin(n):
    for _ in range(n):
        pass


# ---- every kind of PyUnicode: Latin-1, UCS-2, UCS-4, and mixtures ------------------------------


def größe_ÿ(n):
    for _ in range(n):
        pass


def 計算する(n):
    for _ in range(n):
        pass


def имя_функции(n):
    for _ in range(n):
        pass


def 𐌰𐌱𐌲(n):
    for _ in range(n):
        pass


def 𠀀𠀁(n):
    for _ in range(n):
        pass


def mixed_é計𐌰(n):
    for _ in range(n):
        pass


class Ünïcode:
    def método(self, n):
        for _ in range(n):
            pass


def scripts(n):
    größe_ÿ(n)
    計算する(n)
    имя_функции(n)
    𐌰𐌱𐌲(n)
    𠀀𠀁(n)
    mixed_é計𐌰(n)
    Ünïcode().método(n)


# ---- qualified names -----------------------------------------------------------------------------


def outer(n):
    def inner():
        def innermost():
            for _ in range(n):
                pass

        innermost()

    inner()


def decorate(function):
    @functools.wraps(function)
    def wrapper(*args):
        return function(*args)

    return wrapper


@decorate
@decorate
def decorated(n):
    for _ in range(n):
        pass


class Methods:
    def __init__(self, n):
        self.n = n

    @staticmethod
    def static(n):
        for _ in range(n):
            pass

    @classmethod
    def of_class(cls, n):
        for _ in range(n):
            pass

    @property
    def prop(self):
        for _ in range(self.n):
            pass
        return 1

    def __call__(self, n):
        for _ in range(n):
            pass

    def __getitem__(self, n):
        for _ in range(n):
            pass

    def __add__(self, n):
        for _ in range(n):
            pass

    def __getattr__(self, name):
        spin(100)
        return 0

    class Nested:
        def deep(self, n):
            for _ in range(n):
                pass


def methods(n):
    m = Methods(n)
    m.static(n)
    m.of_class(n)
    _ = m.prop
    m(n)
    _ = m[n]
    _ = m + n
    _ = m.missing
    m.Nested().deep(n)
    functools.partial(m, n)()


def comprehensions(n):
    size = range(n // 100 + 1)
    _ = [spin(100) for _ in size]
    _ = {i: spin(100) for i in size}
    _ = sum(spin(100) or 1 for _ in size)
    _ = list(j for i in size for j in (spin(10) for _ in range(3)))
    (lambda: spin(n))()
    (lambda f: (lambda: f(n)))(spin)()


def class_body(n):
    class Body:
        for _ in range(n):
            pass

    class WithMeta(metaclass=lambda *args, **kw: spin(n)):
        pass

    return Body, WithMeta


# ---- code without a file -------------------------------------------------------------------------

FILES = [
    "<string>",
    "",
    "relative/dir/odd.py",
    "/a b/with space (and parens).py",
    "/semi;colon.py",
    "/new\nline\ttab\x1b[31m.py",
    "/ünï/計算/𐌰.py",
    "C:\\windows\\path.py",
    "/pkg/__init__.py",
    "/site-packages/pkg/mod.py",
    "/bidi\u202etxt.py",
    "/" + "long" * 60 + ".py",
]
SOURCE = """
def executed_%d(n):
    for _ in range(n):
        pass
executed_%d(N)
"""
# Keeps the modules' code alive, unlike the code of an imported module.
COMPILED = [compile(SOURCE % (i, i), name, "exec") for i, name in enumerate(FILES)]
EXPRESSION = compile("spin(N) or (lambda: spin(N))()", "<expression>", "eval")


def executed(n):
    for code in COMPILED:
        exec(code, {"N": n})
    eval(EXPRESSION, {"N": n, "spin": spin})


SCENARIOS = [scripts, outer, decorated, methods, comprehensions, class_body, executed]
HOT = [
    "größe_ÿ", "計算する", "имя_функции", "𐌰𐌱𐌲", "𠀀𠀁", "mixed_é計𐌰", "Ünïcode.método",
    "outer.<locals>.inner.<locals>.innermost", "decorated", "Methods.static", "Methods.of_class",
    "Methods.prop", "Methods.__call__", "Methods.__getitem__", "Methods.__add__",
    "Methods.Nested.deep", "class_body.<locals>.Body", "spin",
] + ["executed_%d" % i for i in range(len(FILES))]

if __name__ == "__main__":
    oracle.run(SCENARIOS, HOT, 200, 20000)
