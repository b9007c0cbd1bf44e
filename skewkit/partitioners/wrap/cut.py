"""The wrap-around plan for known frequencies: heavy keys cut where a worker is full, light keys by hash range."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from heapq import heapreplace
from math import ceil
from typing import Any

import numpy as np
import numpy.typing as npt

from skewkit.checks import Floats
from skewkit.hashing.mix import Hashes, to_range_many
from skewkit.partitioners.rules.buckets import expected_weights
from skewkit.partitioners.rules.wrap_around import wrap_around

_POURED = 2  # heaviest keys per worker that are poured; with unequal capacities so many / the least capacity
_LEAST = 1e-9  # that capacity counts as this at least (the mean is 1), so the number is finite
_SURE = 100.0  # sampled messages that these further keys need: a key's weight is then known to a tenth


class Cut:
    """Every heavy key has pieces, each a worker and a part of the weight. The other keys have one worker each.

    The tail lies on a line, ordered by hash, that is cut into one range per worker, of about equal weight. The
    heaviest keys, 2 per worker at least, are poured over that (McNaughton's wrap-around rule, 1959). None of
    them is lighter than a key of the tail, so they always fill what the ranges leave uneven, which is a key at most.
    A slow worker is easily overloaded by that. So the number poured is divided by the least capacity (of a sample,
    further keys only with 100 messages, as lighter ones are subject to chance).

    * At most keys + workers - 1 pairs of a key and a worker.
    * By the known frequencies all workers are balanced: their loads are as their capacities. Where the workers are
      alike and the frequencies are whole numbers, 1,000 per worker or more,
      they are taken as messages: all parts are whole, and no worker gets more than the mean rounded up.
    * A message of a cut key goes to the piece that has the least of its part, sent / part (equal: to the first), where
      half a message counts as sent at the beginning. With several sources `seat` says how much. So what a worker got
      differs from the plan by a message or two, whatever the order.

    Args:
        hashes: (k,) distinct hashes of the keys, rising.
        weights: (k,) their weights.
        workers: number of workers n.
        theta: least share of a heavy key.
        ranges: number of hash ranges by which the tail of a sample is counted.
        unit: weight of one message if the weights are a sample, 0 if they are the truth.
        capacities: (workers,) with a mean of 1; None if all are alike.

    >>> cut = Cut(np.array([5, 9], dtype=np.uint64), np.array([6.0, 2.0]), 4, 0.1, 8, 0.0)
    >>> [cut.turn(5, 1.0) for _ in range(6)], cut.turn(9, 1.0), cut.choices(5), cut.choices(9)
    ([0, 1, 2, 0, 1, 2], 3, 3, 1)
    """

    def __init__(
        self,
        hashes: Hashes,
        weights: Floats,
        workers: int,
        theta: float,
        ranges: int,
        unit: float,
        capacities: Floats | None = None,
    ) -> None:
        if weights.max() < 1.0:  # not numbers of messages; scaled up, as parts of tiny weights would round to 0
            weights = weights / weights.max()
        ends = np.arange(1, workers) if capacities is None else np.cumsum(capacities)[:-1]
        order = np.lexsort((hashes, -weights))
        heavy = np.zeros(hashes.size, dtype=bool)
        least = 1.0 if capacities is None else max(float(capacities.min()), _LEAST)
        even = _POURED * workers
        heavy[order[:even]] = True
        more = order[even : ceil(min(even / least, hashes.size))]
        heavy[more[weights[more] >= _SURE * unit]] = True
        heavy = (heavy | (weights >= theta * weights.sum())) & (weights > 0.0)
        poured = order[heavy[order]]
        rest, light = hashes[~heavy], weights[~heavy]
        if unit > 0.0:
            borders, tail = _sampled_ranges(rest, light, workers, ranges, unit, ends)
        else:
            borders, tail = _known_ranges(rest, light, workers, float(weights[poured[-1]]), ends)
        places = dict(zip(hashes[poured].tolist(), _pour(weights[poured], tail, weights, capacities), strict=True))
        rising = sorted(places)
        self.borders = array("Q", borders.tolist())  # last hash of the range of every worker but the last
        self.heads = array("Q", rising)
        self.starts = array("q", np.cumsum([0, *(len(places[key]) for key in rising)]).tolist())
        self.owners = array("q", [worker for key in rising for worker, _ in places[key]])
        self.parts = array("d", [part for key in rising for _, part in places[key]])
        self.sent = array("d", [-1.0]) * len(self.parts)  # -1: not used yet
        self._credit = 0.5
        self._heaps: dict[int, list[tuple[float, int]]] = {}  # (sent / part, piece) of every cut key in use

    def turn(self, hashed: int, weight: float) -> int:
        """Return the worker for one message."""
        at = self._find(hashed)
        if at < 0:
            return bisect_left(self.borders, hashed)
        heap = self._heaps.get(at) or self._heap(at, weight)
        if len(heap) == 1:
            return int(self.owners[heap[0][1]])
        piece = heap[0][1]
        self.sent[piece] += weight
        heapreplace(heap, (self.sent[piece] / self.parts[piece], piece))
        return int(self.owners[piece])

    def seat(self, source: int, sources: int) -> None:
        """Let this be source i of s, so that the sources do not all begin with the same piece of a key.

        A piece counts a share (i + 1/2) / s of the key's first message as sent. (With 0 all sources would begin with a
        message for every piece, be it ever so small; with 1 small pieces would come last.) Equal pieces take turns
        from piece i / s of all on.
        """
        self._credit = (source + 0.5) / sources
        for start, end in zip(self.starts[:-1], self.starts[1:], strict=True):
            first = start + source * (end - start) // sources
            self.owners[start:end] = self.owners[first:end] + self.owners[start:first]
            self.parts[start:end] = self.parts[first:end] + self.parts[start:first]
            self.sent[start:end] = self.sent[first:end] + self.sent[start:first]
        self._heaps.clear()

    def _heap(self, at: int, weight: float) -> list[tuple[float, int]]:
        pieces = range(self.starts[at], self.starts[at + 1])
        if len(pieces) > 1 and self.sent[pieces[0]] < 0.0:
            for piece in pieces:
                self.sent[piece] = self._credit * weight
        heap = sorted((self.sent[i] / self.parts[i], i) for i in pieces) if len(pieces) > 1 else [(0.0, pieces[0])]
        self._heaps[at] = heap
        return heap

    def run_compiled(self, hashes: Hashes, weights: Floats, loads: Floats, routes: npt.NDArray[np.int32]) -> None:
        """Route messages as `turn` does, in a compiled loop, and add them to the loads."""
        from skewkit.compiled.cut_loop import route_cut

        borders, heads = np.array(self.borders, dtype=np.uint64), np.array(self.heads, dtype=np.uint64)
        starts, owners = np.array(self.starts, dtype=np.int64), np.array(self.owners, dtype=np.int64)
        parts, sent = np.array(self.parts), np.frombuffer(self.sent)
        route_cut(hashes, weights, loads, routes, borders, heads, starts, owners, parts, sent, self._credit)
        self._heaps.clear()

    def choices(self, hashed: int) -> int:
        """Return how many workers the key has."""
        at = self._find(hashed)
        return self.starts[at + 1] - self.starts[at] if at >= 0 else 1

    def owners_of(self, hashed: int) -> list[int]:
        """Return the workers of the key."""
        at = self._find(hashed)
        if at < 0:
            return [bisect_left(self.borders, hashed)]
        return list(self.owners[self.starts[at] : self.starts[at + 1]])

    def _find(self, hashed: int) -> int:
        at = bisect_left(self.heads, hashed)
        return at if at < len(self.heads) and self.heads[at] == hashed else -1


def _pour(heavy: Floats, tail: Floats, weights: Floats, capacities: Floats | None) -> list[list[tuple[int, float]]]:
    """Pour the heavy keys over the tail; if the weights look like numbers of messages, into whole parts."""
    if capacities is not None:
        return wrap_around(heavy.tolist(), tail, capacities)
    ground = tail
    messages = weights.sum() >= 1000 * tail.size and np.array_equal(weights, np.floor(weights))
    if messages and np.array_equal(tail, np.floor(tail)):
        # The first `full` workers end at the mean rounded up, the others one below it.
        full = int((heavy.sum() + tail.sum()) % tail.size)
        ground = tail + (np.arange(tail.size) >= full) * (full > 0)
    return wrap_around(heavy.tolist(), ground)


def _known_ranges(
    hashes: Hashes, weights: Floats, workers: int, least: float, ends: npt.NDArray[Any]
) -> tuple[Hashes, Floats]:
    """Return the last hash of the range of every worker but the last, and the tail's weight in every range.

    The ranges end at `ends` workers of mean capacity, (workers - 1,).

    Keys that nobody has named have some weight, too, evenly over all hashes: as much in all as half a heavy
    key (`least`) per worker. So the heavy keys can still balance the workers.
    """
    unnamed = 0.5 * least * workers or 1.0
    known = np.concatenate([[0.0], np.cumsum(weights)])
    place = hashes / 2.0**64
    targets = (known[-1] + unnamed) / workers * ends
    at = np.searchsorted(known[1:] + unnamed * place, targets)
    borders = _as_hashes((targets - known[at]) / unnamed)  # in the gap before key number `at`
    inside = np.minimum(at, hashes.size - 1)
    if hashes.size:  # where the target falls into the weight of a key itself, the key goes to one side
        before = known[inside] + unnamed * place[inside]
        on_key = (at < hashes.size) & (targets >= before)
        keep = on_key & (targets - before >= 0.5 * weights[inside])
        borders[on_key] = hashes[inside[on_key]] - np.uint64(1)
        borders[keep] = hashes[inside[keep]]
    return borders, np.bincount(np.searchsorted(borders, hashes), weights, workers).astype(np.float64)


def _sampled_ranges(
    hashes: Hashes, weights: Floats, workers: int, ranges: int, unit: float, ends: npt.NDArray[Any]
) -> tuple[Hashes, Floats]:
    """Return what `_known_ranges` does, from a sample: the tail is counted by hash range and smoothed."""
    size = workers * ranges
    seen = np.bincount(to_range_many(hashes, size), weights, size).astype(np.float64)
    line = np.concatenate([[0.0], np.cumsum(expected_weights(seen, unit))])
    targets = line[-1] / workers * ends
    if line[-1] == 0.0:
        return _as_hashes(ends / workers), np.zeros(workers)
    places = np.interp(targets, line, np.arange(size + 1) / size)
    return _as_hashes(places), line[-1] / workers * np.diff(ends, prepend=0, append=workers)


def _as_hashes(places: Floats) -> Hashes:
    """Return places in 0..1 of the line of all hashes as hashes."""
    return (np.clip(places, 0.0, 1.0 - 2.0**-53) * 2.0**53).astype(np.uint64) << np.uint64(11)
