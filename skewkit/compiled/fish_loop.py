"""Compiled twin of FISH between two reports: the workers of hot keys, and the one with the shortest wait."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from skewkit.compiled.jit import compiled
from skewkit.compiled.mixing import GOLDEN, mix

Hashes = npt.NDArray[np.uint64]
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]


@compiled
def degrees_in_turn(which: Longs, highs: Floats, tops: Floats, given: Longs, least: int, workers: int) -> Longs:
    """Return how many workers the key of each message of a hot key has (CHK), and note it in `given`."""
    degrees = np.empty(which.size, dtype=np.int64)
    for i in range(which.size):
        before = given[which[i]]
        if highs[i] == 0.0:
            degree = min(max(before, least), workers)
        else:
            index = max(0, math.frexp(tops[i] / highs[i])[1] - 1)
            share = workers >> index if index < 62 else 0
            degree = min(max(share, least, before), workers)
        degrees[i] = given[which[i]] = degree
    return degrees


@compiled
def _walk(
    hashed: np.uint64, degree: int, active: Longs, places: Hashes, owners: Longs, met: Longs, number: int, found: Longs
) -> None:
    """Write the first `degree` workers of a key, in their order. `met` has the last `number` of every worker."""
    count = 0
    if places.size == 0:
        at = hashed
        while count < degree:
            at += GOLDEN
            worker = active[np.int64(mix(at) % np.uint64(active.size))]
            if met[worker] != number:
                met[worker] = number
                found[count] = worker
                count += 1
        return
    low, high = 0, places.size
    while low < high:
        middle = (low + high) >> 1
        if places[middle] < hashed:
            low = middle + 1
        else:
            high = middle
    place = low if low < places.size else 0
    while count < degree:
        worker = owners[place]
        if met[worker] != number:
            met[worker] = number
            found[count] = worker
            count += 1
        place = place + 1 if place + 1 < places.size else 0


@compiled
def route_fish(
    hashes: Hashes,
    weights: Floats,
    loads: Floats,
    routes: Ints,
    degrees: Longs,
    units: Floats,
    active: Longs,
    places: Hashes,
    owners: Longs,
    unprocessed: Floats,
    pace: Floats,
    by_load: bool,
    now: float,
    step: float,
    prior: float,
    interval: float,
    sources: int,
) -> float:
    """Route messages to the best of the first workers of their keys. Return the time of the last estimate.

    `places` has the hashes of the places on the ring, rising, and is empty without a ring. The first message comes
    at `now`, each `step` after the one before. `prior` is the time of the last estimate of what is left to do, NaN
    if there was none.
    """
    met, found = np.zeros(loads.size, dtype=np.int64), np.empty(loads.size, dtype=np.int64)
    for i in range(hashes.size):
        degree = degrees[i]
        if degree >= active.size:
            degree = active.size
            candidates = active
        else:
            _walk(hashes[i], degree, active, places, owners, met, i + 1, found)
            candidates = found
        if by_load:
            worker = candidates[0]
            for other in range(1, degree):
                if loads[candidates[other]] < loads[worker]:
                    worker = candidates[other]
        else:
            time = now + i * step
            if math.isnan(prior):
                prior = time
            passed = time - prior
            if passed > interval:
                share = passed / sources * units[i]
                for other in range(pace.size):
                    left = unprocessed[other] - share / pace[other] if pace[other] > 0.0 else 0.0
                    unprocessed[other] = max(0.0, left)
                prior = time
            worker = candidates[0]
            wait = unprocessed[worker] * pace[worker]
            for other in range(1, degree):
                longer = unprocessed[candidates[other]] * pace[candidates[other]]
                if longer < wait:
                    worker, wait = candidates[other], longer
            unprocessed[worker] += weights[i]
        loads[worker] += weights[i]
        routes[i] = worker
    return prior
