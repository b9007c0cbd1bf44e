"""The plan of a join: the matrix of every heavy key, and where the rows of both sides go."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

from skewkit.plan.join.kinds import JoinRules
from skewkit.plan.join.matrix import OUTPUT_COST, Matrix, Shape, work
from skewkit.plan.join.pair import SIDES, Pair, Side, opposite
from skewkit.plan.join.shapes import INTS, is_answered, matrix_of, named_shape, shape_in_join
from skewkit.plan.placement.key_plan import EPSILON, HeavyRoute, KeyPlan, key_plan, native_straggler
from skewkit.plan.placement.load import HeavyLoad, KeyLoad, expected_tail
from skewkit.plan.profile.heavy_key import HeavyKey
from skewkit.plan.profile.key_profile import KeyProfile

_TABLE_ROWS = 50_000
"""Rows of a hash table that stays in a core's cache: it was joined a fifth faster than one of twice the rows."""
_MOST_FILES = 200
"""With more partitions than this Spark's shuffle is dearer per row (`spark.shuffle.sort.bypassMergeThreshold`)."""


@dataclass(frozen=True)
class SideTotals:
    """Rows of one side: all that take part in the join, and those of them that match nothing.

    `measured`: the rows were read, not taken from keys that the user named. `counted`: the side, or a sample, was read.

    `null_keys` have a null in a column where null matches nothing. They count only if the join keeps the side.
    """

    rows: float
    null_keys: float
    measured: bool
    counted: bool


