"""Key grouping: one worker per key."""

from __future__ import annotations

from typing import ClassVar

from skewkit.checks import Floats
from skewkit.hashing.mix import Hashes
from skewkit.partitioners.base import Partitioner, Routes
from skewkit.partitioners.rules.candidates import candidate, candidate_many


class KeyGrouping(Partitioner):
    """KG: every key goes to the one worker that its hash names.

    Source: Nasir et al., "When Two Choices Are not Enough", Section II-B. It has no options.

    * choices(key) is 1, for ever.
    * The load of a worker is at least that of its heaviest key, however many workers there are.

    >>> p = KeyGrouping(workers=10)
    >>> len(set(p.route_many(["a"] * 100).tolist()))
    1
    """

    name: ClassVar[str] = "key"
    on_spark: ClassVar[str] = "plan"

    def _route_one(self, hashed: int, weight: float) -> int:
        return self._count_one(candidate(hashed, 1, self.workers), weight)

    def _route_all(self, hashes: Hashes, weights: Floats) -> Routes:
        return self._count_all(candidate_many(hashes, 1, self.workers), weights)

    def _run_compiled(self, hashes: Hashes, weights: Floats, routes: Routes) -> bool:
        from skewkit.compiled.direct import route_key

        route_key(hashes, weights, self._load_view(), routes)
        self.messages += hashes.size
        return True

    def _choices(self, hashed: int) -> int:
        return 1
