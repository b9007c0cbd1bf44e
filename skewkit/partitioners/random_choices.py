"""Power of random choices: a key takes the first worker with room in a random sequence of its own."""

from __future__ import annotations

from typing import Any, ClassVar

from skewkit.checks import Floats
from skewkit.hashing.mix import Hashes
from skewkit.partitioners.base import Routes
from skewkit.partitioners.bases.bounded import Bounded
from skewkit.partitioners.rules.candidates import candidate, candidate_many

_REMEMBERED = 1 << 16  # sequences kept; they are drawn again when needed


class RandomChoices(Bounded):
    """PoRC: hash the key with salts 1, 2, ... and take the first worker that has room.

    Source: Nasir et al., "Load Balancing for Skewed Streams on Heterogeneous Clusters", Section V-A and
    Algorithm 1. The first worker of the sequence is the principal one.

    * No load ever exceeds (1 + epsilon) times the mean by more than one message.
    * choices(key) is the number of workers: only a key that overflows its first workers goes on.

    Options:
        epsilon: how far a load may exceed the mean, as a share of the mean: less balance, less state.

    >>> p = RandomChoices(workers=10, epsilon=0.1)
    >>> _ = p.route_many(["a"] * 1000)
    >>> bool(p.loads.max() <= 1.1 * p.loads.mean() + 1)
    True
    """

    name: ClassVar[str] = "random_choices"

    def __init__(self, workers: int, seed: int = 0, *, epsilon: float = 0.01, **unknown: Any) -> None:
        super().__init__(workers, seed, epsilon=epsilon, **unknown)
        self._sequences: dict[int, tuple[list[int], int]] = {}  # workers in order, and salts used

    def _start(self, hashed: int) -> int:
        return candidate(hashed, 1, self.workers)

    def _starts(self, hashes: Hashes) -> list[int]:
        starts: list[int] = candidate_many(hashes, 1, self.workers).tolist()
        return starts

    def _first_worker(self, start: int) -> int:
        return start

    def _next_with_room(self, hashed: int, start: int, bound: float) -> int:
        loads = self._loads
        sequence, salt = self._sequences.get(hashed) or ([start], 1)
        for worker in sequence:
            if loads[worker] < bound:
                return worker
        if len(self._sequences) >= _REMEMBERED and hashed not in self._sequences:
            self._sequences.clear()
        worker = start
        while len(sequence) < self.workers and loads[worker] >= bound:
            salt += 1
            worker = candidate(hashed, salt, self.workers)
            if worker not in sequence:
                sequence.append(worker)
        self._sequences[hashed] = (sequence, salt)
        return worker if loads[worker] < bound else loads.index(min(loads))

    def _walk_compiled(self, hashes: Hashes, weights: Floats, routes: Routes, total: float, allowed: float) -> float:
        from skewkit.compiled.direct import route_random_choices

        return route_random_choices(hashes, weights, self._load_view(), routes, total, allowed)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_sequences": {}}
