"""What a sample says of the rows of a key: bounds, and the most that a key has."""

from __future__ import annotations

import math
from collections.abc import Callable

from skewkit.plan.profile.key_profile import KeyProfile

Z = 4.5
"""Standard errors that the bounds of an estimate from a sample stand for."""
_RAREST = Z * Z / 2
"""A key has more rows than its upper bound, or fewer than its lower one, once in e^10.125 = 25,000 times at most."""


def bounds(count: float, fraction: float) -> tuple[float, float]:
    """Return (low, high) for a key's rows when `count` of them are in a Bernoulli sample of this fraction.

    They are Chernoff's (1952), as the score interval is too narrow for a few rows. Low is at least the rows seen.

    >>> bounds(400, 1.0)
    (400, 400)
    >>> [round(b) for b in bounds(100, 0.01)]
    [6167, 15173]
    """
    if fraction >= 1:
        return count, count
    expected = count / fraction
    low = count
    if _rarity(count, count, fraction) > _RAREST:
        low = _end(lambda rows: _rarity(count, rows, fraction), rare=count, common=expected)
    above = 2 * expected + 1 / fraction
    while _rarity(count, above, fraction) <= _RAREST:
        above *= 2
    high = _end(lambda rows: _rarity(count, rows, fraction), rare=above, common=expected)
    return max(count, math.floor(low)), math.ceil(high)


def _rarity(count: float, rows: float, fraction: float) -> float:
    """Return r: of so many rows at least (or at most) `count` are in a sample with a chance of e^-r or less.

    It is the rows times the Kullback-Leibler divergence of count / rows from the fraction.
    """
    missed = rows - count
    seen = count * math.log(count / (rows * fraction)) if count > 0 else 0.0
    return seen + (missed * math.log(missed / (rows * (1 - fraction))) if missed > 0 else 0.0)


def _end(rarity: Callable[[float], float], *, rare: float, common: float) -> float:
    """Return where the rarity, which falls from `rare` to `common`, is `_RAREST`, by bisection."""
    for _ in range(60):
        middle = (rare + common) / 2
        rare, common = (middle, common) if rarity(middle) > _RAREST else (rare, middle)
    return common


def most_rows(profile: KeyProfile) -> float:
    """Return the estimated rows of the hottest key, 1 if the sample has every key once.

    For keys that are not listed, their most rows in the sample are computed back from `unlisted`.
    """
    most = max((h.estimate for h in (*profile.heavy, *profile.null_heavy)), default=0.0)
    if not profile.sampled:
        return max(most, profile.unlisted)
    seen = _unlisted_seen(profile)
    return max(most, 1.0 if seen < 1.5 else seen / profile.fraction)


def surely_unlisted(profile: KeyProfile) -> float:
    """Return a lower bound of the rows of the heaviest key that is not listed; 1 at least."""
    if not profile.sampled:
        return max(1.0, profile.unlisted)
    return max(1.0, bounds(_unlisted_seen(profile), profile.fraction)[0])


def _unlisted_seen(profile: KeyProfile) -> float:
    """Return the most rows that a key that is not listed has in the sample, computed back from its bound."""
    fraction = profile.fraction
    expected = profile.unlisted * fraction
    if fraction >= 1 or _rarity(0.0, profile.unlisted, fraction) <= _RAREST:
        return expected if fraction >= 1 else 0.0
    return _end(lambda count: _rarity(count, profile.unlisted, fraction), rare=0.0, common=expected)
