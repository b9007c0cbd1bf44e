"""Consistent Grouping: keys go to virtual workers of equal load, and workers hold as many as they can serve."""

from __future__ import annotations

import math
from bisect import insort
from typing import Any, ClassVar

import numpy as np

from skewkit.checks import MOST, Floats, real_number, whole_number
from skewkit.errors import ArgumentError
from skewkit.hashing.mix import Hashes
from skewkit.partitioners.base import Partitioner, Routes
from skewkit.partitioners.consistent.delegation import Delegation, Kind, Signal
from skewkit.partitioners.consistent.virtual_workers import VirtualWorkers
from skewkit.partitioners.random_choices import RandomChoices


class ConsistentGrouping(Partitioner):
    """CG: PoRC over `virtual` virtual workers per worker, which move from busy workers to idle ones.

    Source: Nasir et al., "Load Balancing for Skewed Streams on Heterogeneous Clusters", Section V. Keys are
    assigned to virtual workers by `RandomChoices`, so these have loads of (1 + epsilon) times their mean at
    most. The workers say when they have too much or too little to do (`Delegation`), and the sources move one
    virtual worker per pair of a busy and an idle worker (`VirtualWorkers`). Nothing that was sent moves with it:
    partial results of a key are at several workers and are put together from time to time (periodic
    aggregation, `Trace.aggregated`).

    * choices(key) is the number of workers.
    * While no virtual worker moves, a worker's load is at most 1 + epsilon times what as many virtual workers as it
      holds have on average (and one message more).
    * Signals come with acknowledgements (`observe`); no other message is exchanged. Without reports every
      worker keeps `virtual` virtual workers.
    * Eventual consistency: sources that share their workers (`share_workers`) hear of the same signals at
      different times, but follow them in one order, by time and worker. Once they have heard the same signals,
      all have the same virtual workers at the same workers. The paper asks for that and does not say how. Here a
      signal that comes late is put in its place and what came after it is done again. A worker that leaves says
      what it has not said yet to every source, and then no more.

    Options:
        virtual: virtual workers per worker, on average.
        epsilon: how far the load of a virtual worker may exceed the mean, as a share of the mean.
        slot: least time between two signals of a worker, in the unit of `observe`; by default 100 per worker,
            at one message per unit of time 100 messages each.
        lower: a worker with a utilisation below it asks for more.
        upper: a worker with a utilisation above it asks for less.

    >>> p = ConsistentGrouping(workers=2, slot=20.0)
    >>> for now in range(400):  # worker 1 is three times as fast as worker 0
    ...     worker = p.route(now % 50)
    ...     p.observe(worker, now % 50, 3.0 if worker == 0 else 1.0, now=float(now))
    >>> p.holdings[1] > p.holdings[0]
    True
    """

    name: ClassVar[str] = "consistent"
    learns = True
    elastic: ClassVar[bool] = True

    def __init__(
        self,
        workers: int,
        seed: int = 0,
        *,
        virtual: int = 10,
        epsilon: float = 0.01,
        slot: float | None = None,
        lower: float = 0.9,
        upper: float = 1.0,
        **unknown: Any,
    ) -> None:
        super().__init__(workers, seed, **unknown)
        self.virtual = whole_number("virtual", virtual)
        whole_number("workers * virtual", self.workers * self.virtual, most=MOST)
        self.epsilon = real_number("epsilon", epsilon)
        self.slot = 100.0 * self.workers if slot is None else real_number("slot", slot)
        self.upper = real_number("upper", upper)
        self.lower = real_number("lower", lower, high=self.upper)
        self._porc = RandomChoices(self.workers * self.virtual, self.seed, epsilon=self.epsilon)
        self._delegation = Delegation(self.workers, self.slot, self.lower, self.upper)
        self._source = self._delegation.subscribe()
        self._pairing = VirtualWorkers(self.workers, self.virtual)
        self._settled = self._pairing.copy()  # after all signals that no late one can precede
        self._recent: list[Signal] = []  # the signals since, in their order
        self._heard = [-math.inf] * self.workers  # the latest acknowledgement of every worker
        self._told = -math.inf
        self._changes = -(2**62)  # ranks of workers that come and go

    @property
    def holdings(self) -> dict[int, int]:
        """How many virtual workers each worker has, as this source sees it."""
        return {worker: len(self._pairing.held[worker]) for worker in self._active}

    @property
    def owners(self) -> list[int]:
        """The worker of every virtual worker, as this source sees it."""
        return self._pairing.owners.copy()

    @property
    def moves(self) -> int:
        """How many virtual workers have moved so far."""
        return self._pairing.moves

    def _route_one(self, hashed: int, weight: float) -> int:
        worker = self._pairing.owners[self._porc._route_one(hashed, weight)]
        self._delegation.arrive(worker)
        return self._count_one(worker, weight)

    def _run_compiled(self, hashes: Hashes, weights: Floats, routes: Routes) -> bool:
        self._porc._run_compiled(hashes, weights, routes)
        routes[:] = np.array(self._pairing.owners, dtype=np.int32)[routes]
        arrived = np.bincount(routes, minlength=self.workers).tolist()
        self._delegation.arrive_many(arrived)
        self._count_all(routes, weights)
        return True

    def _choices(self, hashed: int) -> int:
        return len(self._active)

    def _share(self, other: Any) -> None:
        self._delegation = other._delegation
        self._source = self._delegation.subscribe()

    def _observe(self, worker: int, hashed: int, service_time: float, now: float) -> None:
        self._tick(now)
        for signal in self._delegation.acknowledge(self._source, worker, service_time, now):
            self._follow(signal)
        self._heard[worker] = max(now, self._heard[worker])
        self._settle()

    def _tick(self, now: float) -> None:
        self._told = max(now, self._told)

    def _follow(self, signal: Signal) -> None:
        """Put a signal into its place, and do again what comes after it."""
        if not self._recent or signal > self._recent[-1]:
            self._recent.append(signal)
            self._pairing.follow(signal)
        else:
            insort(self._recent, signal)
            self._pairing = self._settled.copy()
            for known in self._recent:
                self._pairing.follow(known)

    def _settle(self) -> None:
        """Forget the signals that are older than the latest word of every worker: none can come before them."""
        if not self._recent:
            return
        horizon = min(self._heard[worker] for worker in self._active)
        old = 0
        while old < len(self._recent) and self._recent[old].time < horizon:
            self._settled.follow(self._recent[old])
            old += 1
        del self._recent[:old]

    def _check_room(self) -> None:
        if len(self._active) == len(self._pairing.owners):
            raise ArgumentError(
                f"each of {len(self._active)} workers has its last virtual worker, so one more would get none; make "
                "the scheme with more of them: virtual=..., per worker that it begins with"
            )

    def _admit(self, worker: int) -> None:
        self._delegation.admit(worker)
        if worker == len(self._heard):
            self._heard.append(self._told)
        self._heard[worker] = self._told
        self._change(worker, Kind.JOIN)

    def _dismiss(self, worker: int) -> None:
        for signal in self._delegation.dismiss(self._source, worker):
            self._follow(signal)
        self._change(worker, Kind.LEAVE)

    def _change(self, worker: int, kind: Kind) -> None:
        self._changes += 1
        self._follow(Signal(self._told, self._changes, worker, kind))
        self._settle()
