"""Blocks with the rows next to them: what a frame of rows needs to see of the blocks before and after."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pyspark.sql import Column
from pyspark.sql import functions as F

from skewkit.plan.window.split_forms import neighbours
from skewkit.spark.expressions.keys import quoted
from skewkit.spark.window.blocks import Blocks
from skewkit.spark.window.carrying import beside, carried

_ROW_BITS = (1 << 33) - 1
"""`monotonically_increasing_id` counts the rows of a partition in its lower 33 bits."""


def bordered(
    blocks: Blocks, reach: tuple[int, int], order: Sequence[str], arguments: Sequence[str], ties: Sequence[str]
) -> tuple[Blocks, dict[str, str]]:
    """Return the blocks with so many rows before and after each, and the new names of order columns and arguments.

    The rows next to a block come as copies of what the functions need of them. `side` is -1 or 1 for them, and the
    frame's other columns mean nothing there. They are handed to the first row of their partition that turns up, by a
    join that adds no exchange. That row is repeated once for each, and once for itself.
    """
    helper = blocks.names
    columns = list(dict.fromkeys((*order, *arguments)))
    struct = ", ".join(f"'c{i}', {quoted(name)}" for i, name in enumerate(columns))
    near = {side: k for side, k in zip(("before", "after"), reach, strict=True) if k}
    at = {"before": "'side', -1, ", "after": "'side', 1, "}
    sides = [neighbours(side, k, at[side] + struct) for side, k in near.items()]
    lists = [helper(f"list{i}") for i in range(len(sides))]
    of_block = carried(blocks, sides, lists, ties)
    keys = [helper(f"to_key{i}") for i in range(len(blocks.keys.columns))]
    around = F.flatten(F.filter(F.array(*lists), lambda rows: rows.isNotNull()))
    copies = of_block.select(
        helper("to_partition"), helper("to_block"), *keys, F.explode(around).alias(helper("row"))
    ).withColumn(helper("self"), F.lit(False))
    n = blocks.plan.keys.partitions
    one_each = blocks.frame.sparkSession.range(n).select(
        F.col("id").cast("int").alias(helper("to_partition")), F.lit(True).alias(helper("self"))
    )
    handed = copies.unionByName(one_each, allowMissingColumns=True)
    handed = handed.withColumn(helper("to_door"), F.col(helper("to_partition")))
    handed = beside(blocks, handed)
    number = F.monotonically_increasing_id().alias(helper("number"))
    rows = blocks.frame.select("*", number)
    door = F.when(F.col(helper("number")).bitwiseAND(F.lit(_ROW_BITS)) == 0, blocks.partition)
    rows = rows.select("*", door.alias(helper("door")))
    met = (blocks.partition == F.col(helper("to_partition"))) & (F.col(helper("door")) == F.col(helper("to_door")))
    joined = rows.join(handed.hint("shuffle_hash"), met, "left")
    row = F.col(helper("row"))
    side = F.when(~F.col(helper("self")), row["side"]).otherwise(0)

    def either(mine: Column, theirs: Column) -> Column:
        return F.when(blocks.own, mine).otherwise(theirs)

    new = {name: helper(f"near{i}") for i, name in enumerate(columns)}
    new_keys = [helper(f"near_key{i}") for i in range(len(keys))]
    joined = joined.select("*", side.alias(helper("side")))
    joined = joined.select(
        "*",
        either(blocks.block, F.col(helper("to_block"))).alias(helper("near_block")),
        *(
            either(key, F.col(other)).alias(name)
            for key, other, name in zip(blocks.keys.columns, keys, new_keys, strict=True)
        ),
        *(either(F.col(quoted(name)), row[f"c{i}"]).alias(new[name]) for i, name in enumerate(columns)),
    )
    used = ("to_partition", "to_block", "to_door", "row", "self", "number", "door", "block")
    joined = joined.drop(*keys, *(helper(role) for role in used), *(helper(f"whole{i}") for i in range(len(keys))))
    joined = joined.withColumnRenamed(helper("near_block"), helper("block"))
    by = blocks.by.renamed([new[name] for name in order])
    around_it = replace(blocks, frame=joined, keys=blocks.keys.renamed(new_keys), by=by, has_copies=True)
    return around_it.with_whole_keys(), new
