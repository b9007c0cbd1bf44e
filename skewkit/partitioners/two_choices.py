"""Partial key grouping: two workers per key, the less loaded one takes the message."""

from __future__ import annotations

from typing import ClassVar

from skewkit.checks import Floats
from skewkit.hashing.mix import Hashes
from skewkit.partitioners.base import Routes
from skewkit.partitioners.bases.two_candidates import TwoCandidates
from skewkit.partitioners.rules.candidates import candidate, candidate_many


class TwoChoices(TwoCandidates):
    """PKG: two hash functions of the key name two workers. The less loaded one takes the message.

    Source: Nasir et al., "When Two Choices Are not Enough", Section II-B (PKG) and III-B (Greedy-d, d = 2).
    Loads are those that this instance has sent. It has no options.

    * choices(key) is 2 (or 1 with a single worker), for ever.
    * With a key of share p1 > 2 / workers the imbalance is at least p1 / 2 - 1 / workers.

    >>> p = TwoChoices(workers=10, seed=1)
    >>> len(set(p.route_many(["a"] * 100).tolist())) <= 2
    True
    """

    name: ClassVar[str] = "two_choices"

    def _pair(self, hashed: int) -> tuple[int, int]:
        return candidate(hashed, 1, self.workers), candidate(hashed, 2, self.workers)

    def _pairs(self, hashes: Hashes) -> tuple[list[int], list[int]]:
        first, second = (candidate_many(hashes, index, self.workers).tolist() for index in (1, 2))
        return first, second

    def _run_compiled(self, hashes: Hashes, weights: Floats, routes: Routes) -> bool:
        from skewkit.compiled.direct import route_greedy

        route_greedy(hashes, weights, self._load_view(), routes)
        self.messages += hashes.size
        return True

    def _choices(self, hashed: int) -> int:
        return min(2, self.workers)
