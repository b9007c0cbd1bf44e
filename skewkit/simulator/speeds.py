"""How fast every worker works at every time: capacities that may change, and the work done under them."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from skewkit.checks import Floats
from skewkit.simulator.events import AddWorker, ChangeCapacity, Event


class Speeds:
    """The capacities of the workers, constant between the events that change them.

    A worker's clock counts the work it could have done since time 0: at capacity 1 it is the time itself. On that
    clock every message takes as long as its service time, whatever changes meanwhile. So queues are exact.

    Args:
        capacities: (workers,) at the beginning, above zero.
        events: in the order of time, every worker with its number.

    >>> speeds = Speeds(np.array([1.0, 2.0]), [ChangeCapacity(10.0, 0, 4.0)])
    >>> speeds.work(0, np.array([5.0, 12.0])).tolist()
    [5.0, 18.0]
    >>> speeds.finish(0, 5.0, 13.0), speeds.finish(1, 5.0, 13.0)  # 5 until time 10, then 8 at 4 per unit
    (12.0, 11.5)
    """

    def __init__(self, capacities: Floats, events: Iterable[Event] = ()) -> None:
        self._times = [[0.0] for _ in capacities]
        self._values = [[float(capacity)] for capacity in capacities]
        for event in events:
            if isinstance(event, AddWorker) and event.worker == len(self._times):
                self._times.append([0.0])
                self._values.append([event.capacity])
            elif isinstance(event, (AddWorker, ChangeCapacity)) and event.worker is not None:
                self._times[event.worker].append(event.time)
                self._values[event.worker].append(event.capacity)
        done = [
            np.concatenate([[0.0], np.cumsum(np.diff(times) * np.array(values[:-1]))])
            for times, values in zip(self._times, self._values, strict=True)
        ]
        self._done: list[list[float]] = [work.tolist() for work in done]  # work by the beginning of each part

    @property
    def workers(self) -> int:
        """Number of workers that there ever are."""
        return len(self._times)

    def constant(self, worker: int) -> float | None:
        """Return the capacity of a worker, or None if it changes."""
        return self._values[worker][0] if len(self._times[worker]) == 1 else None

    def work(self, worker: int, times: Floats) -> Floats:
        """Return a worker's clock at these times: the work it could have done since time 0."""
        begins, values, done = (np.array(part[worker]) for part in (self._times, self._values, self._done))
        at = np.searchsorted(begins, times, side="right") - 1
        reached: Floats = done[at] + (times - begins[at]) * values[at]
        return reached

    def times(self, worker: int, work: Floats) -> Floats:
        """Return the times at which a worker's clock shows this work: the inverse of `work`."""
        begins, values, done = (np.array(part[worker]) for part in (self._times, self._values, self._done))
        at = np.searchsorted(done, work, side="right") - 1
        reached: Floats = begins[at] + (work - done[at]) / values[at]
        return reached

    def finish(self, worker: int, start: float, work: float) -> float:
        """Return when a worker has done some work that it begins at `start`."""
        begins, values = self._times[worker], self._values[worker]
        for begin, end, capacity in zip(begins, [*begins[1:], math.inf], values, strict=True):
            begin = max(begin, start)
            if begin + work / capacity <= end:
                return begin + work / capacity
            work -= max(0.0, end - begin) * capacity
        return start
