"""The type in which Spark compares two columns of different types, asked of its analyser. No job is started."""

from __future__ import annotations

import re

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from skewkit.spark.expressions.keys import sql_type
from skewkit.spark.session.compat import explained, explained_whole
from skewkit.spark.session.query_log import quiet_query_log

_CUT = re.compile(r"\.\.\. \d+ more fields")
_EQUALITY = re.compile(r"Project \[\((.+) = (.+)\) AS compared#")


def compared_type(spark: SparkSession, left: str, right: str) -> str | None:
    """Return the type that both sides of `left = right` are cast to, or None where Spark cannot compare them.

    It depends on the session: a string and a number are compared as numbers, of a type that ANSI mode changes.

    >>> compared_type(spark, "int", "bigint"), compared_type(spark, "decimal(5,2)", "decimal(9,0)")
    ('bigint', 'decimal(11,2)')
    >>> compared_type(spark, "date", "array<int>")
    """
    try:
        with quiet_query_log():
            compared = spark.sql(f"SELECT CAST(NULL AS {sql_type(left)}) = CAST(NULL AS {sql_type(right)}) AS compared")
    except PySparkException:
        return None
    text = explained(compared, "EXTENDED")
    if _CUT.search(text):
        text = explained_whole(compared, "EXTENDED")
    analysed = text.partition("== Analyzed Logical Plan ==")[2].partition("== Optimized Logical Plan ==")[0]
    found = _EQUALITY.search(analysed)
    if found is None:
        return None
    a, b = (_type_of(side, type_) for side, type_ in zip(found.groups(), (left, right), strict=True))
    return a if a == b else None


def _type_of(side: str, given: str) -> str:
    """Return the type of one side: what a cast around the typed null says, else the null's own."""
    bare = f"cast(null as {given})"
    return given if side == bare else side.rpartition(" as ")[2].removesuffix(")")
