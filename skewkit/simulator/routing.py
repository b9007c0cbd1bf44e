"""Send a stream through the sources' partitioners, with what happens to the workers on the way."""

from __future__ import annotations

import math
from collections.abc import Sequence
from heapq import heappop, heappush

import numpy as np
import numpy.typing as npt

from skewkit.checks import Floats
from skewkit.hashing.key_hash import Keys
from skewkit.partitioners import Partitioner
from skewkit.simulator.events import AddWorker, Event, RemoveWorker
from skewkit.simulator.speeds import Speeds

Sources = Sequence[Partitioner]


def tell(sources: Sources, event: Event) -> None:
    """Tell all sources of a worker that leaves or joins. Other events are not for them."""
    for source in sources:
        if isinstance(event, RemoveWorker):
            source.remove_worker(event.worker)
        elif isinstance(event, AddWorker):
            source.add_worker(None if event.worker == source.workers else event.worker)


def route_in_bulk(
    keys: Keys, weights: Floats, sources: Sources, arrivals: Floats, events: Sequence[Event]
) -> npt.NDArray[np.int32]:
    """Route without feedback: from event to event, every source its own part of the stream in one go.

    An event comes before the first message that arrives at its time or later. Where the sources must hear of each
    other, all stop at the same message before one goes on.
    """
    routes = np.empty(len(keys), dtype=np.int32)
    at = np.searchsorted(arrivals, [event.time for event in events], side="left").tolist()
    begin = 0
    for end, event in zip([*at, len(keys)], [*events, None], strict=True):
        while begin < end:
            stop = int(min(end, begin + max(1, sources[0].alone)))
            for number, source in enumerate(sources):
                turns = slice(begin + (number - begin) % len(sources), stop, len(sources))
                if turns.start < stop:
                    routes[turns] = source.route_many(keys[turns], weights[turns])
            begin = stop
        if event is not None:
            tell(sources, event)
    return routes


def route_and_report(
    keys: Keys,
    weights: Floats,
    sources: Sources,
    arrivals: Floats,
    work: Floats,
    speeds: Speeds,
    events: Sequence[Event],
) -> npt.NDArray[np.int32]:
    """Route message by message, and tell the time. A source hears of its messages as soon as they are done.

    Before a message is routed, all reports and events up to its time are handled in order of time, reports first.
    """
    routes = np.empty(len(keys), dtype=np.int32)
    free = [0.0] * speeds.workers  # when each worker will have done all it has
    running: list[tuple[float, int, float]] = []  # (time of departure, message, time of service)
    coming = list(events)[::-1]

    def report(until: float) -> None:
        while running and running[0][0] <= until:
            done, earlier, took = heappop(running)
            sources[earlier % len(sources)].observe(int(routes[earlier]), keys[earlier], took, done)

    def happen(until: float) -> None:
        while coming and coming[-1].time <= until:
            event = coming.pop()
            report(event.time)
            for source in sources:
                source.tick(event.time)
            tell(sources, event)

    for message, (key, weight) in enumerate(zip(keys, weights.tolist(), strict=True)):
        now = float(arrivals[message])
        happen(now)
        report(now)
        source = sources[message % len(sources)]
        source.tick(now)
        routes[message] = worker = source.route(key, weight)
        begin = max(now, free[worker])
        free[worker] = speeds.finish(worker, begin, float(work[message]))
        heappush(running, (free[worker], message, free[worker] - begin))
    happen(math.inf)
    return routes
