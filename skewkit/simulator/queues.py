"""First come, first served: when messages leave workers that have one queue each."""

from __future__ import annotations

import itertools

import numpy as np
import numpy.typing as npt

from skewkit.checks import Floats
from skewkit.simulator.speeds import Speeds


def departures(routes: npt.NDArray[np.int32], arrivals: Floats, work: Floats, speeds: Speeds) -> tuple[Floats, Floats]:
    """Return when every message is done and how long its worker was at it.

    Each worker takes its messages in the order of the stream. A message begins when it has come and the one
    before it at the same worker is done (Lindley's recursion, solved for a whole queue at once). Where the
    capacity changes, time is measured by the worker's own clock (`Speeds`).

    Args:
        routes: (m,) worker of every message.
        arrivals: (m,) times of arrival, not falling.
        work: (m,) time that a worker of capacity 1 needs for the message.
        speeds: the workers' capacities.

    Returns:
        Two arrays (m,): departures, and times of service.

    >>> speeds = Speeds(np.array([1.0, 1.0]))
    >>> done, _ = departures(np.array([0, 0, 1]), np.array([0.0, 1.0, 1.0]), np.array([2.0, 2.0, 2.0]), speeds)
    >>> done.tolist()
    [2.0, 4.0, 3.0]
    """
    done, service = np.empty(routes.size), np.empty(routes.size)
    order = np.argsort(routes, kind="stable")
    borders = np.searchsorted(routes[order], np.arange(speeds.workers + 1))
    for worker, (start, stop) in enumerate(itertools.pairwise(borders.tolist())):
        mine = order[start:stop]
        capacity = speeds.constant(worker)
        if capacity is not None:
            service[mine] = work[mine] / capacity
            done[mine] = _lindley(arrivals[mine], service[mine])
        elif mine.size:
            clock = _lindley(speeds.work(worker, arrivals[mine]), work[mine])
            done[mine] = left = np.maximum(speeds.times(worker, clock), arrivals[mine])
            service[mine] = left - np.maximum(arrivals[mine], np.concatenate([[0.0], left[:-1]]))
    return done, service


def _lindley(arrivals: Floats, services: Floats) -> Floats:
    """Return the departures of one queue: done[i] = max over j <= i of (arrival[j] + service from j to i)."""
    total = np.cumsum(services)
    left: Floats = total + np.maximum.accumulate(arrivals - (total - services))
    return left
