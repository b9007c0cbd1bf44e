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
from skewkit.partitioners.candidates import candidate
from skewkit.partitioners.capacities import Capacities, checked_capacities
from skewkit.partitioners.checks import Floats, real_number, switch, whole_number
from skewkit.partitioners.cut import Cut
from skewkit.partitioners.grown_lists import GrownLists
from skewkit.partitioners.least_loaded import LeastLoaded
from skewkit.partitioners.planned import known_frequencies
from skewkit.partitioners.sketched import Sketched
from skewkit.partitioners.yardstick import Yardstick

W = TypeVar("W", bound="WrapAround")

_SEEN = 10.0  # messages (of average weight) that a key must have before it counts as heavy
_CHANGED = 0.1  # change of a capacity, as a share, from which on a fitted plan is made anew
_RUNGS = (0.0, 2.5, 2.5, 3.5)  # messages above the mean at which a worker is full; see the class
_TRIES = 8  # further candidates of a key that are looked at, and 3 more for each worker of its list beyond two
_LISTS = 100  # lists per worker from which on a new plan forgets some
_NEAR = 0.8  # share of the greatest load of W-Choices, above the mean, up to which heavy keys fill their workers
_LEVEL = 1.25  # times the share of heavy keys that levels the rest: so many level what W-Choices leaves, too


def enough_to_level(workers: int) -> float:
    """Return the share of messages of heavy keys from which on they level what single workers for the tail leave.

    >>> enough_to_level(50), enough_to_level(1000)
    (0.15, 0.25)
    """
    return min(0.25, (100 + workers) / 1000)


