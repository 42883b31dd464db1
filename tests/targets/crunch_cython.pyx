# SPDX-License-Identifier: BSD-2-Clause
# As crunch.c, by Cython.


def crunch(n):
    found, total = {}, 0
    for i in range(n):
        number = i * 1000003
        found[number] = number * number
        total = total + found[number]
        if i % 500 == 0:
            found.clear()
    return total


def call_back(function):
    for i in range(20):
        function()
    return function()
