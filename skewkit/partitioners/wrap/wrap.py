"""Wrap-around: heavy keys cut just where a worker is full."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Any, ClassVar, TypeVar

import numpy as np
import numpy.typing as npt

from skewkit.checks import MOST, Floats, switch, whole_number
from skewkit.hashing.keys import Keys
from skewkit.hashing.mix import Hashes
from skewkit.partitioners.base import Routes
from skewkit.partitioners.bases.planned import known_frequencies
from skewkit.partitioners.capacities import Capacities, checked_capacities
from skewkit.partitioners.wrap.cut import Cut
from skewkit.partitioners.wrap.growing import Growing

W = TypeVar("W", bound="WrapAround")

_CHANGED = 0.1  # change of a capacity, as a share, from which on a fitted plan is made anew


class WrapAround(Growing):
    """Heavy keys get one worker after the other, each just when all that they have are full.

    skewkit's own scheme. The head, its sketch and the two candidates of every key are those of Nasir et al.,
    "When Two Choices Are not Enough"; the cut is McNaughton's wrap-around rule (1959).

    **Fitted** to known frequencies, heavy keys are cut by plan (`Cut`), and the plan stays.

    * choices(key) is the number of its pieces, 1 for nearly all keys.
    * At most keys + workers - 1 pairs of a key and a worker.
    * A stream with just these frequencies, in any order, leaves every worker within a few messages of the
      mean, whatever the skew; with whole weights, 1,000 per worker or more, sent in messages of weight 1, below
      the mean plus one (both with one source; each further one adds what chance sends it of the cut keys).

    **Not fitted**, the rule is applied to the loads as they are. A key has its first candidate alone until that is full
    (with several sources see below); then it has a second worker, the least loaded of its next four candidates (none,
    if the second is the first again), and takes the less loaded of the two. When both are full, the least loaded of all
    workers joins them: just the one with most room. From then on the key takes the least loaded of its list. A message
    may lift a worker so many messages above the mean, the most of those named, before it counts as full:

    ====================================  ==================================================
    of a heavy key                        0 to 1.5 + slack, or 0.8 top
    of a light key with one worker        -0.5 to 4 + slack, or top, or epsilon of all load
    of a light key                        1.5 to 6 + slack, or top, or epsilon of all load
    ====================================  ==================================================

    Where it says "to", the first number holds as long as `wrap` has at most 30 % of the further pairs, beyond one per
    key, that D-Choices would have, of which it keeps account (`Budget`), and the second from 90 % on; where it has more
    than all, numbers go on rising, for half as much again (`Slack`). So pairs are spent as long as there are any to
    spare, for loads as level as those of W-Choices, and kept together where there are not.

    Here `top` is how far the greatest load of W-Choices would be above the mean: `wrap` keeps the loads that W-Choices
    would have beside its own (`Yardstick`). So it is level where W-Choices is, and where W-Choices is not, because keys
    have become hot just now, it does not pay pairs to be better than that. `slack` is what `top` was lately, on
    average, up to two messages; up to 29 only where `wrap` has nearly as many further pairs as D-Choices. Where pairs
    are dear heavy keys leave room, so that light keys need no second worker. A key of the head counts as heavy from ten
    messages on, or from three if two workers cannot take it (`is_heavy`). A worker that is more than five
    messages below all those of a key that has the load of five workers joins the key's list, though none of them is
    full (two messages and two workers with several sources, one and three with more than eight; `may_fetch`). A new
    plan, before the messages with the numbers first, 2 first, 4 first, ... (from 0), forgets the lists of keys that the
    sketch has lost, where there are more than 100 lists per worker.

    * choices(key) is the number of workers of the key's list, else 2; it only grows until the next plan.
    * No message lifts a load above the greatest of W-Choices, or what the table allows, whichever is more, unless to
      the mean and one message (messages of equal weight, one source).
    * Where messages weigh alike, pairs are mostly 5 to 30 % fewer than those of D-Choices, with several sources 1 to
      20 % (`benchmarks/balance.py`, `benchmarks/papers.py`). Where keys come in bursts (`git_changes`), W-Choices is
      level at times, and D-Choices never: there the slack saves the pairs, as long as it can. A greater `epsilon`
      saves more.

    With s sources, none of which knows what the others send:

    * What each allows itself adds up at the workers, and a light key has few messages at each. The numbers of the table
      are 0.25 to 0.75, 0 to 4 and 2.5 to 6, from 40 to 90 % of the further pairs of D-Choices; with more than eight
      sources 0.5 to 1 (up to 1 more where heavy keys have more than half of the load), -0.5 to 1 and 2 to 5, from 85
      to 105 %.
    * Where heavy keys have little of the load, nearly all light keys take the less loaded of their first two
      candidates from the beginning, as in W-Choices and D-Choices (`Slack`; not with an `epsilon`): what the first
      candidates alone leave uneven is the same at every source, and adds up.
    * They share a key's workers. The second is the second candidate, and the worker that joins a list is not the least
      loaded, which is another one at every source, but the first of the key's further candidates that has less than
      the mean, if any (8 are looked at, and 3 more for each that the list has beyond two).
    * They give second workers to the same light keys: the number for those with one worker is 1.5 messages less for
      some, as much more for some, and in between for others, by the hash of the key; two with more than eight sources,
      and with fewer the same for all where pairs are dear.
    * Of workers with equal loads each source takes another, where the slack is small, so that what they leave uneven
      does not add up.

    With `capacities` the loads of the workers are as these: in all that was said, a load is divided by the
    worker's capacity (mean 1), and a worker is a candidate of as many more keys as its capacity is more; W-Choices,
    which knows of none, is the measure as if all were alike. With `learn` the capacities follow the reports of the
    workers (`observe`), and so do the candidates where capacities differ by more than some 2.6 times: `choices(key)`
    says how many workers a key has from then on. What was sent before counts as what it was worth then; if no
    capacities were given, what was sent before the first 28 reports per worker counts as what these tell. A plan that
    was fitted is made anew when a capacity has changed by a tenth.

    Options:
        theta: least share of a heavy key; 1 / (5 workers) by default.
        capacity: counters of the SpaceSaving sketch; by default 10 per worker, and 2 / theta at least.
        mu: hash ranges per worker by which a sample's light keys are counted (`fit` without weights).
        first: number of messages before the first plan; 10 per worker by default.
        epsilon: tolerated imbalance, as a share of all load, before a light key gets a further worker; 0 by
            default. A greater one saves pairs.
        capacities: (workers,) how much each worker can do, in any unit; by default all are alike. (Those of
            `simulator.replay` are what the simulated workers have; give it an instance that knows them.)
        learn: whether the capacities follow the reports of the workers.

    >>> p = WrapAround(workers=4).fit(["a", "b", "c"], weights=[600, 100, 100])
    >>> p.choices("a"), p.choices("b"), p.choices("never seen")
    (3, 1, 1)
    >>> _ = p.route_many(["a"] * 600 + ["b"] * 100 + ["c"] * 100)
    >>> p.loads.tolist()
    [200.0, 200.0, 200.0, 200.0]
    >>> q = WrapAround(workers=4)
    >>> _ = q.route_many(["a", "b", "a", "a"] * 100)
    >>> q.loads.tolist(), q.choices("a")
    ([100.0, 100.0, 100.0, 100.0], 3)
    >>> r = WrapAround(workers=2, capacities=[3, 1]).fit(["a", "b"], weights=[600, 200])
    >>> r.route("a"), r.route("b"), r.choices("a")
    (0, 1, 1)
    """

    name: ClassVar[str] = "wrap"
    planned: ClassVar[bool] = True

    def __init__(
        self,
        workers: int,
        seed: int = 0,
        *,
        theta: float | None = None,
        capacity: int | None = None,
        mu: int = 20,
        first: int | None = None,
        epsilon: float = 0.0,
        capacities: Sequence[float] | None = None,
        learn: bool = False,
        **unknown: Any,
    ) -> None:
        self.capacities = checked_capacities(capacities, whole_number("workers", workers, most=MOST))
        self._known = Capacities(self.capacities, int(workers))
        relative = None if self.capacities is None and not learn else self._known.relative
        super().__init__(
            workers, seed, theta=theta, capacity=capacity, first=first, epsilon=epsilon, relative=relative, **unknown
        )
        self.mu = whole_number("mu", mu)
        whole_number("workers * mu", self.workers * self.mu, most=MOST)
        self.learn = self.learns = switch("learn", learn)
        self._cut: Cut | None = None
        self._seats = 0, 1  # which source this is, and of how many
        self._frequencies: tuple[Hashes, Floats, float] | None = None  # what was fitted
        self._planned_for = self._known.relative  # capacities of the plan that was fitted

    def fit(self: W, keys: Keys, weights: Sequence[float] | npt.NDArray[Any] | None = None) -> W:
        """Plan from known frequencies, keep that plan, and return self.

        Args:
            keys: (k,) keys; a key that is named more than once counts with the sum.
            weights: (k,) weight that each key will bring, in any unit, taken as the truth. Without weights
                `keys` is taken as a sample of the stream, and its light keys as subject to chance.

        Raises:
            ArgumentError: there are no keys, all weights are zero, a weight is negative or not finite, or
                there are not as many weights as keys.
            KeyTypeError: a key has a type that cannot be hashed.
        """
        hashes, sums = known_frequencies(keys, weights, self.seed)
        self._frequencies = hashes, sums, 1.0 if weights is None else 0.0
        self._make_cut(*self._frequencies)
        return self

    def _seat(self, source: int, sources: int) -> None:
        super()._seat(source, sources)
        self._seats = source, sources
        self._further.follow(self._known.relative, self._known.doubts)
        if self._cut is not None:
            self._cut.seat(source, sources)

    def _make_cut(self, hashes: Hashes, sums: Floats, unit: float) -> None:
        self._planned_for = self._known.relative
        capacities = None if self._alike else self._planned_for
        self._cut = Cut(hashes, sums, self.workers, self.theta, self.mu, unit, capacities)
        self._cut.seat(*self._seats)
        self.plans += 1

    def _observe(self, worker: int, hashed: int, service_time: float, now: float) -> None:
        if not self._known.report(worker, service_time):
            return
        relative = self._known.relative
        self._rates = array("d", (1.0 / relative).tolist())
        total = self._sketch.total
        self._further.follow(relative, self._known.doubts)
        if self._known.new:
            self._further.revalue(np.array(self._loads) / relative)
        self._shift = (float(np.dot(relative, np.array(self._fills))) - total) / self.workers
        if self._frequencies is not None and np.any(np.abs(relative / self._planned_for - 1.0) > _CHANGED):
            self._make_cut(*self._frequencies)

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

    def _choices_beside(self, others: Sequence[Any], hashed: int) -> int:
        sources: list[WrapAround] = [self, *others]
        planned = set().union(*(source._cut.owners_of(hashed) for source in sources if source._cut is not None))
        free = [source for source in sources if source._cut is None]
        more = Growing._choices_beside(free[0], free[1:], hashed) if free else 0
        return min(self.workers, len(planned) + more)
