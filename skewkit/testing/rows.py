"""Compare two frames row for row, and count rows per partition."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DataType

from skewkit.spark.expressions.keys import has_fixed_hash
from skewkit.spark.session.compat import is_off

_RETAIN = "spark.sql.retainGroupColumns"


def assert_same_rows(actual: DataFrame, expected: DataFrame, *, unordered: tuple[str, ...] = ()) -> int:
    """Check that two frames have the same columns, types and multiset of rows. Return the number of rows.

    Rows are counted in one query, with nulls, NaN and -0.0 compared as Spark groups them. Floating point sums that were
    added up in another order are different values. `unordered` names array columns whose order does not matter, as
    `collect_list` and `collect_set` return them.

    Raises:
        AssertionError: the frames differ. The message shows up to five rows with how often each frame has them.

    >>> assert_same_rows(spark.range(3), spark.range(3))
    3
    """
    if actual.columns != expected.columns or _types(actual) != _types(expected):
        raise AssertionError(f"columns differ: {actual.dtypes} and {expected.dtypes}")
    names = [f"c{i}" for i in range(len(actual.columns))]
    wanted = {name.lower() for name in unordered}
    arrays = {names[i] for i, name in enumerate(actual.columns) if name.lower() in wanted}
    sides = []
    for frame, sign in ((actual, 1), (expected, -1)):
        fields = frame.schema.fields
        plain = frame.toDF(*names)
        cells = [_comparable(n, f.dataType, n in arrays).alias(n) for n, f in zip(names, fields, strict=True)]
        sides.append(plain.select(*cells, F.lit(sign).alias("side")))
    grouped = sides[0].unionAll(sides[1]).groupBy(*names)
    counts = [
        F.count(F.when(F.col("side") > 0, 1)).alias("actual"),
        F.count(F.when(F.col("side") < 0, 1)).alias("expected"),
    ]
    found = grouped.agg(*counts)
    if is_off(actual.sparkSession, _RETAIN) and names and names[0] not in found.columns:
        # The session drops the columns of groups (Connect never does): `first` has them, but makes Spark sort.
        found = grouped.agg(*counts, *(F.first(name).alias(name) for name in names))
    off = F.col("actual") != F.col("expected")
    shown = F.slice(
        F.collect_list(F.when(off, F.substring(F.to_json(F.struct("actual", "expected", *names)), 1, 300))), 1, 5
    )
    result = found.agg(
        F.sum("actual").alias("rows"), F.count(F.when(off, 1)).alias("wrong"), shown.alias("shown")
    ).first()
    if result is not None and result["wrong"]:
        rows = "\n".join(result["shown"])
        raise AssertionError(f"{result['wrong']} distinct rows differ in number, among them:\n{rows}")
    return int(result["rows"] or 0) if result is not None else 0


def partition_rows(frame: DataFrame) -> list[int]:
    """Return the number of rows in every partition that has any, in the order of the partitions.

    >>> partition_rows(spark.range(10).repartition(1))
    [10]
    """
    counted = frame.groupBy(F.spark_partition_id().alias("partition")).count().collect()
    return [int(row["count"]) for row in sorted(counted, key=lambda row: int(row["partition"]))]


def _types(frame: DataFrame) -> list[str]:
    return [field.dataType.simpleString() for field in frame.schema.fields]


def _comparable(name: str, type_: DataType, unordered: bool) -> Column:
    column = F.col(name)
    if unordered and isinstance(type_, ArrayType):
        column = F.array_sort(column)
    # Maps and variants cannot be grouped by, their JSON can.
    return column if has_fixed_hash(type_) else F.to_json(F.struct(column))
