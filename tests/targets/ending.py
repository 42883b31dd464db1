# SPDX-License-Identifier: BSD-2-Clause
"""A program whose shutdown is work: freeing what it has made takes about half a second."""


class Node:
    def __init__(self):
        self.me = self


KEEP = [[number] for number in range(600000)]
CYCLES = [Node() for _ in range(300000)]
