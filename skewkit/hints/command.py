"""A file of SQL run with its SKEW hints followed: what `skewkit sql` does."""

from __future__ import annotations

from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from skewkit.api.arguments import first_line
from skewkit.api.explain import explain
from skewkit.errors import ArgumentError
from skewkit.hints.sql import is_hinted, sql


def run_text(query: str, *, before: str = "", told: bool = False, rows: int = 20, remote: str | None = None) -> str:
    """Run a query and return its first rows as a table, or, where it is to be `told`, what became of its hints.

    Args:
        query: one query.
        before: statements to run first, each on lines that end with a semicolon.
        told: whether to return what became of the hints, and no rows.
        rows: how many rows to return.
        remote: the address of a Spark Connect server; a classic session if None.

    Raises:
        ArgumentError: Spark refuses the query, or a hint is wrong.

    >>> print(run_text("SELECT 1 AS one"))
    one
    1
    """
    builder = SparkSession.builder.remote(remote) if remote else SparkSession.builder
    spark = builder.getOrCreate()
    try:
        for statement in before.split(";\n"):
            if statement.strip(" \n;"):
                spark.sql(statement.strip(" \n;"))
        frame = sql(spark, query)
    except AnalysisException as error:
        raise ArgumentError(f"Spark refuses the query: {first_line(error)}") from error
    if told:
        return explain(frame) if is_hinted(query) else "there is no SKEW hint; plain Spark answers"
    table = [frame.columns, *([str(value) for value in row] for row in frame.take(rows))]
    widths = [max(len(row[i]) for row in table) for i in range(len(frame.columns))]
    return "\n".join("  ".join(v.ljust(w) for v, w in zip(row, widths, strict=True)).rstrip() for row in table)
