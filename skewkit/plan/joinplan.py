"""The plan of a join: which side of every heavy key is split, and what the strategies would cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from skewkit.plan.keyplan import EPSILON, KeyPlan, key_plan
from skewkit.plan.load import HeavyLoad, KeyLoad, expected_tail
from skewkit.plan.profile import HeavyKey, KeyProfile

SPLITTABLE = {"inner": ("left", "right"), "left": ("left",)}
"""Sides whose rows of a hot key may be split. The other side is replicated, so an outer side must be a split one."""


@dataclass(frozen=True)
class JoinPlan:
    """Where the rows of both sides go.

    * `split[i]` is the side of heavy key i whose rows are divided among the partitions of `keys.heavy[i].parts`;
      the other side's rows of that key are sent to each of them. Every pair of rows meets exactly once, because
      each row of the split side is in one partition.
    * `left_rows[i]` and `right_rows[i]` are the rows that the sides are expected to have of heavy key i;
      `right_most[i]` is what the right side can have at the most, None if it was not profiled.
    * `rows` are the left rows that take part in the join, `nulls` those among them with a null key.
    * `build_rows` are the rows of the right side expected on its fullest partition, None if it was not profiled.
    """

    how: str
    keys: KeyPlan
    split: tuple[str, ...]
    left_rows: tuple[float, ...]
    right_rows: tuple[float, ...]
    right_most: tuple[float | None, ...]
    rows: float
    nulls: float
    build_rows: float | None

    @property
    def replicated(self) -> float:
        """Rows that are sent more than once, counted as often as they are sent again."""
        sides = zip(self.keys.heavy, self.split, self.left_rows, self.right_rows, strict=True)
        return sum((len(h.parts) - 1) * (right if side == "left" else left) for h, side, left, right in sides)

    def head(self, most_rows: float) -> Head:
        """Return the heavy keys that are hot on the left and surely have few rows on the right, so many in all."""
        chosen, total = [], 0.0
        for i, (side, most) in enumerate(zip(self.split, self.right_most, strict=True)):
            if side == "left" and most is not None and total + most <= most_rows:
                chosen.append(i)
                total += most
        hot = sum(self.left_rows[i] for i in chosen) + self.nulls
        keys = replace(self.keys, heavy=tuple(self.keys.heavy[i] for i in chosen))
        return Head(keys, hot / self.rows if self.rows else 0.0, total, len(chosen) == len(self.split))


@dataclass(frozen=True)
class Head:
    """The heavy keys that a broadcast can take.

    `keys` is the plan with these keys only, `share` the share of left rows (nulls included) that need no shuffle
    then, `right_rows` what the broadcast holds at the most, `all` says that no heavy key is left out.
    """

    keys: KeyPlan
    share: float
    right_rows: float
    all: bool


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

    A key that a profile does not list is taken to have one row on that side (as a dimension has); of two hot sides
    the one with more rows is split, where `how` allows it. Keys that may not be split are placed whole.
    """
    lefts, rights = _by_hash(left), _by_hash(right)
    heavy, side, rows_of = [], {}, {}
    for h in (*lefts.values(), *(r for key_hash, r in rights.items() if key_hash not in lefts)):
        rows_left = lefts[h.hash].estimate if h.hash in lefts else 1.0
        rows_right = rights[h.hash].estimate if h.hash in rights else 1.0
        wanted = "left" if h.hash not in rights or (h.hash in lefts and rows_left >= rows_right) else "right"
        side[h.hash] = wanted if wanted in SPLITTABLE[how] else "left"
        rows_of[h.hash] = rows_left, rows_right
        divisible = wanted in SPLITTABLE[how] or rows_left > 1.0
        heavy.append(HeavyLoad(h.key, h.hash, rows_left * max(1.0, rows_right), divisible))
    most_of = {key_hash: h.high for key_hash, h in rights.items()}
    tail = tuple(max(a, b) for a, b in zip(expected_tail(left), _tail(right, len(left.tail)), strict=True))
    nulls = left.nulls if how == "left" else 0.0
    load = KeyLoad(left.keys, left.types, tuple(sorted(heavy, key=lambda h: (-h.weight, h.hash))), tail, nulls)
    # Keys that the user has named are all kept: their weights are not known.
    keys = key_plan(load, partitions, scheme, theta=0.0 if left.named else None, epsilon=epsilon)
    plan = JoinPlan(
        how,
        keys,
        tuple(side[h.hash] for h in keys.heavy),
        tuple(rows_of[h.hash][0] for h in keys.heavy),
        tuple(rows_of[h.hash][1] for h in keys.heavy),
        tuple(None if right is None else most_of.get(h.hash, max(1.0, right.unlisted)) for h in keys.heavy),
        left.rows - left.nulls + nulls,
        nulls,
        None,
    )
    if right is None:
        return plan
    whole = [rows for side, _, rows in zip(plan.split, plan.left_rows, plan.right_rows, strict=True) if side == "left"]
    build = (right.rows - right.nulls + plan.replicated) / partitions + max(whole, default=0.0)
    return replace(plan, build_rows=build)


def _by_hash(profile: KeyProfile | None) -> Mapping[int, HeavyKey]:
    """Return the heavy keys by hash; keys of one hash (Spark's passes over nested nulls) are taken together."""
    found: dict[int, HeavyKey] = {}
    for h in profile.heavy if profile else ():
        twin = found.get(h.hash)
        found[h.hash] = (
            h if twin is None else replace(twin, estimate=twin.estimate + h.estimate, high=twin.high + h.high)
        )
    return found


def _tail(profile: KeyProfile | None, buckets: int) -> tuple[float, ...]:
    if profile is None:
        return (0.0,) * buckets
    return tuple(expected_tail(profile.folded(buckets))) if len(profile.tail) % buckets == 0 else (0.0,) * buckets


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
