"""Power of two choices: two random workers per message, whatever the key."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from skewkit.checks import Floats
from skewkit.hashing.mix import GOLDEN, MASK, Hashes, mix
from skewkit.partitioners.base import Routes
from skewkit.partitioners.bases.two_candidates import TwoCandidates
from skewkit.partitioners.rules.candidates import candidate, candidate_many


class PowerOfTwo(TwoCandidates):
    """PoTC: two workers drawn at random for every message. The less loaded one takes it.

    Source: Nasir et al., "Load Balancing for Skewed Streams on Heterogeneous Clusters", Sections III-D and
    VI-A1 (Lemma VI.2). The draws follow from the seed and the number of the message. It has no options.

    * choices(key) is the number of workers: state of a key may end up on all of them.
    * Balance does not depend on the keys: the greatest load exceeds the mean by O(log log workers) messages
      with high probability (Azar et al., "Balanced Allocations", 1999).

    >>> p = PowerOfTwo(workers=10, seed=1)
    >>> loads = p.route_many(["a"] * 1000) is not None and p.loads
    >>> bool(loads.max() - loads.mean() <= 5)
    True
    """

    name: ClassVar[str] = "power_of_two"

    def __init__(self, workers: int, seed: int = 0, **unknown: Any) -> None:
        super().__init__(workers, seed, **unknown)
        self._draws = mix(mix(self.seed) + GOLDEN)

    def _seat(self, source: int, sources: int) -> None:
        self._draws = mix(mix(self.seed) + (source + 1) * GOLDEN)

    def _pair(self, hashed: int) -> tuple[int, int]:
        # Messages take every second number of one sequence, so that no two of them share a draw.
        at = self._draws + 2 * self.messages * GOLDEN
        return candidate(at, 1, self.workers), candidate(at, 2, self.workers)

    def _pairs(self, hashes: Hashes) -> tuple[list[int], list[int]]:
        numbers = np.arange(self.messages, self.messages + hashes.size, dtype=np.uint64)
        at = np.uint64(self._draws) + numbers * np.uint64(2 * GOLDEN % 2**64)
        first, second = (candidate_many(at, index, self.workers).tolist() for index in (1, 2))
        return first, second

    def _run_compiled(self, hashes: Hashes, weights: Floats, routes: Routes) -> bool:
        from skewkit.compiled.direct import route_drawn

        draws = np.uint64((self._draws + 2 * self.messages * GOLDEN) & MASK)
        route_drawn(draws, weights, self._load_view(), routes)
        self.messages += hashes.size
        return True

    def _choices(self, hashed: int) -> int:
        return self.workers
