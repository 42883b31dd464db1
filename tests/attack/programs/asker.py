# SPDX-License-Identifier: BSD-2-Clause
"""Asks an HTTP server on 127.0.0.1 for a page that does not exist, again and again, each time by a new connection.

    asker.py PORT RATE      prints READY; RATE connections a second"""
import select
import socket
import sys
import time

MANY = 64


def main():
    port, rate = int(sys.argv[1]), int(sys.argv[2])
    print("READY", flush=True)
    poll, open_ones = select.poll(), {}
    began, made = time.monotonic(), 0
    while True:
        now = time.monotonic()
        while made < (now - began) * rate and len(open_ones) < MANY:
            one = socket.socket()
            one.setblocking(False)
            one.connect_ex(("127.0.0.1", port))
            open_ones[one.fileno()] = one
            poll.register(one, select.POLLOUT)
            made += 1
        # What could not be made in time is not made up for.
        made = max(made, int((now - began - 0.1) * rate))
        for fd, events in poll.poll(5):
            one = open_ones[fd]
            if events & select.POLLOUT:
                try:
                    one.send(b"GET /nothing HTTP/1.1\r\nHost: x\r\n\r\n")
                    poll.modify(one, select.POLLIN)
                    continue
                except OSError:
                    pass
            poll.unregister(one)
            del open_ones[fd]
            one.close()


if __name__ == "__main__":
    main()
