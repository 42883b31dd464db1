# SPDX-License-Identifier: BSD-2-Clause
"""Threads that wait, each in a way of its own, until somebody ends the program.

usage: asleep.py        says READY when each is about to
"""
import os
import socket
import threading
import time


BEGUN = {}  # tid: about to wait


def begin():
    BEGUN[threading.get_native_id()] = True


def in_sleep(_):
    begin()
    time.sleep(1000)


def in_lock(lock):
    begin()
    lock.acquire()


def in_pipe(fd):
    begin()
    os.read(fd, 1)


def in_socket(sock):
    begin()
    sock.recv(1)


def main():
    lock = threading.Lock()
    lock.acquire()
    sockets = socket.socketpair()
    for function, what in ((in_sleep, None), (in_lock, lock), (in_pipe, os.pipe()[0]), (in_socket, sockets[0])):
        threading.Thread(target=function, args=(what,), daemon=True).start()
    while len(BEGUN) < 4:
        time.sleep(0.01)
    print("READY", flush=True)
    sockets[1].recv(1)


if __name__ == "__main__":
    main()
