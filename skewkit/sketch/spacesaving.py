"""SpaceSaving: the heaviest keys of a stream in bounded memory, weighted and mergeable.

Sources: Metwally, Agrawal and El Abbadi, "Efficient Computation of Frequent and Top-k Elements in Data
Streams", ICDT 2005; Berinde, Indyk, Cormode and Strauss, "Space-optimal Heavy Hitters with Strong Error
Bounds", TODS 2010 (weights, merging).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from heapq import heapify, heappush, heapreplace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from skewkit.checks import HEAVIEST, MOST, keys_and_weights, real_number, whole_number
from skewkit.errors import ArgumentTypeError, KeyTypeError
from skewkit.hashing.plain_keys import is_null


class _NaN(float):
    """Not a number, as a key: the same one again after pickling."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _NaN)

    def __hash__(self) -> int:
        return 0x7FF8


_NAN = _NaN("nan")


def _one(key: Hashable) -> Hashable:
    """Return a key as the dicts hold it."""
    if isinstance(key, float | np.floating):
        return _NAN if key != key else key
    return None if is_null(key) else key


class Counter(NamedTuple):
    """A key with the bounds of its weight: low <= true <= high."""

    key: Any
    low: float
    high: float


class SpaceSaving:
    """At most `counters` keys with bounds of their weight.

    * low(key) <= true weight of the key <= high(key), for every key, tracked or not (weights that are not
      whole numbers: up to rounding).
    * high(key) - low(key) <= floor <= total / counters. So every key with more than total / counters is
      tracked, and with 1 / eps counters the error is at most eps of all weight.
    * `merge` and `scale`, in any order and number, keep all of this.
    * An update takes O(log counters) amortised. Keys live in a dict, and a heap orders them by what they had when the
      heap last looked, which can only be too low.
    * Keys are equal as for a dict, and a NaN is the same key as any other, as in Spark. NA and NaT of pandas are None.
    * Deterministic: of the keys with the least count, the one that was taken in first gives way.

    Args:
        counters: number of keys tracked at most. For heavy keys of share theta take 1 / theta at least, and
            twice that to tell them from the others.

    Raises:
        ArgumentError: `counters` is below 1, or above 2**25.

    >>> sketch = SpaceSaving(2)
    >>> sketch.add_many(["a", "a", "a", "b", "c"])
    >>> sketch.low("a"), sketch.high("a"), sketch.total
    (3.0, 3.0, 5.0)
    >>> sketch.low("c"), sketch.high("c")  # took over the counter of "b", error included
    (1.0, 2.0)
    >>> sketch.high("b")  # no longer tracked: at most the floor
    1.0
    """

    def __init__(self, counters: int) -> None:
        self.counters = whole_number("counters", counters, most=MOST)
        self.total = 0.0  # all weight added
        self.floor = 0.0  # no key that is not tracked has more
        self._high: dict[Hashable, float] = {}
        self._error: dict[Hashable, float] = {}
        self._heap: list[tuple[float, int, Hashable]] = []  # one entry per tracked key; the int breaks ties
        self._turn = 0

    def add(self, key: Hashable, weight: float = 1.0) -> float:
        """Count `weight` for `key` and return low(key) afterwards.

        Raises:
            ArgumentError: `weight` is negative, not finite or above 1e300.
            ArgumentTypeError: `weight` is not a number.
            KeyTypeError: `key` cannot be hashed.
        """
        try:
            fine = 0.0 <= weight <= HEAVIEST and weight is not True and weight is not False
        except (TypeError, ValueError):
            fine = False
        if not fine:
            real_number("weight", weight, high=HEAVIEST)
        return self.add_sum(key, weight)

    def add_sum(self, key: Hashable, weight: float) -> float:
        """Do what `add` does, for a sum of checked weights, which may be more than one message may weigh."""
        try:
            count = self._high.get(key)
            if count is None and (own := _one(key)) is not key:
                key, count = own, self._high.get(own)
        except TypeError as error:
            raise _unhashable(key) from error
        if count is not None:
            self.total += weight
            self._high[key] = count = count + weight
            return count - self._error[key]
        if weight == 0.0:
            return 0.0
        self.total += weight
        if len(self._high) < self.counters:
            heappush(self._heap, (self.floor + weight, self._turn, key))
        else:
            self.floor = self._evict()
            heapreplace(self._heap, (self.floor + weight, self._turn, key))
        self._turn += 1
        self._high[key] = self.floor + weight
        self._error[key] = self.floor
        return weight

    def _evict(self) -> float:
        """Forget the key with the least count, leave its entry on top of the heap, return its count."""
        heap, high = self._heap, self._high
        while True:
            seen, turn, key = heap[0]
            count = high[key]
            if count == seen:
                break
            heapreplace(heap, (count, turn, key))
        del high[key], self._error[key]
        return count

    def add_many(
        self,
        keys: Sequence[Any] | npt.NDArray[Any],
        weights: Sequence[float] | npt.NDArray[Any] | None = None,
    ) -> None:
        """Count many keys in their order: the same state as one `add` after the other.

        Raises:
            ArgumentError: a weight is negative, not finite or above 1e300, or there are not as many weights as keys.
            ArgumentTypeError: `keys` is no sequence of keys, or a weight is no number.
        """
        listed, checked = keys_and_weights(keys, weights)
        if checked is None:
            for key in listed:
                self.add(key)
            return
        for key, weight in zip(listed, checked.tolist(), strict=True):
            self.add(key, weight)

    def low(self, key: Hashable) -> float:
        """Return a lower bound of the weight of `key`: 0 where it is not tracked."""
        try:
            return self._high.get(_one(key), 0.0) - self._error.get(_one(key), 0.0)
        except TypeError as error:
            raise _unhashable(key) from error

    def high(self, key: Hashable) -> float:
        """Return an upper bound of the weight of `key`: the floor where it is not tracked."""
        try:
            return self._high.get(_one(key), self.floor)
        except TypeError as error:
            raise _unhashable(key) from error

    def heavy(self, share: float, certain: bool = False) -> list[Counter]:
        """Return the keys whose weight may reach `share` of the total, by falling upper bound.

        * By default no key with a true share of at least `share` is missing, if share >= 1 / counters.
        * With `certain=True` every key returned truly has that share (its lower bound does), and a key with
          a true share of share + 1 / counters or more is not missing.

        Raises:
            ArgumentError: `share` is outside 0..1.
        """
        least = real_number("share", share, high=1.0) * self.total
        error = self._error
        found = [
            Counter(key, high - error[key], high)
            for key, high in self._high.items()
            if high >= least and (not certain or high - error[key] >= least)
        ]
        return sorted(found, key=lambda counter: -counter.high)

    def __iter__(self) -> Iterator[Counter]:
        for key, high in self._high.items():
            yield Counter(key, high - self._error[key], high)

    def __len__(self) -> int:
        return len(self._high)

    def merge(self, other: SpaceSaving) -> SpaceSaving:
        """Return a new sketch of both streams together; neither of the two changes.

        A key that one sketch does not track counts there with 0..floor. The heaviest `counters` upper bounds
        stay (the smaller `counters` of the two), and the floor rises to the heaviest that goes.

        Raises:
            ArgumentTypeError: `other` is not a SpaceSaving.
        """
        if not isinstance(other, SpaceSaving):
            raise ArgumentTypeError(f"cannot merge SpaceSaving with {type(other).__name__}")
        merged = SpaceSaving(min(self.counters, other.counters))
        merged.total = self.total + other.total
        merged.floor = self.floor + other.floor
        keys = list(self._high) + [key for key in other._high if key not in self._high]
        lows = (self.low(key) + other.low(key) for key in keys)
        highs = (self.high(key) + other.high(key) for key in keys)
        bounds = [Counter(*bound) for bound in zip(keys, lows, highs, strict=True)]
        bounds.sort(key=lambda c: -c.high)
        for key, low, high in bounds[: merged.counters]:
            merged._high[key] = high
            merged._error[key] = high - low
        if len(bounds) > merged.counters:
            merged.floor = max(merged.floor, bounds[merged.counters].high)
        merged._rebuild()
        return merged

    def scale(self, factor: float) -> None:
        """Multiply every weight seen so far by `factor`; zero forgets everything.

        Raises:
            ArgumentError: `factor` is negative or not finite.
        """
        factor = real_number("factor", factor)
        self.total *= factor
        self.floor *= factor
        for key in self._high:
            self._high[key] *= factor
            self._error[key] *= factor
        if factor == 0.0:
            self._high.clear()
            self._error.clear()
        self._rebuild()

    def _rebuild(self) -> None:
        """Build the heap anew, older keys first among equals."""
        self._heap = [(high, turn, key) for turn, (key, high) in enumerate(self._high.items())]
        heapify(self._heap)
        self._turn = len(self._heap)


def _unhashable(key: object) -> KeyTypeError:
    return KeyTypeError(f"a key of type {type(key).__name__} cannot be hashed; a tuple can")
