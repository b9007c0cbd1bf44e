"""A frame whose rows are at the tasks that a file plan gives them to."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from skewkit.plan.write.file_plan import FilePlan
from skewkit.spark.explained.plan_facts import PlanFacts
from skewkit.spark.expressions.keys import Keys, Names
from skewkit.spark.expressions.selecting import with_columns, without
from skewkit.spark.routing.route import heavy_index, partition_columns
from skewkit.spark.routing.salting import Salting
from skewkit.spark.session.compat import place


def routed(df: DataFrame, keys: Keys | None, plan: FilePlan) -> DataFrame:
    """Return the frame with every row at its task; one shuffle, and the columns stay as they are.

    A row's task follows from its partition value and the hash of its content (`Salting`), so a task that runs again
    finds its rows where they were.
    """
    if plan.route is None:
        return df.repartition(1)
    names = Names(df)
    columns = task_columns(df, keys, plan, names)
    wide = without(with_columns(df, columns), *(name for name in columns if name != names("partition")))
    return without(place(wide, plan.tasks, names("partition")), names("partition"))


def task_columns(df: DataFrame, keys: Keys | None, plan: FilePlan, names: Names) -> dict[str, Column | str]:
    """Return the column `partition`, the task of each row, after the helper columns it takes."""
    row_hash = write_salting(df, keys).hash(frame=df)
    if keys is None or plan.route is None:
        return {names("partition"): F.pmod(row_hash, F.lit(plan.tasks)).cast("int")}
    return heavy_index(keys, plan.route, names) | partition_columns(plan.route, names, row_hash)


def write_salting(df: DataFrame, keys: Keys | None) -> Salting:
    """Return what tells the rows of a partition value apart: content, also where a limit may take other rows again."""
    return Salting.of(PlanFacts(df), keys.names if keys is not None else (), all_computed=True)
