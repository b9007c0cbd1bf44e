"""Queues and work over time, exactly, from the departures of first-come-first-served queues."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from skewkit.checks import Floats

Queue = npt.NDArray[np.intp]  # the numbers of the messages of one worker, in order


def queues_of(routes: npt.NDArray[np.int32], workers: int) -> list[Queue]:
    """Return the messages of every worker.

    >>> [queue.tolist() for queue in queues_of(np.array([1, 0, 1], dtype=np.int32), 3)]
    [[1], [0, 2], []]
    """
    order = np.argsort(routes, kind="stable")
    return np.split(order, np.searchsorted(routes[order], np.arange(1, workers)))


def busy_until(times: Floats, departures: Floats, services: Floats) -> Floats:
    """Return how long one worker had been at work by each time, (times,).

    Args:
        times: in any order.
        departures: of the worker's messages, in order.
        services: time that the worker spent on each of them, right before its departure.

    >>> busy_until(np.array([1.0, 4.0, 9.0]), np.array([3.0, 6.0]), np.array([3.0, 2.0])).tolist()
    [1.0, 3.0, 5.0]
    """
    if not departures.size:
        return np.zeros(times.size)
    before = np.searchsorted(departures, times, side="right")
    done = np.concatenate([[0.0], np.cumsum(services)])[before]
    at_work = np.minimum(before, departures.size - 1)  # the message that comes next
    part = np.clip(times - (departures - services)[at_work], 0.0, services[at_work])
    busy: Floats = done + np.where(before < departures.size, part, 0.0)
    return busy


def lengths_at(times: Floats, arrivals: Floats, departures: Floats, queues: Sequence[Queue]) -> npt.NDArray[np.int64]:
    """Return how many messages every worker has waiting or at work at each time, as (times, workers).

    What arrives at that very time counts, what departs then does not.
    """
    lengths = [
        np.searchsorted(arrivals[mine], times, side="right") - np.searchsorted(departures[mine], times, side="right")
        for mine in queues
    ]
    return np.array(lengths, dtype=np.int64).T
