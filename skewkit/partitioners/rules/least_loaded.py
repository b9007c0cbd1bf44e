"""The least loaded of all workers, in logarithmic time."""

from __future__ import annotations

from collections.abc import MutableSequence
from heapq import heapreplace


class LeastLoaded:
    """Finds the worker of least load (equal load: lowest index) in a list of loads that only grow, but for `sort`.

    The heap holds loads as they were when it last looked; an entry on top that is out of date is renewed.
    So a call takes O(log workers) amortised over the changes of the list.

    Args:
        loads: the list itself, (workers,); it is watched, not copied.

    >>> loads = [2.0, 1.0, 1.0]
    >>> least = LeastLoaded(loads)
    >>> least.worker()
    1
    >>> loads[1] += 5
    >>> least.worker()
    2
    """

    def __init__(self, loads: MutableSequence[float]) -> None:
        self._loads = loads
        self.sort()

    def sort(self) -> None:
        """Look at all loads anew, after some have fallen."""
        self._heap = sorted((load, worker) for worker, load in enumerate(self._loads))

    def worker(self) -> int:
        """Return the index of the least load."""
        heap, loads = self._heap, self._loads
        while True:
            seen, worker = heap[0]
            load = loads[worker]
            if load == seen:
                return worker
            heapreplace(heap, (load, worker))
