"""What the scheduler does in POSG: estimate, send each message to the instance that will be free first, synchronise.

Source: Rivetti et al., "Proactive Online Shuffle Grouping", Section III-B, Figure 3 and Listing III.2.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from skewkit.checks import Floats
from skewkit.hashing.mix import Hashes
from skewkit.partitioners.posg.execution_times import ExecutionTimes


class SchedulerState(Enum):
    """The states of Figure 3."""

    ROUND_ROBIN = "round_robin"
    SEND_ALL = "send_all"
    WAIT_ALL = "wait_all"
    RUN = "run"


class Request(NamedTuple):
    """A synchronisation request that travels with a message: its epoch, and the scheduler's estimate C[op]."""

    epoch: int
    estimate: float


class Scheduler:
    """The finite state machine of Figure 3 for `instances` operator instances.

    * ROUND_ROBIN: messages go round; matrices are collected (3.A). With those of every instance: SEND_ALL (3.B).
    * SEND_ALL: the next messages go round, one to every instance, each with a request. Then WAIT_ALL (3.C).
    * WAIT_ALL: scheduling as in RUN; replies are collected (3.D). With all of this epoch, the estimates are
      corrected by them: RUN (3.E).
    * RUN: a message goes to the instance with the least estimated time C[op] (equal: the first).
    * New matrices replace the old ones of their instance. In any state but ROUND_ROBIN they lead to SEND_ALL,
      with a new epoch (3.F). Replies to requests of an earlier epoch are ignored.

    With `pooled` an estimate comes from the matrices of all instances added up, times the speed of the instance
    (the time it spent, over the time that the sum gives for what it executed). That is no rule of the paper. An
    instance alone has seen a k-th of the messages, so its matrices err more, and each instance's in a way of
    its own: one that looks fast by chance gets too much until the next synchronisation.

    Args:
        instances: number of operator instances (k).
        turn: instance at which the round begins.
        pooled: whether estimates come from the matrices of all instances together.

    >>> scheduler = Scheduler(2)
    >>> [scheduler.submit([0])[0] for _ in range(4)], scheduler.state.value
    ([0, 1, 0, 1], 'round_robin')
    >>> for instance in (0, 1):
    ...     scheduler.receive(instance, ExecutionTimes((1, 1)))
    >>> [scheduler.submit([0])[1] for _ in range(2)], scheduler.state.value
    ([Request(epoch=1, estimate=0.0), Request(epoch=1, estimate=0.0)], 'wait_all')
    >>> scheduler.reply(0, 1, 5.0), scheduler.reply(1, 1, 3.0), scheduler.state.value
    (None, None, 'run')
    >>> scheduler.submit([0])  # instance 1 is 2 ahead
    (1, None)
    """

    def __init__(self, instances: int, turn: int = 0, pooled: bool = False) -> None:
        self.state = SchedulerState.ROUND_ROBIN
        self.epoch = 0
        self.estimates = [0.0] * instances  # C, estimated time of all messages sent to each instance
        self.tables: list[ExecutionTimes | None] = [None] * instances
        self.turn = turn
        self._pooled = pooled
        self._sum: ExecutionTimes | None = None
        self._speeds = [1.0] * instances
        self._asked = 0  # requests sent in this epoch
        self._replies: dict[int, float] = {}  # instance -> difference, of this epoch

    def submit(self, cells: Sequence[int]) -> tuple[int, Request | None]:
        """Schedule a message. Return its instance, and the request that goes with it, if any."""
        if self.state in (SchedulerState.ROUND_ROBIN, SchedulerState.SEND_ALL):
            instance = self.turn
            self.turn = (instance + 1) % len(self.estimates)
        else:
            instance = self.estimates.index(min(self.estimates))
        table = self.tables[instance]
        if self.state is SchedulerState.ROUND_ROBIN or table is None:
            return instance, None
        self.estimates[instance] += self._estimate(instance, table, cells)
        if self.state is not SchedulerState.SEND_ALL:
            return instance, None
        self._asked += 1
        if self._asked == len(self.estimates):
            self.state = SchedulerState.WAIT_ALL
        return instance, Request(self.epoch, self.estimates[instance])

    def run_compiled(self, hashes: Hashes, weights: Floats, loads: Floats, routes: npt.NDArray[np.int32]) -> None:
        """Do what `submit` does in WAIT_ALL and RUN in a compiled loop, for messages without a report between."""
        from skewkit.compiled.posg_loop import route_estimated

        known = [self._sum] if self._sum is not None else [table for table in self.tables if table is not None]
        estimates = np.array(self.estimates)
        route_estimated(
            hashes,
            weights,
            loads,
            routes,
            estimates,
            np.array([table.counts for table in known]),
            np.array([table.times for table in known]),
            np.array([table.mean() for table in known]),
            np.array(self._speeds),
        )
        self.estimates = estimates.tolist()

    def _estimate(self, instance: int, table: ExecutionTimes, cells: Sequence[int]) -> float:
        if self._sum is None:
            return table.estimate(cells)
        return self._sum.estimate(cells) * self._speeds[instance]

    def _pool(self, tables: list[ExecutionTimes]) -> None:
        """Add up the matrices, and compare the time that every instance spent with what the sum gives."""
        self._sum = tables[0].copy()
        for table in tables[1:]:
            self._sum.counts += table.counts
            self._sum.times += table.times
        ratios = self._sum.ratios()
        expected = [float((table.counts * ratios).sum()) for table in tables]
        spent = [float(table.times.sum()) for table in tables]
        self._speeds = [own / all_ if all_ > 0.0 else 1.0 for own, all_ in zip(spent, expected, strict=True)]

    def receive(self, instance: int, table: ExecutionTimes) -> None:
        """Take the matrices of an instance."""
        self.tables[instance] = table
        known = [table for table in self.tables if table is not None]
        if len(known) < len(self.tables):
            return
        if self._pooled:
            self._pool(known)
        self.state = SchedulerState.SEND_ALL
        self.epoch += 1
        self._asked = 0
        self._replies = {}

    def reply(self, instance: int, epoch: int, difference: float) -> None:
        """Take an instance's reply: its own time minus the estimate in the request (Delta)."""
        if epoch != self.epoch:
            return
        self._replies[instance] = difference
        if len(self._replies) == len(self.estimates):
            self.estimates = [known + self._replies[at] for at, known in enumerate(self.estimates)]
            self.state = SchedulerState.RUN
