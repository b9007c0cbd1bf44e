"""Count-Min: the weight of any key in fixed memory, never too low; weighted and mergeable.

Source: Cormode and Muthukrishnan, "An Improved Data Stream Summary: The Count-Min Sketch and its
Applications", J. Algorithms 55, 2005. The rows use the multiply-add-shift hashes of M. Thorup, "High Speed
Hashing for Integers and Strings", 2015, Section 3.3, which are strongly universal.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from skewkit.checks import HEAVIEST, MOST, Floats, non_negative, real_number, whole_number
from skewkit.errors import ArgumentError, ArgumentTypeError
from skewkit.hashing import hash_keys
from skewkit.hashing.key_hash import Key, Keys
from skewkit.hashing.mix import GOLDEN, mix

_HALF = np.uint64(32)
_LOWER = np.uint64(0xFFFF_FFFF)
_DEEPEST = 1 << 10  # rows; exp(-745) is the least float above zero, so more make no failure rarer


class CountMin:
    """A matrix of `depth` rows and `width` cells that bounds the weight of every key.

    * true weight <= high(key), always.
    * high(key) <= true weight + e / width * total, each with probability at least 1 - exp(-depth) over the
      seed.
    * `merge` gives exactly the sketch of both streams together. It needs equal width, depth and seed.

    Args:
        width: cells per row.
        depth: rows, each with a hash function of its own.
        seed: any integer; the same seed gives the same hash functions.

    Raises:
        ArgumentError: `width` or `depth` is below 1, there are more than 1,024 rows, or more than 2**25 cells.

    >>> sketch = CountMin(width=64, depth=4)
    >>> sketch.add_many(["a", "b", "a"], weights=[1, 5, 1])
    >>> sketch.high("a"), sketch.total
    (2.0, 7.0)
    """

    def __init__(self, width: int, depth: int, seed: int = 0) -> None:
        self.width = whole_number("width", width)
        self.depth = whole_number("depth", depth, most=_DEEPEST)
        whole_number("width * depth", self.width * self.depth, most=MOST)
        self.seed = whole_number("seed", seed, least=-(1 << 63))
        self.total = 0.0
        self.cells: Floats = np.zeros((self.depth, self.width))
        draws = [mix(mix(seed) + (i + 1) * GOLDEN) for i in range(3 * self.depth)]
        self._draws = np.array(draws, dtype=np.uint64).reshape(3, self.depth, 1)

    @classmethod
    def for_error(cls, epsilon: float, delta: float, seed: int = 0) -> CountMin:
        """Return a sketch with an error above epsilon * total in at most a share delta of the cases.

        Raises:
            ArgumentError: `epsilon` or `delta` is not between 0 and 1, or they ask for more than 2**25 cells.

        >>> CountMin.for_error(epsilon=0.05, delta=0.1).cells.shape
        (3, 55)
        """
        epsilon = real_number("epsilon", epsilon, low=math.e / MOST, high=1.0)
        delta = real_number("delta", delta, high=1.0, above=True)
        return cls(math.ceil(math.e / epsilon), max(1, math.ceil(-math.log(delta))), seed)

    def slots(self, keys: Keys) -> npt.NDArray[np.int64]:
        """Return the cell of every key in every row, as an array (depth, keys)."""
        hashes = hash_keys(keys, self.seed)
        first, second, third = self._draws
        drawn = ((first + (hashes >> _HALF)) * (second + (hashes & _LOWER)) + third) >> _HALF
        return ((drawn * np.uint64(self.width)) >> _HALF).astype(np.int64)

    def add(self, key: Key, weight: float = 1.0) -> float:
        """Count `weight` for `key` and return high(key) afterwards.

        Raises:
            ArgumentError: `weight` is negative, not finite or above 1e300.
        """
        self.add_many([key], [weight])
        return self.high(key)

    def add_many(self, keys: Keys, weights: Sequence[float] | npt.NDArray[Any] | None = None) -> None:
        """Count many keys.

        Raises:
            ArgumentError: a weight is negative, not finite or above 1e300, or there are not as many weights as keys.
        """
        slots = self.slots(keys)
        amounts = np.ones(slots.shape[1]) if weights is None else non_negative("weights", weights, high=HEAVIEST)
        if amounts.size != slots.shape[1]:
            found = f"found {slots.shape[1]} keys and {amounts.size} weights"
            raise ArgumentError(f"{found}; expected one per key")
        for row, cells in zip(slots, self.cells, strict=True):
            cells += np.bincount(row, weights=amounts, minlength=self.width)
        self.total += float(amounts.sum())

    def high(self, key: Key) -> float:
        """Return an upper bound of the weight of `key`: the least of its cells."""
        return float(self.high_many([key])[0])

    def high_many(self, keys: Keys) -> Floats:
        """Return `high` of every key, as an array (keys,)."""
        bounds: Floats = np.take_along_axis(self.cells, self.slots(keys), axis=1).min(axis=0)
        return bounds

    def low(self, key: Key) -> float:
        """Return 0: the sketch bounds a weight from above only."""
        return 0.0

    def merge(self, other: CountMin) -> CountMin:
        """Return a new sketch of both streams together; neither of the two changes.

        Raises:
            ArgumentTypeError: `other` is not a CountMin.
            ArgumentError: width, depth or seed differ.
        """
        if not isinstance(other, CountMin):
            raise ArgumentTypeError(f"cannot merge CountMin with {type(other).__name__}")
        mine, yours = (self.width, self.depth, self.seed), (other.width, other.depth, other.seed)
        if mine != yours:
            raise ArgumentError(
                f"cannot merge: (width, depth, seed) is {mine} here and {yours} there; "
                "build both sketches with the same three"
            )
        merged = CountMin(*mine)
        merged.cells = self.cells + other.cells
        merged.total = self.total + other.total
        return merged

    def scale(self, factor: float) -> None:
        """Multiply every weight seen so far by `factor`; zero forgets everything.

        Raises:
            ArgumentError: `factor` is negative or not finite.
        """
        factor = real_number("factor", factor)
        self.cells *= factor
        self.total *= factor
