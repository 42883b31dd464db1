# SPDX-License-Identifier: BSD-2-Clause
"""A program whose end is work: half a second or so goes into freeing what it has made."""


class Node:
    def __init__(self):
        self.me = self


KEEP = [[number] for number in range(600000)]
CYCLES = [Node() for _ in range(300000)]
