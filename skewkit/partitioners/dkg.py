"""Distribution-aware key grouping: heavy keys and tail buckets placed whole, longest first (LPT)."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from skewkit.checks import Floats, switch, whole_number
from skewkit.partitioners.bases.planned import Planned
from skewkit.partitioners.rules.lpt import longest_first


class DistributionAware(Planned):
    """DKG: learn the distribution, then give every heavy key and every hash bucket one worker.

    Source: Rivetti et al., "Efficient Key Grouping for Near-Optimal Load Balancing in Stream Processing Systems", DEBS
    2015, Section 2. It has mu * workers buckets, heavy keys (share theta or more) taken out of them, the longest-first
    rule over both.

    Not fitted, it learns from the first `learning` messages, which go with their buckets, dealt out evenly.
    Then it plans once. Sources of one stream (`share_workers`) count together and make one plan. Where skewkit
    departs from the paper, unless `literal` is set: buckets that were empty while learning are planned with what
    is to be expected of them (`expected_weights`), not with zero. By the letter all of them go to one worker,
    which ends 3 times above the mean with short learning and a large mu.

    * choices(key) is 1. A key moves once, when learning ends, or not at all after `fit`.
    * With known frequencies the greatest load is at most 4/3 times that of any placement of the heavy keys and the
      buckets (Graham). Keys that share a bucket stay together. The paper's Theorem 2.3 gives (1 + theta) times the
      best placement of keys for mu >= 1 / theta >= workers. The defaults meet that up to 4 workers. With more, ask
      for mu = 5 * workers.
    * A key heavier than the mean load cannot be balanced by this scheme: it stays whole.

    Options:
        theta: least share of a heavy key; 1 / (5 workers) by default.
        capacity: counters of the SpaceSaving sketch. By default 10 per worker, and 2 / theta at least.
        mu: hash buckets per worker.
        learning: messages to learn from; by default 100 per worker, and 1,000 at least.
        literal: plan buckets with the weights seen, as the paper has it.

    >>> p = DistributionAware(workers=2).fit(["a", "b", "c"], weights=[4, 3, 3])
    >>> p.route("a") != p.route("b") and p.route("b") == p.route("c")
    True
    """

    name: ClassVar[str] = "dkg"
    on_spark: ClassVar[str] = "plan"

    def __init__(
        self,
        workers: int,
        seed: int = 0,
        *,
        theta: float | None = None,
        capacity: int | None = None,
        mu: int = 20,
        learning: int | None = None,
        literal: bool = False,
        **unknown: Any,
    ) -> None:
        super().__init__(workers, seed, theta, capacity, mu, **unknown)
        default = max(1000, 100 * self.workers)
        self.learning = default if learning is None else whole_number("learning", learning)
        self.literal = switch("literal", literal)
        self._due = self.learning
        self._workers = np.empty(0, dtype=np.int64)

    def _plan(self, weights: Floats, buckets: Floats) -> list[Any]:
        items = np.concatenate([weights, buckets])
        placed = longest_first(items, np.zeros(self.workers)).astype(np.int64)
        if self.literal:  # an item of weight zero leaves the least loaded worker the least loaded
            placed[items == 0.0] = np.bincount(placed, items, self.workers).argmin()
        self._owner_of_bucket = placed[weights.size :]
        places: list[Any] = placed[: weights.size].tolist()
        return places

    def _expected(self, seen: Floats, unit: float) -> Floats:
        return seen.copy() if self.literal else super()._expected(seen, unit)

    def _place(self, places: list[Any]) -> None:
        self._workers = np.array(places, dtype=np.int64)

    def _heavy_worker(self, head: int, weight: float) -> int:
        return int(self._workers[head])

    def _heavy_workers(self, heads: npt.NDArray[np.int64], weights: Floats) -> npt.NDArray[np.int64]:
        return self._workers[heads]

    def _choices(self, hashed: int) -> int:
        return 1
