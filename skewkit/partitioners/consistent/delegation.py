"""Worker delegation: every worker watches its own workload and tells the sources in which direction it is wrong.

Source: Nasir et al., "Load Balancing for Skewed Streams on Heterogeneous Clusters", Section V-C (worker
delegation, piggybacking), V-B (time slot), VII-A (monitoring).
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import NamedTuple


class Kind(IntEnum):
    """What a worker says. The last two are no signals of the paper, but workers that come and go."""

    DECREASE = 0  # busy: take work away
    INCREASE = 1  # idle: give work
    LEAVE = 2
    JOIN = 3


class Signal(NamedTuple):
    """A signal; all sources follow signals in their order as tuples.

    `rank` is the number of the worker. For workers that come and go it is a negative number, rising: at the same
    time they are first, in their own order.
    """

    time: float
    rank: int
    worker: int
    kind: Kind


class Delegation:
    """The workers' side of Consistent Grouping, shared by all sources of a stream.

    Once per time slot a worker computes its utilisation: the messages that it had to do over those that it could
    have done.

    * It had to do those that waited when the slot began, and those that arrived since.
    * How many it could have done follows from the mean time of those it did.
    * Above `upper` the signal is DECREASE, below `lower` it is INCREASE, in between there is none.

    The paper takes the messages assigned over the capacity in simulations, and the queue in deployments. This is
    both.

    Signals travel with acknowledgements. A source gets them with the next message of its own that the worker has
    done. So sources hear of the same signal at different times.

    Args:
        workers: number of workers.
        slot: least time between two signals of a worker.
        lower: utilisation below which a worker is idle.
        upper: utilisation above which a worker is busy.

    >>> workers = Delegation(1, slot=10.0, lower=0.8, upper=1.0)
    >>> source = workers.subscribe()
    >>> for now in (1.0, 6.0, 11.0):
    ...     workers.arrive(0)
    ...     heard = workers.acknowledge(source, 0, 1.0, now)
    >>> heard  # 2 messages of 1 unit in a slot of 10
    [Signal(time=11.0, rank=0, worker=0, kind=<Kind.INCREASE: 1>)]
    """

    def __init__(self, workers: int, slot: float, lower: float, upper: float) -> None:
        self.slot = slot
        self.lower = lower
        self.upper = upper
        self._begun: list[float | None] = [None] * workers  # when the slot of each worker began
        self._waiting = [0] * workers  # messages that have arrived and are not done
        self._to_do = [0] * workers  # messages to do in this slot
        self._done = [0] * workers
        self._spent = [0.0] * workers
        self._gone: set[int] = set()  # workers that have left
        self._mail: list[list[list[Signal]]] = []  # by source and worker: signals not picked up yet

    def subscribe(self) -> int:
        """Let one more source hear of the signals to come, and return its number."""
        self._mail.append([[] for _ in self._waiting])
        return len(self._mail) - 1

    def admit(self, worker: int) -> None:
        """Let a worker begin with a slot of its own. What waits there for one that comes back is still to do."""
        self._gone.discard(worker)
        if worker < len(self._begun):
            self._begun[worker] = None
            self._to_do[worker], self._done[worker], self._spent[worker] = self._waiting[worker], 0, 0.0
            return
        self._begun.append(None)
        self._waiting.append(0)
        self._to_do.append(0)
        self._done.append(0)
        self._spent.append(0.0)
        for boxes in self._mail:
            boxes.append([])

    def dismiss(self, source: int, worker: int) -> list[Signal]:
        """Let a worker leave, which says no more then, and return the signals that the source has not heard yet."""
        self._gone.add(worker)
        return self._collected(source, worker)

    def arrive(self, worker: int) -> None:
        """A message has come into the queue of a worker."""
        self._waiting[worker] += 1
        self._to_do[worker] += 1

    def arrive_many(self, messages: Sequence[int]) -> None:
        """So many messages have come into the queue of every worker."""
        for worker, more in enumerate(messages):
            self._waiting[worker] += more
            self._to_do[worker] += more

    def acknowledge(self, source: int, worker: int, service_time: float, now: float) -> list[Signal]:
        """A worker has done a message of a source. Return the signals that go with the acknowledgement."""
        self._waiting[worker] -= 1
        self._done[worker] += 1
        self._spent[worker] += service_time
        begun = self._begun[worker]
        if begun is None:
            self._begin(worker, now)
        elif now - begun >= self.slot and now > begun and worker not in self._gone:
            kind = self._judge(worker, now - begun)
            if kind is not None:
                for boxes in self._mail:
                    boxes[worker].append(Signal(now, worker, worker, kind))
            self._begin(worker, now)
        return self._collected(source, worker)

    def _collected(self, source: int, worker: int) -> list[Signal]:
        heard, self._mail[source][worker] = self._mail[source][worker], []
        return heard

    def _begin(self, worker: int, now: float) -> None:
        self._begun[worker] = now
        self._to_do[worker] = self._waiting[worker]
        self._done[worker] = 0
        self._spent[worker] = 0.0

    def _judge(self, worker: int, passed: float) -> Kind | None:
        utilisation = self._to_do[worker] * self._spent[worker] / self._done[worker] / passed
        if utilisation > self.upper:
            return Kind.DECREASE
        return Kind.INCREASE if utilisation < self.lower else None
