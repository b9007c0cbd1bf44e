"""POSG: send every message to the worker that will be free first, by execution times learnt per key."""

from __future__ import annotations

import math
from collections import deque
from typing import Any, ClassVar

import numpy as np

from skewkit.checks import MOST, Floats, real_number, switch, whole_number
from skewkit.hashing.mix import Hashes, mix, to_range
from skewkit.partitioners.base import Partitioner, Routes
from skewkit.partitioners.posg.execution_times import cells_of, matrix_shape
from skewkit.partitioners.posg.operator_instance import Operator
from skewkit.partitioners.posg.scheduler import Request, Scheduler, SchedulerState


class ProactiveOnline(Partitioner):
    """POSG: operator instances measure the time of every key, the scheduler adds up estimates and is corrected.

    Source: Rivetti et al., "Proactive Online Shuffle Grouping". This object is the scheduler (`Scheduler`,
    Figure 3) and holds the state of the instances as well (`Operator`, Figure 2), which `observe` drives: it
    must be told of every message that is done. Without reports POSG is Round-Robin for ever.

    An instance answers a request with its own time minus the scheduler's estimate. Its own time is here when the
    message with the request was done, so it includes time without work: the estimates are the times at which the
    instances will be free. With `idle=False` it is the time spent on messages alone: an idle instance then looks
    less loaded than it is. With workers to spare that is worse than Round-Robin.

    * choices(key) is the number of workers: state of a key may end up on all of them.
    * Weights do not matter: the time of a message is learnt from its key.
    * Besides the stream and its acknowledgements, matrices and replies are exchanged: 2 messages per instance
      and epoch at most (`exchanged`). Requests travel with messages of the stream.

    Options:
        window: messages that an instance executes between two checks (N).
        tolerance: greatest relative error of stable matrices (mu).
        epsilon: precision of the matrices: e / epsilon columns.
        delta: probability to miss that precision: log2(1 / delta) rows.
        idle: whether an instance's own time includes the time without work.
        early: None is the rule of the paper, by which Round-Robin lasts until all instances are stable. A
            number lets them send copies before: after so many messages, and whenever these have doubled.
        pooled: whether a time is estimated from the matrices of all instances together, and not, as in the
            paper, from those of one. With `early=64, pooled=True` POSG starts at once and stays in step.

    >>> p = ProactiveOnline(workers=2, window=10)
    >>> for now in range(200):
    ...     key = "slow" if now % 4 == 0 else "fast"
    ...     worker = p.route(key)
    ...     p.observe(worker, key, 5.0 if key == "slow" else 1.0, now=float(now))
    >>> p.state, p.exchanged > 0
    ('run', True)
    """

    name: ClassVar[str] = "posg"
    learns = True

    def __init__(
        self,
        workers: int,
        seed: int = 0,
        *,
        window: int = 1024,
        tolerance: float = 0.05,
        epsilon: float = 0.05,
        delta: float = 0.1,
        idle: bool = True,
        early: int | None = None,
        pooled: bool = False,
        **unknown: Any,
    ) -> None:
        super().__init__(workers, seed, **unknown)
        self.window = whole_number("window", window)
        self.tolerance = real_number("tolerance", tolerance)
        self.epsilon = real_number("epsilon", epsilon, low=math.e / MOST, high=1.0)
        self.delta = real_number("delta", delta, high=1.0, above=True)
        self.idle = switch("idle", idle)
        self.early = None if early is None else whole_number("early", early)
        self.pooled = switch("pooled", pooled)
        self._shape = matrix_shape(self.epsilon, self.delta)
        whole_number("workers * rows * columns", self.workers * math.prod(self._shape), most=MOST)
        self._scheduler = Scheduler(self.workers, to_range(mix(self.seed), self.workers), self.pooled)
        counting = self.window, self.tolerance, self.early
        self._operators = [Operator(self._shape, *counting) for _ in range(self.workers)]
        self._sent = [0] * self.workers  # messages per instance
        self._requests: list[deque[tuple[int, Request]]] = [deque() for _ in range(self.workers)]  # under way

    @property
    def state(self) -> str:
        """The state of the scheduler: "round_robin", "send_all", "wait_all" or "run"."""
        return self._scheduler.state.value

    def _seat(self, source: int, sources: int) -> None:
        self._scheduler.turn = (self._scheduler.turn + source * self.workers // sources) % self.workers

    def _route_one(self, hashed: int, weight: float) -> int:
        instance, request = self._scheduler.submit(cells_of(hashed, self._shape))
        self._sent[instance] += 1
        if request is not None:
            self._requests[instance].append((self._sent[instance], request))
        return self._count_one(instance, weight)

    def _run_compiled(self, hashes: Hashes, weights: Floats, routes: Routes) -> bool:
        from skewkit.compiled.direct import route_in_turn

        scheduler, start = self._scheduler, 0
        while start < hashes.size and scheduler.state is SchedulerState.SEND_ALL:
            routes[start] = self._route_one(int(hashes[start]), float(weights[start]))
            start += 1
        hashes, weights, routes = hashes[start:], weights[start:], routes[start:]
        if scheduler.state is SchedulerState.ROUND_ROBIN:
            route_in_turn(scheduler.turn, weights, self._load_view(), routes)
            scheduler.turn = (scheduler.turn + hashes.size) % self.workers
        else:
            scheduler.run_compiled(hashes, weights, self._load_view(), routes)
        sent = np.bincount(routes, minlength=self.workers).tolist()
        self._sent = [before + more for before, more in zip(self._sent, sent, strict=True)]
        self.messages += hashes.size
        return True

    def _choices(self, hashed: int) -> int:
        return self.workers

    def _observe(self, worker: int, hashed: int, service_time: float, now: float) -> None:
        operator, requests = self._operators[worker], self._requests[worker]
        table = operator.execute(cells_of(hashed, self._shape), service_time)
        while requests and requests[0][0] <= operator.executed:
            _, request = requests.popleft()
            own = now if self.idle else operator.busy
            self._scheduler.reply(worker, request.epoch, own - request.estimate)
            self.exchanged += 1
        if table is not None:
            self._scheduler.receive(worker, table)
            self.exchanged += 1
