"""Greedy with two candidates: the loop that PKG and PoTC share, and that the tail of other schemes uses."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable

import numpy as np

from skewkit.checks import Floats
from skewkit.hashing.mix import Hashes
from skewkit.partitioners.base import Partitioner, Routes


class TwoCandidates(Partitioner):
    """Every message has two candidates and goes to the less loaded one (equal load: to the first)."""

    @abstractmethod
    def _pair(self, hashed: int) -> tuple[int, int]:
        """Return the two candidates of the next message."""

    @abstractmethod
    def _pairs(self, hashes: Hashes) -> tuple[list[int], list[int]]:
        """Return the candidates of the next messages, as two lists (m,)."""

    def _route_one(self, hashed: int, weight: float) -> int:
        first, second = self._pair(hashed)
        return self._walk([(first, second, weight)])[0]

    def _route_all(self, hashes: Hashes, weights: Floats) -> Routes:
        first, second = self._pairs(hashes)
        return np.array(self._walk(zip(first, second, weights.tolist(), strict=True)), dtype=np.int32)

    def _walk(self, messages: Iterable[tuple[int, int, float]]) -> list[int]:
        loads, routes = self._loads, []
        for first, second, weight in messages:
            worker = first if loads[first] <= loads[second] else second
            loads[worker] += weight
            routes.append(worker)
        self.messages += len(routes)
        return routes
