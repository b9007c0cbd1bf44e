"""The plan of a join: which side of every heavy key is split, and what the strategies would cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from skewkit.plan.keyplan import EPSILON, KeyPlan, key_plan
from skewkit.plan.load import HeavyLoad, KeyLoad
from skewkit.plan.profile import HeavyKey, KeyProfile

SPLITTABLE = {"inner": ("left", "right"), "left": ("left",)}
"""Sides whose rows of a hot key may be split. The other side is replicated, so an outer side must be a split one."""


@dataclass(frozen=True)
class JoinPlan:
    """Where the rows of both sides go.

    `split[i]` is the side of heavy key i whose rows are divided among the partitions of `keys.heavy[i].parts`;
    the other side's rows of that key are sent to each of them. Every pair of rows meets exactly once, because each
    row of the split side is in one partition.
    """

    how: str
    keys: KeyPlan
    split: tuple[str, ...]
    replicated: float
    """Rows that are sent more than once, counted as often as they are copied."""
    head_share: float
    """Share of the left rows that a broadcast of the right side's hot rows would keep out of the shuffle."""
    head_rows: float
    """Rows of the right side that such a broadcast would hold."""
    build_rows: float | None
    """Rows of the right side expected on its fullest partition, None if that side was not profiled."""


def join_plan(
    left: KeyProfile,
    right: KeyProfile | None,
    partitions: int,
    *,
    how: str,
    scheme: str = "wrap",
    epsilon: float = EPSILON,
) -> JoinPlan:
    """Plan a salted join from the profiles of its sides; the work of a key is its expected number of output rows.

    A key that the right profile does not list is taken to have one row there (as a dimension has); of two hot sides
    the one with more rows is split, where `how` allows it. Keys that may not be split are placed whole.
    """
    lefts, rights = _by_hash(left), _by_hash(right)
    heavy, side = [], {}
    for h in (*lefts.values(), *(r for key_hash, r in rights.items() if key_hash not in lefts)):
        rows_left = lefts[h.hash].estimate if h.hash in lefts else 1.0
        rows_right = rights[h.hash].estimate if h.hash in rights else 1.0
        wanted = "left" if rows_left >= rows_right else "right"
        side[h.hash] = wanted if wanted in SPLITTABLE[how] else "left"
        divisible = wanted in SPLITTABLE[how] or rows_left > 1.0
        heavy.append(HeavyLoad(h.key, h.hash, rows_left * max(1.0, rows_right), divisible))
    tail = tuple(max(a, b) for a, b in zip(left.tail, _tail(right, len(left.tail)), strict=True))
    load = KeyLoad(
        left.keys,
        left.types,
        tuple(sorted(heavy, key=lambda h: (-h.weight, h.hash))),
        tail,
        left.nulls if how == "left" else 0.0,
    )
    # Keys that the user has named (theta 0) are all kept: their weights are not known.
    keys = key_plan(load, partitions, scheme, theta=0.0 if left.theta == 0 else None, epsilon=epsilon)
    split = tuple(side[h.hash] for h in keys.heavy)
    copied = 0.0
    for route, split_side in zip(keys.heavy, split, strict=True):
        other = (rights if split_side == "left" else lefts).get(route.hash)
        copied += (len(route.parts) - 1) * (other.estimate if other else 1.0)
    head = sum(lefts[h.hash].estimate for h in keys.heavy if h.hash in lefts)
    head_rows = sum(rights[h.hash].estimate if h.hash in rights else 1.0 for h in keys.heavy)
    nulls = left.nulls if how == "left" else 0.0
    shown = left.rows if how == "left" else left.rows - left.nulls
    build = None
    if right is not None:
        whole = [
            rights[h.hash].estimate for h, s in zip(keys.heavy, split, strict=True) if s == "left" and h.hash in rights
        ]
        build = (right.rows - right.nulls + copied) / partitions + max(whole, default=0.0)
    return JoinPlan(how, keys, split, copied, (head + nulls) / shown if shown else 0.0, head_rows, build)


def swap_free(plan: JoinPlan) -> bool:
    """Return whether every heavy key is split on the left, so that the right side's hot rows can be broadcast."""
    return all(side == "left" for side in plan.split)


def _by_hash(profile: KeyProfile | None) -> Mapping[int, HeavyKey]:
    return {h.hash: h for h in profile.heavy} if profile else {}


def _tail(profile: KeyProfile | None, buckets: int) -> tuple[float, ...]:
    if profile is None:
        return (0.0,) * buckets
    return profile.folded(buckets).tail if len(profile.tail) >= buckets else (0.0,) * buckets


def rehashed(profile: KeyProfile, types: tuple[str, ...]) -> KeyProfile:
    """Return the profile for key columns cast to other types, as a join casts them; the tail becomes even.

    A heavy key that cannot be hashed as the new type is left out: a profile is a hint.
    """
    from skewkit.hashing.spark import xxhash64

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
