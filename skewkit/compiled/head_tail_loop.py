"""Compiled twin of the schemes with a head and a tail: Round-Robin, W-Choices and D-Choices."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from skewkit.compiled.jit import compiled
from skewkit.compiled.least_heap import least_of_all, lower
from skewkit.compiled.mixing import GOLDEN, TWICE, candidate
from skewkit.compiled.table import Table

Hashes = npt.NDArray[np.uint64]
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]

IN_TURN, LEAST_OF_ALL, LEAST_OF_D = 0, 1, 2  # what is done with the head
NEVER = 2.0**62  # a number of messages that no stream has


# The sketch


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
def _take_in(table: Table, hashed: np.uint64, weight: float) -> np.int64:
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
    """Count messages. Return the bounds of the key of each, and all weight, as of just after it."""
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
            counter = _take_in(table, hashed, weight)
            low = weight
        lows[i], totals[i] = low, total
        highs[i] = high[counter] if counter >= 0 else table.sums[1]
    table.sums[0] = total
    return lows, highs, totals


# Equation (3) of the D-Choices paper: the same steps in the same order as `optimal_choices`


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
def _shares(table: Table, theta: float) -> Floats:
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


# Lists of candidates: one row per key of the head


@compiled
def _draw(hashed: np.uint64, d: int, row: Ints, drawn: Longs, number: int) -> np.int64:
    """Write the first d candidates of a key, each worker once, and return how many there are.

    `drawn` has for every worker the number of the last row that it stands in. `number` is that of this row.
    """
    count = 0
    at = hashed
    workers = np.uint64(drawn.size)
    for _ in range(d):
        at += GOLDEN
        worker = candidate(at, workers)
        if drawn[worker] != number:
            drawn[worker] = number
            row[count] = worker
            count += 1
    return np.int64(count)


@compiled
def route_head_tail(
    hashes: Hashes,
    weights: Floats,
    loads: Floats,
    routes: Ints,
    table: Table,
    how: int,
    theta: float,
    epsilon: float,
    refresh: float,
    messages: int,
    turn: int,
    d: int,
    due: int,
) -> tuple[int, int, int]:
    """Route messages and return the next worker in turn, d, and when d is due again.

    A row of candidates has a cursor: all workers before it have more than `floors[row]`, and none has less.
    Loads only grow, so the next worker with just that load is the least loaded, and mostly near.
    """
    workers = loads.size
    seen, owner = loads.copy(), np.arange(workers).astype(np.int32)
    for at in range(workers // 2 - 1, -1, -1):
        lower(seen, owner, seen[at], np.int64(owner[at]), np.int64(at))
    lists = min(table.keys.size, 1024) if how == LEAST_OF_D else 1
    rows = np.empty((lists, workers), dtype=np.int32)
    lengths = np.empty(lists, dtype=np.int64)
    cursors = np.empty(lists, dtype=np.int64)
    floors = np.empty(lists)
    row_keys = np.empty(lists, dtype=np.uint64)
    row_of = np.full(table.keys.size if how == LEAST_OF_D else 1, -1, dtype=np.int32)
    drawn = 0
    in_row, numbered = np.zeros(workers, dtype=np.int64), 0
    keys, high, error, slots = table.keys, table.high, table.error, table.slots
    mask = np.uint64(slots.size - 1)
    total = table.sums[0]
    place_all, floor_all, credit = workers, -1.0, 0
    for i in range(hashes.size):
        hashed, weight = hashes[i], weights[i]
        messages += 1
        # Count the message: this loop in place, as a call with arrays costs more than the search.
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
            counter = _take_in(table, hashed, weight)
            low = weight
        if not low >= theta * total > 0.0:
            first = candidate(hashed + GOLDEN, np.uint64(workers))
            second = candidate(hashed + TWICE, np.uint64(workers))
            worker = first if loads[first] <= loads[second] else second
        elif how == IN_TURN:
            worker = np.int64(turn)
            turn = turn + 1 if turn + 1 < workers else 0
        else:
            if how == LEAST_OF_D and messages >= due:
                table.sums[0] = total
                found = choices_for(_shares(table, theta), workers, epsilon)
                if found != d:
                    d = found
                    drawn = 0
                    row_of[:] = -1
                due = max(messages + 1, math.ceil(min(messages * (1.0 + refresh), NEVER)))
            if how == LEAST_OF_ALL or d >= workers:
                credit += 8
                while place_all < workers and loads[place_all] != floor_all:
                    place_all += 1
                if place_all == workers and credit >= workers:
                    credit -= workers
                    place_all = 0
                    floor_all = loads[0]
                    for other in range(1, workers):
                        load = loads[other]
                        if load < floor_all:
                            floor_all, place_all = load, other
                worker = np.int64(place_all) if place_all < workers else least_of_all(loads, seen, owner)
            else:
                row = np.int64(row_of[counter])
                if row < 0 or row_keys[row] != hashed:
                    if drawn == lists:
                        drawn = 0
                        row_of[:] = -1
                    row = np.int64(drawn)
                    drawn += 1
                    row_of[counter] = row
                    row_keys[row] = hashed
                    numbered += 1
                    lengths[row] = _draw(hashed, d, rows[row], in_row, numbered)
                    cursors[row], floors[row] = 0, -1.0
                length, floor, place = lengths[row], floors[row], cursors[row]
                while place < length and loads[rows[row, place]] != floor:
                    place += 1
                if place == length:
                    place = 0
                    floor = loads[rows[row, 0]]
                    for other in range(1, length):
                        load = loads[rows[row, other]]
                        if load < floor:
                            floor, place = load, other
                    floors[row] = floor
                cursors[row] = place
                worker = np.int64(rows[row, place])
        loads[worker] += weight
        routes[i] = worker
    table.sums[0] = total
    return turn, d, due
