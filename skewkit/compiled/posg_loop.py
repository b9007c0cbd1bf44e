"""Compiled twin of the POSG scheduler between two reports: in turn, or to the instance with the least estimate."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from skewkit.compiled.jit import compiled

Hashes = npt.NDArray[np.uint64]
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]

_FIRST = np.uint64(0xBF58_476D_1CE4_E5B9)
_SECOND = np.uint64(0x94D0_49BB_1331_11EB)
_GOLDEN = np.uint64(0x9E37_79B9_7F4A_7C15)
_SALT = np.uint64(0x3C6E_F372_FE94_F82B)
_30, _27, _31, _32 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(32)


@compiled
def _candidate(at: np.uint64, workers: np.uint64) -> np.int64:
    """Return the worker for the number `hash + index * GOLDEN` (`skewkit.partitioners.rules.candidates`)."""
    at = (at ^ (at >> _30)) * _FIRST
    at = (at ^ (at >> _27)) * _SECOND
    return np.int64(((at ^ (at >> _31)) >> _32) * workers >> _32)


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
            at += _GOLDEN
            cell = _candidate(at, np.uint64(columns))
            count = counts[table, row, cell]
            if count < least:
                least = count
                time = times[table, row, cell]
        estimates[instance] += (time / least if least > 0.0 else means[table]) * speeds[instance]
        _sink(estimates, order, 0, instance)
        loads[instance] += weights[i]
        routes[i] = instance
