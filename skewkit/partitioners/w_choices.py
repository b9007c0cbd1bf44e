"""W-Choices: a key of the head may go to every worker."""

from __future__ import annotations

from typing import ClassVar

from skewkit.checks import Floats
from skewkit.hashing.mix import Hashes
from skewkit.partitioners.base import Routes
from skewkit.partitioners.bases.head_tail import HeadTail
from skewkit.partitioners.rules.least_loaded import LeastLoaded


class WChoices(HeadTail):
    """Keys of the head go to the least loaded of all workers, keys of the tail to one of two.

    Source: Nasir et al., "When Two Choices Are not Enough", Section III-B (W-Choices) and Algorithm 1.

    * choices(key) is the number of workers while the key is in the head, else 2.
    * With theta <= 1 / workers the balance is close to ideal whatever the skew (Section V, Q1).

    Options:
        theta: least share of a key of the head. 1 / (5 workers) by default.
        capacity: counters of the SpaceSaving sketch. By default 10 per worker, and 2 / theta at least.

    >>> p = WChoices(workers=10, seed=1)
    >>> sorted(set(p.route_many(["a"] * 100).tolist())) == list(range(10))
    True
    """

    name: ClassVar[str] = "w_choices"
    on_spark: ClassVar[str] = "plan"

    def _begin(self) -> None:
        self._least = LeastLoaded(self._loads)

    def _head_worker(self, hashed: int) -> int:
        return self._least.worker()

    def _run_compiled(self, hashes: Hashes, weights: Floats, routes: Routes) -> bool:
        from skewkit.compiled.head_tail_loop import LEAST_OF_ALL

        self._loop(hashes, weights, routes, LEAST_OF_ALL)
        return True

    def _head_choices(self) -> int:
        return self.workers
