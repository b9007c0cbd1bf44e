"""Columns without nulls, of which Spark shall know that they have none."""

from __future__ import annotations

import datetime as dt

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DataType, StructType

# What makes Spark believe that a column of such a type has no nulls; no row ever gets it.
_NEVER_SEEN = {
    **dict.fromkeys(("byte", "short", "integer", "long", "float", "double", "decimal"), 0),
    "string": "",
    "binary": b"",
    "boolean": False,
    "date": dt.date(1970, 1, 1),
    **dict.fromkeys(("timestamp", "timestamp_ntz"), dt.datetime(1970, 1, 1)),
}


def never_null(column: Column, type_: DataType) -> Column:
    """Return a column that has no nulls in a form from which Spark sees that; as it is, where its type has none.

    >>> rows = spark.range(1).selectExpr("nullif(id, 1) AS v")
    >>> rows.schema[0].nullable, rows.select(never_null(F.col("v"), rows.schema[0].dataType)).schema[0].nullable
    (True, False)
    """
    nothing = _nothing(type_)
    return column if nothing is None else F.coalesce(column, nothing)


def _nothing(type_: DataType) -> Column | None:
    """Return a constant of a type that is not null, nor holds a null; None where none is known."""
    if isinstance(type_, ArrayType):
        nothing = F.array().cast(ArrayType(type_.elementType))
        return nothing if type_.containsNull else F.array_compact(nothing)
    if isinstance(type_, StructType):
        fields = [(field.name, _nothing(field.dataType)) for field in type_.fields]
        known = [value.alias(name) for name, value in fields if value is not None]
        return F.struct(*known) if len(known) == len(fields) else None
    if type_.typeName() in _NEVER_SEEN:
        return F.lit(_NEVER_SEEN[type_.typeName()]).cast(type_)
    return None
