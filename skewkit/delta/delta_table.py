"""A Delta table by path or by name: how SQL names it, and what DESCRIBE DETAIL says of it."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import Any

from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from skewkit.errors import ArgumentError, ArgumentTypeError, EnvironmentProblem, shown
from skewkit.options import byte_size
from skewkit.spark.expressions.keys import quoted
from skewkit.spark.session.jobs import labelled

_PART = r"(?:`(?:[^`]|``)+`|\w+)"
_NAME = re.compile(rf"{_PART}(?:\.{_PART}){{0,2}}")
_BY_PATH = re.compile(r"delta\.`((?:[^`]|``)+)`", re.IGNORECASE)
_ABSOLUTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:/")
_OWN_FILE = r"/part-\d+-[0-9a-f-]+\.c\d+[^/]*\.parquet$"
_TARGET = "delta.targetFileSize"


@dataclass(frozen=True)
class TableName:
    """A table as it was named: `path` of its folder, or `name` in the catalog as SQL writes it."""

    path: str | None = None
    name: str | None = None

    @property
    def sql(self) -> str:
        """How SQL names the table.

        >>> TableName(path="/a b/it's`x").sql, TableName(name="db.t").sql
        ("delta.`/a b/it's``x`", 'db.t')
        """
        return f"delta.{quoted(self.path)}" if self.path is not None else str(self.name)

    def read(self, spark: SparkSession) -> DataFrame:
        """Return the table as a frame."""
        return spark.read.format("delta").load(self.path) if self.path is not None else spark.table(str(self.name))


def table_name(path_or_table: object) -> TableName:
    """Tell a path from a table's name: a path has a slash, or is an `os.PathLike`; a name has one in backquotes only.

    Raises:
        ArgumentTypeError: it is neither a text nor a path.
        ArgumentError: it is a relative path, or has no slash and is no name that SQL takes.

    >>> table_name("/tmp/it's here"), table_name("sales.`my orders`"), table_name("delta.`/tmp/x`")
    (TableName(path="/tmp/it's here", name=None), TableName(path=None, name='sales.`my orders`'),
     TableName(path='/tmp/x', name=None))
    """
    if isinstance(path_or_table, os.PathLike):
        return _by_path(str(os.fspath(path_or_table)))
    if not isinstance(path_or_table, str):
        raise ArgumentTypeError(f"a Delta table is given by its path or its name, not as {shown(path_or_table)}")
    by_path = _BY_PATH.fullmatch(path_or_table.strip())
    if by_path is not None:
        return _by_path(by_path.group(1).replace("``", "`"))
    if _NAME.fullmatch(path_or_table.strip()):
        return TableName(name=path_or_table.strip())
    if "/" in path_or_table or os.sep in path_or_table:
        return _by_path(path_or_table)
    raise ArgumentError(
        f"{path_or_table!r} is neither a path (write it in full, with a slash, such as "
        f"'/lake/{path_or_table or 'table'}') nor the name of a table as SQL writes it, such as sales.orders or "
        "`my orders`"
    )


def _by_path(path: str) -> TableName:
    if not path.startswith("/") and not _ABSOLUTE.match(path):
        raise ArgumentError(
            f"{path!r} is a relative path, which Delta's SQL does not take for one; write it in full, such as "
            f"'/lake/{path.lstrip('./') or 'table'}'"
        )
    return TableName(path=path)


@dataclass(frozen=True)
class TableDetail:
    """What DESCRIBE DETAIL says of a Delta table."""

    partition_columns: tuple[str, ...]
    clustering_columns: tuple[str, ...]
    properties: dict[str, str]
    bytes: int = 0

    @property
    def target_file_bytes(self) -> int | None:
        """The table's own size of files, its property `delta.targetFileSize`."""
        return byte_size(self.properties.get(_TARGET))


def table_detail(spark: SparkSession, table: TableName) -> TableDetail | None:
    """Return the detail of a Delta table, None where there is no table.

    Raises:
        ArgumentError: there is a table, and it is none of Delta Lake.
        EnvironmentProblem: the session has no Delta Lake.
    """
    try:
        with labelled(spark, f"skewkit delta: detail of {table.sql}"):
            row: Any = spark.sql(f"DESCRIBE DETAIL {table.sql}").collect()[0]
    except PySparkException as error:
        said = str(error)
        if "PARSE_SYNTAX_ERROR" in said or "DATA_SOURCE_NOT_FOUND" in said or "DELTA_CONFIGURE_SPARK_SESSION" in said:
            raise EnvironmentProblem(
                "this session has no Delta Lake; start it with delta-spark's jars, spark.sql.extensions "
                "and spark.sql.catalog.spark_catalog, as skewkit.testing.local_session(delta=True) does"
            ) from error
        if isinstance(error, AnalysisException):
            return None
        raise
    found = row.asDict()
    if found.get("format") != "delta":
        raise ArgumentError(f"{table.sql} is a table of {found.get('format')!r}; expected one of Delta Lake")
    return TableDetail(
        tuple(found.get("partitionColumns") or ()),
        tuple(found.get("clusteringColumns") or ()),
        dict(found.get("properties") or {}),
        int(found.get("sizeInBytes") or 0),
    )


def existing_table(spark: SparkSession, table: TableName, what: str) -> TableDetail:
    """Return the detail of a table that must be there.

    Raises:
        ArgumentError: there is no such Delta table.
    """
    detail = table_detail(spark, table)
    if detail is None:
        raise ArgumentError(f"{what} needs a Delta table, and {table.sql} is none; write it first, or check its name")
    return detail


def check_free(spark: SparkSession, table: TableName) -> None:
    """Refuse a place that no Delta table can be made at: the name of a view, or a folder that holds other files.

    Delta would make a table that the view hides, or begin its log beside the files. Files that are named as Delta names
    its own are left by a write that was killed before its commit, and no reason.

    Raises:
        ArgumentError: there is a view, or there are other files.
    """
    if table.path is None:
        try:
            there = spark.catalog.getTable(str(table.name))
        except PySparkException:  # nothing has that name
            return
        if there.isTemporary or there.tableType == "VIEW":
            raise ArgumentError(
                f"{table.name} is a view; a write takes a path, or the name of a Delta table or a new one"
            )
        return
    try:
        files = spark.read.format("binaryFile").option("recursiveFileLookup", "true").load(table.path)
        with labelled(spark, f"skewkit delta: other files in {table.path}"):
            other = files.where(~F.col("path").rlike(_OWN_FILE)).select("path").limit(1).collect()
    except PySparkException:  # no such folder
        return
    if other:
        name = str(other[0][0]).rpartition("/")[2]
        raise ArgumentError(
            f"{table.path} is no Delta table and holds other files, such as {name}; take an empty folder, or make it a "
            f"table with CONVERT TO DELTA"
        )


def last_row_bytes(spark: SparkSession, table: TableName) -> float | None:
    """Return the bytes per row of the largest of a table's last writes, by its history. None where nobody knows.

    Of few rows in many files most bytes are the files' footers, so the last write may say nothing.
    """
    try:
        with labelled(spark, f"skewkit delta: last writes of {table.sql}"):
            rows = spark.sql(f"DESCRIBE HISTORY {table.sql} LIMIT 20").select("operationMetrics").collect()
    except PySparkException:
        return None
    largest, per_row = 0, None
    for row in rows:
        metrics = row[0] or {}
        try:
            count, size = int(metrics.get("numOutputRows", 0)), int(metrics.get("numOutputBytes", 0))
        except ValueError:
            continue
        if count > 0 and size > largest:
            largest, per_row = size, size / count
    return per_row
