"""Compiled twin of the POSG scheduler between two reports: in turn, or to the instance with the least estimate."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from skewkit.compiled.jit import compiled
from skewkit.compiled.mixing import GOLDEN, candidate

Hashes = npt.NDArray[np.uint64]
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]

_SALT = np.uint64(0x3C6E_F372_FE94_F82B)


@compiled
def _sink(estimates: Floats, order: Ints, at: int, instance: np.int32) -> None:
    """Put an instance at place `at` or below of the heap of estimates, equal ones by number."""
    size = order.size
    mine = estimates[instance]
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        right = child + 1
        if right < size and (
            estimates[order[right]] < estimates[order[child]]
            or (estimates[order[right]] == estimates[order[child]] and order[right] < order[child])
        ):
            child = right
        other = estimates[order[child]]
        if other > mine or (other == mine and order[child] > instance):
            break
        order[at] = order[child]
        at = child
    order[at] = instance


@compiled
def route_estimated(
    hashes: Hashes,
    weights: Floats,
    loads: Floats,
    routes: Ints,
    estimates: Floats,
    counts: Floats,
    times: Floats,
    means: Floats,
    speeds: Floats,
) -> None:
    """Send every message to the instance with the least estimate, and add the time of its key to that.

    The matrices have the shape (tables, rows, columns): one table per instance, or one for all.
    """
    workers = estimates.size
    order = np.arange(workers).astype(np.int32)
    for at in range(workers // 2 - 1, -1, -1):
        _sink(estimates, order, at, order[at])
    tables, rows, columns = counts.shape
    for i in range(hashes.size):
        instance = order[0]
        table = instance if tables > 1 else 0
        at = hashes[i] ^ _SALT
        least, time = np.inf, 0.0
        for row in range(rows):
            at += GOLDEN
            cell = candidate(at, np.uint64(columns))
            count = counts[table, row, cell]
            if count < least:
                least = count
                time = times[table, row, cell]
        estimates[instance] += (time / least if least > 0.0 else means[table]) * speeds[instance]
        _sink(estimates, order, 0, instance)
        loads[instance] += weights[i]
        routes[i] = instance
