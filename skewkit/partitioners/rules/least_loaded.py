"""The least loaded of some workers, or of all, in logarithmic time."""

from __future__ import annotations

from collections.abc import Iterable, MutableSequence
from heapq import heapify, heappush, heapreplace


class LeastLoaded:
    """Finds the worker of least load (equal load: lowest index) in a list of loads that only grow.

    The heap holds loads as they were when it last looked. An entry on top that is out of date is renewed.
    So a call takes O(log workers) amortised over the changes of the list.

    Args:
        loads: the list itself, (workers,); it is watched, not copied.
        workers: those to choose from; all by default.

    >>> loads = [2.0, 1.0, 1.0]
    >>> least, some = LeastLoaded(loads), LeastLoaded(loads, [0])
    >>> least.worker(), some.worker()
    (1, 0)
    >>> loads[1] += 5
    >>> some.join(1)
    >>> least.worker(), some.worker(), len(some)
    (2, 0, 2)
    """

    __slots__ = ("_loads", "heap")

    def __init__(self, loads: MutableSequence[float], workers: Iterable[int] | None = None) -> None:
        self._loads = loads
        self.heap = [(loads[worker], worker) for worker in (range(len(loads)) if workers is None else workers)]
        heapify(self.heap)

    def worker(self) -> int:
        """Return the index of the least load."""
        heap, loads = self.heap, self._loads
        while True:
            seen, worker = heap[0]
            load = loads[worker]
            if load == seen:
                return worker
            heapreplace(heap, (load, worker))

    def join(self, worker: int) -> None:
        """Let one more worker be chosen from."""
        heappush(self.heap, (self._loads[worker], worker))

    def __len__(self) -> int:
        return len(self.heap)
