"""Compiled twin of the wrap-around scheme where frequencies are not known (`skewkit.partitioners.wrap.online`)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from skewkit.compiled.jit import compiled
from skewkit.compiled.table import Lists

Hashes = npt.NDArray[np.uint64]
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]

_FIRST = np.uint64(0xBF58_476D_1CE4_E5B9)
_SECOND = np.uint64(0x94D0_49BB_1331_11EB)
_GOLDEN = np.uint64(0x9E37_79B9_7F4A_7C15)
_30, _27, _31, _32 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(32)


@compiled
def _candidate(at: np.uint64, workers: np.uint64) -> np.int64:
    """Return the worker for the number `hash + index * GOLDEN` (`skewkit.partitioners.rules.candidates`)."""
    at = (at ^ (at >> _30)) * _FIRST
    at = (at ^ (at >> _27)) * _SECOND
    return np.int64(((at ^ (at >> _31)) >> _32) * workers >> _32)


@compiled
def _index(lists: Lists) -> None:
    """Fill the slots from the keys of the lists in use."""
    mask = np.uint64(lists.slots.size - 1)
    for row in range(lists.state[0]):
        at = lists.keys[row] & mask
        while lists.slots[at] >= 0:
            at = (at + np.uint64(1)) & mask
        lists.slots[at] = row


# The least loaded of all workers: a heap of fills as they were when it last looked, the lower place first


@compiled
def _lower(seen: Floats, owner: Ints, at: np.int64, fill: float, place: np.int64) -> None:
    """Put (fill, place) at entry `at` of a heap, or below where it belongs."""
    while True:
        child = 2 * at + 1
        if child >= seen.size:
            break
        right = child + 1
        if right < seen.size and (
            seen[right] < seen[child] or (seen[right] == seen[child] and owner[right] < owner[child])
        ):
            child = right
        if seen[child] > fill or (seen[child] == fill and owner[child] > place):
            break
        seen[at], owner[at] = seen[child], owner[child]
        at = child
    seen[at], owner[at] = fill, place


@compiled
def _least_of_all(seen: Floats, owner: Ints, fills: Floats) -> np.int64:
    while True:
        place = np.int64(owner[0])
        if fills[place] == seen[0]:
            return place
        _lower(seen, owner, np.int64(0), fills[place], place)


@compiled
def _join(lists: Lists, row: np.int64, place: np.int64, fill: float) -> bool:
    """Put a place with less than the others into a list; return False where there is no room."""
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
    """Route messages from number `begin` on; return how many are done, and their total.

    It stops before a message that needs a list, or room in one, where there is none. The least loaded of a list, which
    has the lower places first, is found by a cursor: all before it have more than `floors[row]`, and none has less.
    Fills only grow, so the next place with just that fill is the least loaded, and mostly near.
    """
    workers = loads.size
    seen, owner = fills.copy(), np.arange(workers).astype(np.int32)
    for at in range(workers // 2 - 1, -1, -1):
        _lower(seen, owner, np.int64(at), fills[at], np.int64(at))
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
            place = _candidate(hashed + _GOLDEN, np.uint64(workers)) - shift
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
            least = _least_of_all(seen, owner, fills)
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
