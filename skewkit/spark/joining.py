"""Joins over a plan: salted on one packed key, or the hot keys by broadcast."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from skewkit.plan.joinplan import Head, JoinPlan
from skewkit.plan.joinrules import Side, opposite
from skewkit.spark.compat import place
from skewkit.spark.joinsides import JoinKeys, sides_of
from skewkit.spark.keys import Keys, Names
from skewkit.spark.presence import with_presence
from skewkit.spark.route import copies, listed, salt, with_heavy_index, with_partition

_INT = (1 << 31) - 1


def salted(
    left: DataFrame,
    right: DataFrame,
    keys: JoinKeys,
    plan: JoinPlan,
    *,
    shuffle_hash: bool,
    stored: Mapping[Side, bool],
) -> DataFrame:
    """Return the join with the rows of hot keys spread over the partitions of the plan.

    Both sides are placed by one int, `packed = partition + n * (hash mod (2^31 - 1) / n)`, and joined on it, so
    that Spark sorts or hashes a single int and adds no exchange. The keys themselves are compared as a residual
    condition, written so that Spark does not take it for a second join key: equal hashes cost a comparison only.

    The packed key is negative for rows of a hot key that was looked up and is on both sides: each of them has a
    match somewhere, so where a kept one met nobody, that is a copy which the filter behind the join drops.
    """
    names = Names(left, right)
    sides = sides_of(left, right, keys, plan.rules.how, names)
    l_rows = _Rows("left", sides.left, sides.left_keys, (right, keys.right), stored["left"])
    r_rows = _Rows("right", sides.right, sides.right_keys, (left, keys.left), stored["right"])
    if plan.rules.how in ("semi", "anti"):
        return _tested(l_rows, r_rows, keys, plan, names, shuffle_hash=shuffle_hash)
    l_side, r_side = _placed(l_rows, keys, plan, names), _placed(r_rows, keys, plan, names)
    if shuffle_hash:
        l_side, r_side = _hinted(l_side, r_side, plan)
    l_packed, r_packed = F.col(names("l_packed")), F.col(names("r_packed"))
    equal = (l_packed == r_packed) & keys.equal(sides.left_keys, sides.right_keys)
    joined = l_side.join(r_side, equal, plan.rules.how)
    if any(grid.checked for grid in plan.grids):
        met = l_packed.isNotNull() & r_packed.isNotNull()
        joined = joined.where(met | (F.coalesce(l_packed, r_packed) >= 0))
    return sides.finish(joined.drop(names("l_packed"), names("r_packed")))


def broadcast_head(
    left: DataFrame, right: DataFrame, keys: JoinKeys, plan: JoinPlan, head: Head, *, shuffle_hash: bool
) -> DataFrame:
    """Return the join in two branches: hot rows of one side to a broadcast of the other's, the rest by a shuffle.

    Rows of the hot side whose null matches nothing go with the hot ones, past the shuffle.
    """
    names = Names(left, right)
    how, hot_side = plan.rules.how, head.side
    frames = {"left": (left, keys.left), "right": (right, keys.right)}
    hot_rows: dict[str, DataFrame] = {}
    rest: dict[str, DataFrame] = {}
    for side, (frame, side_keys) in frames.items():
        found = with_heavy_index(frame, side_keys, head.keys, names)
        hot = F.col(names("heavy")) >= 0
        unmatched = keys.unmatched(side_keys)
        if side == hot_side and unmatched is not None:
            hot = hot | unmatched
        hot_rows[side] = found.where(hot).drop(names("hash"), names("heavy"))
        rest[side] = found.where(~hot).drop(names("hash"), names("heavy"))
    hot_rows[opposite(hot_side)] = F.broadcast(hot_rows[opposite(hot_side)])
    if shuffle_hash:
        rest["left"], rest["right"] = _hinted(rest["left"], rest["right"], plan)
    branches = [rows["left"].join(rows["right"], keys.on, how) for rows in (hot_rows, rest)]  # type: ignore[arg-type]
    return branches[0].unionAll(branches[1])


def _hinted(left: DataFrame, right: DataFrame, plan: JoinPlan) -> tuple[DataFrame, DataFrame]:
    """Return both sides, the build side with the hint for a shuffled hash join."""
    if plan.build == "left":
        return left.hint("shuffle_hash"), right
    return left, right.hint("shuffle_hash")


@dataclass(frozen=True)
class _Rows:
    """One side's frame and keys, the other side as the user gave it, and whether the frame is read from storage."""

    side: Side
    frame: DataFrame
    keys: Keys
    other: tuple[DataFrame, Keys]
    stored: bool

    def packed(self, names: Names) -> str:
        """Return the name of the packed key."""
        return names(f"{self.side[0]}_packed")


