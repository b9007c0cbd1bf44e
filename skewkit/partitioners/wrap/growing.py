"""The rule of `wrap` where frequencies are not known: a further worker when all that a key has are full."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from math import inf
from typing import Any

import numpy as np

from skewkit.checks import Floats, real_number, whole_number
from skewkit.hashing.mix import Hashes
from skewkit.partitioners.base import Routes
from skewkit.partitioners.bases.sketched import Sketched
from skewkit.partitioners.wrap.budget import Budget
from skewkit.partitioners.wrap.further_workers import FurtherWorkers
from skewkit.partitioners.wrap.grown_lists import GrownLists
from skewkit.partitioners.wrap.heavy import DOUBT, EARLY, LEVEL, SEEN, WIDE, every, is_heavy, may_fetch
from skewkit.partitioners.wrap.slack import APART, FEW, Slack, lateness
from skewkit.partitioners.wrap.yardstick import Yardstick

_LISTS = 100  # lists per worker from which on a new plan forgets some
_NEAR = 0.8  # share of the greatest load of W-Choices, above the mean, up to which heavy keys fill their workers


class Growing(Sketched):
    """Routes by loads as they are; `skewkit.partitioners.wrap.wrap.WrapAround` says how.

    Args:
        workers: number of workers n.
        seed: seed of the hash functions.
        theta: least share of a heavy key; 1 / (5 n) by default.
        capacity: counters of the sketch; by default 10 n, and 2 / theta at least.
        first: number of messages before the first plan; 10 n by default.
        epsilon: tolerated imbalance, as a share of all load, before a light key gets a further worker.
        relative: (n,) capacities with the mean 1, or None where all workers are alike.
    """

    def __init__(
        self,
        workers: int,
        seed: int = 0,
        *,
        theta: float | None = None,
        capacity: int | None = None,
        first: int | None = None,
        epsilon: float = 0.0,
        relative: Floats | None = None,
        **unknown: Any,
    ) -> None:
        super().__init__(workers, seed, theta=theta, capacity=capacity, **unknown)
        self.first = 10 * self.workers if first is None else whole_number("first", first)
        self.epsilon = real_number("epsilon", epsilon)
        self._due = self.first  # number of messages at which the next plan is made
        self._slack = Slack(self.workers)
        self._place = 0  # where in a list this source begins to look for the least loaded
        self._lists = GrownLists()  # of keys that have more than two workers
        self._yardstick = Yardstick(self.workers)
        self._budget = Budget(self.workers, self.seed, self.theta, self.capacity)
        self._alike = relative is None
        # Loads by capacity; where all workers are alike the loads themselves.
        self._fills = self._loads if relative is None else array("d", bytes(8 * self.workers))
        self._rates = array("d", (1.0 / (np.ones(self.workers) if relative is None else relative)).tolist())
        self._shift = 0.0  # mean fill, less the mean load
        self._given = relative
        self._further = FurtherWorkers(self._fills, capacities=relative)

    def _seat(self, source: int, sources: int) -> None:
        self._slack = Slack(self.workers, sources)
        known = sources if sources <= FEW else 1
        self._budget = Budget(self.workers, self.seed, self.theta, self.capacity, known)
        self._further = FurtherWorkers(self._fills, sources > 1, self._given)
        self._place = source

    def _run_compiled(self, hashes: Hashes, weights: Floats, routes: Routes) -> bool:
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
        from skewkit.compiled.growing import route_growing, tops_of
        from skewkit.compiled.head_tail import count

        lows, _, totals = count(hashes, weights, self._table)
        fills, rates, slack = np.frombuffer(self._fills), np.array(self._rates), self._slack
        yardstick = self._yardstick
        tops = tops_of(hashes, weights, lows, totals, np.frombuffer(yardstick.loads), yardstick.top, self.theta)
        yardstick.top = float(tops[-1])
        further, budget = self._further, self._budget
        places = np.frombuffer(further.places, np.int32)
        seconds = np.frombuffer(further.seconds, np.uint8)
        sets = budget.own, budget.theirs, budget.keys, budget.again
        bits = tuple(np.frombuffer(each.bits, np.uint8) for each in sets)
        counts, taken = np.array([each.count for each in sets]), np.array([each.taken for each in sets])
        frugal = budget.routes(hashes, weights)
        lists, done, counted = self._lists.arrays(64, 8), 0, False
        much, lag, spare, looks = slack.terms.fetch
        while True:
            done, slack.recent, slack.filling = route_growing(
                hashes,
                weights,
                lows,
                totals,
                tops,
                fills,
                rates,
                routes,
                frugal,
                bits,
                counts,
                taken,
                budget.own.size,
                budget.others,
                seconds,
                lists,
                done,
                counted,
                self.messages + done,
                places,
                slack.recent,
                slack.filling,
                slack.law,
                slack.shares,
                tuple(slack.terms.both),
                tuple(slack.terms.level),
                tuple(slack.terms.thrift),
                APART,
                self._shift,
                self.theta,
                _NEAR,
                self.epsilon,
                (SEEN, DOUBT, EARLY, WIDE),
                (much, lag, LEVEL, spare),
                every(self.workers, looks),
                further.tries,
                further.tried,
                self._place,
            )
            if done == hashes.size:
                break
            lists, counted = self._lists.arrays(2 * lists.keys.size, 2 * lists.rows.shape[1]), True
        for each, of_bits, of_pairs in zip(sets, taken.tolist(), counts.tolist(), strict=True):
            each.taken, each.count = of_bits, of_pairs
        if not self._alike:
            np.add.at(self._load_view(), routes, weights)
        self.messages += hashes.size

    def _walk(self, messages: Iterable[tuple[int, int, int, float]]) -> list[int]:
        loads, fills, rates, sketch, routes = self._loads, self._fills, self._rates, self._sketch, []
        add, n, theta, lists, slack = sketch.add, self.workers, self.theta, self._lists.plain, self._slack
        further, budget, fetch = self._further, self._budget, slack.terms.fetch
        often = every(n, fetch.looks)
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
            heavy = head and is_heavy(low, total, unit, theta, n)
            part = weight / total if total > 0.0 else 0.0
            rungs = slack.allowed(above, unit, self.messages, budget.share, budget.own_share, heavy, part)
            mean += self._shift
            if heavy:
                limit = room = max(rungs.heavy * unit, _NEAR * above)
            else:
                limit = max(rungs.light * unit, above, self.epsilon * total)
                late = lateness(hashed)
                room = max((rungs.alone + rungs.spread * late) * unit, above, self.epsilon * total)
                if late + 0.5 < rungs.both and self.epsilon == 0.0:
                    room = -inf
            own = lists.get(hashed)
            if own is not None:
                start = self._place % len(own) if rungs.slack < APART else 0
                worker = min(own[start:] + own[:start], key=fills.__getitem__)
            else:
                pair = (first, second) if self._alike else further.pair(hashed)
                worker = further.of_two(hashed, *pair, mean + room - unit)
            emptiest = -1
            if heavy and self.messages % often == 0 and may_fetch(low, total, unit, n, above, budget.share, fetch):
                lowest = further.emptiest()
                if fills[lowest] + fetch.lag * unit < fills[worker]:
                    emptiest = lowest
            if emptiest < 0 and fills[worker] + unit > mean + limit:
                emptiest = further.joining(hashed, own or [], mean)
            if emptiest >= 0 and fills[emptiest] < fills[worker]:
                if own is None:
                    own = lists[hashed] = further.known(hashed)
                own.append(emptiest)
                worker = emptiest
            budget.own.add(hashed, worker)
            fills[worker] += weight * rates[worker]
            if not self._alike:
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
        own = self._lists.plain.get(hashed)
        return min(2, self.workers) if own is None else len(own)

    def _choices_beside(self, others: Sequence[Any], hashed: int) -> int:
        sources: list[Growing] = [self, *others]
        listed = [(source, source._lists.plain.get(hashed)) for source in sources]
        within = [(set(own), 0) if own else source._further.within(hashed) for source, own in listed]
        known, unknown = set().union(*(workers for workers, _ in within)), sum(more for _, more in within)
        return min(self.workers, max(len(known) + unknown, super()._choices_beside(others, hashed)))
