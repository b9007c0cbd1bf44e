"""D-Choices: a key of the head has just as many choices as balance needs."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from skewkit.checks import Floats, real_number, whole_number
from skewkit.hashing.mix import Hashes
from skewkit.partitioners.base import Routes
from skewkit.partitioners.bases.head_tail import HeadTail
from skewkit.partitioners.rules.candidates import first_candidates
from skewkit.partitioners.rules.least_loaded import LeastLoaded
from skewkit.partitioners.rules.optimal_choices import optimal_choices

_NEVER = 2**62  # a number of messages that no stream has
_REMEMBERED = 1 << 14  # candidate lists kept; they are drawn again when needed


class DChoices(HeadTail):
    """Keys of the head go to the least loaded of d workers, keys of the tail of two. The number d follows the stream.

    Source: Nasir et al., "When Two Choices Are not Enough", Algorithm 1 and Section IV-A. d is the least number that
    satisfies Equation (3) for the shares seen so far. With d = workers these are all of them (W-Choices).

    The paper computes d for every message of the head. Here it is computed again when the number of messages
    has grown by the factor 1 + refresh: shares move little in between.

    * choices(key) is d while the key is in the head, else 2. The candidates for a smaller d are among those
      for a greater one.
    * Equation (3) is a necessary condition: how balanced the loads are depends on the hash draw, too.

    Options:
        theta: least share of a key of the head. 1 / (5 workers) by default.
        epsilon: tolerated imbalance, as a share of all load.
        capacity: counters of the SpaceSaving sketch. By default 10 per worker, and 2 / theta at least.
        refresh: growth of the number of messages after which d is computed again. 0 computes d for every
            message of the head.
        d: None finds the number of choices by Equation (3). A number is used throughout (Greedy-d, with which
            Section V-B looks for the least d that would have done).

    >>> p = DChoices(workers=50, seed=1)
    >>> _ = p.route_many(["hot", "warm", *range(8)] * 100 + ["hot"] * 100)
    >>> 2 < p.choices("hot") <= 50
    True
    """

    name: ClassVar[str] = "d_choices"
    on_spark: ClassVar[str] = "plan"

    def __init__(
        self,
        workers: int,
        seed: int = 0,
        *,
        theta: float | None = None,
        epsilon: float = 1e-4,
        capacity: int | None = None,
        refresh: float = 0.01,
        d: int | None = None,
        **unknown: Any,
    ) -> None:
        super().__init__(workers, seed, theta=theta, capacity=capacity, **unknown)
        self.epsilon = real_number("epsilon", epsilon)
        self.refresh = real_number("refresh", refresh)
        self._least = LeastLoaded(self._loads)
        self.d = None if d is None else whole_number("d", d)
        self._d = min(2 if self.d is None else self.d, self.workers)
        # Number of messages from which on d has to be computed again.
        self._due = 0 if self.d is None else _NEVER
        self._lists: dict[int, list[int]] = {}

    def _head_worker(self, hashed: int) -> int:
        if self.messages >= self._due:
            self._set_d()
        if self._d >= self.workers:
            return self._least.worker()
        candidates = self._lists.get(hashed)
        if candidates is None:
            if len(self._lists) >= _REMEMBERED:
                self._lists.clear()
            candidates = self._lists[hashed] = first_candidates(hashed, self._d, self.workers)
        return min(candidates, key=self._loads.__getitem__)

    def _run_compiled(self, hashes: Hashes, weights: Floats, routes: Routes) -> bool:
        from skewkit.compiled.head_tail_loop import LEAST_OF_D

        self._lists.clear()
        _, self._d, self._due = self._loop(
            hashes, weights, routes, LEAST_OF_D, self.epsilon, self.refresh, d=self._d, due=self._due
        )
        return True

    def _best_d(self) -> int:
        sketch = self._sketch
        lows = np.array([counter.low for counter in sketch.heavy(self.theta, certain=True)])
        head = np.sort(lows / sketch.total)[::-1]
        tail = max(0.0, 1.0 - float(np.cumsum(head)[-1])) if head.size else 1.0
        return optimal_choices(head, tail, self.workers, self.epsilon)

    def _set_d(self) -> None:
        d = self._best_d()
        if d != self._d:
            self._d = d
            self._lists.clear()
        self._due = max(self.messages + 1, math.ceil(min(self.messages * (1.0 + self.refresh), _NEVER)))

    def _head_choices(self) -> int:
        # The next message of the head would set it anew; who only asks changes nothing.
        return self._best_d() if self.messages + 1 >= self._due else self._d
