"""Compiled twin of the plan of a fitted wrap-around scheme (`skewkit.partitioners.wrap.cut.Cut`)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from skewkit.compiled.jit import compiled

Hashes = npt.NDArray[np.uint64]
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]


@compiled
def _sink(fills: Floats, order: Longs, start: int, end: int, at: int, fill: float, piece: int) -> None:
    """Put (fill, piece) at place `at` or below of the heap that stands in start..end-1."""
    while True:
        child = 2 * at + 1
        if start + child >= end:
            break
        right = child + 1
        if start + right < end and (
            fills[start + right] < fills[start + child]
            or (fills[start + right] == fills[start + child] and order[start + right] < order[start + child])
        ):
            child = right
        if fills[start + child] > fill or (fills[start + child] == fill and order[start + child] > piece):
            break
        fills[start + at], order[start + at] = fills[start + child], order[start + child]
        at = child
    fills[start + at], order[start + at] = fill, piece


@compiled
def _order(fills: Floats, order: Longs, sent: Floats, parts: Floats, start: int, end: int) -> None:
    """Make the pieces start..end-1 of a key a heap, by what they have of their parts."""
    for piece in range(start, end):
        fills[piece] = sent[piece] / parts[piece]
        order[piece] = piece
    for at in range((end - start) // 2 - 1, -1, -1):
        _sink(fills, order, start, end, at, fills[start + at], order[start + at])


@compiled
def route_cut(
    hashes: Hashes,
    weights: Floats,
    loads: Floats,
    routes: Ints,
    borders: Hashes,
    heads: Hashes,
    starts: Longs,
    owners: Longs,
    parts: Floats,
    sent: Floats,
    credit: float,
) -> None:
    """Route messages by the plan of `skewkit.partitioners.wrap.cut.Cut`."""
    fills, order = np.empty(parts.size), np.empty(parts.size, dtype=np.int64)
    for head in range(heads.size):
        _order(fills, order, sent, parts, starts[head], starts[head + 1])
    size = 4
    while size < 4 * heads.size:
        size *= 2
    mask = np.uint64(size - 1)
    slots = np.full(size, -1, dtype=np.int32)
    for head in range(heads.size):
        slot = heads[head] & mask
        while slots[slot] >= 0:
            slot = (slot + np.uint64(1)) & mask
        slots[slot] = head
    for i in range(hashes.size):
        hashed = hashes[i]
        slot = hashed & mask
        found = np.int64(slots[slot])
        while found >= 0 and heads[found] != hashed:
            slot = (slot + np.uint64(1)) & mask
            found = np.int64(slots[slot])
        if found < 0:
            worker, beyond = np.int64(0), np.int64(borders.size)
            while worker < beyond:
                middle = (worker + beyond) >> 1
                if borders[middle] < hashed:
                    worker = middle + 1
                else:
                    beyond = middle
        else:
            start, end = starts[found], starts[found + 1]
            if end - start > 1 and sent[start] < 0.0:
                sent[start:end] = credit * weights[i]
                _order(fills, order, sent, parts, start, end)
            piece = order[start]
            worker = owners[piece]
            if end - start > 1:
                sent[piece] += weights[i]
                _sink(fills, order, start, end, 0, sent[piece] / parts[piece], piece)
        loads[worker] += weights[i]
        routes[i] = worker
