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
    "daytimeinterval": dt.timedelta(0),
}


def never_null(column: Column, type_: DataType) -> Column:
    """Return a column that has no nulls in a form from which Spark sees that. As it is, where its type has none.

    >>> rows = spark.range(1).selectExpr("nullif(id, 1) AS v")
    >>> rows.schema[0].nullable, rows.select(never_null(F.col("v"), rows.schema[0].dataType)).schema[0].nullable
    (True, False)
    """
    nothing = _nothing(type_)
    return column if nothing is None else F.coalesce(column, nothing)


def has_fewer_nulls(wanted: DataType, found: DataType) -> bool:
    """Return whether a field or element of a type is never null, and that of another one, of the same names, may be."""
    if isinstance(wanted, StructType) and isinstance(found, StructType):
        pairs = list(zip(wanted.fields, found.fields, strict=True))
        never = any(old.nullable and not new.nullable for new, old in pairs)
        return never or any(has_fewer_nulls(new.dataType, old.dataType) for new, old in pairs)
    if isinstance(wanted, ArrayType) and isinstance(found, ArrayType):
        never = found.containsNull and not wanted.containsNull
        return never or has_fewer_nulls(wanted.elementType, found.elementType)
    return False


def no_null_within(column: Column, found: DataType, wanted: DataType) -> Column:
    """Return a column whose fields and elements are such that Spark sees which of them are never null, as in `wanted`.

    `found` is the type of the column, and has the same names.

    >>> rows = spark.sql("SELECT named_struct('a', nullif(id, 9), 'b', array(nullif(id, 9))) AS s FROM range(1)")
    >>> found = rows.schema[0].dataType
    >>> wanted = spark.sql("SELECT named_struct('a', id, 'b', array(id)) AS s FROM range(1)").schema[0].dataType
    >>> rows.select(no_null_within(F.col("s"), found, wanted)).schema[0].dataType == wanted
    True
    """
    if found == wanted:
        return column
    if isinstance(found, StructType) and isinstance(wanted, StructType):
        made = []
        for old, new in zip(found.fields, wanted.fields, strict=True):
            field = no_null_within(column.getField(old.name), old.dataType, new.dataType)
            made.append(never_null(field, new.dataType) if old.nullable and not new.nullable else field)
        row = F.struct(*(field.alias(new.name) for field, new in zip(made, wanted.fields, strict=True)))
        return F.when(column.isNotNull(), row)
    if isinstance(found, ArrayType) and isinstance(wanted, ArrayType):
        old_type, new_type = found.elementType, wanted.elementType
        if old_type != new_type:
            column = F.transform(column, lambda element: no_null_within(element, old_type, new_type))
        return F.array_compact(column) if found.containsNull and not wanted.containsNull else column
    return column


def _nothing(type_: DataType) -> Column | None:
    """Return a constant of a type that is not null, nor holds a null. None where none is known."""
    if isinstance(type_, ArrayType):
        nothing = F.array().cast(ArrayType(type_.elementType))
        return nothing if type_.containsNull else F.array_compact(nothing)
    if isinstance(type_, StructType):
        fields = [(field.name, _nothing(field.dataType)) for field in type_.fields]
        known = [value.alias(name) for name, value in fields if value is not None]
        return F.struct(*known) if len(known) == len(fields) else None
    if type_.typeName() == "yearmonthinterval":
        return F.make_ym_interval(F.lit(0), F.lit(0)).cast(type_)
    if type_.typeName() == "time":
        return F.expr("TIME '00:00:00'").cast(type_)
    if type_.typeName() in _NEVER_SEEN:
        return F.lit(_NEVER_SEEN[type_.typeName()]).cast(type_)
    return None
