"""How many rows a frame has, guessed from what the optimizer knows of its sources, without a job."""

from __future__ import annotations

import re

from pyspark.sql.types import ArrayType, DataType, DecimalType, MapType, StructType

from skewkit.spark.explained.plan_columns import groups
from skewkit.spark.explained.plan_tree import CACHED, PlanNode

_COLUMN_BYTES, _ROW_BYTES = 12, 8
"""What Spark's statistics take for a row: 8 bytes, and for a column between 1 (boolean) and 20 (text)."""
_NARROW = frozenset(("Project", "Filter", "Union"))
_NEVER_MORE = frozenset(
    ("Aggregate", "Window", "Sort", "Repartition", "RepartitionByExpression", "GlobalLimit", "LocalLimit")
)
_MORE = re.compile(r"Generate|Expand|Join|Product|Map|Python|Script|Sample")
"""In a cache, whose plan is a physical one, what may make more rows than there were."""
_SOURCES = frozenset(("LocalRelation", "OneRowRelation", "EmptyRelation", "Range", CACHED))
_FILES = re.compile(r"\] ?(?:parquet|orc|csv|json|text|xml|avro|binaryFile)$", re.IGNORECASE)
_HIVE_SERDE = re.compile(r"\[[^,\[\]]+, org\.apache\.hadoop\.hive\.(?:serde2|ql\.io)\.[\w.]+,")


def guess_rows(logical: PlanNode, *, counted: bool = True) -> int | None:
    r"""Return the rows that the sources of a plan hold, or None where nobody knows.

    Without `counted`, their bytes count even where a source says its rows.

    Files are compressed and sources are filtered later, so this is a guess within a factor of ten or so. It errs on the
    low side, which makes a sample larger. Joins are not multiplied out: their sources are added up.

    >>> from skewkit.spark.explained.plan_tree import Statistics
    >>> guess_rows(PlanNode("Range", "(0, 1000, step=1)", Statistics(7987.0, 1000.0)))
    1000
    """
    total, sources = 0, _sources(logical)
    for source in sources:
        known = source.statistics
        if known is None:
            continue
        if counted and known.rows is not None:
            total += int(known.rows)
        elif not known.is_known:
            return None
        else:
            total += int(known.bytes / _row_width(source))
    return total if any(source.statistics for source in sources) else None


def estimated(logical: PlanNode, columns: int) -> tuple[int | None, int | None]:
    """Return the rows and the bytes that the optimizer expects of a result with so many columns. None: unknown.

    Rows that it does not know are guessed by bytes, as of sources. Where it multiplies the sides of a join, nothing is
    known.

    >>> from skewkit.spark.explained.plan_tree import Statistics
    >>> estimated(PlanNode("Range", "(0, 1000, step=1)", Statistics(7987.0, 1000.0)), 1)
    (1000, 7987)
    >>> estimated(PlanNode("Relation", "t[k#1] parquet", Statistics(2.0**63)), 1)
    (None, None)
    """
    known, sources = logical.statistics, source_bytes(logical)
    if known is None:
        return None, None
    multiplied = "Join" in logical.operators and (sources is None or known.bytes > sources)
    if not known.is_known or (known.rows is None and multiplied):
        return (None if known.rows is None else int(known.rows)), None
    guess = known.bytes / (_ROW_BYTES + _COLUMN_BYTES * columns)
    return int(guess if known.rows is None else known.rows), int(known.bytes)


def source_bytes(logical: PlanNode) -> int | None:
    """Return the bytes that the sources of a plan hold, or None where nobody knows."""
    found = [source.statistics for source in _sources(logical) if source.statistics is not None]
    return int(sum(each.bytes for each in found)) if found and all(each.is_known for each in found) else None


def rows_are_counted(logical: PlanNode) -> bool:
    """Return whether the sources of a plan say how many rows they hold, so that nobody has to guess."""
    return all(source.statistics is None or source.statistics.rows is not None for source in _sources(logical))


def only_reads(logical: PlanNode) -> bool:
    """Return whether a plan only reads, selects and filters, so that its sources' rows bound its own.

    >>> only_reads(PlanNode("Filter", "(k#1 > 3)", children=(PlanNode("Range", "(0, 9)"),)))
    True
    >>> only_reads(PlanNode("Aggregate", "[k#1], [k#1]", children=(PlanNode("Range", "(0, 9)"),)))
    False
    """
    return all(_is_one_of(node, _NARROW | _SOURCES) or _is_coalesced(node) for node in logical.walk())


def keeps_bound(logical: PlanNode) -> bool:
    """Return whether no step of a plan makes more rows of those that it gets, as far as its name tells.

    >>> keeps_bound(PlanNode("Aggregate", "[k#1], [k#1]", children=(PlanNode("Range", "(0, 9)"),)))
    True
    >>> keeps_bound(PlanNode("Generate", "explode(a#1)", children=(PlanNode("Range", "(0, 9)"),)))
    False
    """
    within = [each.operator for cache in logical.walk() for top in cache.inner for each in top.walk()]
    kept = all(_is_one_of(node, _NARROW | _SOURCES | _NEVER_MORE) for node in logical.walk())
    return kept and not any(map(_MORE.search, within))


def is_of_files(node: PlanNode) -> bool:
    """Return whether a source is files of a format that is known, which have the same rows each time in one query.

    >>> is_of_files(PlanNode("Relation", "[k#1] JDBCRelation(t)"))
    False
    """
    if node.operator == "HiveTableRelation":
        return _HIVE_SERDE.search(node.arguments) is not None
    return node.operator == "Relation" and _FILES.search(node.arguments) is not None


def _is_one_of(node: PlanNode, operators: frozenset[str]) -> bool:
    """Return whether a step is one of these, or a source of files."""
    return node.operator in operators or is_of_files(node)


def _is_coalesced(node: PlanNode) -> bool:
    """Return whether a step makes fewer partitions without a shuffle."""
    return node.operator == "Repartition" and node.arguments.endswith("false")


def _sources(logical: PlanNode) -> list[PlanNode]:
    """Return the operators of a plan that have no other below them."""
    return [node for node in logical.walk() if not node.children]


def _row_width(node: PlanNode) -> int:
    """Return bytes of a row, by the number of columns that an operator lists."""
    lists = groups(node.arguments)
    return _ROW_BYTES + _COLUMN_BYTES * (lists[0].count(",") + 1 if lists else 1)


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
