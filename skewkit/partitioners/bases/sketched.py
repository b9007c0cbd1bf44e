"""Schemes that watch the stream: a SpaceSaving sketch of all messages, in two forms."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterable
from typing import Any, cast

import numpy as np

from skewkit.checks import MOST, Floats, real_number, whole_number
from skewkit.compiled.table import Table
from skewkit.hashing.mix import Hashes
from skewkit.partitioners.base import Partitioner, Routes
from skewkit.partitioners.rules.candidates import candidate, candidate_many
from skewkit.sketch import SpaceSaving
from skewkit.sketch.packed import pack, unpack


class Sketched(Partitioner):
    """Counts every message in a SpaceSaving sketch and routes it by what is known of its key.

    The sketch is a dict for single messages and arrays for compiled loops. The form changes when it is used
    in the other way, in time proportional to the counters.

    Args:
        workers: number of workers n.
        seed: seed of the hash functions.
        theta: least share of a heavy key; 1 / (5 n) by default.
        capacity: counters of the sketch. By default 10 n, and 2 / theta at least.
    """

    def __init__(
        self, workers: int, seed: int = 0, *, theta: float | None = None, capacity: int | None = None, **unknown: Any
    ) -> None:
        super().__init__(workers, seed, **unknown)
        self.theta = threshold(theta, self.workers)
        self.capacity = counters(capacity, self.theta, self.workers)
        self._plain: SpaceSaving | None = SpaceSaving(self.capacity)
        self._packed: Table | None = None  # the same as arrays; of the two forms one is there at a time
        self._begin()

    def _begin(self) -> None:
        """Set what a scheme without further options has besides the sketch. Nothing to do for others."""
        return None

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

    def _route_one(self, hashed: int, weight: float) -> int:
        pair = candidate(hashed, 1, self.workers), candidate(hashed, 2, self.workers)
        return self._walk([(hashed, *pair, weight)])[0]

    def _route_all(self, hashes: Hashes, weights: Floats) -> Routes:
        first, second = (candidate_many(hashes, index, self.workers).tolist() for index in (1, 2))
        messages = zip(hashes.tolist(), first, second, weights.tolist(), strict=True)
        return np.array(self._walk(messages), dtype=np.int32)

    @abstractmethod
    def _walk(self, messages: Iterable[tuple[int, int, int, float]]) -> list[int]:
        """Send messages, each a hash, the first two candidates and a weight. Return their workers."""


def threshold(theta: float | None, workers: int) -> float:
    """Return the checked least share of a heavy key: 1 / (5 workers) by default.

    >>> threshold(None, 10)
    0.02
    """
    return real_number("theta", 1 / (5 * workers) if theta is None else theta, high=1.0, above=True)


def counters(capacity: int | None, theta: float, workers: int) -> int:
    """Return the checked number of counters: by default 10 per worker, and 2 / theta at least (up to `MOST`).

    >>> counters(None, 1 / 50, 10)
    100
    """
    if capacity is None:
        return math.ceil(min(max(10 * workers, 2 / theta), MOST))
    return whole_number("capacity", capacity, most=MOST)
