# SPDX-License-Identifier: BSD-2-Clause
"""Computes in the native code of a wheel of PyPI, many ways; usage: wheels.py NAME SECONDS

A first time, so that all of it is mapped; then it rests, and then it works again.
"""
import sys
import time


def numpy():
    import numpy as np

    rng = np.random.default_rng(1)
    a, b = rng.random((120, 120)), rng.random(30000)
    names = np.array(["name%d" % (i * 7919 % 1000) for i in range(1000)])
    yield lambda: a @ a
    yield lambda: np.linalg.svd(a[:40, :40])
    yield lambda: np.sort(b)
    yield lambda: np.fft.rfft(b)
    yield lambda: np.exp(b) + np.sqrt(b).cumsum()
    yield lambda: np.einsum("ij,jk->i", a, a)
    yield lambda: np.unique(names)
    yield lambda: rng.normal(size=5000)
    yield lambda: np.array2string(a[:8, :8])


def pandas():
    import io

    import pandas as pd

    n = 3000
    frame = pd.DataFrame({"key": [i * 7919 % 101 for i in range(n)], "x": [i * 0.5 for i in range(n)],
                          "name": ["n%d" % (i % 37) for i in range(n)]})
    other = pd.DataFrame({"key": range(101), "y": range(101)})
    text = frame.to_csv()
    yield lambda: frame.groupby("key").x.agg(["mean", "sum", "std"])
    yield lambda: frame.merge(other, on="key")
    yield lambda: frame.x.rolling(20).mean()
    yield lambda: frame.sort_values(["name", "x"])
    yield lambda: pd.read_csv(io.StringIO(text))
    yield lambda: frame.name.str.upper().value_counts()
    yield lambda: pd.to_datetime(frame.x.head(500), unit="s").dt.strftime("%d")


def lxml():
    from lxml import etree, html

    text = b"<r>" + b"".join(b'<a n="%d"><b>text %d</b><c/></a>' % (i, i) for i in range(800)) + b"</r>"
    tree = etree.fromstring(text)
    sheet = etree.XSLT(etree.XML(
        '<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform">'
        '<xsl:template match="/"><o><xsl:for-each select="//b"><x><xsl:value-of select="."/></x></xsl:for-each></o>'
        "</xsl:template></xsl:stylesheet>"))
    yield lambda: etree.fromstring(text)
    yield lambda: etree.tostring(tree, pretty_print=True)
    yield lambda: tree.xpath("//a[@n mod 3 = 1]/b/text()")
    yield lambda: [e.get("n") for e in tree.iter("a")]
    yield lambda: sheet(tree)
    yield lambda: html.fromstring("<p>one<br>two" * 200)


def cryptography():
    from cryptography.fernet import Fernet
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa, x25519
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM, ChaCha20Poly1305
    from cryptography.hazmat.primitives.kdf.pbkdf2 import PBKDF2HMAC

    data, nonce = b"x" * 20000, b"n" * 12
    gcm, chacha = AESGCM(b"k" * 32), ChaCha20Poly1305(b"k" * 32)
    curve, edwards = ec.generate_private_key(ec.SECP256R1()), ed25519.Ed25519PrivateKey.generate()
    mont, rsa_key = x25519.X25519PrivateKey.generate(), rsa.generate_private_key(65537, 1024)
    fernet = Fernet(Fernet.generate_key())

    def digest(kind):
        h = hashes.Hash(kind)
        h.update(data)
        h.finalize()

    yield lambda: gcm.encrypt(nonce, data, b"")
    yield lambda: chacha.encrypt(nonce, data, b"")
    for kind in (hashes.SHA1(), hashes.SHA256(), hashes.SHA512(), hashes.SHA3_256(), hashes.BLAKE2b(64), hashes.MD5()):
        yield lambda kind=kind: digest(kind)
    yield lambda: curve.sign(data[:100], ec.ECDSA(hashes.SHA256()))
    yield lambda: edwards.sign(data[:100])
    yield lambda: mont.exchange(mont.public_key())
    yield lambda: rsa_key.public_key().public_numbers() and rsa_key.private_numbers()
    yield lambda: PBKDF2HMAC(hashes.SHA256(), 32, b"salt", 500).derive(b"secret")
    yield lambda: fernet.decrypt(fernet.encrypt(data))


def orjson():
    import orjson as oj

    value = [{"id": i, "name": "name \u00e9 %d" % i, "x": i / 7, "list": list(range(10))} for i in range(300)]
    text = oj.dumps(value)
    yield lambda: oj.dumps(value)
    yield lambda: oj.loads(text)
    yield lambda: oj.dumps(value, option=oj.OPT_INDENT_2 | oj.OPT_SORT_KEYS)


def main(ways, end):
    while time.monotonic() < end:
        for way in ways:
            until = min(time.monotonic() + 0.1, end)
            while time.monotonic() < until:
                way()


work = list(globals()[sys.argv[1]]())
seconds = float(sys.argv[2])
main(work, time.monotonic() + seconds / 2)
time.sleep(seconds * 2)
main(work, time.monotonic() + seconds)
