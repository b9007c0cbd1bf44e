"""Profiles of joins made up for tests."""

from skewkit.hashing.spark import xxhash64
from skewkit.plan.profile.heavy_key import HeavyKey
from skewkit.plan.profile.key_profile import KeyProfile


def profile_of(heavy: dict[int, float], tail: float = 1000.0, nulls: float = 0.0) -> KeyProfile:
    """Return an exact profile with these heavy integer keys and an even tail."""
    keys = tuple(
        HeavyKey((k,), w, w, w, xxhash64([k], ["int"])) for k, w in sorted(heavy.items(), key=lambda kw: -kw[1])
    )
    rows = sum(heavy.values()) + tail + nulls
    return KeyProfile(
        ("k",), ("int",), rows, nulls, keys, (), (tail / 64,) * 64, (1,) * 64, 0.0001, unlisted=tail / 1000
    )
