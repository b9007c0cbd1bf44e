"""Columns of a frame that rows are sampled of: which they are, and in what form they are taken to the driver."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, BinaryType, DataType, MapType, StringType, StructType

from skewkit.spark.explained.row_counts import row_bytes
from skewkit.spark.expressions.keys import quoted

_MOST_LENGTHS = 12
_CLIPPED = 2048
"""Characters of a text, or bytes of a binary, that are taken to the driver."""
_FIXED = frozenset(
    ["boolean", "byte", "short", "integer", "long", "float", "double", "decimal", "date", "timestamp", "timestamp_ntz"]
)
_VARYING = (StringType, BinaryType, ArrayType, MapType)


@dataclass(frozen=True)
class SampledColumns:
    """What a sample has of a frame.

    `cells` are the sampled columns as they are taken, `varying` the positions of those whose values vary in length,
    `lengths` the bytes or elements of these. `unsampled` are the types of columns that no sample is taken of. A run of
    `1 << run_bits` rows is sampled together, shorter where rows are wide.
    """

    cells: tuple[Column, ...]
    varying: tuple[int, ...]
    lengths: tuple[Column, ...]
    unsampled: tuple[DataType, ...]
    run_bits: int

    @classmethod
    def of(cls, df: DataFrame) -> SampledColumns:
        """Choose the columns."""
        fields = df.schema.fields
        sampled = [(F.col(quoted(f.name)), f.dataType) for f in fields if _can_sample(f.dataType)]
        varying = [i for i, (_, type_) in enumerate(sampled) if isinstance(type_, _VARYING)][:_MOST_LENGTHS]
        width = row_bytes(df.schema)
        return cls(
            tuple(_cell(*each) for each in sampled),
            tuple(varying),
            tuple(_length(*sampled[i]) for i in varying),
            tuple(f.dataType for f in fields if not _can_sample(f.dataType)),
            7 if width <= 1024 else 5 if width <= 4096 else 3,
        )


def _can_sample(type_: DataType, *, nested: bool = False) -> bool:
    if isinstance(type_, StructType):
        return all(_can_sample(field.dataType, nested=True) for field in type_.fields) and bool(type_.fields)
    if isinstance(type_, ArrayType):
        return _can_sample(type_.elementType, nested=True)
    if isinstance(type_, MapType):  # of which Spark groups by none inside of others
        return not nested and _can_sample(type_.keyType, nested=True) and _can_sample(type_.valueType, nested=True)
    return isinstance(type_, StringType | BinaryType) or type_.typeName() in _FIXED


def _length(column: Column, type_: DataType) -> Column:
    """Return the bytes of a text or binary, or the elements of an array or map."""
    if isinstance(type_, StringType | BinaryType):
        return F.octet_length(column)
    return F.greatest(F.size(column), F.lit(0))


def _cell(column: Column, type_: DataType) -> Column:
    """Return a column such that Spark can group by it: long values are cut off, maps are arrays."""
    if isinstance(type_, StringType | BinaryType):
        # A collation would make one value of several.
        text = column.cast("string") if isinstance(type_, StringType) else column
        return F.substring(text, 1, _CLIPPED)
    return F.map_entries(column) if isinstance(type_, MapType) else column
