"""Columns of a frame that rows are sampled of: which they are, in what form they are taken, and how long values are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, BinaryType, DataType, MapType, StringType, StructField, StructType

from skewkit.spark.explained.row_counts import row_bytes
from skewkit.spark.expressions.keys import Keys, quoted
from skewkit.spark.session.compat import resolves

_MOST_LENGTHS = 12
"""Columns whose lengths are added up one by one; those of the others are added up together."""
_MOST_COUNTS = 32
"""Numbers, dates and the like whose nulls are counted."""
_ROW_BYTES = 4096
"""Bytes of a row's binaries, arrays and the like that are taken to the driver, and characters of its texts. So 50,000
rows are some 200 MB, and more if most characters take several bytes."""
_LEAST_BYTES = 64
"""Bytes that are taken of each such column at least, so 64 columns take 4 KB of a row, and more take more."""
_FIXED = frozenset(
    ["boolean", "byte", "short", "integer", "long", "float", "double", "decimal", "date", "timestamp", "timestamp_ntz"]
)


@dataclass(frozen=True)
class SampledColumns:
    """What a sample has of a frame.

    `cells` are the sampled columns as they are taken. `lengths` measure rows, each over the columns at the positions
    that `varying` has: a text by its bytes, an array by its elements, a number by whether it is no null (`_length`).
    `unsampled` are the types of columns that no sample is taken of. A run of `1 << run_bits` rows is sampled together,
    shorter where rows are wide.
    """

    cells: tuple[Column, ...]
    varying: tuple[tuple[int, ...], ...]
    lengths: tuple[Column, ...]
    unsampled: tuple[DataType, ...]
    run_bits: int

    @classmethod
    def of(cls, df: DataFrame, keys: Keys | None, where: Column | None = None) -> SampledColumns:
        """Choose the columns: all but the partition columns `keys`, which files do not have.

        Rows for which `where` is false are not sampled; they may have null for every cell.
        """
        sampled: list[tuple[Column, StructField]] = []
        unsampled = []
        left_out = {name.lower() for name in keys.names} if keys is not None else set()
        stored = StructType([field for field in df.schema.fields if field.name.lower() not in left_out])
        for field in stored.fields:
            column = F.col(quoted(field.name))
            if _can_sample(field.dataType):
                sampled.append((column, field))
            elif resolves(df, F.to_json(column)):  # of variants and nested maps
                sampled.append((F.to_json(column), StructField(field.name, StringType())))
            else:
                unsampled.append(field.dataType)
        long = [i for i, (_, field) in enumerate(sampled) if _is_long(field.dataType)]
        nullable = [i for i, (_, f) in enumerate(sampled) if f.nullable and f.dataType.typeName() in _FIXED]
        alone = [(i,) for i in (*long[:_MOST_LENGTHS], *nullable[:_MOST_COUNTS])]
        varying = (*alone, tuple(long[_MOST_LENGTHS:])) if len(long) > _MOST_LENGTHS else tuple(alone)
        most = max(_LEAST_BYTES, _ROW_BYTES // max(1, len(long)))
        width = row_bytes(stored)
        return cls(
            tuple(_given(_cell(column, field.dataType, most, where), where) for column, field in sampled),
            varying,
            tuple(_sum([_length(sampled[i][0], sampled[i][1].dataType) for i in group]) for group in varying),
            tuple(unsampled),
            7 if width <= 1024 else 5 if width <= 4096 else 3,
        )


def _can_sample(type_: DataType, *, nested: bool = False) -> bool:
    if isinstance(type_, StructType):
        told_apart = len({field.name.lower() for field in type_.fields}) == len(type_.fields) > 0
        return told_apart and all(_can_sample(field.dataType, nested=True) for field in type_.fields)
    if isinstance(type_, ArrayType):
        return _can_sample(type_.elementType, nested=True)
    if isinstance(type_, MapType):  # of which Spark groups by none inside of others
        return not nested and _can_sample(type_.keyType, nested=True) and _can_sample(type_.valueType, nested=True)
    return isinstance(type_, StringType | BinaryType) or type_.typeName() in _FIXED


def _is_long(type_: DataType) -> bool:
    """Return whether values of a type vary in length."""
    if isinstance(type_, StructType):
        return any(_is_long(field.dataType) for field in type_.fields)
    return isinstance(type_, StringType | BinaryType | ArrayType | MapType)


def _length(column: Column, type_: DataType) -> Column:
    """Return the bytes of a text or binary, and 1 for a number. A null has none. `mean_lengths` measures a sample so.

    Of a struct it is the sum over its fields, of an array or map the number of elements and their lengths, if these
    vary.
    """
    if isinstance(type_, StructType):
        return _sum([_length(column.getField(field.name), field.dataType) for field in type_.fields])
    if isinstance(type_, StringType | BinaryType):
        return F.coalesce(F.octet_length(column), F.lit(0))
    if isinstance(type_, MapType):
        count = F.coalesce(F.size(F.map_keys(column)), F.lit(0))
        parts = (F.map_keys(column), type_.keyType), (F.map_values(column), type_.valueType)
        return _sum([count, *(_lengths(*part) for part in parts)]) if any(_is_long(t) for _, t in parts) else count
    if isinstance(type_, ArrayType):
        count = F.when(column.isNotNull(), F.size(column)).otherwise(F.lit(0))
        return _sum([count, _lengths(column, type_.elementType)]) if _is_long(type_.elementType) else count
    return F.when(column.isNotNull(), F.lit(1)).otherwise(F.lit(0))


def _lengths(array: Column, type_: DataType) -> Column:
    """Return the lengths of all elements of an array, of this type, added up."""
    if isinstance(type_, StringType):
        return F.coalesce(F.octet_length(F.array_join(array, "")), F.lit(0))
    added = F.aggregate(array, F.lit(0).cast("bigint"), lambda sum_, each: sum_ + _length(each, type_).cast("bigint"))
    return F.coalesce(added, F.lit(0))


def _sum(columns: Sequence[Column]) -> Column:
    return reduce(lambda a, b: a + b, (column.cast("bigint") for column in columns))


def _given(cell: Column, where: Column | None) -> Column:
    """Return a cell that may be null, for all that Spark knows: Arrow takes no null struct of what is never null."""
    return cell if where is None else F.when(where, cell)


def _cell(column: Column, type_: DataType, most: int, where: Column | None) -> Column:
    """Return a column such that Spark can group by it, of `most` bytes or so: values are cut off, maps are arrays."""
    if isinstance(type_, StringType | BinaryType):
        # A collation would make one value of several.
        text = column.cast("string") if isinstance(type_, StringType) else column
        return F.substring(text, 1, most)
    if isinstance(type_, MapType):
        entry = StructType().add("key", type_.keyType).add("value", type_.valueType)
        return _cell(F.map_entries(column), ArrayType(entry), most, where)
    if isinstance(type_, ArrayType):
        elements = max(1, int(most / row_bytes(type_.elementType)))
        few = F.slice(column, 1, elements)
        if not _is_long(type_.elementType):
            return few
        return F.transform(few, lambda each: _cell(each, type_.elementType, max(1, most // elements), where))
    if isinstance(type_, StructType):
        most = max(1, most // max(1, sum(_is_long(field.dataType) for field in type_.fields)))
        cells = [_cell(column.getField(f.name), f.dataType, most, where) for f in type_.fields]
        return F.when(column.isNotNull(), F.struct(*(_given(c, where).alias(f"f{i}") for i, c in enumerate(cells))))
    return column
