"""Measurements that several figures share: medians over hash draws, and skew axes."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any

from skewkit.reproduce.figure import Size
from skewkit.simulator import Trace, replay


def exponents(size: Size, low: float = 0.1, high: float = 2.0) -> list[float]:
    """Return exponents of Zipf's law between two: in steps of 0.1, or fewer of them.

    >>> exponents(Size.QUICK)
    [0.4, 0.8, 1.2, 1.6, 2.0]
    """
    tenths = range(round(low * 10), round(high * 10) + 1)
    step = size.of(full=1, quick=4, tiny=10)
    return [tenth / 10 for tenth in tenths if (round(high * 10) - tenth) % step == 0]


def draws(size: Size) -> int:
    """Return how many draws of the hash functions a median is taken over."""
    return size.of(full=10, quick=10, tiny=1)


def median(values: Callable[[int], float], count: int) -> float:
    """Return the median of `values(seed)` for so many seeds.

    >>> median(lambda seed: seed * 2.0, 3)
    2.0
    """
    return float(statistics.median(values(seed) for seed in range(count)))


def median_imbalance(stream: Any, scheme: str, workers: int, size: Size, sources: int = 5, **options: Any) -> float:
    """Return the median of I(m) over draws of the hash functions (the stream stays the same)."""

    def one(seed: int) -> float:
        return replay(stream, scheme, workers=workers, sources=sources, seed=seed, **options).imbalance

    return median(one, draws(size))


def execution_time(trace: Trace) -> float:
    """Return the greatest load over the mean load: the execution time as a multiple of a perfect shuffle's.

    It is what the FISH paper normalises to SG, for messages that take equally long on equal workers.
    """
    return float(trace.loads.max() / trace.loads.mean())
