"""Partition columns that Delta computes: they are added for the plan, and taken off again before the write."""

from __future__ import annotations

import json
from collections.abc import Sequence

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from skewkit.delta.delta_table import TableName
from skewkit.spark.expressions.selecting import with_columns
from skewkit.spark.session.jobs import labelled

_EXPRESSION = "delta.generationExpression"


def with_generated(df: DataFrame, table: TableName, columns: Sequence[str]) -> tuple[DataFrame, tuple[str, ...]]:
    """Return the frame with those partition columns that it lacks and Delta generates, and their names.

    What generates a column stands in the table's log alone: no frame and no SQL statement of Delta 4.4 shows it. Where
    it cannot be read the plan does without the column, which costs files and no rows.
    """
    there = {name.lower() for name in df.columns}
    missing = [name for name in columns if name.lower() not in there]
    if not missing:
        return df, ()
    with labelled(df.sparkSession, f"skewkit delta: generated columns of {table.sql}"):
        known = _expressions(df.sparkSession, table)
    added = {name: F.expr(known[name]) for name in missing if name in known}
    try:
        wide = with_columns(df, added)
        wide.schema  # noqa: B018 - on Connect the schema is what triggers the analysis
        return wide, tuple(added)
    except PySparkException:
        return df, ()


def _expressions(spark: SparkSession, table: TableName) -> dict[str, str]:
    """Return the generation expressions of a table by column, from the last metadata in its log."""
    try:
        location = spark.sql(f"DESCRIBE DETAIL {table.sql}").select("location").collect()[0][0]
        text = spark.read.text(f"{location}/_delta_log/*.json").where(F.col("value").startswith('{"metaData"'))
        rows = text.select("_metadata.file_name", "value").orderBy(F.col("file_name").desc()).limit(1).collect()
        schema = json.loads(rows[0]["value"])["metaData"]["schemaString"] if rows else _of_checkpoint(spark, location)
        fields = json.loads(schema)["fields"] if schema else []
    except (PySparkException, ValueError, KeyError, IndexError):
        return {}
    return {field["name"]: field["metadata"][_EXPRESSION] for field in fields if _EXPRESSION in field["metadata"]}


def _of_checkpoint(spark: SparkSession, location: str) -> str | None:
    """Return the schema as the last checkpoint has it, for logs whose first commits were cleaned up."""
    found = spark.read.parquet(f"{location}/_delta_log/*.checkpoint*.parquet").where("metaData IS NOT NULL")
    rows = found.select("_metadata.file_name", "metaData.schemaString").orderBy(F.col("file_name").desc()).limit(1)
    return next((row["schemaString"] for row in rows.collect()), None)
