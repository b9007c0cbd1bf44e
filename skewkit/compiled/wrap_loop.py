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


# A heap of (fill when it last looked, place), in the entries start..end-1


@compiled
def _lower(
    seen: Floats, owner: Ints, start: np.int64, end: np.int64, at: np.int64, fill: float, place: np.int64
) -> None:
    """Put (fill, place) at entry `start + at`, or below where it belongs."""
    size = end - start
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        one, other = start + child, start + child + 1
        if other < end and (seen[other] < seen[one] or (seen[other] == seen[one] and owner[other] < owner[one])):
            child, one = child + 1, other
        if seen[one] > fill or (seen[one] == fill and owner[one] > place):
            break
        seen[start + at], owner[start + at] = seen[one], owner[one]
        at = child
    seen[start + at], owner[start + at] = fill, place


@compiled
def _least(seen: Floats, owner: Ints, start: np.int64, end: np.int64, fills: Floats) -> np.int64:
    """Return the place with the least fill in a heap; entries on top that are out of date are renewed."""
    while True:
        place = np.int64(owner[start])
        if fills[place] == seen[start]:
            return place
        _lower(seen, owner, start, end, np.int64(0), fills[place], place)


@compiled
def _join(seen: Floats, owner: Ints, start: np.int64, end: np.int64, fill: float, place: np.int64) -> None:
    """Put (fill, place) into the entry `end` of a heap, and up to where it belongs."""
    at = end - start
    while at > 0:
        above = start + ((at - 1) >> 1)
        if seen[above] < fill or (seen[above] == fill and owner[above] < place):
            break
        seen[start + at], owner[start + at] = seen[above], owner[above]
        at = (at - 1) >> 1
    seen[start + at], owner[start + at] = fill, place


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

    It stops before a message that needs a list, or room in one, where there is none.
    """
    workers = loads.size
    all_seen, all_owner = fills.copy(), np.arange(workers).astype(np.int32)
    for at in range(workers // 2 - 1, -1, -1):
        _lower(all_seen, all_owner, np.int64(0), np.int64(workers), np.int64(at), fills[at], np.int64(at))
    keys, counts, starts, lengths, rooms = lists.keys, lists.counts, lists.starts, lists.lengths, lists.rooms
    seen, owner, slots, state = lists.seen, lists.places, lists.slots, lists.state
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
            place = _least(seen, owner, starts[row], starts[row] + lengths[row], fills)
        if weight > 0.0 and fills[place] + weight * rates[place] > fair + slack * slacks[place]:
            if row < 0:
                if state[0] == keys.size or state[1] + 2 > seen.size:
                    return i, total
                row = state[0]
                keys[row], counts[row], slots[at] = hashed, 0.0, row
                starts[row], lengths[row], rooms[row] = state[1], 1, 2
                seen[state[1]], owner[state[1]] = fills[place], place
                state[0] += 1
                state[1] += 2
            least = _least(all_seen, all_owner, np.int64(0), np.int64(workers), fills)
            if fills[least] < fills[place]:
                start, length = starts[row], lengths[row]
                if length == rooms[row]:
                    if state[1] + 2 * length > seen.size:
                        return i, total
                    for entry in range(length):
                        seen[state[1] + entry], owner[state[1] + entry] = seen[start + entry], owner[start + entry]
                    start = starts[row] = state[1]
                    rooms[row] = 2 * length
                    state[1] += 2 * length
                _join(seen, owner, start, start + length, fills[least], least)
                lengths[row] += 1
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
