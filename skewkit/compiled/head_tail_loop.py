"""Compiled twin of the schemes with a head and a tail: Round-Robin, W-Choices and D-Choices."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from skewkit.compiled.jit import compiled
from skewkit.compiled.least_heap import least_of_all, lower
from skewkit.compiled.mixing import GOLDEN, TWICE, candidate
from skewkit.compiled.optimal_choices_loop import choices_for, guaranteed_shares
from skewkit.compiled.spacesaving_loop import take_in
from skewkit.compiled.table import Table

Hashes = npt.NDArray[np.uint64]
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]

IN_TURN, LEAST_OF_ALL, LEAST_OF_D = 0, 1, 2  # what is done with the head
NEVER = 2.0**62  # a number of messages that no stream has


@compiled
def _draw(hashed: np.uint64, d: int, row: Ints, drawn: Longs, number: int) -> np.int64:
    """Write the first d candidates of a key, each worker once, and return how many there are.

    `drawn` has for every worker the number of the last row that it stands in; `number` is that of this row.
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
            counter = take_in(table, hashed, weight)
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
                found = choices_for(guaranteed_shares(table, theta), workers, epsilon)
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
