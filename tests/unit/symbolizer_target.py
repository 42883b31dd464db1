# SPDX-License-Identifier: BSD-2-Clause
#
# The target of test_symbolizer_live.c: tells the addresses of its code objects and what they are.
#
# Prints a line for each: address in hex, name and file (hex of UTF-8), first line, then unit and
# position for some units. After that, "next" replaces the object of that moment by another one and
# prints it; "churn" makes, calls and drops objects for ever.
import sys
import types

keep = []


def hexed(text):
    text = "".join("\ufffd" if 0xD800 <= ord(c) <= 0xDFFF else c for c in text)
    return text.replace("\0", "\u2400").encode().hex() or "-"


def tell(code, step=1):
    fields = ["%x" % id(code), hexed(code.co_qualname), hexed(code.co_filename)]
    fields.append(str(code.co_firstlineno))
    for unit, position in enumerate(code.co_positions()):
        if unit % step == 0:
            fields.append(str(unit))
            fields += [str(-1 if v is None else v) for v in position]
    print(" ".join(fields))


def compiled(source, name, file):
    scope = {}
    exec(compile(source, file, "exec"), scope)
    return scope[name].__code__


def fixed():
    yield compiled("def plain(x):\n    return [i for i in x\n       if i]\n", "plain", "/app/p.py")
    yield compiled("class A:\n def m(self):\n  return lambda: 1\nf = A.m\n", "f", "a b.py")
    for name in ("größe", "Жук", "𐐨𐑃", "名前"):
        yield compiled("def f():\n  def %s(): return 1\n  return %s\nf = f()" % (name, name), "f", name)
    plain = compiled("def f(): return 1\n", "f", "f")
    # NFKC changes identifiers, not names that are set afterwards.
    for name in ("🐍.snake", "ÿ\x80", "\udc80\ud800x", "a\0b\nc\x1b[0m", "", "\u202eevil", "𐀀\uffff"):
        yield plain.replace(co_name=name, co_qualname=name, co_filename=name + ".py")
    wide = "def wide(x):\n" + "".join("    x = g(x, %d) + h(x)\n" % i for i in range(6000))
    yield compiled(wide, "wide", "wide.py")


def replacement(number):
    # Same length, same file, same line: everything is likely to be at the same address again.
    # Not run, or the function and its globals would keep it until a collection.
    module = compile("def f%05d():\n    return 1\n" % number, "<string>", "exec")
    return next(c for c in module.co_consts if hasattr(c, "co_code"))


def churn():
    base = compiled("def f(r):\n  for i in r: i * i\n", "f", "f")
    numbers = range(40)
    number = 0
    while True:
        number = number % 90000 + 1
        name = "c%05d" % number
        code = base.replace(co_name=name, co_qualname=name, co_filename=name, co_firstlineno=number)
        del name
        types.FunctionType(code, {})(numbers)
        del code


def main():
    for code in fixed():
        keep.append(code)
        assert code.co_linetable and (code.co_name != "wide" or len(code.co_linetable) > 65536)
        tell(code, 1 if len(code.co_code) < 10000 else 97)
    print("end", flush=True)
    number, current = 0, None
    for line in sys.stdin:
        if line == "next\n":
            number += 1
            current = None
            current = replacement(number)
            tell(current)
        elif line == "churn\n":
            churn()
        sys.stdout.flush()


main()
