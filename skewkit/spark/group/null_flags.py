"""Which columns of a hot group have nulls, so that a part of the group has the dtypes of the whole.

pandas has no nulls among its plain whole numbers and booleans: Spark makes a column of floats, or of objects, if one
row of a group has none. A part must be shown as the group would be, though the null is in another part. So one more
aggregate in the same query asks each hot key which of these columns have nulls, and a broadcast brings the answer to
its rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import BooleanType, IntegralType

from skewkit.spark.expressions.keys import Names, is_plain, quoted
from skewkit.spark.expressions.selecting import without
from skewkit.spark.session.compat import is_on

_BITS = 62
"""Columns that one bigint answers for."""


def changed_by_nulls(df: DataFrame, keys: Sequence[str]) -> tuple[int, ...]:
    """Return the positions of columns whose dtype depends on the nulls in a group. Those of the key have one value.

    >>> changed_by_nulls(spark.range(1).selectExpr("id AS k", "nullif(id, 0) AS n", "string(id) AS s"), ["k"])
    (1,)
    """
    # Where Spark prefers them, it shows whole numbers as `Int64` and its kind, with nulls and without.
    types = (BooleanType,) if extension_ints(df.sparkSession) else (BooleanType, IntegralType)
    return tuple(
        i
        for i, field in enumerate(df.schema.fields)
        if field.nullable and isinstance(field.dataType, types) and field.name not in keys
    )


def extension_ints(spark: SparkSession) -> bool:
    """Return whether Spark shows pandas whole numbers as extension types."""
    return is_on(spark, "spark.sql.execution.pythonUDF.pandas.preferIntExtensionDtype")


def with_null_flags(rows: DataFrame, positions: Sequence[int], names: Names) -> tuple[DataFrame, tuple[str, ...]]:
    """Return rows of heavy keys with the answers for their key, and the names of these columns.

    Bit i of the j-th answer says whether the column at `positions[62 * j + i]` has a null in the group.
    """
    if not positions:
        return rows, ()
    heavy, other = names("heavy"), names("flagged")
    columns = rows.columns
    nullable = [columns[position] for position in positions]
    asked = [nullable[i : i + _BITS] for i in range(0, len(nullable), _BITS)]
    answers = tuple(names(f"nulls{j}") for j in range(len(asked)))
    made = [F.bit_or(_bits(some)).alias(name) for some, name in zip(asked, answers, strict=True)]
    found = rows.groupBy(F.col(heavy).alias(other)).agg(*made)
    return without(rows.join(F.broadcast(found), F.col(heavy) == F.col(other)), other), answers


def _bits(columns: Sequence[str]) -> Column:
    plain = [f"if({quoted(name)} IS NULL, {1 << i}L, 0L)" for i, name in enumerate(columns) if is_plain(name)]
    odd = [
        F.when(F.col(quoted(name)).isNull(), F.lit(1 << i)).otherwise(F.lit(0)).cast("bigint")
        for i, name in enumerate(columns)
        if not is_plain(name)
    ]
    return reduce(Column.bitwiseOR, odd, F.expr(" | ".join(plain) or "0L"))
