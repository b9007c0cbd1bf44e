"""What workers can do, compared with each other: as given, or as their reports tell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from skewkit.checks import Floats, non_negative
from skewkit.errors import ArgumentError

_SAMPLES = 64  # the time per message is a mean over about so many reports of a worker
_SOON, _REPORTS = 4, 32  # reports per worker to the first adjustment, and, each time doubled, from one to the next
_PRIOR = 4.0  # reports that count as much as what was known before, where times vary by as much as their mean
_SLOWEST = 1e-100  # of the mean capacity, so that a load divided by it is a number
_LEAST = 1e-6  # of the usual time per message, for workers that take none


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

    A worker's capacity is in inverse proportion to the mean time that its last messages took, some 64 of them. While it
    has reported less often, what it was given for counts as well: at first as much as four reports where times vary by
    as much as their mean, less with every report, and not at all where times do not vary. Workers that have not
    reported count as what they were given for, compared with those that have.

    * `doubts` (workers,) is about by how much chance may change the logarithm of a capacity, as a standard deviation.
    * `new` says whether capacities that nobody gave have been adjusted three times at most (28 reports per worker).

    Args:
        given: (workers,) capacities to begin with, in any unit; None if all are alike.
        workers: number of workers.

    >>> known = Capacities(None, workers=2)
    >>> changed = [known.report(worker, 1.0 if worker else 3.0) for _ in range(32) for worker in (0, 1)]
    >>> changed.count(True), known.relative.tolist(), known.new
    (3, [0.5, 1.5], True)
    """

    def __init__(self, given: Sequence[float] | None, workers: int) -> None:
        shares = np.ones(workers) if given is None else np.array(given) / max(given)
        self.relative: Floats = np.maximum(shares * (workers / shares.sum()), _SLOWEST)
        self.new = given is None
        self._given = self.relative
        self.doubts: Floats = np.zeros(workers)
        self._paces = np.zeros(workers)
        self._spreads = np.zeros(workers)  # mean absolute deviations from the paces
        self._seen = np.zeros(workers, dtype=np.int64)
        self._reports, self._due = 0, _SOON

    def report(self, worker: int, service_time: float) -> bool:
        """Take notice of the time that a message took; tell whether the capacities have been adjusted."""
        self._seen[worker] = seen = min(self._seen[worker] + 1, _SAMPLES)
        self._paces[worker] += (service_time - self._paces[worker]) / seen
        self._spreads[worker] += (abs(service_time - self._paces[worker]) - self._spreads[worker]) / seen
        self._reports += 1
        if self._reports < self._due * self._paces.size:
            return False
        self.new = self.new and self._due < _REPORTS
        self._reports, self._due = 0, min(2 * self._due, _REPORTS)
        known = self._seen > 0
        work = self._paces * self._given  # time per message, at a capacity of 1
        typical = float(np.median(work[known])) or float(work[known].mean())
        if typical <= 0.0:
            return False
        paces, expected = np.maximum(self._paces / typical, _LEAST), 1.0 / self._given
        vary = min(1.0, float(np.median((self._spreads / typical / paces)[known])))
        self.doubts = vary / np.sqrt(np.maximum(self._seen, 1))
        doubt = np.where(known, _PRIOR * vary * (1.0 - self._seen / _SAMPLES), 1.0)
        self.relative = (self._seen + doubt) / (self._seen * paces + doubt * expected)
        self.relative *= paces.size / self.relative.sum()
        return True
