"""Replay a stream through a partitioner, with one or more sources, and with queues if times are given."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from skewkit.checks import Floats, non_negative, whole_number
from skewkit.errors import ArgumentError, ArgumentTypeError, UnsupportedError, nearest
from skewkit.hashing.key_hash import Keys, hash_keys
from skewkit.hashing.plain_keys import plain_keys
from skewkit.partitioners import PARTITIONERS, Partitioner
from skewkit.partitioners.base import weights_of
from skewkit.partitioners.capacities import checked_capacities
from skewkit.simulator.events import ChangeCapacity, Event, in_order
from skewkit.simulator.queues import departures
from skewkit.simulator.routing import route_and_report, route_in_bulk
from skewkit.simulator.speeds import Speeds
from skewkit.simulator.trace import Trace

Numbers = Sequence[float] | npt.NDArray[Any]


def replay(
    keys: Keys | Iterable[Any],
    partitioner: str | Partitioner,
    workers: int | None = None,
    sources: int = 1,
    seed: int = 0,
    weights: Numbers | None = None,
    service_times: float | Numbers | Mapping[Any, float] | None = None,
    capacities: Numbers | None = None,
    arrivals: Numbers | None = None,
    events: Iterable[Event] = (),
    **options: Any,
) -> Trace:
    """Send a stream through a scheme and return what happened.

    With more than one source, message i goes to source i modulo `sources`, and every source has an instance of its own.
    It sees only its own messages and loads, as in Nasir et al., "When Two Choices Are not Enough", Sections II-A and
    V-A. All sources share the seed of their hash functions.

    With service times every worker serves its messages in order of arrival. Schemes that learn from their workers
    (`learns`) are told of each message as soon as it is done, before the next one is routed, and of the time. Their
    sources hear of their own messages only, from the same workers.

    Args:
        keys: (m,) keys of the stream, in order: an array, a sequence or an iterator.
        partitioner: a name in `PARTITIONERS`, or an instance, which is copied and stays as it is.
        workers: number of workers; needed with a name, and not to be given with an instance.
        sources: number of sources s.
        seed: seed of the scheme (with an instance: its own counts, and this is ignored).
        weights: (m,) weights, 1 each by default.
        service_times: time per message at capacity 1: one number, an array (m,), or a mapping from every key
            of the stream to its time.
        capacities: (workers,) speeds; a message takes its service time divided by the worker's capacity.
        arrivals: (m,) times of arrival, not falling. By default one message per unit of time from 0 on, as in
            Nasir et al., "Load Balancing for Skewed Streams on Heterogeneous Clusters", Section IV.
        events: what happens to the workers (`ChangeCapacity`, `RemoveWorker`, `AddWorker`), each before the
            first message that arrives at its time or later. Workers come and go only with schemes that allow it
            (`elastic`).
        **options: options of the scheme (with a name only).

    Raises:
        ArgumentError: an unknown scheme or option, a number out of range, or arrays of the wrong length.
        ArgumentTypeError: `keys` is no stream, or `partitioner` is neither a name nor an instance.
        UnsupportedError: workers come or go, and the scheme has a fixed number of them.

    >>> from skewkit.simulator import RemoveWorker, streams
    >>> stream = streams.zipf(10_000, keys=1000, exponent=1.4, seed=1)
    >>> replay(stream, "two_choices", workers=20).imbalance > 0.05
    True
    >>> trace = replay(stream, "w_choices", workers=20, sources=5, service_times=19.0)
    >>> trace.imbalance < 0.002 and float(trace.utilisation.min()) > 0.9
    True
    >>> trace = replay(stream, "fish", workers=20, events=[RemoveWorker(5000, 3)])
    >>> 3 in trace.routes[:5000], 3 in trace.routes[5000:]
    (True, False)
    """
    count = whole_number("sources", sources)
    drafts = _instances(partitioner, workers, count, seed, options)
    instances = [p.as_source(source, count) for source, p in enumerate(drafts)]
    for p in instances[1:]:
        p.share_workers(instances[0])
    known = hasattr(keys, "__array__") or isinstance(keys, (Sequence, Mapping))
    keys = plain_keys(list(keys) if not known and isinstance(keys, Iterable) else keys)
    size = len(keys)
    amounts = weights_of(size, weights)
    first = instances[0]
    happens = in_order(events, first.workers, first.active)
    if not first.elastic and any(not isinstance(event, ChangeCapacity) for event in happens):
        raise UnsupportedError(
            f"{first.name!r} has a fixed number of workers; for workers that come and go use "
            + ", ".join(repr(name) for name, known in PARTITIONERS.items() if known.elastic)
        )
    came = np.arange(size, dtype=np.float64) if arrivals is None else _times("arrivals", arrivals, size)
    if np.any(np.diff(came) < 0.0):
        raise ArgumentError("arrivals fall somewhere; expected times in the order of the stream")
    if service_times is None:
        if capacities is not None or any(isinstance(event, ChangeCapacity) for event in happens):
            raise ArgumentError("capacities mean nothing without service_times; give them too")
        if arrivals is not None and not happens:
            raise ArgumentError("arrivals mean nothing without service_times; give them too")
        routes = route_in_bulk(keys, amounts, instances, came, happens)
        return Trace(keys, amounts, routes, tuple(instances))
    work = _times("service_times", _work(service_times, keys), size)
    speeds = Speeds(_capacities(capacities, first.workers), happens)
    if first.learns:
        routes = route_and_report(keys, amounts, instances, came, work, speeds, happens)
    else:
        routes = route_in_bulk(keys, amounts, instances, came, happens)
    left, services = departures(routes, came, work, speeds)
    return Trace(keys, amounts, routes, tuple(instances), came, services, left, speeds)


def _work(service_times: float | Numbers | Mapping[Any, float], keys: Keys) -> Any:
    """Return the service time of every message."""
    if isinstance(service_times, Mapping):
        known = dict(zip(hash_keys(list(service_times)).tolist(), service_times.values(), strict=True))
        hashes = hash_keys(keys).tolist()
        missing = next((at for at, hashed in enumerate(hashes) if hashed not in known), None)
        if missing is not None:
            raise ArgumentError(f"service_times has no time for the key {keys[missing]!r}; expected one for every key")
        return [known[hashed] for hashed in hashes]
    return np.full(len(keys), service_times) if np.ndim(service_times) == 0 else service_times


def _instances(
    partitioner: str | Partitioner, workers: int | None, sources: int, seed: int, options: dict[str, Any]
) -> list[Partitioner]:
    if isinstance(partitioner, Partitioner):
        if options or workers not in (None, partitioner.workers):
            raise ArgumentError("workers and options belong to the instance; give them to its constructor")
        return [copy.deepcopy(partitioner) for _ in range(sources)]
    if not isinstance(partitioner, str):
        raise ArgumentTypeError(f"partitioner is a {type(partitioner).__name__}; expected a name or a Partitioner")
    if partitioner not in PARTITIONERS:
        raise ArgumentError(f"there is no scheme {partitioner!r}; {nearest(partitioner, PARTITIONERS)}")
    if workers is None:
        raise ArgumentError("workers is missing; give the number of workers, for example workers=100")
    return [PARTITIONERS[partitioner](workers=workers, seed=seed, **options) for _ in range(sources)]


def _times(name: str, values: Any, size: int) -> Floats:
    times = non_negative(name, values)
    if times.size != size:
        raise ArgumentError(f"found {size} keys and {times.size} {name}; expected one per key")
    return times


def _capacities(capacities: Numbers | None, workers: int) -> Floats:
    return np.array(checked_capacities(capacities, workers) or np.ones(workers))
