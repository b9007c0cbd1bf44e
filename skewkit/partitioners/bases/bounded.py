"""A bound on every load: the frame of PoRC and of consistent hashing with bounded loads."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import Any

import numpy as np

from skewkit.checks import Floats, real_number
from skewkit.hashing.mix import Hashes
from skewkit.partitioners.base import Partitioner, Routes


class Bounded(Partitioner):
    """A key walks through its own sequence of workers and stops at the first that has room.

    A worker has room if its load is below (1 + epsilon) times the mean load, the new message included in the
    mean. The walk of every key begins anew with every message.

    Args:
        workers: number of workers n.
        seed: seed of the hash functions.
        epsilon: how far a load may exceed the mean, as a share of the mean.
    """

    def __init__(self, workers: int, seed: int = 0, *, epsilon: float = 0.01, **unknown: Any) -> None:
        super().__init__(workers, seed, **unknown)
        self.epsilon = real_number("epsilon", epsilon)
        self._total = 0.0

    @abstractmethod
    def _start(self, hashed: int) -> int:
        """Return where the walk of a key begins."""

    @abstractmethod
    def _starts(self, hashes: Hashes) -> list[int]:
        """Return `_start` of every key."""

    @abstractmethod
    def _next_with_room(self, hashed: int, start: int, bound: float) -> int:
        """Return the first worker after the beginning of the walk with a load below `bound`.

        If there is none (the message weighs nothing, or less than the rounding of the mean), return the
        least loaded worker.
        """

    @abstractmethod
    def _first_worker(self, start: int) -> int:
        """Return the worker where the walk begins."""

    def _route_one(self, hashed: int, weight: float) -> int:
        return self._walk([(hashed, self._start(hashed), weight)])[0]

    def _route_all(self, hashes: Hashes, weights: Floats) -> Routes:
        messages = zip(hashes.tolist(), self._starts(hashes), weights.tolist(), strict=True)
        return np.array(self._walk(messages), dtype=np.int32)

    def _walk(self, messages: Iterable[tuple[int, int, float]]) -> list[int]:
        loads, routes, total = self._loads, [], self._total
        allowed = (1.0 + self.epsilon) / self.workers
        first_worker, next_with_room = self._first_worker, self._next_with_room
        for hashed, start, weight in messages:
            total += weight
            worker = first_worker(start)
            if loads[worker] >= allowed * total:
                worker = next_with_room(hashed, start, allowed * total)
            loads[worker] += weight
            routes.append(worker)
        self._total = total
        self.messages += len(routes)
        return routes

    def _run_compiled(self, hashes: Hashes, weights: Floats, routes: Routes) -> bool:
        allowed = (1.0 + self.epsilon) / self.workers
        self._total = self._walk_compiled(hashes, weights, routes, self._total, allowed)
        self.messages += hashes.size
        return True

    @abstractmethod
    def _walk_compiled(self, hashes: Hashes, weights: Floats, routes: Routes, total: float, allowed: float) -> float:
        """Do what `_walk` does in a compiled loop, and return the new total."""

    def _choices(self, hashed: int) -> int:
        return self.workers
