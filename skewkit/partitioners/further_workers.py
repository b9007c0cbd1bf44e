"""Which workers a key of `wrap` gets after its first candidate."""

from __future__ import annotations

from array import array
from collections.abc import MutableSequence

import numpy as np

from skewkit.partitioners.candidates import candidate
from skewkit.partitioners.checks import Floats
from skewkit.partitioners.least_loaded import LeastLoaded

_SECONDS = 4  # candidates of which a key that needs a second worker takes the least loaded; 1 with several sources
_TRIES = 8  # further candidates that sources look at, and 3 more for each worker of a list beyond two
_PLACES = 16  # of a worker with the mean capacity, among those that candidates are drawn from
_BITS = 20  # of a hash, by which it is known which second worker a key has
_SHIFT = 64 - _BITS


class FurtherWorkers:
    """A key's second worker, of which a byte is kept, and the one that joins its list when all it has are full.

    * With capacities a worker is a candidate of so many more keys, in steps of 1/16 of the mean, and at least that.
      (Evenly drawn, most keys would begin at a worker that is too slow for them, where few are fast.)
    * A key whose first two candidates are one worker has that alone, until it gets a list.
    * Keys whose hashes begin with the same 20 bits share a byte. They may begin with another second worker than the
      least loaded; they still have two, which stay the same.
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

    def __init__(self, fills: MutableSequence[float], several: bool = False, capacities: Floats | None = None) -> None:
        self._fills = fills
        often = [1] * len(fills) if capacities is None else np.rint(_PLACES * capacities).astype(int).tolist()
        places = (worker for worker, times in enumerate(often) for _ in range(max(1, times)))
        self.places = array("i", places)  # workers, each as often as it is to be drawn as a candidate
        self._least = LeastLoaded(fills)
        self.tries = _TRIES if several else 0
        self.tried = 1 if several else _SECONDS
        self.seconds = bytearray(1 << _BITS)  # number of the candidate that is second; 0 where there is none

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
