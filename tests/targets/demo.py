# SPDX-License-Identifier: BSD-2-Clause
"""A small program with real work to profile: a log of orders is parsed, priced by an
expression evaluator, summed up in a database, written out, and compressed. Two worker threads
share the work. Standard library only, CPython 3.8 and later.

usage: demo.py [SECONDS]     (default: until killed)
"""

import collections
import hashlib
import json
import queue
import random
import re
import sqlite3
import sys
import textwrap
import threading
import time
import zlib

TOKEN = re.compile(r"\s*(?:(\d+(?:\.\d+)?)|([a-z_]+)|(.))")
WORDS = """anchor frame sample thread kernel stack leaf root delta ring merge symbol profile emit
address offset generator coroutine closure module import return yield await with""".split()
RULES = [
    "price * count",
    "price * count * (1 - discount / 100)",
    "(price + tax * (price - 2)) * count - (discount + 1) * 0.5",
    "((price * 1.19) * (count + 1) - price) * (1 - (discount * discount) / 10000)",
]


class Parser:
    """Recursive descent over + - * / and parentheses; evaluates as it goes."""

    def __init__(self, text, names):
        self.tokens = [m.groups() for m in TOKEN.finditer(text)]
        self.pos = 0
        self.names = names

    def peek(self):
        return self.tokens[self.pos] if self.pos < len(self.tokens) else (None, None, None)

    def expression(self):
        value = self.term()
        while self.peek()[2] in ("+", "-"):
            op = self.tokens[self.pos][2]
            self.pos += 1
            value = value + self.term() if op == "+" else value - self.term()
        return value

    def term(self):
        value = self.factor()
        while self.peek()[2] in ("*", "/"):
            op = self.tokens[self.pos][2]
            self.pos += 1
            value = value * self.factor() if op == "*" else value / self.factor()
        return value

    def factor(self):
        number, name, op = self.peek()
        self.pos += 1
        if number is not None:
            return float(number)
        if name is not None:
            return self.names[name]
        if op == "-":
            return -self.factor()
        value = self.expression()
        self.pos += 1  # the closing parenthesis
        return value


def make_log(rng, lines):
    """The input: one JSON document per line."""
    return "\n".join(
        json.dumps(
            {
                "id": i,
                "customer": {"name": rng.choice(WORDS), "tags": rng.sample(WORDS, 4)},
                "price": round(rng.uniform(1, 500), 2),
                "count": rng.randint(1, 9),
                "discount": rng.choice([0, 5, 10, 25]),
                "tax": 0.19,
                "note": " ".join(rng.choices(WORDS, k=24)),
            }
        )
        for i in range(lines)
    )


def read_orders(text):
    for line in text.splitlines():
        yield json.loads(line)


def price(order):
    names = {k: order[k] for k in ("price", "count", "discount", "tax")}
    return Parser(RULES[order["id"] % len(RULES)], names).expression()


def redact(note):
    note = re.sub(r"\b(kernel|root|leaf)\b", lambda m: "*" * len(m.group()), note)
    return re.sub(r"([aeiou])\1*", r"\1", note)


def report(orders):
    wrapper = textwrap.TextWrapper(width=40, subsequent_indent="    ")
    return "\n".join(wrapper.fill("%6d %s" % (o["id"], redact(o["note"]))) for o in orders)


def summarize(orders):
    db = sqlite3.connect(":memory:")
    db.execute("create table orders (customer text, total real)")
    db.executemany(
        "insert into orders values (?, ?)", [(o["customer"]["name"], price(o)) for o in orders]
    )
    rows = db.execute(
        "select customer, count(*), sum(total) from orders group by customer order by 3 desc"
    ).fetchall()
    db.close()
    return rows


def archive(text):
    packed = zlib.compress(text.encode(), 6)
    return hashlib.sha256(packed).hexdigest(), len(packed)


def handle(batch):
    orders = list(read_orders(batch))
    tags = collections.Counter(tag for o in orders for tag in o["customer"]["tags"])
    rows = summarize(orders)
    digest, size = archive(report(orders))
    return rows[0][0], tags.most_common(1)[0][0], digest[:8], size


def worker(batches, results):
    while True:
        batch = batches.get()
        if batch is None:
            return
        results.append(handle(batch))


def main():
    end = time.monotonic() + float(sys.argv[1]) if len(sys.argv) > 1 else float("inf")
    rng = random.Random(42)
    log = [make_log(rng, 200) for _ in range(4)]
    batches, results = queue.Queue(maxsize=4), collections.deque(maxlen=100)
    threads = [
        threading.Thread(target=worker, args=(batches, results), name="worker-%d" % i)
        for i in range(2)
    ]
    for thread in threads:
        thread.daemon = True
        thread.start()
    while time.monotonic() < end:
        batches.put(rng.choice(log))
    for _ in threads:
        batches.put(None)
    for thread in threads:
        thread.join()
    print("demo: last batch: %s %s %s %d bytes" % results[-1])


if __name__ == "__main__":
    main()
