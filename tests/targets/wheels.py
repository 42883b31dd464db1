# SPDX-License-Identifier: BSD-2-Clause
"""Spends its time in a library as PyPI ships it, or in one after the other. usage: wheels.py NAME|all"""
import sys
import time

# In each library at a time, when all take turns.
TURN_SECS = 0.02


def numpy_():
    import numpy
    a = numpy.random.default_rng(1).random((200, 200))
    while True:
        numpy.linalg.svd(a @ a)
        numpy.sort(a, axis=None)
        numpy.fft.fft2(a)
        yield


def pandas_():
    import pandas
    frame = pandas.DataFrame({"key": [i % 97 for i in range(50000)], "value": [float(i % 1000) for i in range(50000)]})
    while True:
        frame.groupby("key")["value"].agg(["mean", "std", "median"])
        frame.sort_values(["value", "key"])
        frame.merge(frame.head(500), on="key", how="inner").head()
        yield


def lxml_():
    from lxml import etree
    text = "<r>" + "".join('<a n="%d"><b>text %d</b></a>' % (i, i) for i in range(2000)) + "</r>"
    while True:
        tree = etree.fromstring(text)
        tree.xpath("//a[@n mod 7 = 3]/b/text()")
        etree.tostring(tree)
        sum(1 for _ in tree.iter())
        yield


def cryptography_():
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    key, signer = AESGCM(bytes(32)), ec.generate_private_key(ec.SECP256R1())
    while True:
        for i in range(50):
            key.encrypt(i.to_bytes(12, "big"), bytes(4096), b"")
        signer.sign(b"text", ec.ECDSA(hashes.SHA256()))
        yield


def polars_():
    import polars
    frame = polars.DataFrame({"key": [i % 97 for i in range(100000)], "value": [float(i) for i in range(100000)]})
    while True:
        frame.group_by("key").agg(polars.col("value").mean().alias("mean"))
        frame.lazy().filter(polars.col("value") > 5).sort("key").collect()
        yield


def duckdb_():
    import duckdb
    base = duckdb.connect()
    base.execute("create table t as select range % 97 as key, range * 1.5 as value from range(200000)")
    while True:
        base.execute("select key, avg(value), median(value) from t group by key order by key").fetchall()
        yield


def pyarrow_():
    import pyarrow
    import pyarrow.compute
    import pyarrow.parquet
    table = pyarrow.table({"key": [i % 97 for i in range(100000)], "text": ["v%d" % (i % 1000) for i in range(100000)]})
    while True:
        table.group_by("text").aggregate([("key", "sum")])
        pyarrow.compute.sort_indices(table["text"])
        sink = pyarrow.BufferOutputStream()
        pyarrow.parquet.write_table(table, sink)
        pyarrow.parquet.read_table(pyarrow.BufferReader(sink.getvalue()))
        yield


def orjson_():
    import orjson
    document = [{"id": i, "name": "name %d" % i, "list": list(range(20)), "value": i / 3} for i in range(500)]
    while True:
        orjson.loads(orjson.dumps(document))
        yield


def pydantic_core_():
    from pydantic_core import SchemaValidator, core_schema
    fields = {"id": core_schema.int_schema(), "tags": core_schema.list_schema(core_schema.str_schema())}
    schema = core_schema.typed_dict_schema({k: core_schema.typed_dict_field(v) for k, v in fields.items()})
    check = SchemaValidator(core_schema.list_schema(schema))
    text = "[" + ",".join('{"id": "%d", "tags": ["a", "b", "c"]}' % i for i in range(500)) + "]"
    while True:
        check.validate_json(text)
        yield


def sklearn_():
    import numpy
    from sklearn.cluster import KMeans
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.tree import DecisionTreeClassifier
    points = numpy.random.default_rng(1).random((3000, 8))
    labels = (points.sum(axis=1) > 4).astype(int)
    while True:
        DecisionTreeClassifier(random_state=1).fit(points, labels)
        KMeans(4, n_init=1, random_state=1, max_iter=20).fit(points)
        HistGradientBoostingClassifier(max_iter=3, random_state=1).fit(points, labels)
        yield


def pillow_():
    from PIL import Image, ImageFilter
    image = Image.linear_gradient("L").resize((600, 600)).convert("RGB")
    while True:
        image.resize((300, 200), Image.Resampling.LANCZOS)
        image.filter(ImageFilter.GaussianBlur(3))
        image.rotate(30)
        yield


def numba_():
    import numba

    @numba.njit
    def sieve(n):
        total = 0
        for i in range(2, n):
            for j in range(2, i):
                if i % j == 0:
                    break
            else:
                total += i
        return total

    while True:
        sieve(3000)
        yield


def greenlet_():
    import greenlet

    def ping(n):
        for _ in range(n):
            other.switch()

    def pong():
        while True:
            sorted(range(200), key=lambda x: -x)
            main.switch()

    main = greenlet.getcurrent()
    other = greenlet.greenlet(pong)
    while True:
        ping(1000)
        yield


def uvloop_():
    import asyncio
    import uvloop

    async def serve(reader, writer):
        while line := await reader.readline():
            writer.write(line)

    async def connect():
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        return server, [await asyncio.open_connection("127.0.0.1", port) for _ in range(4)]

    async def ask(reader, writer):
        for _ in range(20):
            writer.write(b"question\n" * 20)
            await reader.readexactly(180)

    async def ask_all():
        await asyncio.gather(*(ask(*ends) for ends in connections))

    loop = uvloop.new_event_loop()
    _server, connections = loop.run_until_complete(connect())
    while True:
        loop.run_until_complete(ask_all())
        yield


def begin(name):
    """Returns a library's generator, after its first rounds, which compile and load what is not looked at."""
    work = globals()[name + "_"]()
    for _ in range(3):
        next(work)
    return work


def spend(work, seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        next(work)


def main():
    names = [n[:-1] for n in globals() if n.endswith("_") and not n.startswith("_")] if sys.argv[1] == "all" else sys.argv[1:]
    works = [begin(name) for name in names]
    print("READY", flush=True)
    while True:
        for work in works:
            spend(work, TURN_SECS)


if __name__ == "__main__":
    main()
