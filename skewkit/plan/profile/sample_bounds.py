"""What a sample says of the rows of a key: bounds, and the most that a key has."""

from __future__ import annotations

import math

from skewkit.plan.profile.key_profile import KeyProfile

Z = 4.5
"""Standard errors between an estimate from a sample and its bounds: a true value is outside once in 150,000 keys."""


def bounds(count: float, fraction: float) -> tuple[float, float]:
    """Return (low, high) for a key's rows when `count` of them are in a Bernoulli sample of this fraction.

    Both solve |count - N f| = z sqrt(N f (1 - f)) for N (the score interval). Low is at least the rows seen.

    >>> bounds(400, 1.0)
    (400, 400)
    >>> [round(b) for b in bounds(100, 0.01)]
    [6414, 15591]
    """
    if fraction >= 1:
        return count, count
    spread = Z * Z * (1 - fraction)
    middle, half = count + spread / 2, math.sqrt(count * spread + spread * spread / 4)
    return max(count, math.floor((middle - half) / fraction)), math.ceil((middle + half) / fraction)


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
    high, spread = profile.unlisted * profile.fraction, Z * Z * (1 - profile.fraction)
    return high - math.sqrt(high * spread)
