"""Compiled twin of equation (3) of the D-Choices paper: the same steps in the same order as `optimal_choices`."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from skewkit.compiled.jit import compiled
from skewkit.compiled.table import Table

Floats = npt.NDArray[np.float64]


@compiled
def _power(base: float, exponent: int) -> float:
    result = 1.0
    while exponent:
        if exponent & 1:
            result = result * base
        base = base * base
        exponent >>= 1
    return result


@compiled
def _holds(d: int, workers: int, epsilon: float, shares: Floats, head: float, tail: float) -> bool:
    missed = _power(1.0 - 1.0 / workers, d)
    left = 1.0
    for _ in range(shares.size):
        left = left * missed
    reached = 1.0 - left
    if not head + reached * reached * tail <= reached * (1.0 + workers * epsilon):
        return False  # the last prefix is among the tight ones, and cheap to look at
    left, prefix = 1.0, 0.0
    for share in shares:
        left = left * missed
        reached = 1.0 - left
        prefix = prefix + share
        load = prefix + _power(reached, d) * (head - prefix) + reached * reached * tail
        if not load <= reached * (1.0 + workers * epsilon):
            return False
    return True


@compiled
def choices_for(shares: Floats, workers: int, epsilon: float) -> int:
    """Return the least d for these shares of the head, heaviest first."""
    if workers <= 2 or shares.size == 0:
        return min(2, workers)
    head = 0.0
    for share in shares:
        head = head + share
    tail = max(0.0, 1.0 - head)
    for d in range(max(2, math.ceil(shares[0] * workers - 1e-9)), workers):
        if _holds(d, workers, epsilon, shares, head, tail):
            return d
    return workers


@compiled
def guaranteed_shares(table: Table, theta: float) -> Floats:
    """Return the guaranteed shares of the keys of the head, heaviest first."""
    total = table.sums[0]
    found = np.empty(table.used[0])
    count = 0
    for counter in range(table.used[0]):
        low = table.high[counter] - table.error[counter]
        if low >= theta * total:
            found[count] = -(low / total)
            count += 1
    return -np.sort(found[:count])
