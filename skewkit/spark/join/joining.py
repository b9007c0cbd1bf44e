"""Joins over a plan: salted on one packed key, or the hot keys by broadcast."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from skewkit.plan.join.join_plan import Head, JoinPlan
from skewkit.plan.join.kinds import KINDS
from skewkit.plan.join.pair import Pair, Side, opposite
from skewkit.spark.explained.plan_facts import PlanFacts
from skewkit.spark.expressions.keys import Keys, Names
from skewkit.spark.expressions.selecting import with_columns, without
from skewkit.spark.join.branches import united
from skewkit.spark.join.join_keys import JoinKeys, sides_of
from skewkit.spark.join.packed_key import equal_by_group, heavy_group, heavy_group_number, packed_key
from skewkit.spark.join.presence import with_presence
from skewkit.spark.routing.route import (
    copies,
    heavy_index,
    listed,
    partition_columns,
    with_heavy_index,
)
from skewkit.spark.routing.salting import Salting
from skewkit.spark.session.compat import place
from skewkit.spark.session.jobs import described


def salted(facts: Pair[PlanFacts], keys: JoinKeys, plan: JoinPlan, *, shuffle_hash: bool) -> DataFrame:
    """Return the join with the rows of hot keys spread over the partitions of the plan.

    Both sides are placed by one int, `packed = partition + n * tag` (bits of the hash), and joined on it. So Spark
    sorts or hashes a single int and adds no exchange. The keys themselves are compared as a residual condition, written
    so that Spark does not take it for a second join key: equal tags cost a comparison only.

    The packed key is negative for rows of a hot key whose copies could come out although they met nobody.
    `_without_copies` drops these after the join.
    """
    left, right = facts.map(lambda each: each.frame)
    names = Names(left, right)
    sides = sides_of(left, right, keys, plan.rules.how, names)
    l_rows = _Rows("left", sides.left, sides.left_keys, (right, keys.right), facts.left, keys.left.names)
    r_rows = _Rows("right", sides.right, sides.right_keys, (left, keys.left), facts.right, keys.right.names)
    if not plan.rules.kind.pairs:
        return _tested(l_rows, r_rows, keys, plan, names, shuffle_hash=shuffle_hash)
    l_side, r_side = _placed(l_rows, keys, plan, names), _placed(r_rows, keys, plan, names)
    if shuffle_hash:
        l_side, r_side = _hinted(l_side, r_side, plan)
    l_packed, r_packed = F.col(names("l_packed")), F.col(names("r_packed"))
    known = equal_by_group(plan, keys.left, l_packed)
    equal = (l_packed == r_packed) & keys.equal(sides.left_keys, sides.right_keys, known)
    joined = l_side.join(r_side, equal, plan.rules.how)
    joined = _without_copies(joined, l_rows, keys, plan, names)
    joined = _without_copies(joined, r_rows, keys, plan, names)
    return sides.finish(without(joined, names("l_packed"), names("r_packed")))


def broadcast_head(
    sides: Pair[DataFrame], keys: JoinKeys, plan: JoinPlan, head: Head, *, shuffle_hash: bool
) -> DataFrame:
    """Return the join in two branches: hot rows of one side to a broadcast of the other's, the rest by a shuffle.

    Rows whose null matches nothing are left out first, as Spark does, which then casts no key of theirs. Where the
    join keeps them, those of the hot side go with the hot ones, past the shuffle. The rest is balanced, so its
    partitions are made here and are not coalesced: small hash tables stay in the cache.
    """
    left, right = sides
    names = Names(left, right)
    how, hot_side = plan.rules.how, head.side
    frames: dict[Side, tuple[DataFrame, Keys]] = {"left": (left, keys.left), "right": (right, keys.right)}
    hot_rows: dict[str, DataFrame] = {}
    rest: dict[str, DataFrame] = {}
    for side, (frame, side_keys) in frames.items():
        unmatched = keys.unmatched(side_keys)
        if unmatched is not None and not _stays(how, side):
            frame, unmatched = frame.where(~unmatched), None
        found = with_heavy_index(frame, side_keys, head.keys, names)
        hot = F.col(names("heavy")) >= 0
        if side == hot_side and unmatched is not None:
            hot = hot | unmatched
        hot_rows[side] = without(found.where(hot), names("hash"), names("heavy"))
        rest[side] = without(found.where(~hot), names("hash"), names("heavy"))
    hot_rows[opposite(hot_side)] = F.broadcast(hot_rows[opposite(hot_side)])
    if shuffle_hash:
        if all(each.given in ((), each.types) for each in (keys.left, keys.right)):
            rest = {side: rest[side].repartition(plan.tables, *each.columns) for side, (_, each) in frames.items()}
        rest["left"], rest["right"] = _hinted(rest["left"], rest["right"], plan)
    return united([Pair(rows["left"], rows["right"]) for rows in (hot_rows, rest)], sides, keys, how)


def broadcast_side(frames: Pair[DataFrame], on: Any, how: str | None, side: Side) -> DataFrame:
    """Return plain Spark's join with one side broadcast, so that no row of the other side is shuffled."""
    left, right = frames
    return F.broadcast(left).join(right, on, how) if side == "left" else left.join(F.broadcast(right), on, how)