@dataclass(frozen=True)
class JoinPlan:
    """Where the rows of both sides go. `matrices[i]` says how the rows of heavy key `keys.heavy[i]` meet."""

    rules: JoinRules
    keys: KeyPlan
    matrices: tuple[Matrix, ...]
    totals: Pair[SideTotals]
    output: float
    """Rows that the join is expected to return."""

    @cached_property
    def rows(self) -> Pair[float]:
        """Rows of both sides that take part."""
        return self.totals.map(lambda totals: totals.rows)

    @property
    def work(self) -> float:
        """The rows of the larger side, and those that come out, weighted by `OUTPUT_COST`."""
        return max(self.rows) + OUTPUT_COST * self.output

    @property
    def copies(self) -> float:
        """Rows that are sent more than once, counted as often as they are sent again."""
        return sum(matrix.copies for matrix in self.matrices)

    @property
    def looked_up(self) -> tuple[Side, ...]:
        """Sides of which the query looks up whether a hot key is there. Their key columns are read twice."""
        copied = {opposite(side) for matrix in self.matrices for side in matrix.copied if self.rules.keeps(side)}
        if any(matrix.answered for matrix in self.matrices):
            copied.add("right")
        return tuple(side for side in SIDES if side in copied)

    def route(self, side: Side) -> tuple[KeyPlan, tuple[tuple[int, ...], ...]]:
        """Return the plan of one side's rows, which ends in numbers of lists, and these lists of partitions.

        List p < n is partition p alone. The lists after it are those of the slices with several targets.
        """
        lists: list[tuple[int, ...]] = [(p,) for p in range(self.keys.partitions)]
        known: dict[tuple[int, ...], int] = {targets: p for p, targets in enumerate(lists)}
        routes = []
        for heavy, matrix in zip(self.keys.heavy, self.matrices, strict=True):
            parts = []
            for slice_ in matrix.slices.of(side):
                if slice_.targets not in known:
                    known[slice_.targets] = len(lists)
                    lists.append(slice_.targets)
                parts.append((known[slice_.targets], slice_.share))
            routes.append(HeavyRoute(heavy.key, heavy.hash, heavy.weight, tuple(parts)))
        return replace(self.keys, heavy=tuple(routes)), tuple(lists)

    @property
    def build(self) -> Side:
        """The side to build hash tables of: one that is not kept, else the smaller one."""
        if self.rules.kind.builds is not None:
            return self.rules.kind.builds
        return "left" if self.totals.left.measured and self.rows.left < self.rows.right else "right"

    @property
    def build_rows(self) -> float | None:
        """Rows of the build side expected on its fullest partition, None where that side was not measured."""
        side = self.build
        if not self.totals.of(side).measured:
            return None
        open_ = [matrix for matrix in self.matrices if not matrix.answered]
        copied = sum(matrix.rows.of(side) * matrix.replicas.of(side) for matrix in open_)
        most = max((matrix.rows.of(side) / matrix.shape.of(side) for matrix in open_), default=0.0)
        return (self.rows.of(side) + copied) / self.keys.partitions + most

    @property
    def tables(self) -> int:
        """Partitions for a hash join of balanced rows: as many as asked for, or more, so that its tables stay small.

        Spark's shuffle gets dearer per row from 200 partitions on (`spark.shuffle.sort.bypassMergeThreshold`).
        """
        n = self.keys.partitions
        rows = self.rows.of(self.build)
        times = max(1, min(_MOST_FILES // n, math.ceil(rows / n / _TABLE_ROWS)))
        return n * times

    def head(self, most_rows: float) -> Head | None:
        """Return the heavy keys that a broadcast can take: hot on one side, with few rows on the other, for certain.

        None where no side can be the broadcast one: a join that keeps a side cannot broadcast it.
        """
        heads = [self._head(side, most_rows) for side in self.rules.kind.streams]
        return max(heads, key=lambda head: (head.all, head.share), default=None)

    @property
    def broadcastable(self) -> tuple[Side, ...]:
        """The sides that may be broadcast as a whole: every hot key has most of its rows on the other side."""
        return tuple(
            opposite(side)
            for side in self.rules.kind.streams
            if all(matrix.rows.of(side) >= matrix.rows.of(opposite(side)) for matrix in self.matrices)
        )

    def _head(self, side: Side, most_rows: float) -> Head:
        chosen, total, hot = [], 0.0, 0.0
        for i, matrix in enumerate(self.matrices):
            mine, other = matrix.rows.of(side), matrix.rows.of(opposite(side))
            most = matrix.most.of(opposite(side))
            named = side == "left" and matrix.most.left is None  # its rows were not counted
            if (mine >= other or named) and most is not None and total + most <= most_rows:
                chosen.append(i)
                total += most
                hot += mine
        rows = self.rows.of(side)
        if self.rules.keeps(side):
            hot += self.totals.of(side).null_keys
        keys = replace(self.keys, heavy=tuple(self.keys.heavy[i] for i in chosen))
        return Head(side, keys, hot / rows if rows else 0.0, total, len(chosen) == len(self.matrices))


@dataclass(frozen=True)
class Head:
    """The heavy keys that a broadcast can take.

    * `side` is the side on which they are hot, `keys` the plan with these keys only.
    * `share` is the share of that side's rows that need no shuffle then, kept nulls included.
    * `rows` is what the broadcast of the other side's rows holds at the most.
    * `all` says that no heavy key is left out.
    """

    side: Side
    keys: KeyPlan
    share: float
    rows: float
    all: bool


def join_plan(
    left: KeyProfile,
    right: KeyProfile | None,
    partitions: int,
    rules: JoinRules,
    *,
    null_safe: Sequence[bool] | None = None,
    scheme: str = "wrap",
    epsilon: float = EPSILON,
    hot: Side | None = None,
    dated: bool = False,
) -> JoinPlan:
    """Plan a salted join from the profiles of its sides.

    The work of a key is the rows it brings in and those that come out of it (`matrix.work`). A key that a
    profile does not list is taken to have one row on that side, as a dimension has. `null_safe` says per key
    column whether null matches null. `hot` is the side on which the named keys are hot, None if unknown. `dated`: the
    profiles are old, so nulls may have come since.
    """
    safe = tuple(null_safe or (False,) * len(left.keys))
    lefts, rights = _joinable(left, safe), _joinable(right, safe)
    totals = Pair(_totals(left, lefts, rules.keeps("left"), safe), _totals(right, rights, rules.keeps("right"), safe))
    hashes = (*lefts, *(key_hash for key_hash in rights if key_hash not in lefts))
    pairs = rules.kind.pairs
    tail = tuple(a + b for a, b in zip(expected_tail(left), _tail(right, len(left.tail)), strict=True))
    spread = sum(each.null_keys for side, each in totals.items() if rules.keeps(side))
    sizes = {h: Pair(_rows(lefts, h), _rows(rights, h)) for h in hashes}
    works = {h: work(*rows, pairs=pairs) for h, rows in sizes.items()}
    mean = (sum(works.values()) + sum(tail) + spread) / partitions
    shapes = {
        h: named_shape(rules, hot) if left.named else shape_in_join(sizes[h], mean, partitions, rules) for h in hashes
    }
    native = KeyLoad(
        left.keys,
        left.types,
        tuple(_heavy(lefts.get(h) or rights[h], works[h], shapes[h]) for h in hashes),
        tail,
        spread,
    )
    # Keys that the user has named are all kept: their weights are not known.
    native = native.above(0.0 if left.named else 1 / (5 * partitions))
    # What is answered by the look-up brings only its left rows.
    placed = [replace(h, weight=sizes[h.hash].left) if is_answered(shapes[h.hash], rules) else h for h in native.heavy]
    load = replace(native, heavy=tuple(sorted(placed, key=lambda h: (-h.weight, h.hash))))
    keys = key_plan(load, partitions, scheme, theta=0.0, epsilon=epsilon)
    keys = replace(keys, native_straggler=native_straggler(native, partitions))
    most = Pair(_most(left, lefts), _most(right, rights))
    matrices = tuple(
        matrix_of(
            heavy,
            shapes[heavy.hash],
            sizes[heavy.hash],
            most.map(partial(_most_of, key_hash=heavy.hash)),
            rules,
            numbered=i < INTS // partitions,
        )
        for i, heavy in enumerate(keys.heavy)
    )
    matched = max(totals.left.rows - sum(rows.left for rows in sizes.values()), 0.0)
    output = matched + sum(rows.left * rows.right if pairs else rows.left for rows in sizes.values())
    # Rows that match nothing but come out may go anywhere; those of an answered key do so in an anti join.
    unknown = not all(safe) and any(rules.keeps(side) and (dated or not each.measured) for side, each in totals.items())
    if len(keys.spread) < partitions and (unknown or any(matrix.answered for matrix in matrices)):
        keys = replace(keys, spread=tuple((p, 1 / partitions) for p in range(partitions)))
    return JoinPlan(rules, keys, matrices, totals, output)


def _heavy(key: HeavyKey, weight: float, shape: Shape) -> HeavyLoad:
    return HeavyLoad(key.key, key.hash, weight, shape.split != "none", shape.lefts * shape.rights)


_OTHER = -(1 << 64)
"""Where a map of greatest numbers of rows keeps that of the keys it does not list; no hash is so small."""


def _most(profile: KeyProfile | None, listed: Mapping[int, HeavyKey]) -> Mapping[int, float] | None:
    if profile is None or profile.named:
        return None
    return {_OTHER: max(1.0, profile.unlisted), **{h: key.high for h, key in listed.items()}}


def _most_of(most: Mapping[int, float] | None, key_hash: int) -> float | None:
    return None if most is None else most.get(key_hash, most[_OTHER])


def _rows(listed: Mapping[int, HeavyKey], key_hash: int) -> float:
    return max(1.0, listed[key_hash].estimate) if key_hash in listed else 1.0


def _joinable(profile: KeyProfile | None, safe: Sequence[bool]) -> dict[int, HeavyKey]:
    """Return the heavy keys that can match, by hash. Keys of one hash (Spark's passes over nulls) count together."""
    found: dict[int, HeavyKey] = {}
    nulls = [h for h in profile.null_heavy if _matches(h, safe)] if profile else []
    for h in (*(profile.heavy if profile else ()), *nulls):
        twin = found.get(h.hash)
        found[h.hash] = (
            h if twin is None else replace(twin, estimate=twin.estimate + h.estimate, high=twin.high + h.high)
        )
    return found


def _matches(key: HeavyKey, safe: Sequence[bool]) -> bool:
    return all(value is not None or ok for value, ok in zip(key.key, safe, strict=True))


def _totals(profile: KeyProfile | None, listed: Mapping[int, HeavyKey], kept: bool, safe: Sequence[bool]) -> SideTotals:
    if profile is None:
        return SideTotals(float(len(listed)), 0.0, measured=False, counted=False)
    null_keys = 0.0
    if not all(safe):
        null_keys = max(0.0, profile.nulls - sum(h.estimate for h in profile.null_heavy if h.hash in listed))
    rows, measured = profile.rows - (0.0 if kept else null_keys), not profile.named
    return SideTotals(rows, null_keys if kept else 0.0, measured, measured and profile.fraction > 0)


def _tail(profile: KeyProfile | None, buckets: int) -> tuple[float, ...]:
    if profile is None or len(profile.tail) % buckets:
        return (0.0,) * buckets
    return tuple(expected_tail(profile.folded(buckets)))
