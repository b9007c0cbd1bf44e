"""Partials of calls that read the same values of hot keys: on sub-groups in which equal values meet, or by ranges."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.types import DoubleType, FloatType

from skewkit.plan.placement.key_plan import KeyPlan
from skewkit.plan.window.window_plan import WindowPlan
from skewkit.spark.expressions.keys import quoted
from skewkit.spark.expressions.selecting import without
from skewkit.spark.group.aggregate_plan import PREFIX, PlannedAggregate
from skewkit.spark.group.grouped_exchange import Placed
from skewkit.spark.session.compat import place
from skewkit.spark.window.blocks import with_block
from skewkit.spark.window.carrying import same_keys

_PLACE, _VALUE, _MINUS, _COUNT, _LEAST = (f"{PREFIX}{name}" for name in ("place", "value", "minus", "n", "least"))
_SLACK = 2
"""Rows beside the rank of a percentile that are counted as near: it rounds, and lies between two rows."""


def by_value(
    at: Placed, plan: KeyPlan, keys: Sequence[str], group: Sequence[PlannedAggregate], salted_by: tuple[str, ...]
) -> DataFrame:
    """Return the partials of calls that read the same values, on sub-groups in which equal values meet."""
    first, hot = group[0], at.hot()
    place_ = F.col(at.names("partition"))
    if first.reads != salted_by:
        place_ = F.pmod(F.xxhash64(*first.reads), F.lit(plan.partitions))
    hot = hot.select(place_.alias(_PLACE), *keys, *first.reads)
    if not first.split.counted:
        made = [column for part in group for column in part.partials(*part.call.given(part.reads))]
        return without(hot.groupBy(_PLACE, *keys).agg(*made), _PLACE)
    given = first.call.given(first.reads)
    pairs = _counted(hot.select(_PLACE, *keys, given[0].alias(_VALUE)), [_PLACE, *keys])
    made = [column for part in group for column in part.partials(F.col(_VALUE), F.col(_COUNT))]
    if first.split.each:
        return pairs.select(*keys, *made)
    return without(pairs.groupBy(_PLACE, *keys).agg(*made), _PLACE)


def by_range(at: Placed, ranges: WindowPlan, keys: Sequence[str], group: Sequence[PlannedAggregate]) -> DataFrame:
    """Return the partials of percentiles of the same values: the values near their ranks, and one for every range else.

    Rows are counted by range, where they are. That says in which ranges the ranks lie. All rows of another range stand
    before them or after them, so that its least value may stand for each. What is left is few values, and how often
    each is there.
    """
    names, first = at.names, group[0]
    heavy, block, partition = (F.col(names(role)) for role in ("heavy", "block", "partition"))
    value = first.call.given(first.reads)[0].alias(_VALUE)
    hot = with_block(at.hot().select(partition, heavy, *keys, value), [quoted(_VALUE)], ranges, names, "block")
    counts = hot.groupBy(heavy, *keys, block).agg(F.count(_VALUE).alias(_COUNT), F.min(_VALUE).alias(_LEAST))
    far = _far(counts, keys, group, names("block"))
    mine, others = [F.col(key) for key in keys], [names(f"to_key{i}") for i in range(len(keys))]
    to_heavy, to_partition, least = (names(role) for role in ("to_heavy", "to_partition", "least"))
    least_of = F.map_from_entries(F.collect_list(F.struct(block, _LEAST)))
    renamed = [key.alias(other) for key, other in zip(mine, others, strict=True)]
    by_key = far.groupBy(heavy.alias(to_heavy), *renamed)
    everywhere = F.explode(F.sequence(F.lit(0), F.lit(ranges.keys.partitions - 1))).alias(to_partition)
    beside = place(by_key.agg(least_of.alias(least)).select("*", everywhere), ranges.keys.partitions, to_partition)
    # Only integers are keys of the join, and rows stay where they are.
    meets = (partition == F.col(to_partition)) & (heavy == F.col(to_heavy)) & same_keys(mine, others)
    met = hot.join(beside.hint("shuffle_hash"), meets, "left")
    stands = F.coalesce(F.try_element_at(least, block), _VALUE)
    pairs = _counted(met.select(*keys, F.when(F.col(_VALUE).isNotNull(), stands).alias(_VALUE)), keys)
    made = [column for part in group for column in part.partials(F.col(_VALUE), F.col(_COUNT))]
    return pairs.select(*keys, *made)


def _far(counts: DataFrame, keys: Sequence[str], group: Sequence[PlannedAggregate], block: str) -> DataFrame:
    """Return the ranges in which no wanted rank lies, of the counts of all ranges."""
    key, upto, rows = Window.partitionBy(*keys), f"{PREFIX}upto", f"{PREFIX}rows"
    totals = F.sum(_COUNT).over(key.orderBy(block)).alias(upto), F.sum(_COUNT).over(key).alias(rows)
    shares = F.concat(*(part.shares for part in group))
    rank = (F.col(rows) - 1).cast("double")
    near = F.exists(
        shares,
        lambda share: (rank * share + _SLACK >= F.col(upto) - F.col(_COUNT)) & (rank * share - _SLACK < F.col(upto)),
    )
    return counts.select("*", *totals).where(~near)


def _counted(df: DataFrame, by: Sequence[str]) -> DataFrame:
    """Return how often each `value` is there. -0.0 stays apart, which a group-by takes for 0.0."""
    value = F.col(_VALUE)
    if df.schema[_VALUE].dataType not in (FloatType(), DoubleType()):
        return df.groupBy(*by, _VALUE).agg(F.count(_VALUE).alias(_COUNT))
    minus = F.when(value == 0, F.startswith(value.cast("string"), F.lit("-"))).alias(_MINUS)
    pairs = df.groupBy(*by, _VALUE, minus).agg(F.count(_VALUE).alias(_COUNT))
    return pairs.select(*by, F.when(F.col(_MINUS), -F.abs(value)).otherwise(value).alias(_VALUE), _COUNT)
