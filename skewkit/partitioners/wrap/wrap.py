"""Wrap-around: heavy keys cut just where a worker is full."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, TypeVar

import numpy as np
import numpy.typing as npt

from skewkit.checks import MOST, Floats, real_number, whole_number
from skewkit.hashing.key_hash import Keys
from skewkit.hashing.mix import Hashes
from skewkit.partitioners.base import Routes
from skewkit.partitioners.bases.planned import known_frequencies
from skewkit.partitioners.bases.sketched import counters, threshold
from skewkit.partitioners.capacities import checked_capacities, relative_capacities
from skewkit.partitioners.wrap.cut import Cut
from skewkit.partitioners.wrap.online import Online

W = TypeVar("W", bound="WrapAround")


class WrapAround(Online):
    """A key keeps its workers until all of them are full. Then the least loaded worker joins them.

    skewkit's own scheme. The cut is McNaughton's wrap-around rule (1959). The hashed candidate of a key is the first
    one of Nasir et al., "When Two Choices Are not Enough".

    **Fitted** to known frequencies, heavy keys are cut by plan (`Cut`), and the plan stays.

    * choices(key) is the number of its pieces, 1 for nearly all keys.
    * At most keys + workers - 1 pairs of a key and a worker.
    * A stream with just these frequencies, in any order, leaves every worker within a few messages of the mean,
      whatever the skew. With whole weights, 1,000 per worker or more, sent in messages of weight 1, it is below the
      mean plus one. Both hold with one source. Each other one adds what chance sends it of the cut keys.

    **Not fitted**, the rule is applied to the loads as they are. A key has a list of workers, which begins with its
    hashed candidate. A message goes to the least loaded worker of the list. If that one is *full*, the least loaded of
    all workers joins the list and takes the message. Full means that the message would lift the worker above its fair
    share of all weight so far by more than the slack: `margin` messages of average weight, or `epsilon` of all weight,
    whichever is more. A greater slack means fewer pairs of a key and a worker, and less balance.

    **Theorem.** Take any stream in any order: T its weight, x its greatest weight of a message, u the greatest mean
    weight of its messages so far (u <= x). With one source no worker ends above its fair share by more than
    max(epsilon T, margin u, x), so not by more than epsilon T + max(margin, 1) x. With s sources none does by more than
    epsilon T + s max(margin, 1) x. For messages of weight 1 that is epsilon T + s margin (margin >= 1).

    *Proof.* Look at the last message that a worker gets, of weight w, and at T' and u' as of then. Either the worker
    was not full: then it is above its share of T' by at most max(epsilon T', margin u'). Or it was the least loaded
    of all: then it had at most its share of T' - w, and is above its share of T' by less than w <= x. From then on its
    load stays and its share grows, and T' <= T, u' <= u. Sources are independent, and shares, loads and the bounds add
    up. Nothing was said of the lists: so the theorem holds whatever is forgotten.

    * Memory is bounded: at most `capacity` keys have a list. All others have their hashed candidate alone, and a key
      gets a list when that is full. When all lists are taken, the lighter half of them is forgotten (counted
      in `plans`), by the weight that their keys had since they got a list. So a key keeps its list that gets more than
      2 / `capacity` of the weight of all that have one. A key that was forgotten may get other workers: it costs
      pairs, not balance.
    * choices(key) is the length of the key's list, else 1. It only grows until lists are forgotten.
    * Several sources have lists of their own, and share the hashed candidates. Of workers with equal loads each
      source takes another one first.
    * With `capacities` fair shares are as these, and the least loaded worker is the one with the least load by
      capacity. The slack of a worker below the mean capacity is less in proportion. The theorem holds all the more.

    Options:
        theta: least share of a heavy key (`fit`); 1 / (5 workers) by default.
        capacity: keys with a list at most. By default 10 per worker, and 2 / theta at least.
        mu: hash ranges per worker by which a sample's light keys are counted (`fit` without weights).
        epsilon: slack as a share of all weight so far.
        margin: slack in messages of average weight.
        capacities: (workers,) how much each worker can do, in any unit. By default all are alike. (Those of
            `simulator.replay` are what the simulated workers have; give it an instance that knows them.)

    >>> p = WrapAround(workers=4).fit(["a", "b", "c"], weights=[600, 100, 100])
    >>> p.choices("a"), p.choices("b"), p.choices("never seen")
    (3, 1, 1)
    >>> _ = p.route_many(["a"] * 600 + ["b"] * 100 + ["c"] * 100)
    >>> p.loads.tolist()
    [200.0, 200.0, 200.0, 200.0]
    >>> q = WrapAround(workers=4)
    >>> _ = q.route_many(["a", "b", "a", "a"] * 100)
    >>> bool(q.loads.max() - 100 <= q.epsilon * 400 + q.margin), q.choices("a"), q.choices("b")
    (True, 3, 1)
    >>> r = WrapAround(workers=2, capacities=[3, 1]).fit(["a", "b"], weights=[600, 200])
    >>> r.route("a"), r.route("b"), r.choices("a")
    (0, 1, 1)
    """

    name: ClassVar[str] = "wrap"
    on_spark: ClassVar[str] = "plan"
    planned: ClassVar[bool] = True

    def __init__(
        self,
        workers: int,
        seed: int = 0,
        *,
        theta: float | None = None,
        capacity: int | None = None,
        mu: int = 20,
        epsilon: float = 1e-4,
        margin: float = 4.0,
        capacities: Sequence[float] | None = None,
        **unknown: Any,
    ) -> None:
        count = whole_number("workers", workers, most=MOST)
        self.capacities = checked_capacities(capacities, count)
        self.theta = threshold(theta, count)
        self._cut: Cut | None = None
        super().__init__(
            workers,
            seed,
            capacity=counters(capacity, self.theta, count),
            epsilon=real_number("epsilon", epsilon),
            margin=real_number("margin", margin),
            relative=relative_capacities(self.capacities, count),
            **unknown,
        )
        self.mu = whole_number("mu", mu)
        whole_number("workers * mu", self.workers * self.mu, most=MOST)

    def fit(self: W, keys: Keys, weights: Sequence[float] | npt.NDArray[Any] | None = None) -> W:
        """Plan from known frequencies, keep that plan, and return self.

        Args:
            keys: (k,) keys. A key that is named more than once counts with the sum.
            weights: (k,) weight that each key will bring, in any unit, taken as the truth. Without weights
                `keys` is taken as a sample of the stream, and its light keys as subject to chance.

        Raises:
            ArgumentError: there are no keys, all weights are zero, a weight is negative or not finite, or
                there are not as many weights as keys.
            KeyTypeError: a key has a type that cannot be hashed.
        """
        hashes, sums = known_frequencies(keys, weights, self.seed)
        unit = 1.0 if weights is None else 0.0
        relative = None if self.capacities is None else self._relative
        self._cut = Cut(hashes, sums, self.workers, self.theta, self.mu, unit, relative)
        self._cut.seat(*self._seats)
        self.plans += 1
        return self

    def _seat(self, source: int, sources: int) -> None:
        super()._seat(source, sources)
        self._seats = source, sources
        if self._cut is not None:
            self._cut.seat(source, sources)

    def _route_one(self, hashed: int, weight: float) -> int:
        if self._cut is None:
            return super()._route_one(hashed, weight)
        return self._count_one(self._cut.turn(hashed, weight), weight)

    def _route_all(self, hashes: Hashes, weights: Floats) -> Routes:
        if self._cut is None:
            return super()._route_all(hashes, weights)
        messages = zip(hashes.tolist(), weights.tolist(), strict=True)
        turn = self._cut.turn
        routes = [turn(hashed, weight) for hashed, weight in messages]
        return self._count_all(np.array(routes, dtype=np.int64), weights)

    def _run_compiled(self, hashes: Hashes, weights: Floats, routes: Routes) -> bool:
        if self._cut is not None:
            self._cut.run_compiled(hashes, weights, self._load_view(), routes)
            self.messages += hashes.size
            return True
        return super()._run_compiled(hashes, weights, routes)

    def _choices(self, hashed: int) -> int:
        return super()._choices(hashed) if self._cut is None else self._cut.choices(hashed)

    def _workers_of(self, hashed: int) -> set[int]:
        return super()._workers_of(hashed) if self._cut is None else set(self._cut.owners_of(hashed))
