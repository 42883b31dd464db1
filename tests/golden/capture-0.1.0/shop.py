import json
import time
import zlib


class Cart:
    def total(self):
        return sum(i * i for i in range(200))

    def checkout(self):
        return [self.total() for _ in range(5)]


def pack(value):
    return zlib.compress(json.dumps(value).encode())


END = time.monotonic() + 1.5
while time.monotonic() < END:
    Cart().checkout()
    pack(list(range(300)))
