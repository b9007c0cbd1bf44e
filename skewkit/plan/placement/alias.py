"""Alias tables: draw one of several partitions with given shares in constant time, from one hash.

Source: A. J. Walker, "An Efficient Method for Generating Discrete Random Variables with General Distributions",
ACM TOMS 3, 1977, in Vose's form. Here the "random" number is the hash of the row, so a draw can be repeated.
"""

from __future__ import annotations

from collections.abc import Sequence

SCALE = 1 << 31


def alias_table(parts: Sequence[tuple[int, float]]) -> list[tuple[int, int, int]]:
    """Return one (threshold, partition, alias) per part, for shares that sum to 1.

    Draw: take entry i = u mod len(table) and a number v in 0..2^31-1, the partition is the entry's own where
    v < threshold and its alias otherwise. Over uniform u and v every partition comes up with its share, up to 2^-31.

    >>> alias_table([(4, 0.75), (7, 0.25)])
    [(2147483648, 4, 4), (1073741824, 7, 4)]
    """
    size = len(parts)
    partitions = [partition for partition, _ in parts]
    total = sum(share for _, share in parts) or 1.0
    mass = [share / total * size for _, share in parts]
    threshold, alias = [SCALE] * size, list(partitions)
    small = [i for i in range(size) if mass[i] < 1.0]
    large = [i for i in range(size) if mass[i] >= 1.0]
    while small and large:
        low, high = small.pop(), large[-1]
        threshold[low], alias[low] = round(mass[low] * SCALE), partitions[high]
        mass[high] -= 1.0 - mass[low]
        if mass[high] < 1.0:
            small.append(large.pop())
    return list(zip(threshold, partitions, alias, strict=True))
