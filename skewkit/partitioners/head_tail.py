"""Head and tail: the frame of D-Choices, W-Choices and Round-Robin.

Source: Nasir et al., "When Two Choices Are not Enough", Section III and Algorithm 1.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterable
from typing import Any, cast

import numpy as np

from skewkit.compiled.table import Table
from skewkit.hashing.mix import Hashes
from skewkit.partitioners.base import Partitioner, Routes
from skewkit.partitioners.candidates import candidate, candidate_many
from skewkit.partitioners.checks import Floats, real_number, whole_number
from skewkit.sketch import SpaceSaving
from skewkit.sketch.packed import pack, unpack


class HeadTail(Partitioner):
    """Keys of the head are treated by the scheme, keys of the tail go to the less loaded of two workers.

    A SpaceSaving sketch counts every message. A key is in the head if its guaranteed share, the lower bound
    of the sketch, is at least theta. (A counter itself overestimates: with few counters nearly every key
    would look hot.) While fewer than 1 / theta messages have come, every key passes.

    Args:
        workers: number of workers n.
        seed: seed of the hash functions.
        theta: least share of a key of the head; 1 / (5 n) by default (Section III-A).
        capacity: counters of the sketch; by default 10 n, and 2 / theta at least.
    """

    def __init__(
        self,
        workers: int,
        seed: int = 0,
        *,
        theta: float | None = None,
        capacity: int | None = None,
        **unknown: Any,
    ) -> None:
        super().__init__(workers, seed, **unknown)
        self.theta = threshold(theta, self.workers)
        self.capacity = counters(capacity, self.theta, self.workers)
        self._plain: SpaceSaving | None = SpaceSaving(self.capacity)
        self._packed: Table | None = None  # the same as arrays; of the two forms one is there at a time

    @property
    def _sketch(self) -> SpaceSaving:
        """The sketch for single messages; compiled loops leave it as arrays."""
        if self._packed is not None:
            self._plain, self._packed = unpack(self._packed), None
        return cast(SpaceSaving, self._plain)

    @property
    def _table(self) -> Table:
        """The sketch for compiled loops."""
        if self._packed is None:
            self._plain, self._packed = None, pack(self._sketch)
        return self._packed

    @abstractmethod
    def _head_worker(self, hashed: int) -> int:
        """Return the worker for a message of a key of the head."""

    @abstractmethod
    def _head_choices(self) -> int:
        """Return the number of choices of a key of the head."""

    def _choices(self, hashed: int) -> int:
        hot = self._sketch.low(hashed) >= self.theta * self._sketch.total > 0.0
        return self._head_choices() if hot else min(2, self.workers)

    def _route_one(self, hashed: int, weight: float) -> int:
        pair = candidate(hashed, 1, self.workers), candidate(hashed, 2, self.workers)
        return self._walk([(hashed, *pair, weight)])[0]

    def _route_all(self, hashes: Hashes, weights: Floats) -> Routes:
        first, second = (candidate_many(hashes, index, self.workers).tolist() for index in (1, 2))
        messages = zip(hashes.tolist(), first, second, weights.tolist(), strict=True)
        return np.array(self._walk(messages), dtype=np.int32)

    def _loop(
        self,
        hashes: Hashes,
        weights: Floats,
        routes: Routes,
        how: int,
        epsilon: float = 0.0,
        refresh: float = 0.0,
        turn: int = 0,
        d: int = 0,
        due: int = 0,
    ) -> tuple[int, int, int]:
        """Do what `_walk` does in a compiled loop; return the next turn, d, and when d is due."""
        from skewkit.compiled.head_tail import route_head_tail

        loads, before = self._load_view(), self.messages
        self.messages += hashes.size
        return route_head_tail(
            hashes, weights, loads, routes, self._table, how, self.theta, epsilon, refresh, before, turn, d, due
        )

    def _walk(self, messages: Iterable[tuple[int, int, int, float]]) -> list[int]:
        loads, sketch, theta, routes = self._loads, self._sketch, self.theta, []
        add, head_worker = sketch.add, self._head_worker
        for hashed, first, second, weight in messages:
            self.messages += 1
            if add(hashed, weight) >= theta * sketch.total > 0.0:
                worker = head_worker(hashed)
            else:
                worker = first if loads[first] <= loads[second] else second
            loads[worker] += weight
            routes.append(worker)
        return routes


def threshold(theta: float | None, workers: int) -> float:
    """Return the checked least share of a heavy key: 1 / (5 workers) by default.

    >>> threshold(None, 10)
    0.02
    """
    return real_number("theta", 1 / (5 * workers) if theta is None else theta, high=1.0, above=True)


def counters(capacity: int | None, theta: float, workers: int) -> int:
    """Return the checked number of counters: by default 10 per worker, and 2 / theta at least.

    >>> counters(None, 1 / 50, 10)
    100
    """
    return max(10 * workers, math.ceil(2 / theta)) if capacity is None else whole_number("capacity", capacity)
