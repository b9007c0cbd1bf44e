"""Wrap-around: heavy keys cut just where a worker is full."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, TypeVar

import numpy as np
import numpy.typing as npt

from skewkit.hashing.keys import Keys
from skewkit.hashing.mix import Hashes
from skewkit.partitioners.base import Routes
from skewkit.partitioners.budget import LIMITS, Budget
from skewkit.partitioners.capacities import Capacities, checked_capacities
from skewkit.partitioners.checks import Floats, real_number, switch, whole_number
from skewkit.partitioners.cut import Cut
from skewkit.partitioners.further_workers import FurtherWorkers
from skewkit.partitioners.grown_lists import GrownLists
from skewkit.partitioners.planned import known_frequencies
from skewkit.partitioners.sketched import Sketched
from skewkit.partitioners.slack import APART, Slack
from skewkit.partitioners.yardstick import Yardstick

W = TypeVar("W", bound="WrapAround")

_SEEN = 10.0  # messages (of average weight) that a key must have before it counts as heavy
_CHANGED = 0.1  # change of a capacity, as a share, from which on a fitted plan is made anew
_LISTS = 100  # lists per worker from which on a new plan forgets some
_NEAR = 0.8  # share of the greatest load of W-Choices, above the mean, up to which heavy keys fill their workers


class WrapAround(Sketched):
    """Heavy keys get one worker after the other, each just when all that they have are full.

    skewkit's own scheme. The head, its sketch and the two candidates of every key are those of Nasir et al.,
    "When Two Choices Are not Enough"; the cut is McNaughton's wrap-around rule (1959).

    **Fitted** to known frequencies, heavy keys are cut by plan (`Cut`), and the plan stays.

    * choices(key) is the number of its pieces, 1 for nearly all keys.
    * At most keys + workers - 1 pairs of a key and a worker.
    * A stream with just these frequencies, in any order, leaves every worker within a few messages of the
      mean, whatever the skew; with whole weights sent in messages of weight 1, below the mean plus one.

    **Not fitted**, the rule is applied to the loads as they are. A key has its first candidate alone until that is
    full; then it has a second worker, the least loaded of its next four candidates, and takes the less loaded of the
    two. When both are full, the least loaded of all workers joins them: just the one with most room. From then on the
    key takes the least loaded of its list. A message may lift a worker so many messages above the mean, the most of
    those named, before it counts as full:

    ====================================  ============================================
    of a heavy key                        1.25 + slack, or 0.8 top
    of a light key with one worker        1.5 + slack, or top, or epsilon of all load
    of a light key                        2.5 + slack, or top, or epsilon of all load
    ====================================  ============================================

    Here `top` is how far the greatest load of W-Choices would be above the mean: `wrap` keeps the loads that
    W-Choices would have beside its own (`Yardstick`). So it is level where W-Choices is, and where W-Choices is not,
    because keys have become hot just now, it does not pay pairs to be better than that. `slack` is what `top` was
    lately, on average, up to two messages; up to 29 only where `wrap` has nearly as many pairs as D-Choices would
    have, of which it keeps account, too (`Slack`, `Budget`). Heavy keys leave some room, so that light keys need no
    second worker, which is where most pairs are saved. A new plan, before the messages with the numbers first,
    2 first, 4 first, ... (from 0), forgets the lists of keys that the sketch has lost, where there are more than 100
    lists per worker.

    * choices(key) is the number of workers of the key's list, else 2; it only grows until the next plan.
    * No message lifts a load above the greatest of W-Choices, or what the table allows, whichever is more, unless to
      the mean and one message (messages of equal weight, one source).
    * Pairs are mostly 10 to 60 % fewer than those of D-Choices (`benchmarks/balance.py`). Where keys come in bursts
      (`git_changes`), W-Choices is level at times, and D-Choices never: there the slack saves the pairs, as long as
      it can. A greater `epsilon` saves more.
    * With s sources what each allows itself adds up at the workers, so the numbers of the table are 0.5, 1 and 2.25,
      and the slack is 250 / s messages at most, but light keys always have all of it.
      And the second worker is the second candidate, and the worker that joins a list is not the least loaded, which
      is another one at every source, but the first of the key's further candidates that has less than the mean, so
      that sources share their workers (8 are looked at, and 3 more for each that the list has beyond two). Of workers
      with equal loads each source takes another, where the slack is small, so that what they leave uneven does not
      add up.

    With `capacities` the loads of the workers are as these: in all that was said, a load is divided by the
    worker's capacity (mean 1); W-Choices, which knows of none, is the measure as if all were alike. With `learn`
    the capacities follow the reports of the workers (`observe`); what was sent before counts as what it was worth
    then, and a plan that was fitted is made anew when a capacity has changed by a tenth.

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
        super().__init__(workers, seed, theta=theta, capacity=capacity, **unknown)
        self.mu = whole_number("mu", mu)
        self.first = 10 * self.workers if first is None else whole_number("first", first)
        self.epsilon = real_number("epsilon", epsilon)
        self.capacities = checked_capacities(capacities, self.workers)
        self.learn = self.learns = switch("learn", learn)
        self._due = self.first  # number of messages at which the next plan is made
        self._slack = Slack(self.workers)
        self._place = 0  # where in a list this source begins to look for the least loaded
        self._lists = GrownLists()  # of keys that have more than two workers
        self._known = Capacities(self.capacities, self.workers)
        self._even = self.capacities is None and not self.learn
        self._yardstick = Yardstick(self.workers)
        self._budget = Budget(self.workers, self.seed, self.theta, self.capacity)
        # Loads by capacity; where all workers are alike the loads themselves.
        self._fills = self._loads if self._even else array("d", bytes(8 * self.workers))
        self._rates = array("d", (1.0 / self._known.relative).tolist())  # fill per weight
        self._shift = 0.0  # mean fill, less the mean load
        self._further = FurtherWorkers(self._fills)
        self._cut: Cut | None = None
        self._frequencies: tuple[Hashes, Floats, float] | None = None  # what was fitted
        self._planned_for = self._known.relative  # capacities of the plan that was fitted

    def _seat(self, source: int, sources: int) -> None:
        self._slack = Slack(self.workers, sources)
        self._further = FurtherWorkers(self._fills, several=sources > 1)
        self._place = source

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

    def _make_cut(self, hashes: Hashes, sums: Floats, unit: float) -> None:
        self._planned_for = self._known.relative
        capacities = None if self._even else self._planned_for
        self._cut = Cut(hashes, sums, self.workers, self.theta, self.mu, unit, capacities)
        self.plans += 1

    def _observe(self, worker: int, hashed: int, service_time: float, now: float) -> None:
        if not self._known.report(worker, service_time):
            return
        relative = self._known.relative
        self._rates = array("d", (1.0 / relative).tolist())
        total = self._sketch.total
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
        start = 0
        while start < hashes.size:
            if self.messages >= self._due:
                self._plan()
            part = slice(start, min(hashes.size, start + self._due - self.messages))
            self._run_stretch(hashes[part], weights[part], routes[part])
            start = part.stop
        return True

    def _run_stretch(self, hashes: Hashes, weights: Floats, routes: Routes) -> None:
        """Do what `_walk` does in a compiled loop, for messages without a new plan."""
        from skewkit.compiled.cutting import route_growing, tops_of
        from skewkit.compiled.head_tail import count

        lows, _, totals = count(hashes, weights, self._table)
        fills, rates, slack = np.frombuffer(self._fills), np.array(self._rates), self._slack
        yardstick = self._yardstick
        tops = tops_of(hashes, weights, lows, totals, np.frombuffer(yardstick.loads), yardstick.top, self.theta)
        yardstick.top = float(tops[-1])
        further, budget = self._further, self._budget
        seconds, own, theirs = (
            np.frombuffer(x, np.uint8) for x in (further.seconds, budget.own.bits, budget.theirs.bits)
        )
        counts = np.array([budget.own.count, budget.theirs.count])
        frugal = budget.routes(hashes, weights)
        lists, done = self._lists.arrays(64, 8), 0
        while True:
            done, slack.recent = route_growing(
                hashes,
                weights,
                lows,
                totals,
                tops,
                fills,
                rates,
                routes,
                frugal,
                own,
                theirs,
                counts,
                LIMITS,
                seconds,
                lists,
                done,
                self.messages + done,
                slack.recent,
                slack.law,
                slack.rungs,
                self._shift,
                self.theta,
                _NEAR,
                self.epsilon,
                _SEEN,
                further.tries,
                further.tried,
                self._place,
            )
            if done == hashes.size:
                break
            lists = self._lists.arrays(2 * lists.keys.size, 2 * lists.rows.shape[1])
        budget.own.count, budget.theirs.count = counts.tolist()
        if not self._even:
            np.add.at(self._load_view(), routes, weights)
        self.messages += hashes.size

    def _walk(self, messages: Iterable[tuple[int, int, int, float]]) -> list[int]:
        loads, fills, rates, sketch, routes = self._loads, self._fills, self._rates, self._sketch, []
        add, n, theta, lists, slack = sketch.add, self.workers, self.theta, self._lists.plain, self._slack
        further, budget, (of_heavy, of_light, alone) = self._further, self._budget, slack.rungs
        for hashed, first, second, weight in messages:
            if self.messages >= self._due:
                self._plan()
                lists = self._lists.plain
            self.messages += 1
            low = add(hashed, weight)
            total = sketch.total
            mean, unit = total / n, total / self.messages
            head = low >= theta * total > 0.0
            above = self._yardstick.count(first, second, weight, head) - mean
            budget.count(hashed, weight)
            calm, easy = slack.allowed(above, unit, self.messages, budget.spent)
            mean += self._shift
            heavy = head and low >= _SEEN * unit
            if heavy:
                limit = room = max((of_heavy + calm) * unit, _NEAR * above)
            else:
                limit = max((of_light + easy) * unit, above, self.epsilon * total)
                room = max((alone + easy) * unit, above, self.epsilon * total)
            own = lists.get(hashed)
            if own is not None:
                start = self._place % len(own) if calm < APART else 0
                worker = min(own[start:] + own[:start], key=fills.__getitem__)
            else:
                worker = further.of_two(hashed, first, second, mean + room - unit)
            if fills[worker] + unit > mean + limit:
                emptiest = further.joining(hashed, own or [], mean)
                if fills[emptiest] < fills[worker]:
                    if own is None:
                        own = lists[hashed] = further.known(hashed)
                    own.append(emptiest)
                    worker = emptiest
            budget.own.add(hashed, worker)
            fills[worker] += weight * rates[worker]
            if not self._even:
                loads[worker] += weight
            routes.append(worker)
        return routes

    def _plan(self) -> None:
        """Forget the lists of keys that the sketch does not track any more, where there are many lists."""
        if len(self._lists.plain) > _LISTS * self.workers:
            low = self._sketch.low
            self._lists.keep(lambda hashed: low(hashed) > 0.0)
        self._due = 2 * self.messages
        self.plans += 1

    def _choices(self, hashed: int) -> int:
        if self._cut is not None:
            return self._cut.choices(hashed)
        own = self._lists.plain.get(hashed)
        return min(2, self.workers) if own is None else len(own)

    def _choices_beside(self, others: Sequence[Any], hashed: int) -> int:
        sources: list[WrapAround] = [self, *others]
        if any(source._cut is not None for source in sources):
            return super()._choices_beside(others, hashed)
        listed = [(source, source._lists.plain.get(hashed)) for source in sources]
        within = [(set(own), 0) if own else source._further.within(hashed) for source, own in listed]
        known, unknown = set().union(*(workers for workers, _ in within)), sum(more for _, more in within)
        return min(self.workers, max(len(known) + unknown, super()._choices_beside(others, hashed)))