def rows_of(df: DataFrame, keys: Keys, head: Head, most: int) -> int:
    """Return how many rows a frame has of the keys of a head, counted up to `most`, in one job."""
    names = Names(df)
    found = with_heavy_index(df, keys, head.keys, names)
    with described(df.sparkSession, f"skewkit: hot rows to broadcast for skew_join on {', '.join(keys.names)}"):
        return found.where(F.col(names("heavy")) >= 0).limit(most).count()


def _hinted(left: DataFrame, right: DataFrame, plan: JoinPlan) -> tuple[DataFrame, DataFrame]:
    """Return both sides, the build side with the hint for a shuffled hash join."""
    if plan.build == "left":
        return left.hint("shuffle_hash"), right
    return left, right.hint("shuffle_hash")


@dataclass(frozen=True)
class _Rows:
    """One side: its frame, keys and plan facts, the `own` names of its keys, and the other side as the user gave it."""

    side: Side
    frame: DataFrame
    keys: Keys
    other: tuple[DataFrame, Keys]
    facts: PlanFacts
    own: tuple[str, ...]

    def packed(self, names: Names) -> str:
        """Return the name of the packed key."""
        return names(f"{self.side[0]}_packed")


def _tested(
    l_rows: _Rows, r_rows: _Rows, keys: JoinKeys, plan: JoinPlan, names: Names, *, shuffle_hash: bool
) -> DataFrame:
    """Return a semi or anti join.

    A key that the look-up answers needs no right row. Where it is there, an anti join drops the left rows. A semi join
    keeps them by a witness, one made-up right row per partition, whose packed key is negative.
    """
    n, answered = plan.keys.partitions, any(matrix.answered for matrix in plan.matrices)
    # The optimizer would push the join below the placing of the left rows; a filter that it must not move stops it.
    l_side = _placed(l_rows, keys, plan, names).where(F.spark_partition_id() >= 0)
    if answered:
        # Only the keys are needed, under names of their own, so that the witnesses can be put beside them.
        helpers = [names(f"test{i}") for i in range(len(r_rows.keys.columns))]
        null_keys = keys.unmatched(r_rows.keys)
        frame = r_rows.frame if null_keys is None else r_rows.frame.where(~null_keys)
        frame = frame.select(*(c.alias(h) for c, h in zip(r_rows.keys.columns, helpers, strict=True)))
        r_rows = replace(r_rows, frame=frame, keys=r_rows.keys.selected(helpers))
    r_side = _with_packed(r_rows, keys, plan, names)
    if answered and plan.rules.how == "semi":
        nothing = [F.lit(None).cast(f.dataType).alias(f.name) for f in r_rows.frame.schema.fields]
        witness = (F.col("id") - n).cast("int").alias(r_rows.packed(names))
        r_side = r_side.unionAll(r_rows.frame.sparkSession.range(n).select(*nothing, witness))
    r_side = place(r_side, n, F.col(r_rows.packed(names)))
    if shuffle_hash:
        r_side = r_side.hint("shuffle_hash")
    packed = F.col(l_rows.packed(names))
    equal = keys.equal(l_rows.keys, r_rows.keys)
    if answered:
        equal = equal | (packed < 0)
    equal = (packed == F.col(r_rows.packed(names))) & equal
    return without(l_side.join(r_side, equal, plan.rules.how), l_rows.packed(names))


def _placed(rows: _Rows, keys: JoinKeys, plan: JoinPlan, names: Names) -> DataFrame:
    """Return one side with its packed key, placed by it."""
    return place(_with_packed(rows, keys, plan, names), plan.keys.partitions, F.col(rows.packed(names)))


