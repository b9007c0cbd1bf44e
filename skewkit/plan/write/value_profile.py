"""The profile of partition columns that a write has counted anyway."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from skewkit.hashing.spark import xxhash64
from skewkit.plan.profile.heavy_key import HeavyKey
from skewkit.plan.profile.key_profile import KeyProfile
from skewkit.plan.write.file_plan import ValueBytes

_BUCKETS = 1024
_MOST_HEAVY = 1024
_LISTED = 1 / 5000
"""Values from this share of the rows on are listed one by one."""
_CUT_OFF = 80
"""The query cuts texts of values at so many characters; longer ones cannot be read back."""


def value_profile(keys: Sequence[str], types: Sequence[str], values: Sequence[ValueBytes]) -> KeyProfile:
    """Return the profile of counted partition values. It is exact, but values of some types are known by hash alone.

    >>> profile = value_profile(["day"], ["int"], [ValueBytes("7", xxhash64([7], ["int"]), 90.0, 0.0)])
    >>> profile.rows, profile.share(7), profile.heavy[0].key
    (90.0, 1.0, (7,))
    """
    null = xxhash64([None], types) if len(keys) == 1 else None
    nulls = sum(v.rows for v in values if v.hash == null)
    counted = sorted((v for v in values if v.hash != null), key=lambda v: (-v.rows, v.hash))
    rows = float(sum(v.rows for v in values))
    listed = [v for v in counted[:_MOST_HEAVY] if v.rows >= rows * _LISTED]
    tail, tail_keys = np.zeros(_BUCKETS), np.zeros(_BUCKETS, dtype=int)
    for v in counted[len(listed) :]:
        tail[v.hash % _BUCKETS] += v.rows
        tail_keys[v.hash % _BUCKETS] += 1
    unlisted = counted[len(listed)].rows if len(listed) < len(counted) else 0.0
    return KeyProfile(
        tuple(keys),
        tuple(types),
        rows,
        float(nulls),
        tuple(HeavyKey(_key(v, types), v.rows, v.rows, v.rows, v.hash) for v in listed),
        (HeavyKey((None,), nulls, nulls, nulls, null),) if nulls and null is not None else (),
        tuple(tail.tolist()),
        tuple(tail_keys.tolist()),
        max(_LISTED, unlisted / rows if rows else 0.0),
        float(unlisted),
    )


def _key(value: ValueBytes, types: Sequence[str]) -> tuple[Any, ...]:
    """Return the key that a value's text stands for, Nones where it has a type of which texts are not read here."""
    if len(types) == 1 and len(value.value) < _CUT_OFF:
        readers: dict[str, Callable[[str], Any]] = {"string": str, "date": dt.date.fromisoformat}
        read = int if types[0] in ("tinyint", "smallint", "int", "bigint") else readers.get(types[0])
        try:
            key = None if read is None else (read(value.value),)
            if key is not None and xxhash64(key, types) == value.hash:
                return key
        except ValueError:
            pass
    return (None,) * len(types)
