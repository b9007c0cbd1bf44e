"""What the other blocks of a cut partition hold: totals per block, carried over the blocks, one small row per block."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from skewkit.plan.window.split_forms import Carried
from skewkit.spark.expressions.keys import Names, quoted
from skewkit.spark.session.compat import place
from skewkit.spark.window.blocks import Blocks


@dataclass
class Helpers:
    """Helper columns by what they hold, so that what two functions need is computed once."""

    names: Names
    prefix: str
    known: dict[object, str] = field(default_factory=dict)

    def of(self, content: object) -> str:
        """Return the column that holds this."""
        return self.known.setdefault(content, self.names(f"{self.prefix}{len(self.known)}"))


def carried(blocks: Blocks, wanted: Sequence[Carried], names: Sequence[str], ties: Sequence[str]) -> DataFrame:
    """Return one row per block with what other blocks hold, all in one partition.

    Its columns: `to_partition`, `to_block`, `to_key0` and so on, and `names` for what is wanted, in order. The
    totals are computed where the blocks are; only one row per block is sent. Rows that are equal in the order are
    taken in the order of `ties`.
    """
    helper = blocks.names
    rows = blocks.frame.where(blocks.block >= 0)
    if blocks.has_copies:
        rows = rows.where(F.col(helper("own")))
    priors = Helpers(helper, "prior")
    if any(each.ordered for each in wanted):
        rows = _numbered(blocks, rows, [each.prior for each in wanted if each.prior], priors, ties)
    totals = []
    for i, each in enumerate(wanted):
        prior = priors.of(each.prior) if each.prior else ""
        sql = each.total.replace("{rn}", helper("rn")).replace("{size}", helper("size")).replace("{prior}", prior)
        totals.append(F.expr(sql).alias(helper(f"total{i}")))
    by_block = rows.groupBy(blocks.partition, blocks.block, *blocks.keys.columns).agg(*totals).repartition(1)
    of_key = Window.partitionBy(*blocks.keys.columns).orderBy(blocks.block)
    sums = []
    for i, each in enumerate(wanted):
        total = helper(f"total{i}")
        if each.side == "own":
            sums.append(F.col(total).alias(helper(f"sum{i}")))
            continue
        far = (each.near or None, each.near or None)
        start, end = {"before": (far[0], -1), "after": (1, far[1]), "all": (None, None)}[each.side]
        first = Window.unboundedPreceding if start is None else -start if each.side == "before" else start
        last = Window.unboundedFollowing if end is None else end
        carry = F.expr(each.carry.replace("{t}", total)).over(of_key.rowsBetween(first, last))
        sums.append(carry.alias(helper(f"sum{i}")))
    summed = by_block.select("*", *sums)
    keys = [key.alias(helper(f"to_key{i}")) for i, key in enumerate(blocks.keys.columns)]
    folded = [
        F.expr(each.fold.replace("{c}", helper(f"sum{i}"))).alias(name)
        for i, (each, name) in enumerate(zip(wanted, names, strict=True))
    ]
    to = (blocks.partition.alias(helper("to_partition")), blocks.block.alias(helper("to_block")))
    return summed.select(*to, *keys, *folded)


def beside(blocks: Blocks, rows: DataFrame) -> DataFrame:
    """Return rows with a `to_partition` on the partitions of that number, where the blocks are."""
    return place(rows, blocks.plan.keys.partitions, F.col(blocks.names("to_partition")))


def meets(blocks: Blocks) -> Column:
    """Return whether a row of the blocks is in the block of a row of `carried`.

    Only partition and block are keys of the join, so that it is one of integers. Where a block does not tell the key,
    keys are compared besides, in a way that Spark does not take for a third key: two hot keys may have one hash.
    """
    helper = blocks.names
    condition = (blocks.partition == F.col(helper("to_partition"))) & (blocks.block == F.col(helper("to_block")))
    if blocks.block_tells_key:
        return condition
    for i, key in enumerate(blocks.keys.columns):
        other = F.col(helper(f"to_key{i}"))
        condition = condition & (((key >= other) & (key <= other)) | (key.isNull() & other.isNull()))
    return condition


def in_order(blocks: Blocks, ties: Sequence[str]) -> list[Column]:
    """Return the order columns, and after them those that tell rows apart which the order does not."""
    return [*blocks.by.sorting, *(F.col(quoted(name)) for name in ties)]


def _numbered(blocks: Blocks, rows: DataFrame, priors: Sequence[str], known: Helpers, ties: Sequence[str]) -> DataFrame:
    helper = blocks.names
    ordered = Window.partitionBy(*blocks.within).orderBy(*in_order(blocks, ties))
    every = ordered.rowsBetween(Window.unboundedPreceding, Window.unboundedFollowing)
    return rows.select(
        "*",
        F.row_number().over(ordered).alias(helper("rn")),
        F.count(F.lit(1)).over(every).alias(helper("size")),
        *(F.expr(prior).over(every).alias(known.of(prior)) for prior in dict.fromkeys(priors)),
    )
