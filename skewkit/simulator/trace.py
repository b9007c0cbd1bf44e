"""What a replay found: loads, imbalance, pairs, and with service times the queues."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from skewkit.checks import Floats, non_negative, one_of, real_number, whole_number
from skewkit.errors import ArgumentError, ArgumentTypeError, UnsupportedError
from skewkit.hashing import hash_keys
from skewkit.hashing.key_hash import Keys
from skewkit.hashing.mix import Hashes
from skewkit.hashing.plain_keys import key_list
from skewkit.partitioners import Partitioner
from skewkit.simulator.speeds import Speeds
from skewkit.simulator.timing import Queue, busy_until, lengths_at, queues_of

_NO_TIMES = "this trace has no times; give replay(..., service_times=1.0) to get them"


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
        speeds: the capacities of the workers over time, or None without service times.

    Workers that came later or were removed have their place among the workers from the beginning to the end.
    """

    keys: Keys = field(repr=False)
    weights: Floats = field(repr=False)
    routes: npt.NDArray[np.int32] = field(repr=False)
    partitioners: tuple[Partitioner, ...]
    arrivals: Floats | None = field(default=None, repr=False)
    services: Floats | None = field(default=None, repr=False)
    departures: Floats | None = field(default=None, repr=False)
    speeds: Speeds | None = field(default=None, repr=False)

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
        """For every key of the stream among how many workers the sources share it at the end."""
        listed = key_list(self.keys)
        named = [listed[i] for i in np.sort(self._distinct[1]).tolist()]
        first, *others = self.partitioners
        return {key: first.choices_beside(others, key) for key in named}

    @cached_property
    def normalised_imbalance(self) -> float:
        """I(m) of loads divided by capacities, which are scaled to a mean of 1 (CG paper, Sections IV and VI).

        Raises:
            UnsupportedError: the trace has no times, or a capacity changes.
        """
        speeds = self._speeds()
        known = [speeds.constant(worker) for worker in range(self.workers)]
        capacities = np.array([capacity for capacity in known if capacity is not None])
        if capacities.size < self.workers:
            raise UnsupportedError("a capacity changes in this trace; use utilisation_over instead")
        loads, total = self.loads / (capacities / capacities.mean()), float(self.loads.sum())
        return float(loads.max() - loads.mean()) / total if total > 0.0 else 0.0

    def imbalance_over_time(self, points: int = 100) -> tuple[npt.NDArray[np.int64], Floats]:
        """Return I(t) after every part of the stream, cut into `points` parts as equal as can be.

        Returns:
            Numbers of messages t, and I(t) of the loads until then; both of size min(points, m).

        >>> from skewkit.simulator import replay
        >>> replay(["a"] * 4, "shuffle", workers=2).imbalance_over_time(4)
        (array([1, 2, 3, 4]), array([0.5       , 0.        , 0.16666667, 0.        ]))
        """
        m = len(self.routes)
        ends = np.unique(np.linspace(0, m, whole_number("points", points) + 1).round().astype(np.int64))[1:]
        loads, found, begin = np.zeros(self.workers), [], 0
        for end in ends.tolist():
            part = slice(begin, end)
            loads += np.bincount(self.routes[part], self.weights[part], self.workers)
            total = float(loads.sum())
            found.append((float(loads.max()) - total / self.workers) / total if total > 0.0 else 0.0)
            begin = end
        return ends, np.array(found)

    @property
    def exchanged(self) -> int:
        """Messages between workers and sources other than the stream and its acknowledgements."""
        return sum(p.exchanged for p in self.partitioners)

    def memory_of(self, scheme: str) -> int:
        """Return the key-worker pairs that "key", "two_choices" or "shuffle" are taken to need for this stream.

        The sum over all keys of min(f, c), f the messages of the key, c = 1, 2 or the number of workers
        (D-Choices paper, Section IV-B). It is an upper bound of what the schemes really need.

        Raises:
            ArgumentError: `scheme` is another one.
        """
        choices = {"key": 1, "two_choices": 2, "shuffle": self.workers}
        most = choices[one_of("scheme", scheme, tuple(choices))]
        return int(np.minimum(np.bincount(self._distinct[2]), most).sum())

    def memory_against(self, scheme: str) -> float:
        """Return `pairs` as a multiple of `memory_of(scheme)` (0 for an empty stream).

        Raises:
            ArgumentError: `scheme` is none of "key", "two_choices" and "shuffle".

        >>> from skewkit.simulator import replay
        >>> trace = replay(["a"] * 9, "two_choices", workers=3)
        >>> trace.memory_against("two_choices"), trace.memory_against("key")
        (1.0, 2.0)
        """
        memory = self.memory_of(scheme)
        return self.pairs / memory if memory else 0.0

    def aggregated(self, period: int) -> int:
        """Return how many partial results workers send if they hand theirs over after every `period` messages.

        One per key and worker that met in the period (periodic aggregation, CG paper, Section V-C).

        Raises:
            ArgumentError: `period` is below 1.

        >>> from skewkit.simulator import replay
        >>> replay(["a"] * 8, "shuffle", workers=2).aggregated(period=4)
        4
        """
        numbers = np.arange(len(self.routes)) // whole_number("period", period)
        keys = self._distinct[0].size
        cells = (numbers * keys + self._distinct[2]) * self.workers + self.routes
        return int(np.unique(cells).size)

    @cached_property
    def latencies(self) -> Floats:
        """Departure minus arrival of every message, as an array (m,)."""
        arrivals, _, departures = self._times()
        return departures - arrivals

    @cached_property
    def completion_time(self) -> float:
        """The average completion time L of a message, which is its mean latency (POSG paper, Section II).

        It is 0 for an empty stream. `makespan` says when the last message is done.
        """
        return float(self.latencies.mean()) if self.latencies.size else 0.0

    def latency_percentiles(self, percents: Sequence[float] = (50, 95, 99)) -> Floats:
        """Return the latencies that so many percent of the messages do not exceed (0 for an empty stream).

        Raises:
            ArgumentTypeError: `percents` is no sequence of numbers.
            ArgumentError: a number is outside 0..100.
        """
        if not isinstance(percents, (Sequence, np.ndarray)) or isinstance(percents, str):
            raise ArgumentTypeError(f"percents is {percents!r}; expected a sequence of numbers, such as (50, 99)")
        wanted = [real_number("percents", percent, high=100.0) for percent in percents]
        if not self.latencies.size:
            return np.zeros(len(wanted))
        found: Floats = np.percentile(self.latencies, wanted, method="inverted_cdf")
        return found

    def latencies_over_time(self, window: int = 2000) -> Floats:
        """Return least, mean and greatest latency of every `window` messages in turn, as an array (windows, 3).

        The last window may hold fewer messages (POSG paper, Figure 10).

        Raises:
            ArgumentError: `window` is below 1.
        """
        starts = np.arange(0, self.latencies.size, whole_number("window", window))
        parts = [self.latencies[start : start + window] for start in starts.tolist()]
        return np.array([(part.min(), part.mean(), part.max()) for part in parts]).reshape(-1, 3)

    @cached_property
    def makespan(self) -> float:
        """Time from the first arrival to the last departure (0 for an empty stream)."""
        arrivals, _, departures = self._times()
        return float(departures.max() - arrivals[0]) if arrivals.size else 0.0

    @cached_property
    def execution_time(self) -> float:
        """The time that the busiest worker spends on its messages, waiting left out.

        It is when all would be done if the whole stream were there at the beginning, the execution time of the
        FISH paper (Section 6.1).
        """
        return float(self._per_worker(self._times()[1]).max())

    @property
    def throughput(self) -> float:
        """Messages done per unit of time, from the first arrival to the last departure."""
        return len(self.routes) / self.makespan if self.makespan > 0.0 else 0.0

    @cached_property
    def utilisation(self) -> Floats:
        """Share of the makespan that every worker spent on messages, as an array (workers,)."""
        busy = self._per_worker(self._times()[1])
        return busy / self.makespan if self.makespan > 0.0 else busy

    def utilisation_over(self, edges: Sequence[float] | npt.NDArray[Any]) -> Floats:
        """Return the share of time that every worker spent on messages between neighbouring times.

        Args:
            edges: times, rising.

        Returns:
            Array (edges - 1, workers), of 0..1.

        Raises:
            ArgumentError: the times do not rise.
        """
        times = non_negative("edges", edges)
        if np.any(np.diff(times) <= 0.0):
            raise ArgumentError("edges do not rise somewhere; expected times, each greater than the one before")
        _, services, departures = self._times()
        busy = [busy_until(times, departures[mine], services[mine]) for mine in self._queues]
        return np.diff(np.array(busy), axis=1).T / np.diff(times)[:, None]

    def queue_lengths_at(self, times: Sequence[float] | npt.NDArray[Any]) -> npt.NDArray[np.int64]:
        """Return how many messages every worker has waiting or at work at each time, as (times, workers).

        What arrives at that very time counts, what departs then does not.
        """
        arrivals, _, departures = self._times()
        return lengths_at(non_negative("times", times), arrivals, departures, self._queues)

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

    @cached_property
    def _queues(self) -> list[Queue]:
        return queues_of(self.routes, self.workers)

    def _per_worker(self, amounts: Floats) -> Floats:
        return np.bincount(self.routes, weights=amounts, minlength=self.workers).astype(np.float64)

    def _times(self) -> tuple[Floats, Floats, Floats]:
        if self.arrivals is None or self.services is None or self.departures is None:
            raise UnsupportedError(_NO_TIMES)
        return self.arrivals, self.services, self.departures

    def _speeds(self) -> Speeds:
        if self.speeds is None:
            raise UnsupportedError(_NO_TIMES)
        return self.speeds
