"""Compiled twin of the wrap-around scheme where frequencies are not known (`skewkit.partitioners.wrap.online`)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from skewkit.compiled.jit import compiled
from skewkit.compiled.least_heap import least_of_all, lower
from skewkit.compiled.mixing import GOLDEN, candidate
from skewkit.compiled.table import Lists

Hashes = npt.NDArray[np.uint64]
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]


@compiled
def _index(lists: Lists) -> None:
    """Fill the slots from the keys of the lists in use."""
    mask = np.uint64(lists.slots.size - 1)
    for row in range(lists.state[0]):
        at = lists.keys[row] & mask
        while lists.slots[at] >= 0:
            at = (at + np.uint64(1)) & mask
        lists.slots[at] = row


@compiled
def _join(lists: Lists, row: np.int64, place: np.int64, fill: float) -> bool:
    """Put a place with less than the others into a list. Return False where there is no room."""
    places, state, start, length = lists.places, lists.state, lists.starts[row], lists.lengths[row]
    if length == lists.rooms[row]:
        if state[1] + 2 * length > places.size:
            return False
        for at in range(length):
            places[state[1] + at] = places[start + at]
        start = lists.starts[row] = state[1]
        lists.rooms[row] = 2 * length
        state[1] += 2 * length
    at = length
    while at > 0 and places[start + at - 1] > place:
        places[start + at] = places[start + at - 1]
        at -= 1
    places[start + at] = place
    lists.lengths[row] = length + 1
    lists.floors[row], lists.cursors[row] = fill, at
    return True


@compiled
def route_online(
    hashes: Hashes,
    weights: Floats,
    routes: Ints,
    loads: Floats,
    fills: Floats,
    rates: Floats,
    slacks: Floats,
    lists: Lists,
    shift: int,
    margin: float,
    epsilon: float,
    begin: int,
    total: float,
    messages: int,
) -> tuple[int, float]:
    """Route messages from number `begin` on. Return how many are done, and their total.

    It stops before a message that needs a list, or room in one, where there is none. The least loaded of a list, which
    has the lower places first, is found by a cursor: all before it have more than `floors[row]`, and none has less.
    Fills only grow, so the next place with just that fill is the least loaded, and mostly near.
    """
    workers = loads.size
    seen, owner = fills.copy(), np.arange(workers).astype(np.int32)
    for at in range(workers // 2 - 1, -1, -1):
        lower(seen, owner, seen[at], np.int64(owner[at]), np.int64(at))
    keys, counts, slots, state = lists.keys, lists.counts, lists.slots, lists.state
    places, starts, lengths, floors, cursors = lists.places, lists.starts, lists.lengths, lists.floors, lists.cursors
    if state[2] < 0:
        _index(lists)
        state[2] = 0
    mask = np.uint64(slots.size - 1)
    for i in range(begin, hashes.size):
        hashed, weight = hashes[i], weights[i]
        after = total + weight
        fair = after / workers
        slack = max(margin * (after / (messages + 1)), epsilon * after)
        at = hashed & mask
        row = np.int64(slots[at])
        while row >= 0 and keys[row] != hashed:
            at = (at + np.uint64(1)) & mask
            row = np.int64(slots[at])
        if row < 0:
            place = candidate(hashed + GOLDEN, np.uint64(workers)) - shift
            if place < 0:
                place += workers
        else:
            # This loop in place, as a call with arrays costs more than the search.
            start, length, near, floor = starts[row], lengths[row], cursors[row], floors[row]
            while near < length and fills[places[start + near]] != floor:
                near += 1
            if near == length:
                near, floor = 0, fills[places[start]]
                for other in range(1, length):
                    fill = fills[places[start + other]]
                    if fill < floor:
                        floor, near = fill, other
                floors[row] = floor
            cursors[row] = near
            place = np.int64(places[start + near])
        if weight > 0.0 and fills[place] + weight * rates[place] > fair + slack * slacks[place]:
            if row < 0:
                if state[0] == keys.size or state[1] + 2 > places.size:
                    return i, total
                row = np.int64(state[0])
                keys[row], counts[row], slots[at] = hashed, 0.0, row
                floors[row], cursors[row] = fills[place], 0
                starts[row], lengths[row], lists.rooms[row] = state[1], 1, 2
                places[state[1]] = place
                state[0] += 1
                state[1] += 2
            least = least_of_all(fills, seen, owner)
            if fills[least] < fills[place]:
                if not _join(lists, row, least, fills[least]):
                    return i, total
                place = least
        if row >= 0:
            counts[row] += weight
        total = after
        messages += 1
        fills[place] += weight * rates[place]
        worker = place + shift
        if worker >= workers:
            worker -= workers
        loads[worker] += weight
        routes[i] = worker
    return hashes.size, total
