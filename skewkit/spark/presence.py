"""Which hot keys the other side of a join has, found inside the query: a profile may be old, the rows are not."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from skewkit.plan.keyplan import KeyPlan
from skewkit.spark.joinsides import JoinKeys
from skewkit.spark.keys import Keys, Names
from skewkit.spark.route import listed, with_heavy_index


def with_presence(
    df: DataFrame,
    side_keys: Keys,
    other: tuple[DataFrame, Keys],
    keys: JoinKeys,
    plan: KeyPlan,
    looked_up: Sequence[bool],
    names: Names,
) -> DataFrame:
    """Return the frame with a column `there`: not null where the row's heavy key is on the other side, too.

    `df` needs the columns of `with_heavy_index`. Only the heavy keys that `looked_up` marks are looked for. The other
    side's key columns are read for it, and its distinct keys of these hashes, mostly one per heavy key, are
    broadcast: two keys may share a hash, and it is the key that has to be there.
    """
    frame, other_keys = other
    helpers = [names(f"look{i}") for i in range(len(other_keys.columns))]
    read = frame.select(*(c.alias(helper) for c, helper in zip(other_keys.columns, helpers, strict=True)))
    copied = Keys(tuple(F.col(helper) for helper in helpers), tuple(helpers), other_keys.types)
    found = with_heavy_index(read, copied, plan, names).where(listed(looked_up, F.col(names("heavy"))))
    present = found.groupBy(F.col(names("heavy")).alias(names("there")), *helpers).agg(F.count(F.lit(1)).alias("n"))
    same = (F.col(names("heavy")) == F.col(names("there"))) & keys.equal(side_keys, copied)
    return df.join(F.broadcast(present.drop("n")), same, "left").drop(*helpers)
