"""A profile for the same keys in other types, as a join casts them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from skewkit.hashing.spark import xxhash64
from skewkit.plan.profile import HeavyKey, KeyProfile


def rehashed(profile: KeyProfile, types: tuple[str, ...]) -> KeyProfile:
    """Return the profile for key columns cast to other types, as a join casts them; the tail becomes even.

    A heavy key that cannot be hashed as the new type, or is known by its hash alone, is left out: a profile is a hint.
    """
    if profile.types == types:
        return profile
    even = sum(profile.tail) / len(profile.tail)
    heavy = _hashed((h for h in profile.heavy if None not in h.key), types)
    null_heavy = _hashed(profile.null_heavy, types)
    return replace(profile, types=types, heavy=heavy, null_heavy=null_heavy, tail=(even,) * len(profile.tail))


def _hashed(keys: Iterable[HeavyKey], types: tuple[str, ...]) -> tuple[HeavyKey, ...]:
    found = []
    for each in keys:
        try:
            found.append(replace(each, hash=xxhash64(each.key, types)))
        except (TypeError, ValueError, ArithmeticError, AttributeError):
            continue
    return tuple(found)
