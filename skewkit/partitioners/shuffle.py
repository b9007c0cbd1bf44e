"""Shuffle grouping: workers in turn, whatever the key."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from skewkit.checks import Floats
from skewkit.hashing.mix import Hashes, mix, to_range
from skewkit.partitioners.base import Partitioner, Routes


class ShuffleGrouping(Partitioner):
    """SG: every message goes to the next worker in cyclic order. The seed says where the circle begins.

    Source: Nasir et al., "When Two Choices Are not Enough", Section II-B. It has no options.

    * Messages per worker differ by 1 at most (per source, and while no worker comes or goes).
    * choices(key) is the number of workers: state of a key may end up on all of them.

    >>> sorted(ShuffleGrouping(workers=3).route_many(["a"] * 6).tolist())
    [0, 0, 1, 1, 2, 2]
    """

    name: ClassVar[str] = "shuffle"
    elastic: ClassVar[bool] = True

    def __init__(self, workers: int, seed: int = 0, **unknown: Any) -> None:
        super().__init__(workers, seed, **unknown)
        self._start = to_range(mix(self.seed), self.workers)

    def _seat(self, source: int, sources: int) -> None:
        self._start += source * self.workers // sources

    def _route_one(self, hashed: int, weight: float) -> int:
        return self._count_one(self._active[(self._start + self.messages) % len(self._active)], weight)

    def _route_all(self, hashes: Hashes, weights: Floats) -> Routes:
        turns = np.arange(hashes.size) + (self._start + self.messages)
        return self._count_all(np.array(self._active)[turns % len(self._active)], weights)

    def _run_compiled(self, hashes: Hashes, weights: Floats, routes: Routes) -> bool:
        if len(self._active) < self.workers:
            return False
        from skewkit.compiled.direct import route_in_turn

        if len(self._active) < len(self._loads):
            return False
        route_in_turn(self._start + self.messages, weights, self._load_view(), routes)
        self.messages += hashes.size
        return True

    def _choices(self, hashed: int) -> int:
        return len(self._active)
