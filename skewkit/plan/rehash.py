"""A profile for the same keys in other types, as a join casts them."""

from __future__ import annotations

from dataclasses import replace

from skewkit.hashing.spark import xxhash64
from skewkit.plan.profile import KeyProfile


def rehashed(profile: KeyProfile, types: tuple[str, ...]) -> KeyProfile:
    """Return the profile for key columns cast to other types, as a join casts them; the tail becomes even.

    A heavy key that cannot be hashed as the new type is left out: a profile is a hint.
    """
    if profile.types == types:
        return profile
    heavy = []
    for h in profile.heavy:
        try:
            heavy.append(replace(h, hash=xxhash64(h.key, types)))
        except (TypeError, ValueError, ArithmeticError, AttributeError):
            continue
    even = sum(profile.tail) / len(profile.tail)
    return replace(profile, types=types, heavy=tuple(heavy), tail=(even,) * len(profile.tail))
