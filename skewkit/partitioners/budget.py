"""What D-Choices would have on the same messages: the measure of memory that `wrap` keeps to."""

from __future__ import annotations

import numpy as np

from skewkit.hashing.mix import GOLDEN, Hashes, mix
from skewkit.partitioners.base import Routes
from skewkit.partitioners.checks import Floats
from skewkit.partitioners.d_choices import DChoices

_BITS = 22  # of a pair's hash, so that a set has four million bits
LIMITS = 0.9, 0.95  # share of the pairs of D-Choices from which on some of the budget is spent, and all of it


class PairSet:
    """Counts distinct pairs of a key and a worker, in a set of bits: two pairs with one bit count as one.

    That is the count of Whang et al., "A linear-time probabilistic counting algorithm" (1990), before it is corrected
    for such collisions. Two sets with as many pairs have about as many bits, so they can be compared as they are.

    >>> pairs = PairSet()
    >>> pairs.add(7, 0), pairs.add(7, 1), pairs.add(7, 0)
    (True, True, False)
    >>> pairs.count
    2
    """

    def __init__(self) -> None:
        self.bits = bytearray(1 << (_BITS - 3))
        self.count = 0

    def add(self, hashed: int, worker: int) -> bool:
        """Add a pair, and tell whether it is new."""
        place = mix(hashed + (worker + 1) * GOLDEN) >> (64 - _BITS)
        bit = 1 << (place & 7)
        if self.bits[place >> 3] & bit:
            return False
        self.bits[place >> 3] |= bit
        self.count += 1
        return True


class Budget:
    """The pairs that D-Choices would have by now, beside one's own.

    * `share` is one's own pairs over those of D-Choices.

    Args:
        workers: number of workers n.
        seed: seed of the hash functions.
        theta: least share of a heavy key.
        capacity: counters of the sketch.

    >>> budget = Budget(workers=4, seed=0, theta=0.05, capacity=40)
    >>> budget.count(hashed=7, weight=1.0)
    >>> budget.share, budget.own.add(7, 2), budget.share
    (0.0, True, 1.0)
    """

    def __init__(self, workers: int, seed: int, theta: float, capacity: int) -> None:
        self.frugal = DChoices(workers, seed, theta=theta, capacity=capacity)
        self.own, self.theirs = PairSet(), PairSet()

    def count(self, hashed: int, weight: float) -> None:
        """Count what D-Choices does with a message."""
        self.theirs.add(hashed, self.frugal._route_one(hashed, weight))

    def routes(self, hashes: Hashes, weights: Floats) -> Routes:
        """Return what D-Choices does with messages, in a compiled loop; their pairs are counted elsewhere."""
        routes = np.empty(hashes.size, dtype=np.int32)
        self.frugal._run_compiled(hashes, weights, routes)
        return routes

    @property
    def share(self) -> float:
        """One's own pairs, in pairs of D-Choices."""
        return self.own.count / self.theirs.count
