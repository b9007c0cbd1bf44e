"""Wrap-around: heavy keys cut just where a worker is full, light keys placed by bucket."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from skewkit.hashing.mix import Hashes
from skewkit.partitioners.checks import Floats, whole_number
from skewkit.partitioners.lpt import longest_first
from skewkit.partitioners.planned import Planned
from skewkit.partitioners.shares import Shares
from skewkit.partitioners.wrap_around import water_level, wrap_around


class WrapAround(Planned):
    """Place the tail's buckets, then pour the heavy keys over them; a key is cut where a worker is full.

    skewkit's own scheme. The head and the sketch are those of Nasir et al., "When Two Choices Are not
    Enough"; the buckets and the longest-first rule those of Rivetti et al. (DKG); the cut is McNaughton's
    wrap-around rule (1959). A message of a cut key goes to the worker of its list that is furthest behind its
    planned share (`Shares`).

    Fitted, the plan stays. Not fitted, it counts what it sees and plans anew before the messages with the
    numbers first, 2 first, 4 first, ... (from 0), each time for as much again as it has seen, on top of the
    loads already sent. A new plan keeps a bucket where it is unless its worker would end above the common
    level without any heavy key.

    * choices(key) is the length of the key's list, 1 for keys of the tail, and the same until the next plan.
    * A plan needs at most heavy keys + workers - 1 pairs of a heavy key and a worker.
    * With true frequencies every worker ends level, up to a few messages, if the head weighs enough to fill
      what the buckets leave uneven.
    * A plan stays as it is until the next one: a key that becomes hot in between burdens one worker.

    Options:
        theta: least share of a heavy key; 1 / (5 workers) by default.
        capacity: counters of the SpaceSaving sketch; by default 10 per worker, and 2 / theta at least.
        mu: hash buckets per worker.
        first: number of messages before the first plan; 10 per worker by default.

    >>> p = WrapAround(workers=4).fit(["a", "b", "c"], weights=[6, 1, 1])
    >>> p.choices("a"), p.choices("b"), p.choices("never seen")
    (3, 1, 1)
    >>> _ = p.route_many(["a"] * 600 + ["b"] * 100 + ["c"] * 100)
    >>> p.loads.tolist()
    [200.0, 200.0, 200.0, 200.0]
    """

    name: ClassVar[str] = "wrap"

    def __init__(
        self,
        workers: int,
        seed: int = 0,
        *,
        theta: float | None = None,
        capacity: int | None = None,
        mu: int = 20,
        first: int | None = None,
        **unknown: Any,
    ) -> None:
        super().__init__(workers, seed, theta, capacity, mu, **unknown)
        self.first = 10 * self.workers if first is None else whole_number("first", first)
        self._due = self.first
        self._shares: list[Shares] = []

    def _plan(self, hashes: Hashes, weights: Floats, buckets: Floats, loads: Floats) -> list[Any]:
        if self.messages:
            self._homes = resettle(self._homes, buckets, loads, float(weights.sum()))
        else:
            self._homes = longest_first(buckets, loads).astype(np.int64)
        tail = np.bincount(self._homes, weights=buckets, minlength=self.workers)
        return list(wrap_around(weights.tolist(), loads + tail))

    def _place(self, places: list[Any]) -> None:
        self._shares = [Shares(parts) for parts in places]

    def _after_plan(self) -> float:
        return 2 * self.messages

    def _heavy_worker(self, head: int, weight: float) -> int:
        return self._shares[head].turn(weight)

    def _heavy_workers(self, heads: npt.NDArray[np.int64], weights: Floats) -> npt.NDArray[np.int64]:
        routes = np.empty(heads.size, dtype=np.int64)
        order = np.argsort(heads, kind="stable")
        borders = np.searchsorted(heads[order], np.arange(len(self._shares) + 1))
        for shares, start, stop in zip(self._shares, borders[:-1], borders[1:], strict=True):
            if start < stop:
                mine = order[start:stop]
                routes[mine] = shares.turns_of(weights[mine])
        return routes

    def _choices(self, hashed: int) -> int:
        at = int(np.searchsorted(self._heads, np.uint64(hashed)))
        if at < self._heads.size and int(self._heads[at]) == hashed:
            return len(self._shares[at].workers)
        return 1


def resettle(
    homes: npt.NDArray[np.int64],
    buckets: Floats,
    loads: Floats,
    head: float,
) -> npt.NDArray[np.int64]:
    """Return new homes of the buckets: as before, but no worker above the common level, as far as can be.

    The level is what all workers reach when the head, too, has been poured. Where buckets and load of a
    worker pass it, the buckets that pass it (heaviest kept first) are placed anew, longest first.

    Args:
        homes: (buckets,) worker of every bucket.
        buckets: (buckets,) weight to expect in every bucket.
        loads: (workers,) load that each worker has already.
        head: weight of all heavy keys.

    >>> resettle(np.array([0, 0, 1]), np.array([4.0, 3.0, 1.0]), np.zeros(2), head=0.0).tolist()
    [0, 1, 1]
    """
    level = water_level(float(buckets.sum()) + head, loads) * (1.0 + 1e-9)  # rounding moves nothing
    order = np.lexsort((-buckets, homes))
    weights, owners = buckets[order], homes[order]
    begin = np.searchsorted(owners, np.arange(loads.size))
    running = np.cumsum(weights)
    before = np.concatenate([[0.0], running])[begin]  # running sum before the first bucket of each worker
    stays = loads[owners] + running - before[owners] <= level
    tail = np.bincount(owners[stays], weights=weights[stays], minlength=loads.size)
    moved = order[~stays]
    settled = homes.copy()
    settled[moved] = longest_first(buckets[moved], loads + tail)
    return settled
