"""Consistent hashing: workers on a ring, and keys that stay where they are when workers come and go.

Sources: Karger et al., "Consistent Hashing and Random Trees", STOC 1997; Huang, "Efficient Time-Evolving Stream
Processing at Scale", Section 5 (several virtual nodes per worker, and more than one worker per key).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from skewkit.checks import MOST, whole_number
from skewkit.errors import ArgumentError
from skewkit.hashing.mix import GOLDEN, Hashes, mix, mix_many

_NUMBERS = 1 << 32
"""Numbers of workers end here, so that every place has a number of 64 bits."""


class HashRing:
    """Workers stand at `points` places each on a ring of 2**64. A key belongs to the next place clockwise.

    * Where a worker stands follows from its number, `points` and the seed alone, so a ring is the same however
      its workers came and went.
    * `remove` moves only keys of the worker that goes, `add` moves keys only to the worker that comes: with
      equal workers a share of 1 / workers on average. The same holds for every list that `walk` returns: at
      most one worker of it changes.
    * The more points, the more even: a worker's share of the ring differs from the mean by about
      1 / sqrt(points) of it.

    Args:
        workers: numbers of the workers (whole numbers from 0, below 2**32), or how many there are.
        points: places per worker (virtual nodes).
        seed: any integer; the same seed gives the same places.

    Raises:
        ArgumentError: there is no worker, one is named twice, a number is out of range, or there are more than 2**25
            places.

    >>> ring = HashRing(4, points=50)
    >>> before = [ring.owner(h << 54) for h in range(1000)]
    >>> ring.remove(2)
    >>> after = [ring.owner(h << 54) for h in range(1000)]
    >>> {a for a, b in zip(before, after) if a != b}  # only keys of worker 2 have moved
    {2}
    """

    def __init__(self, workers: int | Iterable[int], points: int = 100, seed: int = 0) -> None:
        self.points = whole_number("points", points)
        self.seed = whole_number("seed", seed, least=None)
        numbers = workers if isinstance(workers, Iterable) else range(whole_number("workers", workers, most=MOST))
        named = [_checked(worker) for worker in numbers]
        if not named or len(set(named)) < len(named):
            raise ArgumentError(f"found {len(named)} workers, {len(set(named))} of them distinct; expected 1 or more")
        self._build(sorted(named))

    def add(self, worker: int) -> None:
        """Put a worker on the ring.

        Raises:
            ArgumentError: the worker stands there already, the number is out of range, or there is no place for more.
            ArgumentTypeError: `worker` is no whole number.
        """
        if (number := _checked(worker)) in self.workers:
            raise ArgumentError(f"worker {worker} is on the ring already; expected another number")
        self._build(sorted([*self.workers, number]))

    def remove(self, worker: int) -> None:
        """Take a worker off the ring.

        Raises:
            ArgumentError: the worker is not there, or is the last one.
            ArgumentTypeError: `worker` is no whole number.
        """
        if (number := _checked(worker)) not in self.workers:
            raise ArgumentError(f"worker {worker} is not on the ring; expected one of its {len(self.workers)} workers")
        if len(self.workers) == 1:
            raise ArgumentError(f"worker {worker} is the last one on the ring; add another one first")
        self._build([other for other in self.workers if other != number])

    def _build(self, workers: list[int]) -> None:
        whole_number("workers * points", len(workers) * self.points, most=MOST)
        self.workers = workers
        owners = np.repeat(np.array(self.workers, dtype=np.uint64), self.points)
        numbers = owners * np.uint64(self.points) + np.tile(np.arange(self.points, dtype=np.uint64), len(self.workers))
        places = mix_many(np.uint64(mix(self.seed)) + numbers * np.uint64(GOLDEN))
        order = np.argsort(places, kind="stable")  # workers are sorted, so equal places go by number
        self.places: list[int] = places[order].tolist()
        self.owners: list[int] = owners[order].tolist()

    def __len__(self) -> int:
        return len(self.workers)

    def start(self, hashed: int) -> int:
        """Return the index of the first place at or after a hash. `owners` says whose it is."""
        return bisect_left(self.places, hashed) % len(self.places)

    def starts(self, hashes: Hashes) -> npt.NDArray[np.int64]:
        """Return `start` of every hash, as an array (hashes,)."""
        found = np.searchsorted(np.array(self.places, dtype=np.uint64), hashes)
        return (found % len(self.places)).astype(np.int64)

    def owner(self, hashed: int) -> int:
        """Return the worker of a key by its 64-bit hash.

        Raises:
            ArgumentError: the hash is not in 0..2**64-1.
            ArgumentTypeError: it is no whole number.
        """
        return self.owners[self.start(_hash(hashed))]

    def walk(self, hashed: int, count: int) -> list[int]:
        """Return the first `count` different workers that a key meets clockwise (all of them, if there are fewer).

        * `walk(hashed, c)` begins `walk(hashed, c + 1)`, and its first worker is the owner.

        Raises:
            ArgumentError: the hash is not in 0..2**64-1, or `count` is below 1.
            ArgumentTypeError: one of them is no whole number.

        >>> ring = HashRing(3, points=10)
        >>> ring.walk(7, 2) == ring.walk(7, 3)[:2], sorted(ring.walk(7, 9))
        (True, [0, 1, 2])
        """
        owners, count = self.owners, min(whole_number("count", count), len(self.workers))
        at = self.start(_hash(hashed))
        met: list[int] = []
        while len(met) < count:
            if owners[at] not in met:
                met.append(owners[at])
            at = (at + 1) % len(owners)
        return met


def _hash(hashed: int) -> int:
    number = whole_number("hashed", hashed, least=0)
    if number >> 64:
        raise ArgumentError(f"hashed is {hashed}; expected a hash of 64 bits, as hash_key returns it")
    return number


def _checked(worker: int) -> int:
    number = whole_number("worker", worker, least=0)
    if number >= _NUMBERS:
        raise ArgumentError(f"worker is {worker}; expected a number below {_NUMBERS}")
    return number
