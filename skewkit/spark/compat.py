"""The one place that knows of Spark versions and of classic against Connect; it decides from the object in hand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyspark
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession

VERSION = tuple(int(part) for part in pyspark.__version__.split(".")[:2])
_SQL_CONNECT = "pyspark.sql.connect"


def is_connect(thing: object) -> bool:
    """Return whether a frame, session or Column belongs to Spark Connect."""
    return type(thing).__module__.startswith(_SQL_CONNECT)


def is_frame(thing: object) -> bool:
    """Return whether this is a DataFrame, classic or Connect (before Spark 4 the two share no base class)."""
    return isinstance(thing, DataFrame) or (is_connect(thing) and type(thing).__name__ == "DataFrame")


def is_column(thing: object) -> bool:
    """Return whether this is a Column, classic or Connect."""
    return isinstance(thing, Column) or (is_connect(thing) and type(thing).__name__ == "Column")


def conf_reader(spark: SparkSession) -> Callable[[str], str | None]:
    """Return a function that looks up a session conf and gives None where it is not set."""

    def read(name: str) -> str | None:
        try:
            return spark.conf.get(name, None)
        except PySparkException:
            return None

    return read


def default_partitions(spark: SparkSession) -> int:
    """Return the session's number of shuffle partitions."""
    return int(conf_reader(spark)("spark.sql.shuffle.partitions") or 200)


def explained(df: DataFrame, mode: str = "COST") -> str:
    """Return what EXPLAIN says of a frame, or '' where it cannot be asked; no job is started."""
    try:
        return str(df.sparkSession.sql(f"EXPLAIN {mode} SELECT * FROM {{frame}}", frame=df).collect()[0][0])
    except PySparkException:
        return ""


def physical_plan(df: DataFrame) -> str:
    """Return a frame's physical plan as text, or '' where it cannot be asked; no job is started."""
    return explained(df, "EXTENDED").rpartition("== Physical Plan ==")[2]


def collected(df: DataFrame) -> list[npt.NDArray[Any]]:
    """Return the columns of a frame of numbers without nulls as arrays; through Arrow from Spark 4.0 on."""
    if VERSION >= (4, 0):
        return [column.to_numpy() for column in df.toArrow().columns]
    rows = df.collect()
    return [np.array([row[i] for row in rows]) for i in range(len(df.columns))]


def has_sql_functions(spark: SparkSession) -> bool:
    """Return whether the session takes functions with a SQL body (Spark 4.0 and later)."""
    return int(spark.version.split(".")[0]) >= 4


def places_by_id() -> bool:
    """Return whether `repartitionById` exists, which puts rows on exactly the partition that a column names."""
    return VERSION >= (4, 1)


def place(df: DataFrame, partitions: int, partition: Column | str) -> DataFrame:
    """Repartition by a column of partition numbers (modulo `partitions`).

    Before Spark 4.1 there is no `repartitionById`: rows of one number stay together, but numbers share partitions.
    """
    if places_by_id():
        return df.repartitionById(partitions, partition)
    return df.repartition(partitions, partition)


@dataclass(frozen=True)
class Call:
    """A function's call as it stands in a Column: `name(arguments)`, with its alias; `count(*)` has no arguments."""

    name: str
    arguments: tuple[Column, ...]
    distinct: bool
    alias: str | None


def read_call(column: Column) -> Call | None:
    """Return the function call that a Column holds, or None where it is anything else (the caller goes native)."""
    try:
        return _connect_call(column) if is_connect(column) else _classic_call(column)
    except Exception:
        return None


def _star(name: str, arguments: list[str]) -> bool:
    return name.lower() == "count" and arguments == ["UnresolvedStar"]


def _connect_call(column: Any) -> Call | None:
    expression, alias = column._expr, None
    if type(expression).__name__ == "ColumnAlias":
        if len(expression._alias) != 1 or expression._metadata is not None:
            return None
        expression, alias = expression._child, expression._alias[0]
    if type(expression).__name__ != "UnresolvedFunction":
        return None
    if _star(expression._name, [type(a).__name__ for a in expression._args]):
        return Call(expression._name, (), bool(expression._is_distinct), alias)
    arguments = tuple(type(column)(argument) for argument in expression._args)
    return Call(expression._name, arguments, bool(expression._is_distinct), alias)


def _classic_call(column: Any) -> Call | None:
    node, alias = column._jc.node(), None
    if node.getClass().getSimpleName() == "Alias":
        if node.name().size() != 1 or not node.metadata().isEmpty():
            return None
        node, alias = node.child(), node.name().apply(0)
    if node.getClass().getSimpleName() != "UnresolvedFunction" or node.isUserDefinedFunction():
        return None
    jvm = SparkSession.active().sparkContext._jvm
    nodes = node.arguments()
    if _star(node.functionName(), [nodes.apply(i).getClass().getSimpleName() for i in range(nodes.size())]):
        return Call(node.functionName(), (), bool(node.isDistinct()), alias)
    arguments = tuple(
        type(column)(jvm.org.apache.spark.sql.Column(nodes.apply(i)))  # type: ignore[union-attr]
        for i in range(nodes.size())
    )
    return Call(node.functionName(), arguments, bool(node.isDistinct()), alias)
