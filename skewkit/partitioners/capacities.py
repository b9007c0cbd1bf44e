"""What workers can do, compared with each other: as given, or as their reports tell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from skewkit.errors import ArgumentError
from skewkit.partitioners.checks import Floats, non_negative

_SAMPLES = 64  # the time per message is a mean over about so many reports of a worker
_REPORTS = 32  # reports per worker from one adjustment to the next
_SLOWEST = 1e-100  # of the mean capacity, so that a load divided by it is a number
_LEAST = 1e-6  # of the mean time per message, for workers that take none


def checked_capacities(capacities: Sequence[float] | npt.NDArray[Any] | None, workers: int) -> tuple[float, ...] | None:
    """Return checked capacities, one per worker, above zero; None stays None.

    Raises:
        ArgumentError: there are not as many as workers, or one is not above zero and finite.
        ArgumentTypeError: one is not a number.

    >>> checked_capacities([1, 2], workers=2)
    (1.0, 2.0)
    """
    if capacities is None:
        return None
    found = non_negative("capacities", capacities)
    if found.size != workers:
        raise ArgumentError(f"found {found.size} capacities; expected {workers}, one per worker")
    for worker in np.flatnonzero(found == 0.0).tolist():
        raise ArgumentError(f"capacities[{worker}] is 0; expected numbers above zero: a worker that is gone is removed")
    return tuple(found.tolist())


class Capacities:
    """Capacities of all workers, with a mean of 1, which follow the reports of the workers.

    A worker's capacity is in inverse proportion to the mean time that its last messages took. Workers that have
    not reported count as what they were given for, compared with those that have.

    Args:
        given: (workers,) capacities to begin with, in any unit; None if all are alike.
        workers: number of workers.

    >>> known = Capacities(None, workers=2)
    >>> changed = [known.report(worker, 1.0 if worker else 3.0) for _ in range(32) for worker in (0, 1)]
    >>> changed.count(True), known.relative.tolist()
    (1, [0.5, 1.5])
    """

    def __init__(self, given: Sequence[float] | None, workers: int) -> None:
        shares = np.ones(workers) if given is None else np.array(given) / max(given)
        self.relative: Floats = np.maximum(shares * (workers / shares.sum()), _SLOWEST)
        self._paces = np.zeros(workers)
        self._seen = np.zeros(workers, dtype=np.int64)
        self._reports = 0

    def report(self, worker: int, service_time: float) -> bool:
        """Take notice of the time that a message took; tell whether the capacities have been adjusted."""
        self._seen[worker] = seen = min(self._seen[worker] + 1, _SAMPLES)
        self._paces[worker] += (service_time - self._paces[worker]) / seen
        self._reports += 1
        if self._reports < _REPORTS * self._paces.size:
            return False
        self._reports = 0
        known = self._seen > 0
        work = self._paces * self.relative  # time per message, at a capacity of 1
        mean = float(work[known].mean())
        if mean <= 0.0:
            return False
        paces = np.where(known, np.maximum(self._paces, _LEAST * mean), mean / self.relative)
        self.relative = 1.0 / paces
        self.relative *= paces.size / self.relative.sum()
        return True
