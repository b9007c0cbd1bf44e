"""Which hot keys the other side of a join has, found inside the query: a profile may be old, the rows are not."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from skewkit.plan.placement.key_plan import KeyPlan
from skewkit.spark.expressions.keys import Keys, Names
from skewkit.spark.expressions.selecting import without
from skewkit.spark.join.join_keys import JoinKeys
from skewkit.spark.join.packed_key import heavy_group
from skewkit.spark.routing.route import listed, with_heavy_index


def with_presence(
    df: DataFrame,
    group: str,
    side_keys: Keys,
    other: tuple[DataFrame, Keys],
    keys: JoinKeys,
    plan: KeyPlan,
    looked_up: Sequence[bool],
    names: Names,
) -> DataFrame:
    """Return the frame with a column `there`: not null where the row's key is hot and on the other side, too.

    `group` (SQL) is what the frame's rows have in common with the other side's rows of the same heavy key (see
    `heavy_group`). It is null for rows that do not ask. The other side's key columns are read for it. Its distinct
    keys of the hashes that `looked_up` marks are broadcast: mostly one per heavy key. Two keys may share a hash: it is
    the key that has to be there.
    """
    frame, other_keys = other
    helpers = [names(f"other{i}") for i in range(len(other_keys.columns))]
    null_keys = keys.unmatched(other_keys)
    read = frame if null_keys is None else frame.where(~null_keys)
    read = read.select(*(c.alias(helper) for c, helper in zip(other_keys.columns, helpers, strict=True)))
    copied = other_keys.selected(helpers)
    found = with_heavy_index(read, copied, plan, names).where(listed(looked_up, names("heavy")))
    there = F.expr(f"{heavy_group(names('heavy'), plan.partitions)} AS {names('there')}")
    present = found.groupBy(there, *helpers).agg(F.count(F.lit(1))).select(names("there"), *helpers)
    same = F.expr(f"{group} = {names('there')}") & keys.equal(side_keys, copied)
    return without(df.join(F.broadcast(present), same, "left"), *helpers)
