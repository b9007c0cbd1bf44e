"""What D-Choices would have on the same messages: the measure of memory that `wrap` keeps to."""

from __future__ import annotations

import numpy as np

from skewkit.checks import Floats
from skewkit.hashing.mix import GOLDEN, Hashes, mix
from skewkit.partitioners.base import Routes
from skewkit.partitioners.d_choices import DChoices

_BITS = 22  # of a pair's hash, so that a set has four million bits
_NONE = 3  # of a set that is not used
_MOST, _ONCE = 0.35, 0.25  # part that others may add; share of keys seen just once, from which on they add none
_KEY, _AGAIN = -1, -2  # instead of a worker: a key that has been seen, and one that has been seen twice


class PairSet:
    """Counts distinct pairs of a key and a worker, in a set of bits: two pairs with one bit count as one.

    A pair is new to a set of m bits, c of which are taken, with a probability of 1 - c/m only; so each that is new
    counts as m / (m - c), and the estimate is without bias: Ting, "Streamed approximate counting of distinct elements"
    (2014). For a million pairs it is within 0.2 %.

    Args:
        bits: logarithm of the number of bits m.

    >>> pairs = PairSet()
    >>> pairs.add(7, 0), pairs.add(7, 1), pairs.add(7, 0)
    (True, True, False)
    >>> round(pairs.count, 3)
    2.0
    """

    def __init__(self, bits: int = _BITS) -> None:
        self.bits = bytearray(1 << (bits - 3))
        self.size = float(1 << bits)
        self.taken = 0  # number of bits
        self._shift = 64 - bits
        self.count = 0.0

    def add(self, hashed: int, worker: int) -> bool:
        """Add a pair, and tell whether it is new."""
        place = mix(hashed + (worker + 1) * GOLDEN) >> self._shift
        bit = 1 << (place & 7)
        if self.bits[place >> 3] & bit:
            return False
        self.bits[place >> 3] |= bit
        self.count += self.size / (self.size - self.taken)
        self.taken += 1
        return True


class Budget:
    """The pairs that D-Choices would have by now, beside one's own.

    Every scheme has one pair of each key. So it is the further ones that are compared: where most keys come once, two
    schemes have nearly as many pairs, though one has twice as many further ones.

    * `share` is one's own further pairs over those of D-Choices.
    * With s sources it is about how that would be for all of them. Where many keys are new, it is the same. Where all
      have been seen often, D-Choices has its two workers of nearly each, and other sources have given second workers
      to keys that have none here: so the share counts up to 0.35 (1 - 1/s) more, in proportion to how much less than a
      quarter of the keys have been seen just once.

    Args:
        workers: number of workers n.
        seed: seed of the hash functions.
        theta: least share of a heavy key.
        capacity: counters of the sketch.
        sources: number of sources s, where what others do is to be estimated; else 1.

    >>> budget = Budget(workers=4, seed=0, theta=0.05, capacity=40)
    >>> for key in [7, 7, 8, 7]:
    ...     budget.count(hashed=key, weight=1.0)
    >>> [budget.own.add(*pair) for pair in [(7, 2), (7, 3), (8, 1)]]
    [True, True, True]
    >>> [round(value, 3) for value in (budget.keys.count, budget.theirs.count, budget.share)]
    [2.0, 4.0, 0.5]
    """

    def __init__(self, workers: int, seed: int, theta: float, capacity: int, sources: int = 1) -> None:
        self.frugal = DChoices(workers, seed, theta=theta, capacity=capacity)
        self.own, self.theirs, self.keys = PairSet(), PairSet(), PairSet()
        self.again = PairSet(_BITS if sources > 1 else _NONE)
        self.others = _MOST * (1.0 - 1.0 / sources), _ONCE

    def count(self, hashed: int, weight: float) -> None:
        """Count what D-Choices does with a message."""
        self.theirs.add(hashed, self.frugal._route_one(hashed, weight))
        new = self.keys.add(hashed, _KEY)
        if self.others[0] > 0.0 and not new:
            self.again.add(hashed, _AGAIN)

    def routes(self, hashes: Hashes, weights: Floats) -> Routes:
        """Return what D-Choices does with messages, in a compiled loop; their pairs are counted elsewhere."""
        routes = np.empty(hashes.size, dtype=np.int32)
        self.frugal._run_compiled(hashes, weights, routes)
        return routes

    @property
    def own_share(self) -> float:
        """This source's further pairs, in further pairs of D-Choices (one, where it has none)."""
        known = self.keys.count
        return (self.own.count - known) / max(1.0, self.theirs.count - known)

    @property
    def share(self) -> float:
        """The same, as it is estimated for all sources."""
        known, (most, once) = self.keys.count, self.others
        # Keys whose bit was taken count as seen again; among the others, as many as there are bits, it is known.
        single = (known - self.again.count) / self.keys.taken
        return (1.0 + most * min(1.0, max(0.0, 1.0 - single / once))) * self.own_share
