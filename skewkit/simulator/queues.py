"""First come, first served: when messages leave workers that have one queue each."""

from __future__ import annotations

import itertools

import numpy as np
import numpy.typing as npt

from skewkit.partitioners.checks import Floats


def departures(routes: npt.NDArray[np.int32], arrivals: Floats, services: Floats, workers: int) -> Floats:
    """Return when every message is done: each worker takes its messages in the order of the stream.

    A message begins when it has come and the one before it at the same worker is done (Lindley's recursion,
    solved for a whole queue at once).

    Args:
        routes: (m,) worker of every message.
        arrivals: (m,) times of arrival, not falling.
        services: (m,) time that the worker needs for the message.
        workers: number of workers.

    Returns:
        Array (m,).

    >>> departures(np.array([0, 0, 1]), np.array([0.0, 1.0, 1.0]), np.array([2.0, 2.0, 2.0]), 2).tolist()
    [2.0, 4.0, 3.0]
    """
    done = np.empty(routes.size)
    order = np.argsort(routes, kind="stable")
    borders = np.searchsorted(routes[order], np.arange(workers + 1))
    for start, stop in itertools.pairwise(borders.tolist()):
        mine = order[start:stop]
        work = np.cumsum(services[mine])
        # done[i] = max over j <= i of (arrival[j] + work from j to i)
        done[mine] = work + np.maximum.accumulate(arrivals[mine] - (work - services[mine]))
    return done
