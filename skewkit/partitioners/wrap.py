"""Wrap-around: heavy keys cut just where a worker is full."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, TypeVar, cast

import numpy as np
import numpy.typing as npt

from skewkit.compiled.table import Lists
from skewkit.hashing.keys import Keys
from skewkit.hashing.mix import Hashes
from skewkit.partitioners.base import Routes
from skewkit.partitioners.checks import Floats, whole_number
from skewkit.partitioners.cut import Cut
from skewkit.partitioners.least_loaded import LeastLoaded
from skewkit.partitioners.planned import known_frequencies
from skewkit.partitioners.sketched import Sketched

W = TypeVar("W", bound="WrapAround")

_SEEN = 10.0  # messages (of average weight) that a key must have before it may get a further worker
_CUTS = 0.15  # share of messages of heavy keys from which on they level what single workers for the tail leave


class WrapAround(Sketched):
    """Heavy keys get one worker after the other, each just when all that they have are full.

    skewkit's own scheme. The head, its sketch and the two candidates of every key are those of Nasir et al.,
    "When Two Choices Are not Enough"; the cut is McNaughton's wrap-around rule (1959).

    **Fitted** to known frequencies, heavy keys are cut by plan (`Cut`), and the plan stays.

    * choices(key) is the number of its pieces, 1 for nearly all keys.
    * At most keys + workers - 1 pairs of a key and a worker.
    * A stream with just these frequencies, in any order, leaves every worker within a few messages of the
      mean, whatever the skew; with whole weights sent in messages of weight 1, below the mean plus one.

    **Not fitted**, the rule is applied to the loads as they are. A heavy key has its two candidates and takes
    the least loaded. When that is full (above the mean by half a message, by three if the key is lighter than
    the mean load), the least loaded of all workers joins them: just the one with most room. A key of the tail
    goes to the less loaded of its two candidates, or to the first alone while that is not full, if the heavy
    keys are enough to level the rest. A new plan, before the messages with the numbers first, 2 first,
    4 first, ... (from 0), forgets the lists of keys that are no longer heavy.

    * choices(key) is the number of workers of the key's list, else 2; it only grows until the next plan.
    * Balance is that of W-Choices, which sends every heavy key everywhere, up to a few messages.
    * Heavy keys have about as many workers as they need: on the streams of `benchmarks/balance.py` without drift
      there are fewer pairs than with D-Choices. While heavy keys change faster than a sketch of all the past
      can tell, imbalance grows as that of W-Choices does, to a fifth more, and pairs may pass those of D-Choices,
      which then does not balance.

    Options:
        theta: least share of a heavy key; 1 / (5 workers) by default.
        capacity: counters of the SpaceSaving sketch; by default 10 per worker, and 2 / theta at least.
        mu: hash ranges per worker by which a sample's light keys are counted (`fit` without weights).
        first: number of messages before the first plan; 10 per worker by default.

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
        **unknown: Any,
    ) -> None:
        super().__init__(workers, seed, theta=theta, capacity=capacity, **unknown)
        self.mu = whole_number("mu", mu)
        self.first = 10 * self.workers if first is None else whole_number("first", first)
        self._due = self.first  # number of messages at which the next plan is made
        self._slack = 2.0  # messages above the mean at which the first candidate of a light key is full
        self._headed = 0.0  # weight of messages of heavy keys
        self._grown: dict[int, list[int]] | None = {}  # lists of keys that have more than two candidates
        self._arrays: Lists | None = None  # the same as arrays; of the two forms one is there at a time
        self._least = LeastLoaded(self._loads)
        self._cut: Cut | None = None

    @property
    def _lists(self) -> dict[int, list[int]]:
        """The lists for single messages; compiled loops leave them as arrays."""
        if self._arrays is not None:
            keys, lengths, rows, _, used = self._arrays
            listed = zip(keys.tolist(), lengths.tolist(), rows[: used[0]], strict=False)
            self._grown, self._arrays = {key: row[:length].tolist() for key, length, row in listed}, None
        return cast(dict[int, list[int]], self._grown)

    def _as_arrays(self, size: int, width: int) -> Lists:
        """Return the lists for compiled loops, with room for so many and so long ones at least."""
        if self._arrays is None or size > self._arrays.keys.size or width > self._arrays.rows.shape[1]:
            from skewkit.compiled.cutting import index

            known = self._lists
            size, width = max(size, len(known)), max(width, *map(len, known.values()), 0)
            arrays = Lists(
                keys=np.zeros(size, dtype=np.uint64),
                lengths=np.zeros(size, dtype=np.int64),
                rows=np.zeros((size, width), dtype=np.int32),
                slots=np.full(1 << (4 * size - 1).bit_length(), -1, dtype=np.int32),
                used=np.array([len(known)], dtype=np.int64),
            )
            for row, (hashed, own) in enumerate(known.items()):
                arrays.keys[row], arrays.lengths[row] = hashed, len(own)
                arrays.rows[row, : len(own)] = own
            index(arrays)
            self._grown, self._arrays = None, arrays
        return self._arrays

    def _seat(self, source: int, sources: int) -> None:
        self._slack = 1.0 + 1.0 / sources  # what each source allows itself adds up at the workers

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
        unit = 1.0 if weights is None else 0.0
        self._cut = Cut(hashes, sums, self.workers, self.theta, self.mu, unit)
        self.plans += 1
        return self

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
        from skewkit.compiled.cutting import route_growing
        from skewkit.compiled.head_tail import count

        lows, totals = count(hashes, weights, self._table)
        lists, done = self._as_arrays(64, 8), 0
        while True:
            done, self._headed = route_growing(
                hashes,
                weights,
                lows,
                totals,
                self._load_view(),
                routes,
                lists,
                done,
                self.messages + done,
                self._headed,
                self.theta,
                self._slack,
                _SEEN,
                _CUTS,
            )
            if done == hashes.size:
                break
            lists = self._as_arrays(2 * lists.keys.size, 2 * lists.rows.shape[1])
        self.messages += hashes.size

    def _walk(self, messages: Iterable[tuple[int, int, int, float]]) -> list[int]:
        loads, sketch, routes = self._loads, self._sketch, []
        add, n, slack, theta = sketch.add, self.workers, self._slack, self.theta
        for hashed, first, second, weight in messages:
            if self.messages >= self._due:
                self._plan()
            self.messages += 1
            low = add(hashed, weight)
            total = sketch.total
            mean, unit = total / n, total / self.messages
            if low >= theta * total > 0.0 and low >= _SEEN * unit:
                self._headed += weight
                worker = self._head_worker(hashed, first, second, mean + (0.5 if low * n >= total else 3.0) * unit)
            elif self._headed >= _CUTS * total and loads[first] <= mean + slack * unit:
                worker = first
            else:
                worker = first if loads[first] <= loads[second] else second
            loads[worker] += weight
            routes.append(worker)
        return routes

    def _head_worker(self, hashed: int, first: int, second: int, full: float) -> int:
        """Return the least loaded worker of a heavy key; give it a further one if that is full."""
        loads, own = self._loads, self._lists.get(hashed)
        if own is None:
            worker = first if loads[first] <= loads[second] else second
        else:
            worker = min(own, key=loads.__getitem__)
        if loads[worker] > full:
            emptiest = self._least.worker()
            if loads[emptiest] < loads[worker]:
                if own is None:
                    own = self._lists[hashed] = [first] if first == second else [first, second]
                own.append(emptiest)
                return emptiest
        return worker

    def _plan(self) -> None:
        """Forget the lists of keys that are no longer heavy."""
        heavy = {counter.key for counter in self._sketch.heavy(self.theta, certain=True)}
        self._grown = {hashed: own for hashed, own in self._lists.items() if hashed in heavy}
        self._due = 2 * self.messages
        self.plans += 1

    def _choices(self, hashed: int) -> int:
        if self._cut is not None:
            return self._cut.choices(hashed)
        own = self._lists.get(hashed)
        return min(2, self.workers) if own is None else len(own)
