"""What a replay found: loads, imbalance, pairs, and with service times the queues."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from skewkit.errors import UnsupportedError
from skewkit.hashing import hash_keys
from skewkit.hashing.keys import Keys
from skewkit.hashing.mix import Hashes
from skewkit.partitioners import Partitioner
from skewkit.partitioners.checks import Floats


@dataclass(frozen=True, eq=False)
class Trace:
    """The routes of a stream and what follows from them.

    Attributes:
        keys: (m,) keys of the stream, as given.
        weights: (m,) weights.
        routes: int32 (m,), worker of every message.
        partitioners: the instances that routed, one per source, in their final state.
        arrivals: (m,) arrival times, or None without service times.
        services: (m,) time that the worker spent on the message, or None.
        departures: (m,) times at which messages were done, or None.
    """

    keys: Keys = field(repr=False)
    weights: Floats = field(repr=False)
    routes: npt.NDArray[np.int32] = field(repr=False)
    partitioners: tuple[Partitioner, ...]
    arrivals: Floats | None = field(default=None, repr=False)
    services: Floats | None = field(default=None, repr=False)
    departures: Floats | None = field(default=None, repr=False)

    @property
    def workers(self) -> int:
        """Number of workers n."""
        return self.partitioners[0].workers

    @cached_property
    def loads(self) -> Floats:
        """Weight sent to every worker, as an array (workers,)."""
        return self._per_worker(self.weights)

    @cached_property
    def imbalance(self) -> float:
        """I(m): the greatest load minus the mean load, as a share of all load (0 for an empty stream).

        Source: Nasir et al., "When Two Choices Are not Enough", Section II-B.
        """
        total = float(self.loads.sum())
        return float(self.loads.max() - total / self.workers) / total if total > 0.0 else 0.0

    @cached_property
    def _distinct(self) -> tuple[Hashes, npt.NDArray[np.intp], npt.NDArray[np.intp]]:
        """Return the distinct keys as hashes, where each comes first, and which key each message has."""
        hashes, first, inverse = np.unique(hash_keys(self.keys), return_index=True, return_inverse=True)
        return hashes, first, inverse.reshape(-1)

    @cached_property
    def pairs(self) -> int:
        """Number of distinct (key, worker) pairs: the state that the workers hold."""
        cells = self._distinct[2].astype(np.int64) * self.workers + self.routes
        return int(np.unique(cells).size)

    @cached_property
    def choices(self) -> dict[Any, int]:
        """For every key of the stream the greatest `choices(key)` of all sources, at its end."""
        listed = self.keys.tolist() if isinstance(self.keys, np.ndarray) else self.keys
        named = [listed[i] for i in np.sort(self._distinct[1]).tolist()]
        return {key: max(p.choices(key) for p in self.partitioners) for key in named}

    @cached_property
    def latencies(self) -> Floats:
        """Departure minus arrival of every message, as an array (m,)."""
        arrivals, _, departures = self._times()
        return departures - arrivals

    @cached_property
    def completion_time(self) -> float:
        """Time from the first arrival to the last departure (0 for an empty stream)."""
        arrivals, _, departures = self._times()
        return float(departures.max() - arrivals[0]) if arrivals.size else 0.0

    @cached_property
    def utilisation(self) -> Floats:
        """Share of the completion time that every worker spent on messages, as an array (workers,)."""
        busy = self._per_worker(self._times()[1])
        return busy / self.completion_time if self.completion_time > 0.0 else busy

    @cached_property
    def executed(self) -> npt.NDArray[np.int64]:
        """Messages that every worker has done when the last message arrives, as an array (workers,)."""
        arrivals, _, departures = self._times()
        done = departures <= arrivals[-1] if arrivals.size else np.empty(0, dtype=bool)
        return np.bincount(self.routes[done], minlength=self.workers).astype(np.int64)

    @cached_property
    def queue_lengths(self) -> npt.NDArray[np.int64]:
        """Messages that every worker has waiting or at work when the last one arrives, (workers,)."""
        return np.bincount(self.routes, minlength=self.workers).astype(np.int64) - self.executed

    def _per_worker(self, amounts: Floats) -> Floats:
        return np.bincount(self.routes, weights=amounts, minlength=self.workers).astype(np.float64)

    def _times(self) -> tuple[Floats, Floats, Floats]:
        if self.arrivals is None or self.services is None or self.departures is None:
            raise UnsupportedError("this trace has no times; give replay(..., service_times=1.0) to get them")
        return self.arrivals, self.services, self.departures
