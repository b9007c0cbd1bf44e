"""Compiled twin of SpaceSaving (`skewkit.sketch.spacesaving`): counters with a hash table and a heap over them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from skewkit.compiled.jit import compiled
from skewkit.compiled.table import Table

Hashes = npt.NDArray[np.uint64]
Floats = npt.NDArray[np.float64]


@compiled
def _slot(table: Table, hashed: np.uint64) -> np.int64:
    """Return the slot of a key, or the empty one where it would stand."""
    mask = np.uint64(table.slots.size - 1)
    at = hashed & mask
    while True:
        counter = table.slots[at]
        if counter < 0 or table.keys[counter] == hashed:
            return np.int64(at)
        at = (at + np.uint64(1)) & mask


@compiled
def _clear_slot(table: Table, hole: np.int64) -> None:
    """Empty a slot and close the gap: what stands behind it moves up as far as its own hash allows."""
    mask = table.slots.size - 1
    at = hole
    while True:
        at = (at + 1) & mask
        counter = table.slots[at]
        if counter < 0:
            break
        home = np.int64(table.keys[counter] & np.uint64(mask))
        if (at - home) & mask >= (at - hole) & mask:
            table.slots[hole] = counter
            hole = at
    table.slots[hole] = -1


@compiled
def _sink(table: Table, count: float, counter: np.int64, filled: np.int64) -> None:
    """Put (count, counter) in place of the top of the heap."""
    seen, owner, turn = table.seen, table.owner, table.turn
    at = 0
    while True:
        child = 2 * at + 1
        if child >= filled:
            break
        right = child + 1
        if right < filled and (
            seen[right] < seen[child] or (seen[right] == seen[child] and turn[owner[right]] < turn[owner[child]])
        ):
            child = right
        if seen[child] > count or (seen[child] == count and turn[owner[child]] > turn[counter]):
            break
        seen[at], owner[at] = seen[child], owner[child]
        at = child
    seen[at], owner[at] = count, counter


@compiled
def take_in(table: Table, hashed: np.uint64, weight: float) -> np.int64:
    """Give a key that is not tracked a counter, if need be the least one, and return it."""
    filled = np.int64(table.used[0])
    if filled < table.keys.size:
        counter = np.int64(filled)
        table.used[0] = filled + 1
        high = table.sums[1] + weight
        at = filled  # a key with the latest turn rises past strictly greater ones only
        while at > 0 and table.seen[(at - 1) >> 1] > high:
            table.seen[at], table.owner[at] = table.seen[(at - 1) >> 1], table.owner[(at - 1) >> 1]
            at = (at - 1) >> 1
        table.seen[at], table.owner[at] = high, counter
        table.turn[counter] = table.used[1]
    else:
        while True:
            counter = np.int64(table.owner[0])
            if table.high[counter] == table.seen[0]:
                break
            _sink(table, table.high[counter], counter, filled)
        table.sums[1] = table.high[counter]
        _clear_slot(table, _slot(table, table.keys[counter]))
        high = table.sums[1] + weight
        table.turn[counter] = table.used[1]
        _sink(table, high, counter, filled)
    table.used[1] += 1
    table.keys[counter] = hashed
    table.high[counter] = high
    table.error[counter] = table.sums[1]
    table.slots[_slot(table, hashed)] = counter
    return counter


@compiled
def index(table: Table) -> None:
    """Fill the slots from the keys of the counters in use."""
    table.slots[:] = -1
    for counter in range(table.used[0]):
        table.slots[_slot(table, table.keys[counter])] = counter


@compiled
def count(hashes: Hashes, weights: Floats, table: Table) -> tuple[Floats, Floats, Floats]:
    """Count messages; return the bounds of the key of each, and all weight, as of just after it."""
    lows, highs, totals = np.empty(hashes.size), np.empty(hashes.size), np.empty(hashes.size)
    keys, high, error, slots = table.keys, table.high, table.error, table.slots
    mask = np.uint64(slots.size - 1)
    total = table.sums[0]
    for i in range(hashes.size):
        hashed, weight = hashes[i], weights[i]
        at = hashed & mask
        counter = np.int64(slots[at])
        while counter >= 0 and keys[counter] != hashed:
            at = (at + np.uint64(1)) & mask
            counter = np.int64(slots[at])
        low = 0.0
        if counter >= 0:
            total += weight
            high[counter] += weight
            low = high[counter] - error[counter]
        elif weight > 0.0:
            total += weight
            counter = take_in(table, hashed, weight)
            low = weight
        lows[i], totals[i] = low, total
        highs[i] = high[counter] if counter >= 0 else table.sums[1]
    table.sums[0] = total
    return lows, highs, totals
