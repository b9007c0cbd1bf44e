"""Round-Robin: the head goes to all workers in turn."""

from __future__ import annotations

from typing import ClassVar

from skewkit.checks import Floats
from skewkit.hashing.mix import Hashes, mix, to_range
from skewkit.partitioners.base import Routes
from skewkit.partitioners.bases.head_tail import HeadTail


class RoundRobin(HeadTail):
    """Messages of the head go to all workers in turn, keys of the tail to the less loaded of two.

    Source: Nasir et al., "When Two Choices Are not Enough", Section III-B (the Round-Robin baseline). The
    head does not look at the loads. The seed says where the circle begins.

    * choices(key) is the number of workers while the key is in the head, else 2.

    Options:
        theta: least share of a key of the head. 1 / (5 workers) by default.
        capacity: counters of the SpaceSaving sketch. By default 10 per worker, and 2 / theta at least.

    >>> p = RoundRobin(workers=4, seed=1)
    >>> p.route_many(["a"] * 8) is not None and p.loads.tolist()
    [2.0, 2.0, 2.0, 2.0]
    """

    name: ClassVar[str] = "round_robin"
    on_spark: ClassVar[str] = "plan"

    def _begin(self) -> None:
        self._next = to_range(mix(self.seed), self.workers)

    def _seat(self, source: int, sources: int) -> None:
        self._next = (self._next + source * self.workers // sources) % self.workers

    def _head_worker(self, hashed: int) -> int:
        worker = self._next
        self._next = (worker + 1) % self.workers
        return worker

    def _run_compiled(self, hashes: Hashes, weights: Floats, routes: Routes) -> bool:
        from skewkit.compiled.head_tail_loop import IN_TURN

        self._next, _, _ = self._loop(hashes, weights, routes, IN_TURN, turn=self._next)
        return True

    def _head_choices(self) -> int:
        return self.workers
