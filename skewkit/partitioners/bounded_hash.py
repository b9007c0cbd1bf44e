"""Consistent hashing with bounded loads: a key takes the next worker with room on a ring."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from skewkit.checks import Floats, whole_number
from skewkit.hashing.mix import Hashes
from skewkit.partitioners.base import Routes
from skewkit.partitioners.bases.bounded import Bounded
from skewkit.sketch import HashRing


class BoundedHash(Bounded):
    """CH: workers stand on a ring. A key goes clockwise from its own place to the first worker with room.

    Sources: Nasir et al., "Load Balancing for Skewed Streams on Heterogeneous Clusters", Section III-C;
    Mirrokni, Thorup and Zadimoghaddam, "Consistent Hashing with Bounded Loads", 2016.

    * No load ever exceeds (1 + epsilon) times the mean by more than one message.
    * choices(key) is the number of workers: a key whose neighbours are full goes on around the ring.

    Options:
        epsilon: how far a load may exceed the mean, as a share of the mean.
        points: places of every worker on the ring (virtual nodes).

    >>> p = BoundedHash(workers=10, epsilon=0.1)
    >>> _ = p.route_many(["a"] * 1000)
    >>> bool(p.loads.max() <= 1.1 * p.loads.mean() + 1)
    True
    """

    name: ClassVar[str] = "bounded_hash"

    def __init__(self, workers: int, seed: int = 0, *, epsilon: float = 0.01, points: int = 1, **unknown: Any) -> None:
        super().__init__(workers, seed, epsilon=epsilon, **unknown)
        self.points = whole_number("points", points)
        self._ring = HashRing(self.workers, self.points, self.seed)

    def _start(self, hashed: int) -> int:
        return self._ring.start(hashed)

    def _starts(self, hashes: Hashes) -> list[int]:
        starts: list[int] = self._ring.starts(hashes).tolist()
        return starts

    def _first_worker(self, start: int) -> int:
        return self._ring.owners[start]

    def _next_with_room(self, hashed: int, start: int, bound: float) -> int:
        ring, loads = self._ring.owners, self._loads
        for at in (range(start, len(ring)), range(start)):
            for index in at:
                if loads[ring[index]] < bound:
                    return ring[index]
        return loads.index(min(loads))

    def _walk_compiled(self, hashes: Hashes, weights: Floats, routes: Routes, total: float, allowed: float) -> float:
        from skewkit.compiled.direct import route_ring

        places = np.array(self._ring.places, dtype=np.uint64)
        ring = np.array(self._ring.owners, dtype=np.int64)
        return route_ring(hashes, weights, self._load_view(), routes, total, allowed, places, ring)
