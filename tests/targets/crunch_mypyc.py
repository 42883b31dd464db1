# SPDX-License-Identifier: BSD-2-Clause
# As crunch.c, by mypyc.
from typing import Any, Callable, Dict


def crunch(n: int) -> Any:
    found: Dict[Any, Any] = {}
    total: Any = 0
    for i in range(n):
        number: Any = i * 1000003
        found[number] = number * number
        total = total + found[number]
        if i % 500 == 0:
            found.clear()
    return total


def call_back(function: Callable[[], Any]) -> Any:
    for i in range(20):
        function()
    return function()