def _tested(
    l_rows: _Rows, r_rows: _Rows, keys: JoinKeys, plan: JoinPlan, names: Names, *, shuffle_hash: bool
) -> DataFrame:
    """Return a semi or anti join.

    A key that the look-up answers needs no right row: where it is there, an anti join drops the left rows, and a
    semi join keeps them by a witness, one made-up right row per partition, whose packed key is negative.
    """
    n, answered = plan.keys.partitions, any(grid.answered for grid in plan.grids)
    l_side = _placed(l_rows, keys, plan, names)
    if answered:
        # Only the keys are needed, under names of their own, so that the witnesses can be put beside them.
        helpers = [names(f"test{i}") for i in range(len(r_rows.keys.columns))]
        frame = r_rows.frame.select(*(c.alias(h) for c, h in zip(r_rows.keys.columns, helpers, strict=True)))
        own = Keys(tuple(F.col(h) for h in helpers), tuple(helpers), r_rows.keys.types)
        r_rows = replace(r_rows, frame=frame, keys=own)
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
    return l_side.join(r_side, (packed == F.col(r_rows.packed(names))) & equal, plan.rules.how).drop(
        l_rows.packed(names)
    )


def _placed(rows: _Rows, keys: JoinKeys, plan: JoinPlan, names: Names) -> DataFrame:
    """Return one side with its packed key, placed by it."""
    return place(_with_packed(rows, keys, plan, names), plan.keys.partitions, F.col(rows.packed(names)))


def _with_packed(rows: _Rows, keys: JoinKeys, plan: JoinPlan, names: Names) -> DataFrame:
    """Return one side with its packed key; rows of stripes with several targets are copied."""
    n, how, side = plan.keys.partitions, plan.rules.how, rows.side
    route, lists = plan.route(side)
    df, free = rows.frame, keys.unmatched(rows.keys)
    if free is not None and not _stays(how, side):
        df, free = df.where(~free), None
    df = with_heavy_index(df, rows.keys, plan.keys, names)
    df, there, free = _looked_up(df, rows, keys, plan, names, free)
    spread = free is not None or any(len(h.parts) > 1 for h in route.heavy)
    row_hash = salt(rows.frame, rows.keys, stored=rows.stored) if spread else None
    df = with_partition(df, route, names, row_hash, free=free)
    if len(lists) > n:
        df = copies(df, lists, names)
    partition = F.col(names("partition"))
    tag = F.pmod(F.col(names("hash")), F.lit(_INT // n)).cast("int")
    packed = partition + F.lit(n) * tag
    if there is not None:
        marked = partition - F.lit(n) if how == "semi" else partition - F.lit(n) * (tag + 1)
        packed = F.when(there, marked).otherwise(packed)
    # Never null, and Spark shall know it: else it infers `packed is not null` and computes all of this twice.
    packed = F.coalesce(packed, F.lit(0)).alias(rows.packed(names))
    return df.select("*", packed).drop(*(names(role) for role in ("hash", "heavy", "row", "partition", "there")))


def _looked_up(
    df: DataFrame, rows: _Rows, keys: JoinKeys, plan: JoinPlan, names: Names, free: Column | None
) -> tuple[DataFrame, Column | None, Column | None]:
    """Return the frame without the rows that the look-up decides, then whose keys it found, and which rows are free.

    A side that is not kept needs no look-up: what it has of a key meets the other side's rows, or nobody asks.
    """
    answered = [grid.answered for grid in plan.grids]
    flags = [grid.checked or grid.answered for grid in plan.grids]
    if not any(flags):
        return df, None, free
    wanted = listed(flags, F.col(names("heavy")))
    if not plan.rules.keeps(rows.side):
        return (df.where(~wanted), None, free) if any(answered) else (df, wanted, free)
    df = with_presence(df, rows.keys, rows.other, keys, plan.keys, flags, names)
    found = F.col(names("there")).isNotNull()
    if plan.rules.how == "semi":
        return df.where(~wanted | found), wanted, free
    if plan.rules.how == "anti":
        df = df.where(~found)
    absent = wanted & ~found
    return df, None if plan.rules.how == "anti" else found, absent if free is None else free | absent


def _stays(how: str, side: Side) -> bool:
    """Whether rows that match nothing come out of the join; a semi join keeps a side, but not those."""
    return side in {"left": ("left",), "right": ("right",), "full": ("left", "right"), "anti": ("left",)}.get(how, ())
