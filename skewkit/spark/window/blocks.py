"""Rows of cut partitions in their blocks: a window plan as Columns, and the exchange that all branches share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import reduce
from operator import and_, or_
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from skewkit.errors import SkewkitError
from skewkit.hashing.spark import xxhash64
from skewkit.plan.window.window_plan import WindowPlan, shifted
from skewkit.spark.expressions.keys import Keys, Names, has_fixed_hash, is_plain, quoted, reads_as_names, shared_names
from skewkit.spark.routing.route import element, with_heavy_index
from skewkit.spark.session.compat import place
from skewkit.spark.window.ordering import OrderBy, at_or_after, cut_array, cut_sql, cut_value

_MOST_IN_TREES = 64
"""More comparisons of single columns make a method that Java does not compile; then cuts are searched in arrays."""

_MOST_COMPARED = 16
"""So many cut keys at most are compared by value, besides their hash."""


@dataclass(frozen=True)
class Blocks:
    """A frame placed by a window plan.

    Its helper columns:

    * `partition`, and `block`, which is -1 where the row's key is not cut;
    * `side`, if `has_copies`: 0 where a row is in its own block, -1 or 1 for a copy that comes before or after it;
    * `whole0` and so on, after `with_whole_keys`: the key where it is not cut, else null.
    """

    frame: DataFrame
    keys: Keys
    by: OrderBy
    names: Names
    plan: WindowPlan
    has_copies: bool = False
    block_tells_key: bool = False
    """Whether all rows of a block have one key; else keys of one hash may share it."""

    @property
    def partition(self) -> Column:
        """Number of the partition that a row is on."""
        return F.col(self.names("partition"))

    @property
    def block(self) -> Column:
        """Number of the row's block, -1 where its key is not cut."""
        return F.col(self.names("block"))

    @property
    def side(self) -> Column:
        """Where a row stands: 0 in its own block, -1 or 1 before or after the block that it is copied to."""
        return F.col(self.names("side"))

    @property
    def own(self) -> Column:
        """Whether a row is in its own block."""
        return self.side == 0

    @property
    def within(self) -> list[Column]:
        """What tells blocks, and keys that are not cut, apart (after `with_whole_keys`)."""
        if not self.block_tells_key:
            return [self.partition, self.block, *self.keys.columns]
        return [self.partition, self.block, *(F.col(self.names(f"whole{i}")) for i in range(len(self.keys.columns)))]

    def with_whole_keys(self) -> Blocks:
        """Return the blocks with the columns `whole0` and so on, where they are of use."""
        if not self.block_tells_key:
            return self
        whole = [F.when(self.block < 0, key) for key in self.keys.columns]
        named = [column.alias(self.names(f"whole{i}")) for i, column in enumerate(whole)]
        return replace(self, frame=self.frame.select("*", *named))


def placed(
    df: DataFrame,
    keys: Keys,
    by: OrderBy,
    cut_by: Sequence[str],
    plan: WindowPlan,
    names: Names,
    shifts: tuple[int | None, int | None] | None,
) -> Blocks:
    """Put every row on the partition of its block, or of its key where that is not cut.

    `cut_by` are the columns by which keys are cut. With `shifts`, the finite bounds of a range frame, rows are also
    copied to the other blocks of their key in which they are in the frame of some row.
    """
    found = with_heavy_index(df, keys, plan.keys, names)
    columns = [quoted(name) for name in cut_by[: plan.depth]]
    exact = _exact(keys, plan)
    if exact is not None:
        other = [(F.col(names("heavy")) == i) & ~same for i, same in exact.items()]
        heavy = F.when(reduce(or_, other), -1).otherwise(F.col(names("heavy")))
        found = found.withColumn(names("heavy"), heavy)
    found = with_block(found, columns, plan, names, "block")
    heavy, block = F.col(names("heavy")), F.col(names("block"))
    helpers = [names("hash"), names("heavy")]
    if shifts is not None:
        found = _with_copies(found, columns[0], plan, names, shifts)
        helpers += [names("low"), names("high")]
    firsts = [h.parts[0][0] for h in plan.keys.heavy]
    tail = element(plan.keys.buckets, "int", F.pmod(F.col(names("hash")), F.lit(len(plan.keys.buckets))))
    at = F.when(block >= 0, element([b.partition for b in plan.blocks], "int", block))
    at = at.when(heavy >= 0, element(firsts, "int", heavy)).otherwise(tail)
    routed = found.select("*", F.coalesce(at, F.lit(0)).alias(names("partition"))).drop(*helpers)
    exchanged = place(routed, plan.keys.partitions, F.col(names("partition")))
    return Blocks(kept_whole(exchanged), keys, by, names, plan, shifts is not None, exact is not None)


