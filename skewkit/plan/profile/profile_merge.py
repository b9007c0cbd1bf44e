"""The heavy keys of two profiles, added up."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

from skewkit.plan.profile.heavy_key import HeavyKey
from skewkit.plan.profile.values import hashable


def merge_heavy(
    mine: tuple[HeavyKey, ...], theirs: tuple[HeavyKey, ...], mine_unlisted: float, theirs_unlisted: float
) -> tuple[HeavyKey, ...]:
    """Add up the keys that both list. A key that one side does not list may weigh up to that side's `unlisted`.

    Keys are the same by hash and values, as Spark's hash passes over nulls. They are the same by the hash alone where
    the values of one are not known and no other key has it.
    """
    known, often = {_identity(h): h for h in theirs}, Counter(h.hash for h in theirs)
    lone = {h.hash: h for h in theirs if often[h.hash] == 1}
    mine_often = Counter(h.hash for h in mine)
    merged, met = [], set()
    for h in mine:
        twin, alike = known.get(_identity(h)), lone.get(h.hash)
        if twin is None and alike is not None and mine_often[h.hash] == 1 and (_is_nameless(h) or _is_nameless(alike)):
            twin = alike
        if twin is not None:
            met.add(_identity(twin))
        merged.append(_grown(h, twin, theirs_unlisted))
    merged += [_grown(h, None, mine_unlisted) for h in theirs if _identity(h) not in met]
    return tuple(sorted(merged, key=lambda h: (-h.estimate, h.hash)))


def _identity(key: HeavyKey) -> tuple[int, Any]:
    return key.hash, hashable(key.key)


def _is_nameless(key: HeavyKey) -> bool:
    return all(value is None for value in key.key)


def _grown(h: HeavyKey, twin: HeavyKey | None, unlisted: float) -> HeavyKey:
    if twin is not None:
        key = twin.key if _is_nameless(h) else h.key
        return replace(h, key=key, low=h.low + twin.low, estimate=h.estimate + twin.estimate, high=h.high + twin.high)
    return replace(h, high=h.high + unlisted)
