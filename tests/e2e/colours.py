# SPDX-License-Identifier: BSD-2-Clause
"""Distances between colours, in CIE76, for usual vision and for colour blindness (Machado, Oliveira, Fernandes 2009,
severity 1)."""
import itertools

VISION = {
    "usual vision": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protanopia": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "deuteranopia": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
    "tritanopia": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900)),
}


def linear(value):
    value /= 255
    return value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4


def seen(color, matrix):
    """Returns "#rrggbb" as perceived with that vision, in linear RGB."""
    rgb = [linear(int(color[i:i + 2], 16)) for i in (1, 3, 5)]
    return [min(1.0, max(0.0, sum(m * v for m, v in zip(row, rgb)))) for row in matrix]


def lab(rgb):
    r, g, b = rgb
    xyz = (0.4124564 * r + 0.3575761 * g + 0.1804375 * b, 0.2126729 * r + 0.7151522 * g + 0.0721750 * b,
           0.0193339 * r + 0.1191920 * g + 0.9503041 * b)
    f = [v ** (1 / 3) if v > 216 / 24389 else (24389 / 27 * v + 16) / 116
         for v in (v / white for v, white in zip(xyz, (0.95047, 1.0, 1.08883)))]
    return 116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])


def distance(a, b, matrix):
    return sum((x - y) ** 2 for x, y in zip(lab(seen(a, matrix)), lab(seen(b, matrix)))) ** 0.5


def contrast(a, b):
    """Of two colours, as WCAG defines it."""
    low, high = sorted(sum(w * v for w, v in zip((0.2126, 0.7152, 0.0722), (linear(int(c[i:i + 2], 16)) for i in (1, 3, 5)))) for c in (a, b))
    return (high + 0.05) / (low + 0.05)


def nearest(colors, matrix):
    """Returns (distance, one, another) for the closest two of the named colours."""
    return min((distance(colors[a], colors[b], matrix), a, b) for a, b in itertools.combinations(colors, 2))
