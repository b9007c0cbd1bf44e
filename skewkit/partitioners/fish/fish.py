"""FISH: recent hot keys, as many workers as their frequency asks for, and the worker with the shortest wait."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from skewkit.checks import MOST, Floats, one_of, real_number, whole_number
from skewkit.hashing.mix import GOLDEN, Hashes, mix
from skewkit.partitioners.base import Partitioner, Routes
from skewkit.partitioners.fish.hot_keys import RULES, HotKeys
from skewkit.partitioners.fish.waiting import WaitingTimes
from skewkit.sketch import HashRing

_REMEMBERED = 1 << 14  # lists of candidates kept; they are found again when needed
_ASSIGNMENTS = ("wait", "load")


class Fish(Partitioner):
    """FISH: hot keys by epochs with decay, CHK for the number of workers, HWA to choose among them, on a ring.

    Source: Huang, "Efficient Time-Evolving Stream Processing at Scale": Algorithms 1 and 2 (`HotKeys`),
    Algorithm 3 (`WaitingTimes`), Section 5 (`HashRing`): a key's workers are the first d that it meets
    clockwise.

    * choices(key) is 2, or d while the key is hot. The workers of a smaller d are among those of a greater one.
    * `observe` tells how fast the workers are. With no reports all are taken to be alike.
    * A worker that goes changes at most one of a key's workers, and only where it was one of them; a worker
      that comes likewise (Section 5).

    Options:
        theta: a key is hot above this share. By default 1 / (4 workers) of those that are present (Section 6.3).
        epoch: messages per epoch.
        alpha: factor of decay after every epoch, 0..1; 1 counts the whole lifetime.
        capacity: counters of the sketch (K_max). By default 1,000, and 10 per worker at least.
        interval: time between two estimates of what the workers have left to do (T).
        points: virtual nodes of every worker on the ring. 0 does without the ring and takes the hash modulo
            the number of workers (the comparison of Section 6.5).
        margin: None is the rule of the paper, by which new keys look hot right after a decay. A number asks
            for evidence instead, so many standard errors of it (see `HotKeys`). 2 is a good choice.
        hot_rule: "chk"; "all" and "optimal" give hot keys the workers that W-Choices and D-Choices give them.
        assignment: "wait" is HWA; "load" chooses by the weight sent, as other schemes do.

    >>> p = Fish(workers=10, seed=1)
    >>> _ = p.route_many(["hot", *range(4)] * 100)
    >>> p.choices("hot"), p.choices("never seen")
    (10, 2)
    >>> p.remove_worker(3)
    >>> 3 in p.route_many(range(1000))
    False
    """

    name: ClassVar[str] = "fish"
    learns = True
    elastic: ClassVar[bool] = True

    def __init__(
        self,
        workers: int,
        seed: int = 0,
        *,
        theta: float | None = None,
        epoch: int = 1000,
        alpha: float = 0.2,
        capacity: int | None = None,
        interval: float = 10.0,
        points: int = 100,
        margin: float | None = None,
        hot_rule: str = "chk",
        assignment: str = "wait",
        **unknown: Any,
    ) -> None:
        super().__init__(workers, seed, **unknown)
        self._by_workers = theta is None
        share = 1 / (4 * self.workers)
        self.theta = real_number("theta", share if theta is None else theta, high=1.0, above=True)
        self.epoch = whole_number("epoch", epoch, most=1 << 53)  # a float can count so many messages
        self.alpha = real_number("alpha", alpha, high=1.0)
        default = min(max(1000, 10 * self.workers), MOST)
        self.capacity = whole_number("capacity", default if capacity is None else capacity, most=MOST)
        self.interval = real_number("interval", interval)
        self.points = whole_number("points", points, least=0)
        self.margin = None if margin is None else real_number("margin", margin)
        self.hot_rule = one_of("hot_rule", hot_rule, RULES)
        self.assignment = one_of("assignment", assignment, _ASSIGNMENTS)
        counting = self.theta, self.epoch, self.alpha, self.capacity
        self._hot = HotKeys(self.workers, *counting, self.hot_rule, self.margin)
        self._waiting = WaitingTimes(self.workers, self.interval)
        self._ring = HashRing(self.workers, self.points, self.seed) if self.points else None
        self._walks: dict[int, list[int]] = {}  # candidates of hot keys
        self._source = 0
        self._told: float | None = None  # the latest time that somebody told

    def _seat(self, source: int, sources: int) -> None:
        self._source = source
        self._waiting.sources = sources

    def _now(self) -> float:
        return self._told if self._told is not None else self._source + self.messages * self._waiting.sources

    def _route_one(self, hashed: int, weight: float) -> int:
        degree = self._hot.count(hashed, weight)
        candidates = self._candidates(hashed, degree)
        if self.assignment == "load":
            return self._count_one(min(candidates, key=self._loads.__getitem__), weight)
        self._waiting.advance(self._now(), self._hot.unit)
        worker = self._waiting.shortest(candidates)
        self._waiting.send(worker, weight)
        return self._count_one(worker, weight)

    def _run_compiled(self, hashes: Hashes, weights: Floats, routes: Routes) -> bool:
        from skewkit.compiled.fish_loop import route_fish

        degrees, units = self._hot.count_many(hashes, weights)
        ring, waiting = self._ring, self._waiting
        unprocessed = np.array(waiting.unprocessed)
        prior = route_fish(
            hashes,
            weights,
            self._load_view(),
            routes,
            degrees,
            units,
            np.array(self._active, dtype=np.int64),
            np.array([] if ring is None else ring.places, dtype=np.uint64),
            np.array([] if ring is None else ring.owners, dtype=np.int64),
            unprocessed,
            np.array(waiting.pace),
            self.assignment == "load",
            float(self._now()),
            0.0 if self._told is not None else float(waiting.sources),
            math.nan if waiting.prior is None else waiting.prior,
            waiting.interval,
            waiting.sources,
        )
        waiting.unprocessed, waiting.prior = unprocessed.tolist(), None if math.isnan(prior) else prior
        self.messages += hashes.size
        return True

    def _candidates(self, hashed: int, degree: int) -> list[int]:
        """Return the first `degree` workers of a key."""
        if degree >= len(self._active):
            return self._active
        if degree <= 2:
            return self._walk(hashed, degree)
        known = self._walks.get(hashed)
        if known is None or len(known) != degree:
            if len(self._walks) >= _REMEMBERED:
                self._walks.clear()
            known = self._walks[hashed] = self._walk(hashed, degree)
        return known

    def _walk(self, hashed: int, degree: int) -> list[int]:
        if self._ring is not None:
            return self._ring.walk(hashed, degree)
        met: dict[int, None] = {}
        index = 0
        while len(met) < degree:
            index += 1
            met[self._active[mix(hashed + index * GOLDEN) % len(self._active)]] = None
        return list(met)

    def _choices(self, hashed: int) -> int:
        return self._hot.degree(hashed)

    def _observe(self, worker: int, hashed: int, service_time: float, now: float) -> None:
        self._tick(now)
        self._waiting.sample(worker, service_time)

    def _tick(self, now: float) -> None:
        self._told = now if self._told is None else max(now, self._told)

    def _admit(self, worker: int) -> None:
        if self._ring is not None:
            self._ring.add(worker)
        self._waiting.admit(worker)
        self._changed()

    def _dismiss(self, worker: int) -> None:
        if self._ring is not None:
            self._ring.remove(worker)
        self._waiting.dismiss()
        self._changed()

    def _changed(self) -> None:
        if self._by_workers:
            self.theta = self._hot.theta = 1 / (4 * len(self._active))
        self._hot.workers = len(self._active)
        self._walks.clear()
