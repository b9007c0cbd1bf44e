"""What workers can do, compared with each other: as given, or as their reports tell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from skewkit.errors import ArgumentError
from skewkit.partitioners.checks import Floats, non_negative

_SAMPLES = 64  # reports of a worker, of which the mean tells whether its time per message has changed,
_STEADY = 1024  # and of which, about, it is the mean as long as it has not
_APART = 4.0  # standard deviations of the first mean, by which the two must differ
_SOON, _REPORTS = 4, 32  # reports per worker to the first adjustment, and, each time doubled, from one to the next
_PRIOR = 4.0  # reports that what was known before counts for, where times vary as much as their mean
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

    A worker's capacity is in inverse proportion to the mean time that its last messages took: the last thousand or so,
    or only those since it has changed, if the mean of the last 64 is more than chance makes of it. Workers that have
    not reported count as what they were given for, compared with those that have.

    * `new` says whether the reports are so few yet that the capacities may have been like this from the beginning.

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
        self._paces = np.zeros(workers)
        self._lately = np.zeros((workers, 2))  # mean and variance of the last reports
        self._seen = np.zeros(workers, dtype=np.int64)
        self._reports, self._due = 0, _SOON

    def report(self, worker: int, service_time: float) -> bool:
        """Take notice of the time that a message took; tell whether the capacities have been adjusted."""
        self._take(worker, service_time)
        self._reports += 1
        if self._reports < self._due * self._paces.size:
            return False
        self.new = self.new and self._due < _REPORTS
        self._reports, self._due = 0, min(2 * self._due, _REPORTS)
        known = self._seen > 0
        work = self._paces * self._given  # time per message, at a capacity of 1
        mean = float(work[known].mean())
        if mean <= 0.0:
            return False
        means, variances = self._lately[known].T
        doubt = _PRIOR * float(np.mean(variances / np.maximum(means, _LEAST * mean) ** 2))
        paces = (self._paces * self._seen + doubt * mean / self._given) / np.maximum(self._seen + doubt, _SLOWEST)
        paces = np.where(known, np.maximum(paces, _LEAST * mean), mean / self._given)
        self.relative = 1.0 / paces
        self.relative *= paces.size / self.relative.sum()
        return True

    def _take(self, worker: int, service_time: float) -> None:
        seen = int(self._seen[worker]) + 1
        pace, (mean, variance) = float(self._paces[worker]), self._lately[worker].tolist()
        pace += (service_time - pace) / seen
        few, off = min(seen, _SAMPLES), service_time - mean
        mean += off / few
        variance += (off * (service_time - mean) - variance) / few
        if seen > few and (mean - pace) ** 2 * 2 * few > _APART**2 * variance:
            pace, seen = mean, few
        self._paces[worker], self._lately[worker] = pace, (mean, variance)
        self._seen[worker] = min(seen, _STEADY)
