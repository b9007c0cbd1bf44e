"""A planned placement of rows for a group-by: one exchange, which the branches for cold and hot keys both read."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from skewkit.plan.placement.key_plan import KeyPlan
from skewkit.spark.expressions.keys import Keys, Names
from skewkit.spark.expressions.selecting import without
from skewkit.spark.routing.route import with_heavy_index, with_partition
from skewkit.spark.session.compat import place


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

    def bare(self) -> DataFrame:
        """All rows, without hash and heavy index; for a single branch."""
        return without(self.frame, self.names("hash"), self.names("heavy"))

    def _where(self, condition: Column) -> DataFrame:
        """Filter above the exchange: the optimizer must not push the filter, or a choice of columns, below it.

        All branches read one exchange only while it is the same for each.
        """
        stays = F.when(F.spark_partition_id() >= 0, condition)
        return self.frame.where(stays if self.reads is None else stays.otherwise(self.reads))


def placed(df: DataFrame, keys: Keys, plan: KeyPlan, row_hash: Column | None) -> Placed:
    """Put every row on its partition. Heavy keys are spread by `row_hash`, a salt that follows from the row.

    Without a salt no group is cut, whatever the plan says. Keys that are computed are computed once,
    before: a key from `rand` or a UDF must be the same ever after.
    """
    names = Names(df)
    width = len(df.columns)
    if keys.computed:
        helpers = [names(f"key{i}") for i in range(len(keys.columns))]
        df = df.select("*", *(column.alias(name) for column, name in zip(keys.columns, helpers, strict=True)))
        keys = keys.renamed(helpers)
    routed = with_partition(with_heavy_index(df, keys, plan, names), plan, names, row_hash)
    return Placed(place(routed, plan.partitions, F.col(names("partition"))), width, keys, names)
