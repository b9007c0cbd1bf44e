"""Pairing virtual workers: a busy worker gives one to an idle worker, first come, first served.

Source: Nasir et al., "Load Balancing for Skewed Streams on Heterogeneous Clusters", Section V-B.
"""

from __future__ import annotations

from skewkit.partitioners.consistent.delegation import Kind, Signal


class VirtualWorkers:
    """Which worker has which virtual workers, and the queues of idle and of busy workers.

    * A signal puts its worker at the end of one queue, unless it stands there already, and takes it out of the
      other. As long as both queues have somebody, the first busy worker gives the virtual worker that it has had
      for longest to the first idle worker, and both leave their queues.
    * The number of virtual workers never changes, and every worker keeps one at least: without any it would get
      no messages, and it speaks only when it acknowledges one.
    * A worker that leaves hands its virtual workers to the idle workers in their order, then to those with the
      fewest. A worker that joins takes its part from those with the most. (The paper has fixed workers.)
    * What comes out follows from the signals and their order alone.

    Args:
        workers: number of workers.
        virtual: virtual workers of each at the beginning. Virtual worker v belongs to worker v % workers.

    >>> pairing = VirtualWorkers(workers=2, virtual=2)
    >>> pairing.follow(Signal(1.0, 0, 0, Kind.DECREASE)), pairing.owners
    (None, [0, 1, 0, 1])
    >>> pairing.follow(Signal(2.0, 1, 1, Kind.INCREASE)), pairing.owners
    (None, [1, 1, 0, 1])
    """

    def __init__(self, workers: int, virtual: int) -> None:
        self.owners = [number % workers for number in range(workers * virtual)]
        self.held = {worker: list(range(worker, workers * virtual, workers)) for worker in range(workers)}
        self.idle: list[int] = []
        self.busy: list[int] = []
        self.moves = 0  # virtual workers that were given away

    def copy(self) -> VirtualWorkers:
        """Return a copy that does not change with this one."""
        twin = VirtualWorkers(0, 0)
        twin.owners = self.owners.copy()
        twin.held = {worker: held.copy() for worker, held in self.held.items()}
        twin.idle, twin.busy, twin.moves = self.idle.copy(), self.busy.copy(), self.moves
        return twin

    def follow(self, signal: Signal) -> None:
        """Do what a signal asks for. One of a worker that has left asks for nothing."""
        _, _, worker, kind = signal
        if kind is Kind.JOIN:
            self._join(worker)
        elif worker not in self.held:
            return
        elif kind is Kind.LEAVE:
            self._leave(worker)
        else:
            mine, other = (self.busy, self.idle) if kind is Kind.DECREASE else (self.idle, self.busy)
            if worker in other:
                other.remove(worker)
            if worker not in mine:
                mine.append(worker)
            self._pair()

    def _pair(self) -> None:
        while self.busy and self.idle:
            giver = self.busy.pop(0)
            if len(self.held[giver]) > 1:
                self._give(giver, self.idle.pop(0))

    def _give(self, giver: int, taker: int) -> None:
        number = self.held[giver].pop(0)
        self.held[taker].append(number)
        self.owners[number] = taker
        self.moves += 1

    def _fewest(self) -> int:
        return min(self.held, key=lambda worker: (len(self.held[worker]), worker))

    def _leave(self, worker: int) -> None:
        self.idle = [other for other in self.idle if other != worker]
        self.busy = [other for other in self.busy if other != worker]
        orphans = self.held.pop(worker)
        for number in orphans:
            taker = self.idle.pop(0) if self.idle else self._fewest()
            self.held[taker].append(number)
            self.owners[number] = taker
            self.moves += 1

    def _join(self, worker: int) -> None:
        self.held[worker] = []
        part = len(self.owners) // len(self.held)
        while len(self.held[worker]) < part:
            giver = min(self.held, key=lambda other: (-len(self.held[other]), other))
            self._give(giver, worker)
