"""Which workers a key of `wrap` gets after its first candidate."""

from __future__ import annotations

from array import array
from math import log

import numpy as np

from skewkit.checks import Floats
from skewkit.hashing.mix import mix_many
from skewkit.partitioners.rules.candidates import candidate
from skewkit.partitioners.rules.least_loaded import LeastLoaded

_SECONDS = 4  # candidates of which a key that needs a second worker takes the least loaded; 1 with several sources
_TRIES = 8  # further candidates that sources look at, and 3 more for each worker of a list beyond two
_PLACES = 16  # of a worker with the mean capacity, among those that candidates are drawn from
_STEP, _MOVED = 2.0, 1.4  # doublings between what learned capacities count as, and by which one differs from that
_HALF, _AWAY = np.uint64(32), np.uint64(1 << 63)  # numbers of the points of workers are apart from those of places
_SURE = 2.0 / log(2.0)  # doublings: two standard deviations
_BITS = 20  # of a hash, by which it is known which second worker a key has
_SHIFT = 64 - _BITS


class FurtherWorkers:
    """A key's second worker, of which a byte is kept, and the one that joins its list when all it has are full.

    * With capacities a worker is a candidate of about so many more keys, 1/16 of the mean at least. (Evenly drawn, most
      keys would begin at a worker that is too slow for them, where few are fast.)
    * A key whose first two candidates are one worker has that alone, until it gets a list.
    * Keys whose hashes begin with the same 20 bits share a byte. They may begin with another second worker than the
      least loaded; they still have two, which stay the same as long as capacities do.
    * With several sources all look at a key's candidates in the same order, and take the first that will do, so that
      they share its workers.

    Args:
        fills: (workers,) loads; they are watched, not copied.
        several: whether there are several sources.
        capacities: (workers,) with the mean 1, or None where all are alike.

    >>> fills = [5.0, 0.0, 3.0, 4.0]
    >>> further = FurtherWorkers(fills)
    >>> first, second = further.pair(7)
    >>> further.of_two(7, first, second, 5.0) == first, further.known(7) == [first]
    (True, True)
    >>> further.joining(7, [1], 3.0)
    1
    """

    def __init__(self, fills: array[float], several: bool = False, capacities: Floats | None = None) -> None:
        self._fills = fills
        self.places = array("i", range(len(fills)))  # workers, each as often as it is to be drawn as a candidate
        self._ratios = np.ones(len(fills)) if capacities is None else _by_median(capacities)
        if capacities is not None:
            self._deal(capacities)
        self._least = LeastLoaded(fills)
        self.tries = _TRIES if several else 0
        self.tried = 1 if several else _SECONDS
        self.seconds = bytearray(1 << _BITS)  # number of the candidate that is second; 0 where there is none

    def follow(self, capacities: Floats, doubts: Floats) -> None:
        """Draw candidates by capacities that have been learned: each counts as the median, or as 4, 16, 1/4, ... of it.

        That changes when a capacity is more than 2.6 times what it counts as, or less than 1 / 2.6 of it, and twice
        its doubt (`Capacities`) further away. So sources that have learned a little more or less draw the same,
        and keys stay where they are.
        """
        ratios = _by_median(capacities)
        moved = np.abs(np.log2(ratios / self._ratios)) > _MOVED + _SURE * doubts
        if moved.any():
            self._ratios = np.where(moved, np.exp2(_STEP * np.rint(np.log2(ratios) / _STEP)), self._ratios)
            self._deal(self._ratios * (moved.size / self._ratios.sum()))

    def revalue(self, fills: Floats) -> None:
        """Set all loads, which may fall."""
        self._fills[:] = array("d", fills.tolist())
        self._least.sort()

    def _deal(self, capacities: Floats) -> None:
        """Give each worker 16 places times its capacity, one at least; what is beyond 16 only on average.

        Where that rounds to none, all that are above the mean share evenly what slow workers leave.
        Where all are alike, each has its 16, and candidates are those without capacities. A worker with less leaves its
        last ones to those with more, by consistent hashing: a capacity that changes moves few places.
        """
        due = np.maximum(1, np.rint(_PLACES * capacities).astype(np.int64))
        workers = np.arange(due.size, dtype=np.int32)
        places, more = np.repeat(workers, _PLACES), np.maximum(0, due - _PLACES)
        if not more.any():  # a slow worker among many: all others are a little above the mean
            more = (capacities > 1.0).astype(np.int64)
        left = np.flatnonzero(np.arange(places.size) % _PLACES >= due[places])
        if left.size:
            owners = np.repeat(workers, more)
            numbers = np.arange(owners.size) - np.repeat(np.cumsum(more) - more, more)
            points = mix_many((owners.astype(np.uint64) << _HALF) + numbers.astype(np.uint64) + _AWAY)
            order = np.argsort(points)
            at = np.searchsorted(points[order], mix_many(left.astype(np.uint64))) % points.size
            places[left] = owners[order][at]
        self.places = array("i", places.tobytes())

    def _candidate(self, hashed: int, index: int) -> int:
        return self.places[candidate(hashed, index, len(self.places))]

    def pair(self, hashed: int) -> tuple[int, int]:
        """Return the first two candidates of a key."""
        return self._candidate(hashed, 1), self._candidate(hashed, 2)

    def of_two(self, hashed: int, first: int, second: int, full: float) -> int:
        """Return the worker of a key without a list: its first alone, as long as that has no more than `full`.

        `first` and `second` are its first two candidates.
        """
        fills, slot = self._fills, hashed >> _SHIFT
        if self.seconds[slot]:
            second = self._candidate(hashed, self.seconds[slot])
            return first if fills[first] <= fills[second] else second
        if fills[first] <= full:
            return first
        best = 2
        for index in range(3, 2 + self.tried if second != first else 3):
            worker = self._candidate(hashed, index)
            if fills[worker] < fills[second]:
                best, second = index, worker
        if fills[second] < fills[first]:
            self.seconds[slot] = best
            return second
        return first

    def known(self, hashed: int) -> list[int]:
        """Return the workers of a key without a list, each once."""
        indices = (1, self.seconds[hashed >> _SHIFT] or 1)
        return list(dict.fromkeys(self._candidate(hashed, index) for index in indices))

    def within(self, hashed: int) -> tuple[set[int], int]:
        """Return the workers that a key without a list may have, and of how many more nobody knows which they are."""
        if self.tried == 1:
            return {self._candidate(hashed, index) for index in (1, 2)}, 0
        return set(self.known(hashed)), int(not self.seconds[hashed >> _SHIFT])

    def joining(self, hashed: int, own: list[int], mean: float) -> int:
        """Return the worker that joins a key's list: with several sources one that they all look at first."""
        tries = self.tries and self.tries + max(0, 3 * (len(own) - 2))
        for index in range(3, 3 + tries):
            worker = self._candidate(hashed, index)
            if self._fills[worker] < mean and worker not in own:
                return worker
        return self.emptiest()

    def emptiest(self) -> int:
        """Return the least loaded of all workers."""
        return self._least.worker()


def _by_median(capacities: Floats) -> Floats:
    return capacities / float(np.sort(capacities)[capacities.size // 2])
