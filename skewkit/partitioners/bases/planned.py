"""Planned schemes: known frequencies, and the frame of DKG."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from functools import reduce
from typing import Any, ClassVar, TypeVar

import numpy as np
import numpy.typing as npt

from skewkit.checks import MOST, Floats, whole_number
from skewkit.errors import ArgumentError
from skewkit.hashing import hash_keys
from skewkit.hashing.key_hash import Keys
from skewkit.hashing.mix import Hashes
from skewkit.partitioners.base import Partitioner, Routes, weights_of
from skewkit.partitioners.bases.sketched import counters, threshold
from skewkit.partitioners.rules.buckets import bucket, bucket_many, expected_weights
from skewkit.sketch import SpaceSaving

_BLOCK = 1 << 14  # messages that are counted together
Plan = TypeVar("Plan", bound="Planned")


class Planned(Partitioner):
    """Heavy keys have a place of their own, all other keys go with their hash bucket.

    With `fit` the plan comes from known frequencies and stays. Without, the instance begins with all buckets dealt out
    evenly, counts what it sees (SpaceSaving for heavy keys, a weight per bucket) and plans once the number of messages
    has reached `_due`. A subclass says when that is. Sources of one stream (`share_workers`) count each for itself, and
    reach it together: one plan is made of what all have seen, and all follow it.

    Counting goes block by block: the messages up to the next multiple of 16,384, or up to the next plan, are
    added up by key and enter the sketch in falling order of weight. So calls may be cut anywhere.

    Args:
        workers: number of workers n.
        seed: seed of the hash functions.
        theta: least share of a heavy key.
        capacity: counters of the sketch.
        mu: hash buckets per worker.
    """

    planned: ClassVar[bool] = True

    def __init__(
        self, workers: int, seed: int, theta: float | None, capacity: int | None, mu: int, **unknown: Any
    ) -> None:
        super().__init__(workers, seed, **unknown)
        self.theta = threshold(theta, self.workers)
        self.capacity = counters(capacity, self.theta, self.workers)
        self.mu = whole_number("mu", mu)
        whole_number("workers * mu", self.workers * self.mu, most=MOST)
        self._owner_of_bucket = np.arange(self.workers * self.mu, dtype=np.int64) % self.workers  # worker of a bucket
        self._heads = np.empty(0, dtype=np.uint64)  # hashes of the heavy keys, rising
        self._sketch = SpaceSaving(self.capacity)
        self._seen = np.zeros(self._owner_of_bucket.size)  # weight per bucket
        self._due: float = math.inf  # number of messages of all sources at which the plan is made
        self._sources: list[Planned] = [self]
        self._block: list[tuple[Hashes, Floats]] = []  # seen, not yet counted

    # Planning

    def fit(self: Plan, keys: Keys, weights: Sequence[float] | npt.NDArray[Any] | None = None) -> Plan:
        """Plan from known frequencies, keep that plan, and return self.

        Args:
            keys: (k,) keys. A key that is named more than once counts with the sum.
            weights: (k,) weight that each key will bring, in any unit, taken as the truth. Without weights
                `keys` is taken as a sample of the stream, and its buckets as subject to chance.

        Raises:
            ArgumentError: there are no keys, all weights are zero, a weight is negative or not finite, or
                there are not as many weights as keys.
            KeyTypeError: a key has a type that cannot be hashed.
        """
        distinct, sums = known_frequencies(keys, weights, self.seed)
        hot = sums >= self.theta * sums.sum()
        seen = _per_bucket(distinct[~hot], sums[~hot], self._seen.size)
        buckets = self._expected(seen, unit=1.0 if weights is None else 0.0)
        self._due = math.inf
        self._block = []
        self._adopt(distinct[hot], sums[hot], buckets)
        return self

    def _plan_from_seen(self) -> None:
        """Plan from the sketches and the bucket weights of all sources that learn."""
        learning = [source for source in self._sources if source._due < math.inf]
        for source in learning:
            source._count_block()
        sketch = reduce(SpaceSaving.merge, [source._sketch for source in learning])
        heavy = sketch.heavy(self.theta, certain=True)
        hashes = np.array([counter.key for counter in heavy], dtype=np.uint64)
        lows = np.array([counter.low for counter in heavy])
        # Only what surely belongs to a heavy key leaves its bucket, so nothing is counted twice or lost.
        seen = sum(source._seen for source in learning)
        rest = np.maximum(0.0, seen - _per_bucket(hashes, lows, self._seen.size))
        buckets = self._expected(rest, unit=sketch.total / max(1, self._sent()))
        for source in learning:
            source._adopt(hashes, lows, buckets)
            source._due = math.inf

    def _sent(self) -> int:
        """Return the messages of all sources that learn."""
        return sum(source.messages for source in self._sources if source._due < math.inf)

    def _share(self, other: Planned) -> None:
        if self._sources is not other._sources:
            self._sources.remove(self)
            self._sources = other._sources
            self._sources.append(self)

    @property
    def alone(self) -> float:
        """Messages that the sources of a stream can still send before they plan together."""
        return math.inf if self._due == math.inf else max(0, self._due - self._sent())

    def _adopt(self, hashes: Hashes, weights: Floats, buckets: Floats) -> None:
        """Make the plan for heavy keys (in any order) and buckets."""
        order = np.lexsort((hashes, -weights))
        places = self._plan(weights[order], buckets)
        rising = np.argsort(hashes[order])
        self._heads = hashes[order][rising]
        self._place([places[i] for i in rising.tolist()])
        self.plans += 1

    def _expected(self, seen: Floats, unit: float) -> Floats:
        """Return the weight to expect in every bucket (`unit`: weight of a message, 0 if `seen` is the truth)."""
        return expected_weights(seen, unit)

    @abstractmethod
    def _plan(self, weights: Floats, buckets: Floats) -> list[Any]:
        """Set `_owner_of_bucket` and return the place of every heavy key. Heavy keys come heaviest first."""

    @abstractmethod
    def _place(self, places: list[Any]) -> None:
        """Keep the places of the heavy keys, in the order of `_heads`."""

    # Counting

    def _watch(self, hashes: Hashes, weights: Floats) -> None:
        """Note messages that have been sent; none of them lies beyond the end of the block or the plan."""
        self._block.append((hashes, weights))
        if self.messages % _BLOCK == 0:
            self._count_block()

    def _count_block(self) -> None:
        if not self._block:
            return
        hashes, weights = (np.concatenate(column) for column in zip(*self._block, strict=True))
        self._block = []
        distinct, sums = _add_up(hashes, weights)
        self._seen += _per_bucket(distinct, sums, self._seen.size)
        order = np.argsort(-sums, kind="stable")
        for key, weight in zip(distinct[order].tolist(), sums[order].tolist(), strict=True):
            self._sketch.add_sum(key, weight)

    def _replan_if_due(self) -> None:
        if self.alone <= 0:
            self._plan_from_seen()

    # Routing

    def _route_one(self, hashed: int, weight: float) -> int:
        self._replan_if_due()
        at = int(np.searchsorted(self._heads, np.uint64(hashed)))
        if at < self._heads.size and int(self._heads[at]) == hashed:
            worker = self._heavy_worker(at, weight)
        else:
            worker = int(self._owner_of_bucket[bucket(hashed, self._owner_of_bucket.size)])
        self._count_one(worker, weight)
        if self._due < math.inf:
            self._watch(np.array([hashed], dtype=np.uint64), np.array([weight]))
        return worker

    def _route_all(self, hashes: Hashes, weights: Floats) -> Routes:
        routes = np.empty(hashes.size, dtype=np.int32)
        start = 0
        while start < hashes.size:
            self._replan_if_due()
            watched = self._due < math.inf
            ahead = hashes.size
            if watched:
                ahead = min(int(self.alone), _BLOCK - self.messages % _BLOCK)
            part = slice(start, min(hashes.size, start + ahead))
            routes[part] = self._count_all(self._look_up(hashes[part], weights[part]), weights[part])
            if watched:
                self._watch(hashes[part], weights[part])
            start = part.stop
        return routes

    def _look_up(self, hashes: Hashes, weights: Floats) -> npt.NDArray[np.int64]:
        routes = self._owner_of_bucket[bucket_many(hashes, self._owner_of_bucket.size)]
        if self._heads.size:
            at = np.minimum(np.searchsorted(self._heads, hashes), self._heads.size - 1)
            heavy = np.flatnonzero(self._heads[at] == hashes)
            routes[heavy] = self._heavy_workers(at[heavy], weights[heavy])
        return routes

    @abstractmethod
    def _heavy_worker(self, head: int, weight: float) -> int:
        """Return the worker for a message of the heavy key with index `head` in `_heads`."""

    @abstractmethod
    def _heavy_workers(self, heads: npt.NDArray[np.int64], weights: Floats) -> npt.NDArray[np.int64]:
        """Return the workers for messages of heavy keys: as `_heavy_worker` one by one."""


def known_frequencies(
    keys: Keys, weights: Sequence[float] | npt.NDArray[Any] | None, seed: int
) -> tuple[Hashes, Floats]:
    """Return the distinct hashes of the keys to fit, rising, with their weights.

    Raises:
        ArgumentError: there are no keys, all weights are zero, a weight is negative or not finite, or there
            are not as many weights as keys.
        KeyTypeError: a key has a type that cannot be hashed.
    """
    hashes = hash_keys(keys, seed)
    given = weights_of(hashes.size, weights)
    total = float(given.sum())
    if total <= 0.0:
        raise ArgumentError(f"found {hashes.size} keys of weight {total:g} to fit; expected some weight")
    return _add_up(hashes, given)


def _add_up(hashes: Hashes, weights: Floats) -> tuple[Hashes, Floats]:
    """Return the distinct hashes, rising, with the sum of their weights."""
    distinct, inverse = np.unique(hashes, return_inverse=True)
    return distinct, np.bincount(inverse.reshape(-1), weights, distinct.size).astype(np.float64)


def _per_bucket(hashes: Hashes, weights: Floats, size: int) -> Floats:
    """Return the weight in every bucket."""
    return np.bincount(bucket_many(hashes, size), weights, size).astype(np.float64)
