"""How many rows a frame has, guessed from what the optimizer knows of its sources, without a job."""

from __future__ import annotations

import re

from pyspark.sql.types import ArrayType, DataType, DecimalType, MapType, StructType

_SIZE = re.compile(r"Statistics\(sizeInBytes=([\d.E+]+) (B|KiB|MiB|GiB|TiB|PiB|EiB)(?:, rowCount=([\d.E+]+))?")
_UNIT = {unit: 1024**power for power, unit in enumerate(("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"))}
_ATTRIBUTES = re.compile(r"\[([^\[\]]*)\]")
_MORE = re.compile(r"\.\.\. (\d+) more fields")
_COLUMN_BYTES, _ROW_BYTES = 12, 8
_UNKNOWN = 1 << 60


def guess_rows(explained: str, *, counted: bool = True) -> int | None:
    """Return the rows that the sources of a plan hold, from the text of EXPLAIN COST, or None where nobody knows.

    Without `counted`, their bytes count even where a source says its rows.

    Files are compressed and sources are filtered later, so this is a guess within a factor of ten or so; it errs
    on the low side, which makes a sample larger. Joins are not multiplied out: their sources are added up.

    >>> guess_rows("+- Range (0, 1000, step=1, splits=Some(2)), Statistics(sizeInBytes=7.8 KiB, rowCount=1.00E+3)")
    1000
    """
    total, lines = 0, _sources(explained)
    for line in lines:
        found = _SIZE.search(line)
        if found is None:
            continue
        size, unit, rows = found.groups()
        if counted and rows is not None:
            total += int(float(rows))
            continue
        count = float(size) * _UNIT[unit]
        if count >= _UNKNOWN:
            return None
        total += int(count / (_ROW_BYTES + _COLUMN_BYTES * _columns(line)))
    return total if lines else None


def estimated(explained: str) -> tuple[int | None, int | None]:
    """Return the rows and the bytes that the optimizer expects of a plan's result, from EXPLAIN COST; None: unknown.

    Rows that it does not know are guessed by bytes, as of sources. Where it multiplies the sides of a join, nothing is
    known.

    >>> estimated("Range (0, 1000, step=1, splits=Some(2)), Statistics(sizeInBytes=7.8 KiB, rowCount=1.00E+3)")
    (1000, 7987)
    >>> estimated("Relation t[k#1] parquet, Statistics(sizeInBytes=8.0 EiB)")
    (None, None)
    """
    logical = explained.partition("== Physical Plan ==")[0]
    top = next((line for line in logical.splitlines() if _SIZE.search(line)), None)
    found = None if top is None else _SIZE.search(top)
    if top is None or found is None:
        return None, None
    size, unit, rows = found.groups()
    total, sources = float(size) * _UNIT[unit], source_bytes(explained)
    multiplied = re.search(r"^[ :+-]*Join ", logical, re.MULTILINE) and (sources is None or total > sources)
    if total >= _UNKNOWN or (rows is None and multiplied):
        return (None if rows is None else int(float(rows))), None
    return int(float(rows) if rows is not None else total / (_ROW_BYTES + _COLUMN_BYTES * _columns(top))), int(total)


def source_bytes(explained: str) -> int | None:
    """Return the bytes that the sources of a plan hold, or None where nobody knows.

    >>> source_bytes("+- Range (0, 1000, step=1, splits=Some(2)), Statistics(sizeInBytes=8.0 KiB, rowCount=1.00E+3)")
    8192
    """
    found = [_SIZE.search(line) for line in _sources(explained)]
    sizes = [float(each.group(1)) * _UNIT[each.group(2)] for each in found if each is not None]
    return int(sum(sizes)) if sizes and max(sizes) < _UNKNOWN else None


def rows_are_counted(explained: str) -> bool:
    """Return whether the sources of a plan say how many rows they hold, so that nobody has to guess."""
    return all("rowCount=" in line for line in _sources(explained))


def _sources(explained: str) -> list[str]:
    """Return the lines of a plan that have no other below them."""
    logical = explained.partition("== Physical Plan ==")[0]
    lines = [line for line in logical.splitlines() if _SIZE.search(line)]
    depths = [len(line) - len(line.lstrip(" :+-")) for line in lines]
    return [line for line, depth, below in zip(lines, depths, [*depths[1:], -1], strict=False) if below <= depth]


def _columns(line: str) -> int:
    attributes = _ATTRIBUTES.search(line)
    if attributes is None:
        return 1
    more = _MORE.search(attributes.group(1))
    return attributes.group(1).count(",") + 1 + (int(more.group(1)) if more else 0)


_FIXED = re.compile("boolean|tinyint|smallint|int|bigint|float|double|decimal|date|time|interval")
_BYTES = {"boolean": 1, "byte": 1, "short": 2, "integer": 4, "float": 4, "date": 4, "string": 20, "binary": 20}


def has_fixed_width(type_: DataType) -> bool:
    """Return whether all values of a type take the same bytes, so that `row_bytes` is no guess.

    >>> has_fixed_width(spark.range(1).schema), has_fixed_width(spark.range(1).selectExpr("'x' AS s").schema)
    (True, False)
    """
    if isinstance(type_, StructType):
        return all(has_fixed_width(field.dataType) for field in type_.fields)
    return _FIXED.match(type_.simpleString()) is not None


def varying_widths(type_: StructType) -> list[str]:
    """Return the names of the columns of which `row_bytes` guesses.

    >>> varying_widths(spark.range(1).selectExpr("id", "'x' AS s").schema)
    ['s']
    """
    return [field.name for field in type_.fields if not has_fixed_width(field.dataType)]


def row_bytes(type_: DataType) -> float:
    """Return the bytes that a value of a type takes, as a rule of thumb: 20 for text, one element for an array.

    >>> row_bytes(spark.range(1).selectExpr("id", "'x' AS s").schema)
    28.0
    """
    if isinstance(type_, StructType):
        return sum((row_bytes(field.dataType) for field in type_.fields), 0.0)
    if isinstance(type_, ArrayType):
        return 16 + row_bytes(type_.elementType)
    if isinstance(type_, MapType):
        return 32 + row_bytes(type_.keyType) + row_bytes(type_.valueType)
    if isinstance(type_, DecimalType):
        return 8.0 if type_.precision <= 18 else 16.0
    return float(_BYTES.get(type_.typeName(), 8))