class WrapAround(Sketched):
    """Heavy keys get one worker after the other, each just when all that they have are full.

    skewkit's own scheme. The head, its sketch and the two candidates of every key are those of Nasir et al.,
    "When Two Choices Are not Enough"; the cut is McNaughton's wrap-around rule (1959).

    **Fitted** to known frequencies, heavy keys are cut by plan (`Cut`), and the plan stays.

    * choices(key) is the number of its pieces, 1 for nearly all keys.
    * At most keys + workers - 1 pairs of a key and a worker.
    * A stream with just these frequencies, in any order, leaves every worker within a few messages of the
      mean, whatever the skew; with whole weights sent in messages of weight 1, below the mean plus one.

    **Not fitted**, the rule is applied to the loads as they are. A key has its two candidates and takes the less
    loaded, or the first as long as that has room alone. When they are full, the least loaded of all workers joins
    them: just the one with most room. From then on the key takes the least loaded of its list. What counts as full
    is measured by W-Choices: beside its own loads `wrap` keeps those that W-Choices would have (`Yardstick`), whose
    greatest is `top` above the mean. A worker is full above the mean plus so many messages, the most of those named:

    ==================================  ==========================================================
    for a heavy key                     2.5, or 0.8 top
    for a light key                     3.5, or top, or epsilon of all load
    for a light key, as the first of    0; 2.5 where heavy keys are 10 % of all messages and 0.1 %
    two candidates                      per worker (25 % at most), so that they can level the rest;
                                        2.5, or top, where they are 1.25 times that
    ==================================  ==========================================================

    So `wrap` is level where W-Choices is, and where W-Choices is not, because keys have become hot just now, it does
    not pay pairs to be better than that. The rungs of heavy keys are lower, so that light keys find room with their
    first candidate, which is where pairs are saved. A new plan, before the messages with the numbers first, 2 first,
    4 first, ... (from 0), forgets the lists of keys that the sketch has lost, where there are more than 100 lists
    per worker.

    * choices(key) is the number of workers of the key's list, else 2; it only grows until the next plan.
    * At any time no load exceeds the mean by more than 3.5 messages, or epsilon of all load, and one message,
      unless W-Choices has a load that does; then by one message more than the greatest of W-Choices at most
      (messages of equal weight, one source). So I(m) <= max(I(m) of W-Choices + 1 / m, epsilon + 4.5 / m).
    * Heavy keys have about as many workers as they need: `benchmarks/balance.py` compares pairs with D-Choices.
      Where keys come in bursts (`git_changes`), W-Choices is level at times, and D-Choices never: there pairs may
      pass those of D-Choices by some percent. A greater `epsilon` saves some of them. (No rule can always have
      both: a key that brings c messages while the mean rises by r needs (c - slack) / r workers at least, slack
      being the room of all workers when it begins, which is little where all are level.)
    * With s sources the rungs 2.5 and 3.5 are divided by s, as what each allows itself adds up at the workers. And
      the worker that joins a list is not the least loaded, which is another one at every source, but the first of
      the key's further candidates that has less than the mean, so that sources share their workers (8 are looked
      at, and 3 more for each that the list has beyond two). W-Choices may be more level then, and takes more pairs.

    With `capacities` the loads of the workers are as these: in all that was said, a load is divided by the
    worker's capacity (mean 1), and W-Choices, which knows of no capacities, is no measure: top is 0. With `learn`
    the capacities follow the reports of the workers (`observe`); what was sent before counts as what it was worth
    then, and a plan that was fitted is made anew when a capacity has changed by a tenth.

    Options:
        theta: least share of a heavy key; 1 / (5 workers) by default.
        capacity: counters of the SpaceSaving sketch; by default 10 per worker, and 2 / theta at least.
        mu: hash ranges per worker by which a sample's light keys are counted (`fit` without weights).
        first: number of messages before the first plan; 10 per worker by default.
        epsilon: tolerated imbalance, as a share of all load, before a light key gets a further worker; 0 by
            default. A greater one saves pairs where keys come in bursts.
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
        self._rungs = _RUNGS
        self._cuts = enough_to_level(self.workers), _LEVEL * enough_to_level(self.workers)
        self._tries = 0  # further candidates to look at; none where there is one source
        self._headed = 0.0  # weight of messages of heavy keys
        self._lists = GrownLists()  # of keys that have more than two candidates
        self._known = Capacities(self.capacities, self.workers)
        self._even = self.capacities is None and not self.learn
        self._yardstick = Yardstick(self.workers) if self._even else None
        # Loads by capacity; where all workers are alike the loads themselves.
        self._fills = self._loads if self._even else array("d", bytes(8 * self.workers))
        self._rates = array("d", (1.0 / self._known.relative).tolist())  # fill per weight
        self._shift = 0.0  # mean fill, less the mean load
        self._least = LeastLoaded(self._fills)
        self._cut: Cut | None = None
        self._frequencies: tuple[Hashes, Floats, float] | None = None  # what was fitted
        self._planned_for = self._known.relative  # capacities of the plan that was fitted

    def _seat(self, source: int, sources: int) -> None:
        poor, alone, of_heavy, of_light = _RUNGS  # what each source allows itself adds up at the workers
        self._rungs = poor / sources, alone / sources, of_heavy / sources, of_light / sources
        self._tries = _TRIES if sources > 1 else 0

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
        fills, rates = np.frombuffer(self._fills), np.array(self._rates)
        yardstick, tops = self._yardstick, np.zeros(hashes.size)
        if yardstick is not None:
            tops = tops_of(hashes, weights, lows, totals, np.frombuffer(yardstick.loads), yardstick.top, self.theta)
            yardstick.top = float(tops[-1])
        lists, done = self._lists.arrays(64, 8), 0
        while True:
            done, self._headed = route_growing(
                hashes,
                weights,
                lows,
                totals,
                tops,
                fills,
                rates,
                routes,
                lists,
                done,
                self.messages + done,
                self._headed,
                self._shift,
                self.theta,
                self._rungs,
                _NEAR,
                self.epsilon,
                _SEEN,
                self._cuts,
                self._tries,
            )
            if done == hashes.size:
                break
            lists = self._lists.arrays(2 * lists.keys.size, 2 * lists.rows.shape[1])
        if not self._even:
            np.add.at(self._load_view(), routes, weights)
        self.messages += hashes.size

    def _walk(self, messages: Iterable[tuple[int, int, int, float]]) -> list[int]:
        loads, fills, rates, sketch, routes = self._loads, self._fills, self._rates, self._sketch, []
        add, n, theta, lists, yardstick = sketch.add, self.workers, self.theta, self._lists.plain, self._yardstick
        poor, alone, of_heavy, of_light = self._rungs
        for hashed, first, second, weight in messages:
            if self.messages >= self._due:
                self._plan()
                lists = self._lists.plain
            self.messages += 1
            low = add(hashed, weight)
            total = sketch.total
            mean, unit = total / n + self._shift, total / self.messages
            head = low >= theta * total > 0.0
            above = (0.0 if yardstick is None else yardstick.count(first, second, weight, head)) - mean
            heavy = head and low >= _SEEN * unit
            if heavy:
                limit = max(of_heavy * unit, _NEAR * above)
            else:
                limit = max(of_light * unit, above, self.epsilon * total)
            own = lists.get(hashed)
            if own is not None:
                worker = min(own, key=fills.__getitem__)
            else:
                room = poor * unit
                if self._headed >= self._cuts[1] * total:
                    room = max(alone * unit, above)
                elif self._headed >= self._cuts[0] * total:
                    room = alone * unit
                one = not heavy and fills[first] <= mean + room
                worker = first if one or fills[first] <= fills[second] else second
            if fills[worker] > mean + limit:
                emptiest = self._roomy(hashed, own or (), mean)
                if fills[emptiest] < fills[worker]:
                    lists.setdefault(hashed, [first] if first == second else [first, second]).append(emptiest)
                    worker = emptiest
            if heavy:
                self._headed += weight
            fills[worker] += weight * rates[worker]
            if not self._even:
                loads[worker] += weight
            routes.append(worker)
        return routes

    def _roomy(self, hashed: int, own: Sequence[int], mean: float) -> int:
        """Return the worker that joins a key's list: with several sources one that they all look at first."""
        tries = self._tries and self._tries + max(0, 3 * (len(own) - 2))
        for index in range(3, 3 + tries):
            worker = candidate(hashed, index, self.workers)
            if self._fills[worker] < mean and worker not in own:
                return worker
        return self._least.worker()

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
        candidates = {candidate(hashed, index, self.workers) for index in (1, 2)}
        grown = candidates.union(*(source._lists.plain.get(hashed, ()) for source in sources))
        return max(len(grown), super()._choices_beside(others, hashed))