def _with_packed(rows: _Rows, keys: JoinKeys, plan: JoinPlan, names: Names) -> DataFrame:
    """Return one side with its packed key. Rows whose row or column of the matrix has several cells are copied."""
    n, how, side = plan.keys.partitions, plan.rules.how, rows.side
    route, lists = plan.route(side)
    df, unmatched = rows.frame, keys.unmatched(rows.keys)
    if unmatched is not None and not _stays(how, side):
        df, unmatched = df.where(~unmatched), None
    anywhere = None if unmatched is None else names("anywhere")
    columns: dict[str, Column | str] = {} if unmatched is None else {names("anywhere"): unmatched}
    columns |= heavy_index(rows.keys, plan.keys, names, anywhere=anywhere)
    helpers, marked, row_hash = list(columns), None, None
    if anywhere is not None or _is_cut(plan, side):
        nulls = (anywhere is not None and bool(route.spread)) or any(None in h.key for h in route.heavy)
        row_hash = Salting.of(rows.facts, rows.own).hash(nulls=nulls, frame=df)
    if any(matrix.answered for matrix in plan.matrices):
        # A row's position is that in the frame, and not in what a look-up makes of it.
        salt: dict[str, Column | str] = {} if row_hash is None else {names("salt"): row_hash}
        df, anywhere, marked = _answered(with_columns(df, {**columns, **salt}), rows, keys, plan, names, anywhere)
        columns, row_hash, helpers = {}, F.col(names("salt")) if salt else None, [*helpers, *salt]
    placing = partition_columns(route, names, row_hash, anywhere=anywhere)
    columns, helpers = {**columns, **placing}, [*helpers, *placing]
    # Null keys of both sides have one hash, and would be compared with each other; their salts differ.
    apart = anywhere if how == "full" and route.spread and names("row") in placing else None
    if len(lists) > n:
        df, columns = copies(with_columns(df, columns), lists, names), {}
    packed = {rows.packed(names): packed_key(plan, rows.keys, names, marked, apart)}
    return without(with_columns(df, {**columns, **packed}), *helpers)


def _is_cut(plan: JoinPlan, side: Side) -> bool:
    """Whether rows of a heavy key go to several partitions. Right rows of a key that the look-up answers go nowhere."""
    heavy = zip(plan.route(side)[0].heavy, plan.matrices, strict=True)
    return any(side == "left" if matrix.answered else len(h.parts) > 1 for h, matrix in heavy)


def _answered(
    df: DataFrame, rows: _Rows, keys: JoinKeys, plan: JoinPlan, names: Names, anywhere: str | None
) -> tuple[DataFrame, str | None, str | None]:
    """Return the frame without the rows that a look-up decides, which rows go anywhere, and which meet a witness."""
    answered = [matrix.answered for matrix in plan.matrices]
    wanted = listed(answered, names("heavy"))
    if rows.side == "right":
        return df.where(f"NOT {wanted}"), anywhere, None
    group = f"if({wanted}, {heavy_group(names('heavy'), plan.keys.partitions)}, NULL)"
    df = with_presence(df, group, rows.keys, rows.other, keys, plan.keys, answered, names)
    there = names("there")
    if plan.rules.how == "semi":
        return without(df.where(f"NOT {wanted} OR {there} IS NOT NULL"), there), anywhere, wanted
    return without(df.where(f"{there} IS NULL"), there), f"({anywhere or 'false'} OR {wanted})", None


def _without_copies(joined: DataFrame, rows: _Rows, keys: JoinKeys, plan: JoinPlan, names: Names) -> DataFrame:
    """Return the joined frame without copied rows of this side that met nobody, though they should come out once.

    Where the key is on the other side, every copied row has a match somewhere, so that a copy without one is
    dropped. Where it is not, one copy of a row comes out, the one on the first partition of its slice. Only rows
    without a match ask whether the key is there.
    """
    n, copied = plan.keys.partitions, [matrix.checked and rows.side in matrix.copied for matrix in plan.matrices]
    if not any(copied) or not plan.rules.keeps(rows.side):
        return joined
    packed, other, there = rows.packed(names), "r" if rows.side == "left" else "l", names("there")
    alone = f"({packed} < 0 AND {names(f'{other}_packed')} IS NULL)"
    group = f"if({alone}, {packed} - pmod({packed}, {n}), NULL)"
    looked = with_presence(joined, group, rows.keys, rows.other, keys, plan.keys, copied, names)
    firsts = [
        slice_.targets[0] + heavy_group_number(heavy, n)
        for heavy, matrix in enumerate(plan.matrices)
        if matrix.checked
        for slice_ in matrix.slices.of(rows.side)
    ]
    first = f"{packed} IN ({', '.join(map(str, firsts))}) AND {there} IS NULL"
    return without(looked.where(f"NOT coalesce({alone}, false) OR {first}"), there)


def _stays(how: str, side: Side) -> bool:
    """Whether rows that match nothing come out of the join. A semi join keeps a side, but not those."""
    return side in KINDS[how].returns_unmatched
