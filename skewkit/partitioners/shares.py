"""Shares: send the messages of one key to the workers of its list, each as much as planned."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from skewkit.partitioners.checks import Floats


class Shares:
    """Deals messages out to workers in proportion to planned parts.

    A message of weight w goes to the worker that is furthest behind its share: the one with the least
    (sent + w / 2) / part, where `sent` is what this worker got under this plan; equal: the first of the list.
    (For messages of weight 1 this is Webster's method of apportionment.)

    * Deterministic; `turns(m)` gives the workers that m calls of `turn(1.0)` give.
    * What a worker got differs from its share of the whole by a few messages at most.

    Args:
        parts: list of (worker, part), parts above zero.

    >>> shares = Shares([(7, 2.0), (3, 1.0)])
    >>> [shares.turn(1.0) for _ in range(6)]
    [7, 3, 7, 7, 3, 7]
    """

    def __init__(self, parts: list[tuple[int, float]]) -> None:
        self.workers = [worker for worker, _ in parts]
        self._parts = [part for _, part in parts]
        self._sent = [0.0] * len(parts)

    def turn(self, weight: float) -> int:
        """Return the worker for one message of this weight."""
        half, sent = 0.5 * weight, self._sent
        fills = [(got + half) / part for got, part in zip(sent, self._parts, strict=True)]
        at = fills.index(min(fills))
        sent[at] += weight
        return self.workers[at]

    def turns(self, messages: int) -> npt.NDArray[np.int64]:
        """Return the workers for the next messages of weight 1, as an array (messages,)."""
        sent, parts = np.array(self._sent), np.array(self._parts)
        if not np.array_equal(sent, np.floor(sent)):
            return np.array([self.turn(1.0) for _ in range(messages)], dtype=np.int64)
        # Every worker claims its next turns at (sent + j + 1/2) / part, j = 0, 1, ...; the first claims win.
        # Up to this level the claims of all workers together are enough.
        level = (sent.sum() + messages + parts.size) / parts.sum()
        claims = np.maximum(0, np.ceil(level * parts + 0.5 - sent)).astype(np.int64)
        owner = np.repeat(np.arange(parts.size), claims)
        number = np.arange(owner.size) - np.repeat(np.cumsum(claims) - claims, claims)
        time = (sent[owner] + number + 0.5) / parts[owner]
        first = np.lexsort((owner, time))[:messages]
        won = owner[first]
        self._sent = (sent + np.bincount(won, minlength=parts.size)).tolist()
        return np.array(self.workers, dtype=np.int64)[won]

    def turns_of(self, weights: Floats) -> npt.NDArray[np.int64]:
        """Return the workers for the next messages of these weights, as an array (messages,)."""
        if np.all(weights == 1.0):
            return self.turns(weights.size)
        return np.array([self.turn(weight) for weight in weights.tolist()], dtype=np.int64)
