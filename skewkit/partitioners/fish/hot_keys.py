"""Which keys are hot at present and how many workers each may have: Algorithms 1 and 2 of FISH.

Source: Huang, "Efficient Time-Evolving Stream Processing at Scale", Section 4.1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from skewkit.checks import Floats
from skewkit.compiled.table import Table
from skewkit.hashing.mix import Hashes
from skewkit.partitioners.rules.optimal_choices import optimal_choices
from skewkit.sketch import Decayed, SpaceSaving
from skewkit.sketch.packed import pack, scale, unpack

RULES = ("chk", "all", "optimal")


class HotKeys:
    """Counts keys by epochs with decay, and classifies every key when it comes (CHK).

    A key with a frequency f_k above theta is hot and gets d = workers / 2**floor(log2(f_top / f_k)) workers, at
    least d_min, and never fewer than it had when it was hot before (M_k). Every other key gets 2.

    The paper says of d_min only that it is related to the sum of the frequencies of all hot keys. That sum needs
    workers * sum of f_k workers, and CHK gives more to them together: 2**floor(log2(f_top / f_k)) is at most
    f_top / f_k, so a hot key gets workers * f_k / f_top at least, but for rounding. So d_min is 2 here, what any
    other key gets.

    With `margin=None` a key is hot by its share of all weight counted, as in Algorithm 1. Right after a decay little is
    counted, so any new key is hot where theta * alpha * epoch / (1 - alpha) is below 1. With a margin, the lower bound
    of its count, less `margin` standard errors (Poisson), must exceed theta of a whole window, epoch / (1 - alpha)
    messages. A key that passes at the end of an epoch stays hot during the next.

    Args:
        workers: number of workers that can be given.
        theta: a key is hot above this share.
        epoch: messages per epoch.
        alpha: factor of decay after every epoch.
        capacity: counters of the sketch (K_max).
        rule: "chk"; or "all": every hot key gets all workers, as in W-Choices; or "optimal": d of D-Choices.
        margin: None for the rule of the paper, or standard errors.

    >>> hot = HotKeys(workers=16, theta=1 / 64, epoch=100, alpha=0.2, capacity=100)
    >>> degrees = [hot.count(key, 1.0) for key in [1, 1, 1, 1, 2]]
    >>> degrees  # the second key has a quarter of the frequency of the first
    [16, 16, 16, 16, 4]
    """

    def __init__(
        self,
        workers: int,
        theta: float,
        epoch: int,
        alpha: float,
        capacity: int,
        rule: str = "chk",
        margin: float | None = None,
    ) -> None:
        self.workers = workers
        self.theta = theta
        self._rule = rule
        self._margin = margin
        self._window = epoch / (1.0 - alpha) if alpha < 1.0 else 0.0
        self._decayed = Decayed(SpaceSaving(capacity), epoch, alpha)
        self._packed: Table | None = None  # the sketch as arrays; while they are there, that in `_decayed` is old
        self._top = 0.0  # the highest count
        self._least = 2  # d_min; d with the rule "optimal"
        self._given: dict[int, int] = {}  # M: workers that a hot key was given before
        self._kept: set[int] = set()  # keys that were hot when the last epoch ended (with a margin)
        self._messages = 0
        self._weight = 0.0

    @property
    def _recent(self) -> Decayed[SpaceSaving]:
        """The sketch for single messages; compiled loops leave it as arrays."""
        if self._packed is not None:
            self._decayed.sketch, self._packed = unpack(self._packed), None
        return self._decayed

    def count(self, hashed: int, weight: float) -> int:
        """Count a message and return how many workers its key has."""
        if self._recent.full:
            counters = list(self._recent.sketch)
            lows, highs = np.array([(low, high) for _, low, high in counters]).reshape(-1, 2).T
            self._end_epoch([key for key, _, _ in counters], lows, highs)
        self._messages += 1
        self._weight += weight
        self._recent.add(hashed, weight)
        self._top = max(self._top, self._recent.high(hashed))
        if not self._is_hot(hashed):
            return min(2, self.workers)
        degree = self._degree(hashed)
        if self._rule == "chk":
            self._given[hashed] = degree
        return degree

    def degree(self, hashed: int) -> int:
        """Return how many workers a key has by what is known now."""
        return self._degree(hashed) if self._is_hot(hashed) else min(2, self.workers)

    @property
    def unit(self) -> float:
        """The mean weight of a message. 1 where that is 0, in floats at least."""
        return self._weight / max(1, self._messages) or 1.0

    def _degree(self, hashed: int) -> int:
        if self._rule == "all":
            return self.workers
        if self._rule == "optimal":
            return min(self._least, self.workers)
        count, before = self._recent.high(hashed), self._given.get(hashed, 0)
        if count == 0.0:  # kept from the last epoch, and all counts were forgotten (alpha = 0)
            return min(max(before, self._least), self.workers)
        index = max(0, math.frexp(self._top / count)[1] - 1)  # floor(log2(f_top / f_k))
        return min(max(self.workers >> index, self._least, before), self.workers)

    def _is_hot(self, hashed: int) -> bool:
        recent = self._recent
        if self._margin is None:
            return recent.high(hashed) > self.theta * recent.total
        return hashed in self._kept or self._is_proven(hashed, recent.total)

    def _is_proven(self, hashed: int, total: float) -> bool:
        return bool(self._proven(np.float64(self._recent.low(hashed)), total, self.unit))

    def _proven(self, lows: Any, totals: Any, units: Any) -> Any:
        """Tell for every key whether its count is evidence enough."""
        seen = lows / units
        return seen - (self._margin or 0.0) * np.sqrt(seen) > self.theta * np.maximum(totals / units, self._window)

    def _end_epoch(self, keys: Sequence[Any], lows: Floats, highs: Floats) -> None:
        """Look at all counters once, before they decay."""
        n, total = self.workers, self._decayed.total if self._packed is None else float(self._packed.sums[0])
        self._top *= self._decayed.alpha
        if self._margin is None:
            hot = highs > self.theta * total
        else:
            hot = self._proven(lows, total, self.unit)
            self._kept = {keys[i] for i in np.flatnonzero(hot).tolist()}
        if self._rule == "optimal":
            shares = sorted((highs[hot] / total).tolist(), reverse=True)
            self._least = optimal_choices(shares, 1.0 - min(1.0, sum(shares)), n)

    # In bulk

    def count_many(self, hashes: Hashes, weights: Floats) -> tuple[npt.NDArray[np.int64], Floats]:
        """Count messages in compiled loops: the same as `count` one by one.

        Returns:
            How many workers the key of each has, and `unit` as of just after it.
        """
        degrees, units = np.empty(hashes.size, dtype=np.int64), np.empty(hashes.size)
        start = 0
        while start < hashes.size:
            if self._packed is None:
                self._packed = pack(self._decayed.sketch)
            if self._decayed.full:
                used = slice(int(self._packed.used[0]))
                highs = self._packed.high[used]
                self._end_epoch(self._packed.keys[used].tolist(), highs - self._packed.error[used], highs)
                scale(self._packed, self._decayed.alpha)
                self._decayed.turned()
            part = slice(start, min(hashes.size, start + self._decayed.left))
            degrees[part], units[part] = self._count_stretch(hashes[part], weights[part], self._packed)
            self._decayed.counted(part.stop - start)
            start = part.stop
        return degrees, units

    def _count_stretch(self, hashes: Hashes, weights: Floats, table: Table) -> tuple[npt.NDArray[np.int64], Floats]:
        """Count messages of one epoch."""
        from skewkit.compiled.fish_loop import degrees_in_turn
        from skewkit.compiled.head_tail_loop import count

        lows, highs, totals = count(hashes, weights, table)
        tops = np.maximum.accumulate(np.append(self._top, highs))[1:]
        sums = np.add.accumulate(np.append(self._weight, weights))[1:]
        units = sums / (self._messages + np.arange(1, hashes.size + 1))
        units[units == 0.0] = 1.0
        self._top, self._weight = float(tops[-1]), float(sums[-1])
        self._messages += hashes.size
        if self._margin is None:
            hot = highs > self.theta * totals
        else:
            kept = np.fromiter(self._kept, dtype=np.uint64, count=len(self._kept))
            hot = self._proven(lows, totals, units) | np.isin(hashes, kept)
        degrees = np.full(hashes.size, min(2, self.workers), dtype=np.int64)
        if self._rule != "chk":
            degrees[hot] = self.workers if self._rule == "all" else min(self._least, self.workers)
        elif hot.any():
            keys, which = np.unique(hashes[hot], return_inverse=True)
            given = np.array([self._given.get(key, 0) for key in keys.tolist()])
            degrees[hot] = degrees_in_turn(which.reshape(-1), highs[hot], tops[hot], given, self._least, self.workers)
            self._given.update(zip(keys.tolist(), given.tolist(), strict=True))
        return degrees, units
