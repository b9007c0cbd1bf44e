"""Head and tail: the frame of D-Choices, W-Choices and Round-Robin.

Source: Nasir et al., "When Two Choices Are not Enough", Section III and Algorithm 1.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable

from skewkit.checks import Floats
from skewkit.hashing.mix import Hashes
from skewkit.partitioners.base import Routes
from skewkit.partitioners.bases.sketched import Sketched


class HeadTail(Sketched):
    """Keys of the head are treated by the scheme, keys of the tail go to the less loaded of two workers.

    A key is in the head if its guaranteed share, the lower bound
    of the sketch, is at least theta. (A counter itself overestimates: with few counters nearly every key
    would look hot.) While fewer than 1 / theta messages have come, every key passes.
    """

    @abstractmethod
    def _head_worker(self, hashed: int) -> int:
        """Return the worker for a message of a key of the head."""

    @abstractmethod
    def _head_choices(self) -> int:
        """Return the number of choices of a key of the head."""

    def _choices(self, hashed: int) -> int:
        hot = self._sketch.low(hashed) >= self.theta * self._sketch.total > 0.0
        return self._head_choices() if hot else min(2, self.workers)

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
        """Do what `_walk` does in a compiled loop. Return the next turn, d, and when d is due."""
        from skewkit.compiled.head_tail_loop import route_head_tail

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
