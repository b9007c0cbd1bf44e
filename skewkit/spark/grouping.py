"""Group-by over a planned placement: cold keys whole, hot keys as partials that are merged.

All rows go through one exchange to the partitions of the plan. Two branches read it: the cold keys are computed
just as plain Spark would, the hot keys in sub-groups whose results are merged once per key.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from skewkit.plan.keyplan import KeyPlan
from skewkit.spark.compat import place
from skewkit.spark.keys import Keys, Names, quoted
from skewkit.spark.route import with_heavy_index, with_partition
from skewkit.spark.workers import GroupFunction, on_parts, on_sub_groups, on_whole_groups


@dataclass(frozen=True)
class Placed:
    """A frame whose rows are on the partitions of a plan, with the helper columns that say so."""

    frame: DataFrame
    width: int
    keys: Keys
    names: Names
    reads: Column | None = None
    """A condition that reads the columns which no branch is to prune."""

    def cold(self) -> DataFrame:
        """Rows of keys that are not heavy."""
        return self._where(F.col(self.names("heavy")) < 0)

    def hot(self) -> DataFrame:
        """Rows of heavy keys."""
        return self._where(F.col(self.names("heavy")) >= 0)

    def _where(self, condition: Column) -> DataFrame:
        """Filter above the exchange: the optimizer must not push the filter, or a choice of columns, below it.

        All branches read one exchange only while it is the same for each.
        """
        stays = F.when(F.spark_partition_id() >= 0, condition)
        return self.frame.where(stays if self.reads is None else stays.otherwise(self.reads))


def placed(df: DataFrame, keys: Keys, plan: KeyPlan, row_hash: Column) -> Placed:
    """Put every row on its partition; heavy keys are spread by `row_hash`, a salt that follows from the row.

    Keys that are computed are computed once, before: a key from `rand` or a UDF must be the same ever after.
    """
    names = Names(df)
    width = len(df.columns)
    if keys.computed:
        helpers = [names(f"key{i}") for i in range(len(keys.columns))]
        df = df.select("*", *(column.alias(name) for column, name in zip(keys.columns, helpers, strict=True)))
        keys = keys.renamed(helpers)
    routed = with_partition(with_heavy_index(df, keys, plan, names), plan, names, row_hash)
    return Placed(place(routed, plan.partitions, F.col(names("partition"))), width, keys, names)


def apply(
    at: Placed,
    plan: KeyPlan,
    func: GroupFunction,
    schema: StructType | str,
    merge: GroupFunction | None,
    most_rows: int,
) -> DataFrame:
    """Return what `groupBy(keys).applyInPandas(func, schema)` returns; hot groups in parts where there is a merge."""
    names = at.names
    target = F.col(names("partition"))
    if merge is None:
        whole = on_whole_groups(func, at.width, 1)
        return at.frame.groupBy(target, *at.keys.columns).applyInPandas(whole, schema)
    cold = at.cold().groupBy(target, *at.keys.columns).applyInPandas(on_whole_groups(func, at.width, 1), schema)
    group, packed = names("hash"), names("packed")
    part = on_sub_groups(func, at.width, 2, group, (group, packed))
    hot_rows = at.hot().select("*", _piece(plan, names, most_rows).alias(names("piece")))
    sub_groups = hot_rows.groupBy(target, F.col(names("piece")), *at.keys.columns)
    parts = sub_groups.applyInPandas(part, f"{quoted(group)} bigint, {quoted(packed)} binary")
    hot = parts.groupBy(group).applyInPandas(on_parts(merge, packed), schema)
    return cold.unionAll(hot)


def _piece(plan: KeyPlan, names: Names, most_rows: int) -> Column:
    """Number of the sub-group within key and partition, so that none is expected to exceed `most_rows` rows."""
    pieces = [max(1, -int(-h.weight * max(s for _, s in h.parts) // max(1, most_rows))) for h in plan.heavy]
    if max(pieces, default=1) == 1:
        return F.lit(0)
    count = F.array(*map(F.lit, pieces))[F.col(names("heavy"))]
    mixed = F.xxhash64(F.col(names("row")))
    return F.pmod(mixed, count.cast("bigint")).cast("int")
