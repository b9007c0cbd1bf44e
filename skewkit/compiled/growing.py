"""Compiled twin of the wrap-around scheme where frequencies are not known: lists that grow when they are full."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from skewkit.compiled.jit import compiled
from skewkit.compiled.table import Lists

Hashes = npt.NDArray[np.uint64]
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]
Six = tuple[float, ...]  # of six numbers
Four = tuple[float, ...]
Five = tuple[float, ...]

_FIRST = np.uint64(0xBF58_476D_1CE4_E5B9)
_SECOND = np.uint64(0x94D0_49BB_1331_11EB)
_GOLDEN = np.uint64(0x9E37_79B9_7F4A_7C15)
_TWICE = np.uint64(2 * 0x9E37_79B9_7F4A_7C15 % 2**64)
_30, _27, _31, _32 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(32)


@compiled
def _candidate(at: np.uint64, workers: np.uint64) -> np.int64:
    """Return the worker for the number `hash + index * GOLDEN` (`skewkit.partitioners.rules.candidates`)."""
    at = (at ^ (at >> _30)) * _FIRST
    at = (at ^ (at >> _27)) * _SECOND
    return np.int64(((at ^ (at >> _31)) >> _32) * workers >> _32)


@compiled
def _drawn(at: np.uint64, places: Ints) -> np.int64:
    """Return the candidate for the same number, each worker as often as it is in `places`."""
    return np.int64(places[_candidate(at, np.uint64(places.size))])


@compiled
def _least(loads: Floats) -> np.int64:
    best = 0
    for worker in range(1, loads.size):
        if loads[worker] < loads[best]:
            best = worker
    return np.int64(best)


@compiled
def index(lists: Lists) -> None:
    """Fill the slots from the keys of the rows in use."""
    mask = np.uint64(lists.slots.size - 1)
    lists.slots[:] = -1
    for row in range(lists.used[0]):
        at = lists.keys[row] & mask
        while lists.slots[at] >= 0:
            at = (at + np.uint64(1)) & mask
        lists.slots[at] = row


@compiled
def _lower(seen: Floats, owner: Ints, load: float, worker: np.int64, at: np.int64) -> None:
    """Put (load, worker) at place `at` or below, where it belongs."""
    while True:
        child = 2 * at + 1
        if child >= seen.size:
            break
        right = child + 1
        if right < seen.size and (
            seen[right] < seen[child] or (seen[right] == seen[child] and owner[right] < owner[child])
        ):
            child = right
        if seen[child] > load or (seen[child] == load and owner[child] > worker):
            break
        seen[at], owner[at] = seen[child], owner[child]
        at = child
    seen[at], owner[at] = load, worker


@compiled
def tops_of(
    hashes: Hashes, weights: Floats, lows: Floats, totals: Floats, loads: Floats, top: float, theta: float
) -> Floats:
    """Do what W-Choices would do; return the greatest load after each message.

    The least loaded of all workers is found as in `skewkit.compiled.head_tail`: by a cursor, as long as it finds
    another worker with the least load, else in a heap of loads as they were when it last looked.
    """
    workers = loads.size
    seen, owner = loads.copy(), np.arange(workers).astype(np.int32)
    for at in range(workers // 2 - 1, -1, -1):
        _lower(seen, owner, seen[at], np.int64(owner[at]), np.int64(at))
    tops = np.empty(hashes.size)
    place, floor, credit = workers, -1.0, 0
    for i in range(hashes.size):
        hashed = hashes[i]
        if not lows[i] >= theta * totals[i] > 0.0:
            first = _candidate(hashed + _GOLDEN, np.uint64(workers))
            second = _candidate(hashed + _TWICE, np.uint64(workers))
            worker = first if loads[first] <= loads[second] else second
        else:
            credit += 8
            while place < workers and loads[place] != floor:
                place += 1
            if place == workers and credit >= workers:
                credit -= workers
                place = 0
                floor = loads[0]
                for other in range(1, workers):
                    if loads[other] < floor:
                        floor, place = loads[other], other
            worker = np.int64(place)
            if place == workers:
                while loads[owner[0]] != seen[0]:
                    worker = np.int64(owner[0])
                    _lower(seen, owner, loads[worker], worker, np.int64(0))
                worker = np.int64(owner[0])
        loads[worker] += weights[i]
        if loads[worker] > top:
            top = loads[worker]
        tops[i] = top
    return tops


@compiled
def _roomy(
    hashed: np.uint64, places: Ints, fills: Floats, mean: float, rows: Ints, row: np.int64, length: np.int64, tries: int
) -> np.int64:
    """Return the first further candidate with less than the mean that is not in the list; -1 if there is none."""
    at = hashed + _TWICE
    for _ in range(tries + max(np.int64(0), 3 * (length - 2))):
        at += _GOLDEN
        worker = _drawn(at, places)
        if fills[worker] < mean:
            inside = False
            if row >= 0:
                for place in range(length):
                    inside = inside or rows[row, place] == worker
            if not inside:
                return worker
    return np.int64(-1)


@compiled
def _count(
    bits: Bytes, hashed: np.uint64, worker: np.int64, counts: Floats, taken: Longs, which: int, size: float
) -> bool:
    """Add a pair to a set (`skewkit.partitioners.wrap.budget.PairSet`), and tell whether it is new."""
    at = hashed + np.uint64(worker + 1) * _GOLDEN
    at = (at ^ (at >> _30)) * _FIRST
    at = (at ^ (at >> _27)) * _SECOND
    place = (at ^ (at >> _31)) >> np.uint64(42)
    bit = np.uint8(1 << np.int64(place & np.uint64(7)))
    byte = np.int64(place >> np.uint64(3))
    if bits[byte] & bit:
        return False
    bits[byte] |= bit
    counts[which] += size / (size - taken[which])
    taken[which] += 1
    return True


@compiled
def _part(value: float, low: float, high: float) -> float:
    return min(1.0, max(0.0, (value - low) / (high - low)))


@compiled
def _between(low: float, high: float, part: float) -> float:
    return low + (high - low) * part


@compiled
def _second(
    hashed: np.uint64,
    first: np.int64,
    places: Ints,
    fills: Floats,
    full: float,
    seconds: Bytes,
    slot: np.int64,
    tried: int,
) -> np.int64:
    """Return the worker of a key that has no list: its first alone, as long as that has no more than `full`."""
    if seconds[slot]:
        second = _drawn(hashed + np.uint64(seconds[slot]) * _GOLDEN, places)
        return first if fills[first] <= fills[second] else second
    if fills[first] <= full:
        return first
    at = hashed + _TWICE
    second, best = _drawn(at, places), 2
    if second != first:
        for index in range(3, 2 + tried):
            at += _GOLDEN
            worker = _drawn(at, places)
            if fills[worker] < fills[second]:
                best, second = index, worker
    if fills[second] < fills[first]:
        seconds[slot] = best
        return second
    return first


@compiled
def route_growing(
    hashes: Hashes,
    weights: Floats,
    lows: Floats,
    totals: Floats,
    tops: Floats,
    fills: Floats,
    rates: Floats,
    routes: Ints,
    frugal: Ints,
    sets: tuple[Bytes, ...],
    counts: Floats,
    taken: Longs,
    size: float,
    others: tuple[float, float],
    seconds: Bytes,
    lists: Lists,
    begin: int,
    counted: bool,
    messages: int,
    places: Ints,
    recent: float,
    filling: float,
    law: Five,
    shares: Five,
    both_by: Five,
    level: Six,
    thrift: Six,
    apart: float,
    shift: float,
    theta: float,
    near: float,
    epsilon: float,
    sure: Four,
    fetch: Four,
    often: int,
    tries: int,
    tried: int,
    place_of_source: int,
) -> tuple[int, float, float]:
    """Route messages from number `begin` on; return where it stopped, and `recent` and `filling` (`Slack`).

    It stops where there is no room for a list, or at the end.

    `frugal` is where D-Choices sends them, `sets` are one's own pairs, those of D-Choices, keys, and keys seen again,
    of `size` bits, of which so many are `taken` by so many pairs as in `counts` (`Budget`). `counted` is whether it
    stopped at this message before, so that the sets know it.

    A list has a cursor: all workers before it have more than `floors[row]`, and none has less. Loads only
    grow, so the next worker with just that load is the least loaded, and mostly near. Places count from `starts[row]`.
    """
    workers = fills.size
    keys, lengths, rows, slots = lists.keys, lists.lengths, lists.rows, lists.slots
    mask = np.uint64(slots.size - 1)
    width = rows.shape[1]
    cursors, starts = np.zeros(keys.size, dtype=np.int64), np.zeros(keys.size, dtype=np.int64)
    floors = np.full(keys.size, -1.0)
    own, theirs, known, again = sets
    most_others, once = others
    horizon, most, steep, off, wide_by = law
    cheap, costly, further, tight, gone = shares
    up_to, none_from, most_both, ample, full = both_by
    seen_often, doubt, soon, wide = sure
    much, lag, calm, spare = fetch
    to_slot = np.uint64(64)
    left = seconds.size
    while left > 1:
        left >>= 1
        to_slot -= np.uint64(1)
    for i in range(begin, hashes.size):
        hashed, weight, low, total = hashes[i], weights[i], lows[i], totals[i]
        mean, unit = total / workers, total / (messages + 1)
        above = tops[i] - mean
        seen = min(above / unit, most) if unit > 0.0 else 0.0
        before = recent, filling
        recent += (seen - recent) * min(1.0, horizon / (messages + 1))
        if i > begin or not counted:
            _count(theirs, hashed, np.int64(frugal[i]), counts, taken, 1, size)
            new = _count(known, hashed, np.int64(-1), counts, taken, 2, size)
            if most_others > 0.0 and not new:
                _count(again, hashed, np.int64(-2), counts, taken, 3, size)
        single = (counts[2] - counts[3]) / taken[2]
        beyond_own = 1.0 + most_others * min(1.0, max(0.0, 1.0 - single / once))
        own_share = (counts[0] - counts[2]) / max(1.0, counts[1] - counts[2])
        share = beyond_own * own_share
        spent = _part(share, tight, gone)
        rising = min(further, max(0.0, (share - cheap) / (costly - cheap)))
        of_heavy = _between(level[0], thrift[0], rising)
        of_light = _between(level[1], thrift[1], rising)
        alone = _between(level[2], thrift[2], rising)
        spread = max(0.0, _between(level[3], thrift[3], rising))
        free = _between(level[4], thrift[4], min(1.0, rising))
        least = _between(level[5], thrift[5], min(1.0, rising))
        wanted = max(recent, steep * recent - off)
        beyond = max(0.0, wanted - free)
        slack = min(wanted, free) + beyond * spent
        easy = min(wanted, free) + beyond * max(spent, least)
        mean += shift
        heavy = low >= theta * total > 0.0 and (
            (low >= seen_often * unit and low - doubt * np.sqrt(low) * np.sqrt(unit) >= theta * total)
            or (low >= soon * unit and low * workers >= wide * total)
        )
        part = weight / total if total > 0.0 else 0.0
        filling += ((1.0 if heavy else 0.0) - filling) * min(1.0, horizon * part)
        both = most_both * (1.0 - _part(filling, up_to, none_from)) * (1.0 - _part(own_share, ample, full))
        at = hashed & mask
        row = np.int64(slots[at])
        while row >= 0 and keys[row] != hashed:
            at = (at + np.uint64(1)) & mask
            row = np.int64(slots[at])
        first = _drawn(hashed + _GOLDEN, places)
        slot = np.int64(hashed >> to_slot)
        if heavy:
            wider = wide_by * max(0.0, 2.0 * filling - 1.0)
            limit = max((of_heavy + wider + slack) * unit, near * above)
            room = limit
        else:
            limit = max((of_light + easy) * unit, above, epsilon * total)
            lateness = (np.float64(hashed & np.uint64(1023)) + 0.5) / 1024.0 - 0.5
            room = max(((alone + easy) + spread * lateness) * unit, above, epsilon * total)
            if lateness + 0.5 < both and epsilon == 0.0:
                room = -np.inf
        if row >= 0:
            length = lengths[row]
            start = place_of_source % length if slack < apart else 0
            if start != starts[row]:
                starts[row], cursors[row], floors[row] = start, 0, -1.0
            floor, place = floors[row], cursors[row]
            while place < length and fills[rows[row, (start + place) % length]] != floor:
                place += 1
            if place == length:
                place = 0
                floor = fills[rows[row, start]]
                for other in range(1, length):
                    fill = fills[rows[row, (start + other) % length]]
                    if fill < floor:
                        floor, place = fill, other
                floors[row] = floor
            cursors[row] = place
            worker = np.int64(rows[row, (start + place) % length])
        else:
            worker = _second(hashed, first, places, fills, mean + room - unit, seconds, slot, tried)
        emptiest = np.int64(-1)
        may_fetch = heavy and low * workers >= much * total and above <= calm * unit and share <= spare
        if may_fetch and (messages + 1) % often == 0:
            lowest = _least(fills)
            if fills[lowest] + lag * unit < fills[worker]:
                emptiest = lowest
        if emptiest < 0 and fills[worker] + unit > mean + limit:
            if tries > 0:
                length = np.int64(lengths[row] if row >= 0 else 0)
                emptiest = _roomy(hashed, places, fills, mean, lists.rows, row, length, tries)
            if emptiest < 0:
                emptiest = _least(fills)
        if emptiest >= 0 and fills[emptiest] < fills[worker]:
            if row < 0:
                if lists.used[0] == keys.size or width < 3:
                    return i, *before
                row = np.int64(lists.used[0])
                lists.used[0] += 1
                slots[at] = row
                keys[row] = hashed
                rows[row, 0] = first
                lengths[row] = 1
                if seconds[slot]:
                    second = _drawn(hashed + np.uint64(seconds[slot]) * _GOLDEN, places)
                    if second != first:
                        rows[row, 1] = second
                        lengths[row] = 2
            elif lengths[row] == width:
                return i, *before
            rows[row, lengths[row]] = emptiest
            lengths[row] += 1
            cursors[row], floors[row] = 0, -1.0
            worker = emptiest
        messages += 1
        _count(own, hashed, worker, counts, taken, 0, size)
        fills[worker] += weight * rates[worker]
        routes[i] = worker
    return hashes.size, recent, filling
