"""Compiled twins of the schemes that keep no sketch: KG, SG, PKG, PoTC, PoRC and CH."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from skewkit.compiled.jit import compiled
from skewkit.compiled.mixing import GOLDEN, TWICE, candidate

Hashes = npt.NDArray[np.uint64]
Floats = npt.NDArray[np.float64]
Routes = npt.NDArray[np.int32]


@compiled
def route_key(hashes: Hashes, weights: Floats, loads: Floats, routes: Routes) -> None:
    """Key grouping: the first candidate of every key."""
    workers = np.uint64(loads.size)
    for i in range(hashes.size):
        worker = candidate(hashes[i] + GOLDEN, workers)
        loads[worker] += weights[i]
        routes[i] = worker


@compiled
def route_in_turn(start: int, weights: Floats, loads: Floats, routes: Routes) -> None:
    """Shuffle grouping: all workers in turn, from number `start` on."""
    worker = start % loads.size
    for i in range(weights.size):
        loads[worker] += weights[i]
        routes[i] = worker
        worker += 1
        if worker == loads.size:
            worker = 0


@compiled
def route_greedy(hashes: Hashes, weights: Floats, loads: Floats, routes: Routes) -> None:
    """PKG: the less loaded of the two candidates of every key."""
    workers = np.uint64(loads.size)
    for i in range(hashes.size):
        first = candidate(hashes[i] + GOLDEN, workers)
        second = candidate(hashes[i] + TWICE, workers)
        worker = first if loads[first] <= loads[second] else second
        loads[worker] += weights[i]
        routes[i] = worker


@compiled
def route_drawn(draws: np.uint64, weights: Floats, loads: Floats, routes: Routes) -> None:
    """PoTC: the less loaded of two workers that are drawn for every message, from the number `draws` on."""
    workers = np.uint64(loads.size)
    for i in range(weights.size):
        first = candidate(draws + GOLDEN, workers)
        draws += TWICE
        second = candidate(draws, workers)
        worker = first if loads[first] <= loads[second] else second
        loads[worker] += weights[i]
        routes[i] = worker


@compiled
def _least(loads: Floats) -> np.int64:
    best = 0
    for worker in range(1, loads.size):
        if loads[worker] < loads[best]:
            best = worker
    return np.int64(best)


@compiled
def route_random_choices(
    hashes: Hashes, weights: Floats, loads: Floats, routes: Routes, total: float, allowed: float
) -> float:
    """PoRC: the first candidate with a load below `allowed` times the total. Return the new total."""
    workers = np.uint64(loads.size)
    for i in range(hashes.size):
        total += weights[i]
        bound = allowed * total
        at = hashes[i] + GOLDEN
        worker = candidate(at, workers)
        salts = 1
        while loads[worker] >= bound:
            if salts == loads.size:  # is there room at all?
                least = _least(loads)
                if loads[least] >= bound:
                    worker = least
                    break
            at += GOLDEN
            worker = candidate(at, workers)
            salts += 1
        loads[worker] += weights[i]
        routes[i] = worker
    return total


@compiled
def route_ring(
    hashes: Hashes,
    weights: Floats,
    loads: Floats,
    routes: Routes,
    total: float,
    allowed: float,
    places: Hashes,
    ring: npt.NDArray[np.int64],
) -> float:
    """CH: clockwise from the place of the key to the first worker with room. Return the new total."""
    for i in range(hashes.size):
        total += weights[i]
        bound = allowed * total
        low, high = 0, places.size
        while low < high:
            middle = (low + high) >> 1
            if places[middle] < hashes[i]:
                low = middle + 1
            else:
                high = middle
        at = low if low < places.size else 0
        worker = ring[at]
        steps = 0
        while loads[worker] >= bound:
            steps += 1
            if steps == ring.size:
                worker = _least(loads)
                break
            at = at + 1 if at + 1 < ring.size else 0
            worker = ring[at]
        loads[worker] += weights[i]
        routes[i] = worker
    return total
