"""Replay a stream through a partitioner, with one or more sources, and with queues if times are given."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from heapq import heappop, heappush
from typing import Any

import numpy as np
import numpy.typing as npt

from skewkit.errors import ArgumentError, ArgumentTypeError, UnsupportedError, nearest
from skewkit.hashing.keys import Keys
from skewkit.partitioners import PARTITIONERS, Partitioner
from skewkit.partitioners.base import weights_of
from skewkit.partitioners.checks import Floats, non_negative, whole_number
from skewkit.simulator.queues import departures
from skewkit.simulator.trace import Trace

Numbers = Sequence[float] | npt.NDArray[Any]


def replay(
    keys: Keys | Iterable[Any],
    scheme: str | Partitioner,
    workers: int | None = None,
    sources: int = 1,
    seed: int = 0,
    weights: Numbers | None = None,
    service_times: float | Numbers | None = None,
    capacities: Numbers | None = None,
    arrivals: Numbers | None = None,
    events: Sequence[Any] = (),
    **options: Any,
) -> Trace:
    """Send a stream through a scheme and return what happened.

    With more than one source, message i goes to source i modulo `sources`, and every source has an instance
    of its own that sees only its own messages and loads, as in Nasir et al., "When Two Choices Are not
    Enough", Sections II-A and V-A. All sources share the seed of their hash functions.

    With service times every worker serves its messages in order of arrival. Schemes that learn from their
    workers (`learns`) are told of each message as soon as it is done, before the next one is routed.

    Args:
        keys: (m,) keys of the stream, in order: an array, a sequence or an iterator.
        scheme: a name in `PARTITIONERS`, or an instance, which is copied and stays as it is.
        workers: number of workers; needed with a name, and not to be given with an instance.
        sources: number of sources s.
        seed: seed of the scheme (with an instance: its own counts, and this is ignored).
        weights: (m,) weights, 1 each by default.
        service_times: time per message at capacity 1: one number, or an array (m,).
        capacities: (workers,) speeds; a message takes its service time divided by the worker's capacity.
        arrivals: (m,) times of arrival, not falling; by default one message per unit of time from 0 on, as in
            Nasir et al., "Load Balancing for Skewed Streams on Heterogeneous Clusters", Section IV.
        events: none yet.
        **options: options of the scheme (with a name only).

    Raises:
        ArgumentError: an unknown scheme or option, a number out of range, or arrays of the wrong length.
        ArgumentTypeError: `scheme` is neither a name nor an instance.
        UnsupportedError: `events` is not empty.

    >>> from skewkit.simulator import streams
    >>> stream = streams.zipf(10_000, keys=1000, exponent=1.4, seed=1)
    >>> replay(stream, "two_choices", workers=20).imbalance > 0.05
    True
    >>> trace = replay(stream, "w_choices", workers=20, sources=5, service_times=19.0)
    >>> trace.imbalance < 0.002 and float(trace.utilisation.min()) > 0.9
    True
    """
    if len(events):
        raise UnsupportedError("events are for schemes that follow changing workers; there is none yet")
    count = whole_number("sources", sources)
    drafts = _instances(scheme, workers, count, seed, options)
    instances = [p.as_source(source, count) for source, p in enumerate(drafts)]
    for p in instances[1:]:
        p.share_workers(instances[0])
    if not isinstance(keys, (list, np.ndarray)):
        keys = np.asarray(keys) if hasattr(keys, "__array__") else list(keys)
    size = len(keys)
    amounts = weights_of(size, weights)
    n = instances[0].workers
    if service_times is None:
        if capacities is not None or arrivals is not None:
            raise ArgumentError("capacities and arrivals mean nothing without service_times; give them too")
        return Trace(keys, amounts, _route(keys, amounts, instances), tuple(instances))
    same_for_all = np.ndim(service_times) == 0
    work = _times("service_times", np.full(size, service_times) if same_for_all else service_times, size)
    speeds = _capacities(capacities, n)
    came = np.arange(size, dtype=np.float64) if arrivals is None else _times("arrivals", arrivals, size)
    if np.any(np.diff(came) < 0.0):
        raise ArgumentError("arrivals fall somewhere; expected times in the order of the stream")
    if instances[0].learns:
        routes = _route_and_report(keys, amounts, instances, came, work, speeds)
    else:
        routes = _route(keys, amounts, instances)
    services = work / speeds[routes]
    left = departures(routes, came, services, n)
    return Trace(keys, amounts, routes, tuple(instances), came, services, left)


def _instances(
    scheme: str | Partitioner, workers: int | None, sources: int, seed: int, options: dict[str, Any]
) -> list[Partitioner]:
    if isinstance(scheme, Partitioner):
        if options or workers not in (None, scheme.workers):
            raise ArgumentError("workers and options belong to the instance; give them to its constructor")
        return [copy.deepcopy(scheme) for _ in range(sources)]
    if not isinstance(scheme, str):
        raise ArgumentTypeError(f"scheme is a {type(scheme).__name__}; expected a name or a Partitioner")
    if scheme not in PARTITIONERS:
        raise ArgumentError(f"there is no scheme {scheme!r}; {nearest(scheme, PARTITIONERS)}")
    if workers is None:
        raise ArgumentError("workers is missing; give the number of workers, for example workers=100")
    return [PARTITIONERS[scheme](workers=workers, seed=seed, **options) for _ in range(sources)]


def _times(name: str, values: Any, size: int) -> Floats:
    times = non_negative(name, values)
    if times.size != size:
        raise ArgumentError(f"found {size} keys and {times.size} {name}; expected one per key")
    return times


def _capacities(capacities: Numbers | None, workers: int) -> Floats:
    if capacities is None:
        return np.ones(workers)
    speeds = non_negative("capacities", capacities)
    if speeds.size != workers or not np.all(speeds > 0.0):
        raise ArgumentError(f"found {speeds.size} capacities; expected {workers}, one per worker, above zero")
    return speeds


def _route(keys: Keys, weights: Floats, instances: list[Partitioner]) -> npt.NDArray[np.int32]:
    """Route without feedback: every source its own part of the stream in one go."""
    routes = np.empty(len(keys), dtype=np.int32)
    for source, instance in enumerate(instances):
        turns = slice(source, None, len(instances))
        routes[turns] = instance.route_many(keys[turns], weights[turns])
    return routes


def _route_and_report(
    keys: Keys, weights: Floats, instances: list[Partitioner], arrivals: Floats, work: Floats, speeds: Floats
) -> npt.NDArray[np.int32]:
    """Route message by message; a source hears of its messages that are done when the next one arrives."""
    routes = np.empty(len(keys), dtype=np.int32)
    free = np.zeros(speeds.size)  # when each worker will have done all it has
    running: list[tuple[float, int]] = []  # (time of departure, message)
    for message, (key, weight) in enumerate(zip(keys, weights.tolist(), strict=True)):
        now = float(arrivals[message])
        while running and running[0][0] <= now:
            done, earlier = heappop(running)
            worker = int(routes[earlier])
            instance = instances[earlier % len(instances)]
            instance.observe(worker, keys[earlier], float(work[earlier] / speeds[worker]), done)
        worker = instances[message % len(instances)].route(key, weight)
        routes[message] = worker
        free[worker] = max(now, free[worker]) + work[message] / speeds[worker]
        heappush(running, (float(free[worker]), message))
    return routes