def with_block(df: DataFrame, columns: Sequence[str], plan: WindowPlan, names: Names, role: str) -> DataFrame:
    """Return the frame with the number of the row's block under `role`, -1 where its key is not cut.

    `columns` are the values by which rows are put into blocks, as SQL.
    """
    heavy = F.col(names("heavy"))
    if plan.opposite is not None:  # rows that are equal to a cut, and nulls, are in the block that they are in there
        df, there = with_block(df, columns, plan.opposite, names, role), F.col(names(role))
        ends = [sum(plan.spans.get(i, (0, 0))) for i in range(len(plan.keys.heavy))]
        return df.withColumn(names(role), F.when(there >= 0, element(ends, "int", heavy) - there).otherwise(-1))
    if len(plan.blocks) * (1 if plan.depth == 1 else 5 * plan.depth) > _MOST_IN_TREES:
        return _searched(df, columns, plan, names, role)
    block: Column | None = None
    for i, (first, last) in plan.spans.items():
        tree = F.expr(_tree(columns[0], plan, first, last)) if plan.depth == 1 else _trees(columns, plan, first, last)
        block = F.when(heavy == i, tree) if block is None else block.when(heavy == i, tree)
    return df.select("*", (F.lit(-1) if block is None else block.otherwise(-1)).alias(names(role)))


def _exact(keys: Keys, plan: WindowPlan) -> dict[int, Column] | None:
    """Return whether a row has the very key, for all heavy keys that are cut, or None if that cannot be told.

    Only keys whose value is known, and has the hash of the plan, can be compared.
    """
    if not 0 < len(plan.spans) <= _MOST_COMPARED or not all(_has_literal(type_) for type_ in keys.types):
        return None
    found = {}
    for i in plan.spans:
        heavy = plan.keys.heavy[i]
        try:
            if xxhash64(heavy.key, keys.types) != heavy.hash:
                return None
        except (SkewkitError, TypeError, ValueError, ArithmeticError):
            return None
        values = [_literal(value, type_) for value, type_ in zip(heavy.key, keys.types, strict=True)]
        pairs = zip(keys.columns, values, strict=True)
        found[i] = reduce(and_, [column.eqNullSafe(value) for column, value in pairs])
    return found


def _has_literal(type_: str) -> bool:
    return type_.partition("(")[0] in ("tinyint", "smallint", "int", "bigint", "string", "boolean", "date", "decimal")


def _literal(value: Any, type_: str) -> Column:
    """Return a key's value; dates by their number of days, as not every text of a year before 1000 can be read."""
    if isinstance(value, date):
        return F.date_from_unix_date(F.lit((value - date(1970, 1, 1)).days))
    return F.lit(value).cast(type_)


def _tree(column: str, plan: WindowPlan, first: int, last: int) -> str:
    """Return a key's block by one column, as SQL: a balanced tree of comparisons, which stays in code generation."""
    order = plan.orders[0]

    def between(low: int, high: int) -> str:
        if low == high:
            return str(low)
        middle = (low + high + 1) // 2
        (cut,) = plan.blocks[middle].cut or (None,)
        right = f"{column} {'<=' if order.descending else '>='} {cut_sql(cut, order.type)}"
        return f"CASE WHEN {right} THEN {between(middle, high)} ELSE {between(low, middle - 1)} END"

    at_null = first if order.nulls_first else last
    known = between(first, last - (plan.blocks[last].cut == (None,)))
    return f"CASE WHEN {column} IS NULL THEN {at_null} ELSE {known} END"


def _trees(columns: Sequence[str], plan: WindowPlan, low: int, high: int) -> Column:
    """Return a key's block by several columns, in such a tree."""
    if low == high:
        return F.lit(low)
    middle = (low + high + 1) // 2
    cut = [cut_value(c, o.type) for c, o in zip(plan.blocks[middle].cut or (), plan.orders, strict=False)]
    right = at_or_after([F.expr(column) for column in columns], plan.orders, cut)
    return F.when(right, _trees(columns, plan, middle, high)).otherwise(_trees(columns, plan, low, middle - 1))


