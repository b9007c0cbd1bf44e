"""How long a message would wait at every worker, inferred at the source: Algorithm 3 of FISH.

Source: Huang, "Efficient Time-Evolving Stream Processing at Scale", Section 4.2 (HWA).
"""

from __future__ import annotations

from collections.abc import Iterable

_SAMPLES = 32  # the time per message is a mean over about so many


class WaitingTimes:
    """Keeps for every worker w the unprocessed messages C_w and the time per message P_w.

    C_w grows with every message sent to w. Whenever more than `interval` has passed, every worker is taken to
    have worked all the time: C_w falls by (time passed) / P_w, to zero at least (Equation 1). A message goes to
    the candidate with the least C_w * P_w (Equation 2).

    * Algorithm 3 adds every message to C_w when it is sent, and its Equation (1) once more, as N_w, when the
      interval ends. Counted twice, C_w grows without end from half the capacity on. Here each counts once.
    * It subtracts one interval, however long ago the last time was; here, the time that has really passed.
    * With s sources a worker gives 1 / s of its time to each of them.
    * P_w is the mean over the last reports of the worker. Workers that have not reported take the mean of
      those that have. Before the first report of any P_w is the number of workers that are present: at one message
      per unit of time they have just enough to do.

    Args:
        workers: number of workers.
        interval: time between two estimates (T).

    >>> waiting = WaitingTimes(2, interval=10.0)
    >>> waiting.sample(0, 1.0), waiting.sample(1, 4.0)
    (None, None)
    >>> waiting.send(0, 3.0), waiting.send(1, 1.0)  # 3 messages of 1 unit, 1 of 4
    (None, None)
    >>> waiting.shortest([1, 0])
    0
    """

    def __init__(self, workers: int, interval: float) -> None:
        self.interval = interval
        self.sources = 1
        self.present = workers
        self.unprocessed = [0.0] * workers  # C_w, as weight
        self.pace = [float(workers)] * workers  # P_w, time per message
        self.samples = [0] * workers
        self.prior: float | None = None  # t_pri

    def sample(self, worker: int, service_time: float) -> None:
        """Take notice of the time that a message took at a worker."""
        self.samples[worker] = seen = min(self.samples[worker] + 1, _SAMPLES)
        if seen == 1:
            self.pace[worker] = service_time
        else:
            self.pace[worker] += (service_time - self.pace[worker]) / seen
        if 0 in self.samples:
            self._guess()

    def _guess(self) -> None:
        known = [pace for pace, seen in zip(self.pace, self.samples, strict=True) if seen]
        guess = sum(known) / len(known) if known else float(self.present)
        self.pace = [pace if seen else guess for pace, seen in zip(self.pace, self.samples, strict=True)]

    def advance(self, now: float, unit: float) -> None:
        """Let time pass; `unit` is the weight of one message."""
        if self.prior is None:
            self.prior = now
        passed = now - self.prior
        if passed > self.interval:
            share = passed / self.sources * unit
            self.unprocessed = [
                max(0.0, left - share / pace) if pace > 0.0 else 0.0
                for left, pace in zip(self.unprocessed, self.pace, strict=True)
            ]
            self.prior = now

    def shortest(self, candidates: Iterable[int]) -> int:
        """Return the candidate with the shortest wait; of equals, the first."""
        unprocessed, pace = self.unprocessed, self.pace
        return min(candidates, key=lambda worker: unprocessed[worker] * pace[worker])

    def send(self, worker: int, weight: float) -> None:
        """Count a message for a worker."""
        self.unprocessed[worker] += weight

    def admit(self, worker: int) -> None:
        """Begin to watch a worker that has nothing to do yet."""
        self.present += 1
        if worker == len(self.pace):
            self.unprocessed.append(0.0)
            self.pace.append(0.0)
            self.samples.append(0)
        else:
            self.unprocessed[worker] = 0.0
            self.samples[worker] = 0
        self._guess()

    def dismiss(self) -> None:
        """One worker less will do what there is to do."""
        self.present -= 1
        self._guess()
