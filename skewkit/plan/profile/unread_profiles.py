"""Profiles of frames whose keys nobody has read: an empty one, every key once, and keys that the user names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from skewkit.hashing.spark import xxhash64
from skewkit.plan.profile.heavy_key import HeavyKey
from skewkit.plan.profile.key_profile import KeyProfile


def empty_profile(keys: Sequence[str], types: Sequence[str], *, buckets: int = 64) -> KeyProfile:
    """Return a profile that knows nothing: no rows, no heavy keys, an even tail."""
    zeros = (0.0,) * buckets
    return KeyProfile(tuple(keys), tuple(types), 0, 0, (), (), zeros, (0,) * buckets, 1.0)


def every_key_once(keys: Sequence[str], types: Sequence[str], rows: float, *, buckets: int) -> KeyProfile:
    """Return the profile of a frame that nobody has read, because it is known to have every key once.

    It has at most `rows` rows. Mostly it has far fewer, so they do not count in the tail of a plan.

    >>> every_key_once(("k",), ("int",), 640, buckets=64).heavy
    ()
    """
    profile = empty_profile(keys, types, buckets=buckets)
    return replace(profile, rows=rows, theta=0.0, unlisted=1.0, fraction=0.0)


def named_heavy(keys: Sequence[str], types: Sequence[str], heavy: Sequence[tuple[Any, ...]]) -> KeyProfile:
    """Return a profile from keys that the user names as hot. Their true weights are unknown and taken as equal."""
    each = 1.0 / (len(heavy) + 1)
    named = tuple(HeavyKey(key, 0.0, each, 1.0, xxhash64(key, types)) for key in heavy)
    plain, with_null = (tuple(h for h in named if (None in h.key) == null) for null in (False, True))
    return replace(
        empty_profile(keys, types),
        rows=1.0,
        heavy=plain,
        null_heavy=with_null,
        tail=(each / 64,) * 64,
        theta=0.0,
        sampled=True,
        named=True,
    )
