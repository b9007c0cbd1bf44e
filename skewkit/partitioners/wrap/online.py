"""The rule of `wrap` where frequencies are not known: a further worker when all that a key has are full."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Any

import numpy as np

from skewkit.checks import Floats
from skewkit.compiled.table import Lists
from skewkit.hashing.mix import Hashes
from skewkit.partitioners.base import Partitioner, Routes
from skewkit.partitioners.rules.candidates import candidate
from skewkit.partitioners.rules.least_loaded import LeastLoaded
from skewkit.partitioners.wrap.packed_lists import pack, unpack


class Online(Partitioner):
    """Routes by loads as they are; `skewkit.partitioners.wrap.wrap.WrapAround` says how.

    Workers go by their place here: source i of s begins to count at worker i n / s, so that of equally loaded
    workers every source takes another one. A *fill* is a load over the worker's capacity.

    Args:
        workers: number of workers n.
        seed: seed of the hash functions.
        capacity: keys with a list at most.
        epsilon: what a worker may have above its fair share, as a share of all weight.
        margin: the same in messages of average weight.
        relative: (workers,) capacities with a mean of 1.
    """

    def __init__(
        self, workers: int, seed: int, capacity: int, epsilon: float, margin: float, relative: Floats, **unknown: Any
    ) -> None:
        super().__init__(workers, seed, **unknown)
        self.capacity, self.epsilon, self.margin = capacity, epsilon, margin
        self._relative = relative
        self._total = 0.0
        self._packed: Lists | None = None  # the lists as arrays; of the two forms one is there at a time
        self._seat(0, 1)

    def _seat(self, source: int, sources: int) -> None:
        """Count places from another worker on; lists that are there already are forgotten."""
        self.plans += bool(self._total)
        self._shift = source * self.workers // sources
        rates = 1.0 / np.roll(self._relative, -self._shift)
        self._rates = array("d", rates.tolist())
        self._slacks = array("d", np.minimum(1.0, rates).tolist())  # slower workers may have less above their share
        self._fills = array("d", np.roll(np.array(self._loads) / self._relative, -self._shift).tolist())
        self._least = LeastLoaded(self._fills)
        self._own: dict[int, LeastLoaded] = {}  # hash -> workers of the key, where it had more than its candidate
        self._counts: dict[int, float] = {}  # hash -> weight since then, less what every plan has taken off
        self._packed = None

    @property
    def _lists(self) -> dict[int, LeastLoaded]:
        """The lists for single messages; compiled loops leave them as arrays."""
        if self._packed is not None:
            self._own, self._counts = unpack(self._packed, self._fills)
            self._packed = None
        return self._own

    def _route_one(self, hashed: int, weight: float) -> int:
        lists, fills, rates, slacks = self._lists, self._fills, self._rates, self._slacks
        total = self._total + weight
        fair = total / self.workers
        slack = max(self.margin * (total / (self.messages + 1)), self.epsilon * total)
        own = lists.get(hashed)
        place = self._candidate(hashed) if own is None else own.worker()
        if weight > 0.0 and fills[place] + weight * rates[place] > fair + slack * slacks[place]:
            if own is None:
                if len(lists) == self.capacity:
                    self._plan()
                own = lists[hashed] = LeastLoaded(fills, [place])
                self._counts[hashed] = 0.0
            least = self._least.worker()
            if fills[least] < fills[place]:
                own.join(least)
                place = least
        if own is not None:
            self._counts[hashed] += weight
        self._total = total
        fills[place] += weight * rates[place]
        return self._count_one((place + self._shift) % self.workers, weight)

    def _candidate(self, hashed: int) -> int:
        return (candidate(hashed, 1, self.workers) - self._shift) % self.workers

    def _plan(self) -> None:
        """Make room: forget the lighter half of the lists, of equals the older, and subtract their greatest weight."""
        lists, counts = self._lists, self._counts
        rising = sorted(counts, key=counts.__getitem__)
        gone = rising[: (len(rising) + 1) // 2]
        for hashed in gone:
            off = counts.pop(hashed)
            del lists[hashed]
        for hashed in counts:
            counts[hashed] -= off
        self.plans += 1

    def _run_compiled(self, hashes: Hashes, weights: Floats, routes: Routes) -> bool:
        from skewkit.compiled.wrap_loop import route_online

        views = self._load_view(), np.frombuffer(self._fills), np.frombuffer(self._rates), np.frombuffer(self._slacks)
        rule, done = (self._shift, self.margin, self.epsilon), 0
        while done < hashes.size:
            if self._packed is None:
                self._packed = pack(self._own, self._counts, self.capacity)
            before, so_far = done, (self._total, self.messages)
            done, self._total = route_online(hashes, weights, routes, *views, self._packed, *rule, done, *so_far)
            self.messages += done - before
            if done < hashes.size and len(self._lists) == self.capacity:  # else it is the arrays that were full
                self._plan()
        self._least = LeastLoaded(self._fills)
        return True

    def _choices(self, hashed: int) -> int:
        own = self._lists.get(hashed)
        return 1 if own is None else len(own)

    def _workers_of(self, hashed: int) -> set[int]:
        own = self._lists.get(hashed)
        places = [self._candidate(hashed)] if own is None else [place for _, place in own.heap]
        return {(place + self._shift) % self.workers for place in places}

    def _choices_beside(self, others: Sequence[Any], hashed: int) -> int:
        return len(self._workers_of(hashed).union(*(other._workers_of(hashed) for other in others)))