def _searched(df: DataFrame, columns: Sequence[str], plan: WindowPlan, names: Names, role: str) -> DataFrame:
    """Return the block by binary search in literal arrays, one column per step so that each is computed once.

    The last step goes through an `explode` of one element. Rules of the optimizer write the keys of a join out in terms
    of the columns they come from, down to the source. Steps that mention one another would make that take for ever. An
    `explode` is where it ends.
    """
    heavy = F.col(names("heavy"))
    spans = [plan.spans.get(i, (-1, -1)) for i in range(len(plan.keys.heavy))]
    orders, values = plan.orders[: plan.depth], [F.expr(column) for column in columns]
    arrays = [cut_array([b.cut[i] if b.cut else None for b in plan.blocks], o.type) for i, o in enumerate(orders)]
    first, last = (F.when(heavy >= 0, element([s[e] for s in spans], "int", heavy)).otherwise(-1) for e in (0, 1))
    df = df.select("*", first.alias(names("at0")), last.alias(names("last")))
    step, number = 1 << (plan.most - 1).bit_length() - 1, 0
    while step:
        at, candidate = F.col(names(f"at{number}")), F.col(names(f"at{number}")) + step
        right = at_or_after(values, plan.orders, [F.get(array, candidate) for array in arrays])
        moved = F.when((at >= 0) & (candidate <= F.col(names("last"))) & right, candidate).otherwise(at)
        df = df.select("*", moved.alias(names(f"at{number + 1}"))).drop(names(f"at{number}"))
        step, number = step // 2, number + 1
    found = F.explode(F.array(names(f"at{number}"))).alias(names(role))
    return df.select("*", found).drop(names(f"at{number}"), names("last"))


def _with_copies(
    df: DataFrame, column: str, plan: WindowPlan, names: Names, shifts: tuple[int | None, int | None]
) -> DataFrame:
    """Return the frame with a row's copies in the blocks where it is in some frame, and on which side of them."""
    low = high = F.col(names("block"))
    number = f"CAST({f'unix_date({column})' if plan.orders[0].type == 'date' else column} AS double)"
    start, end = shifts
    if end is not None:
        df = with_block(df, [number], shifted(plan, end), names, "low")
        low = F.least(F.col(names("low")), low)
    if start is not None:
        df = with_block(df, [number], shifted(plan, start), names, "high")
        high = F.greatest(F.col(names("high")), high)
    alone = F.expr(column).isNull() | (low == high)
    own = F.col(names("block"))
    every = F.when(alone, F.array(own)).otherwise(F.sequence(low, high))
    copied = df.select("*", F.explode(every).alias(names("copy")))
    side = F.signum(own - F.col(names("copy"))).cast("int").alias(names("side"))
    return copied.select("*", side).drop(names("block")).withColumnRenamed(names("copy"), names("block"))


def kept_whole(df: DataFrame) -> DataFrame:
    """Return the frame after a filter that is always true and names every column.

    All branches above then read the same columns and no filter passes below, so that Spark computes the exchange
    once: they see the same rows even where the frame would be another the next time.
    """
    fields, odd = df.schema.fields, []
    if shared_names(df.columns):
        named = ["to_json(struct(*))"]
    else:
        odd = [] if reads_as_names(df.sparkSession, df.columns) else [f for f in fields if not is_plain(f.name)]
        plain = [(quoted(f.name), f.dataType) for f in fields if not odd or is_plain(f.name)]
        named = [name if has_fixed_hash(type_) else f"to_json(struct({name}))" for name, type_ in plain]
    never = [f"xxhash64({', '.join(named[i : i + 50])}) = 0" for i in range(0, len(named), 50)]
    if not odd:
        return df.where(F.expr(f"CASE WHEN spark_partition_id() >= 0 THEN true ELSE {' AND '.join(never)} END"))
    cells = [(F.col(quoted(field.name)), field.dataType) for field in odd]
    hashed = F.xxhash64(*(c if has_fixed_hash(type_) else F.to_json(F.struct(c)) for c, type_ in cells))
    last = reduce(and_, map(F.expr, never), hashed == 0)
    return df.where(F.when(F.spark_partition_id() >= 0, F.lit(True)).otherwise(last))
