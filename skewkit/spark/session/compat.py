"""Spark versions, and classic against Connect, of frames and sessions. It decides from the object in hand.

What a Column says is read in `skewkit.spark.expressions.nodes`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from threading import Lock
from typing import Any

import pyspark
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from skewkit.spark.session.query_log import quiet_query_log

VERSION = tuple(int(part) for part in pyspark.__version__.split(".")[:2])
_SQL_CONNECT = "pyspark.sql.connect"
_MOST_FIELDS = "spark.sql.debug.maxToStringFields"
_CASE = "spark.sql.caseSensitive"
_DECIDING = (_CASE, *(f"spark.sql.{name}" for name in ("session.timeZone", "ansi.enabled", "timestampType")))
_EXPLAINING = Lock()
_CUT_OFF = re.compile(r"\.\.\. \d+ more characters\s*$")


def is_connect(thing: object) -> bool:
    """Return whether a frame, session or Column belongs to Spark Connect."""
    return type(thing).__module__.startswith(_SQL_CONNECT)


def is_frame(thing: object) -> bool:
    """Return whether this is a DataFrame, classic or Connect (before Spark 4 the two share no base class)."""
    return isinstance(thing, DataFrame) or (is_connect(thing) and type(thing).__name__ == "DataFrame")


def is_session(thing: object) -> bool:
    """Return whether this is a SparkSession, classic or Connect."""
    return isinstance(thing, SparkSession) or (is_connect(thing) and type(thing).__name__ == "SparkSession")


def is_stopped(spark: SparkSession) -> bool:
    """Return whether a session was stopped, so that nothing can be asked of it any more."""
    if is_connect(spark):
        return bool(getattr(spark, "is_stopped", False))
    context = getattr(spark, "sparkContext", None)
    return context is not None and getattr(context, "_jsc", context) is None


def is_column(thing: object) -> bool:
    """Return whether this is a Column, classic or Connect."""
    return isinstance(thing, Column) or (is_connect(thing) and type(thing).__name__ == "Column")


def conf_reader(spark: SparkSession) -> Callable[[str], str | None]:
    """Return a function that looks up a session conf and gives None where it is not set.

    A Connect server is asked once for all that are set, at the first look-up: each request is a round trip.
    """

    def read(name: str) -> str | None:
        try:
            return spark.conf.get(name, None)
        except PySparkException:
            return None

    @cache
    def all_set() -> dict[str, str] | None:
        try:
            return dict(spark.conf.getAll)
        except Exception:  # not public in every version
            return None

    def read_from_server(name: str) -> str | None:
        known = all_set()
        return read(name) if known is None else known.get(name)

    return read_from_server if is_connect(spark) else read


def confs_named(spark: SparkSession, prefix: str) -> list[str]:
    """Return the names of the session's confs that begin so, none where they cannot be listed (Spark 3.5)."""
    try:
        return sorted(name for name in spark.conf.getAll if name.startswith(prefix))
    except Exception:  # not public in every version
        return []


def in_force(spark: SparkSession, name: str) -> str | None:
    """Return a conf of Spark's own as it is in force, set or not. None where this version has none of the name.

    >>> in_force(spark, "spark.sql.caseSensitive"), in_force(spark, "spark.sql.no.such.conf")
    ('false', None)
    """
    try:
        return spark.conf.get(name)
    except Exception:  # before Spark 4.0 not one of PySpark's
        return None


def differing_conf(a: SparkSession, b: SparkSession) -> str | None:
    """Return a conf that decides what keys are, and that two sessions differ in, or None.

    >>> differing_conf(spark, spark)
    """
    if a is b:
        return None
    return next((name for name in _DECIDING if in_force(a, name) != in_force(b, name)), None)


def is_off(spark: SparkSession, name: str) -> bool:
    """Return whether a session conf is set to false, which Spark takes in any case of letters.

    >>> is_off(spark, "spark.sql.adaptive.enabled")
    False
    """
    return (conf_reader(spark)(name) or "").strip().lower() == "false"


def is_on(spark: SparkSession, name: str) -> bool:
    """Return whether a session conf is set to true, which Spark takes in any case of letters.

    >>> is_on(spark, "spark.sql.requireAllClusterKeysForDistribution")
    False
    """
    return (conf_reader(spark)(name) or "").strip().lower() == "true"


def tells_case(spark: SparkSession) -> bool:
    """Return whether names of columns differ by upper and lower case in a session.

    >>> tells_case(spark)
    False
    """
    return (in_force(spark, _CASE) or "").strip().lower() == "true"


def lateral_alias_reason(error: Exception) -> str | None:
    """Return why a Connect server failed on a frame that a query has twice, or None if the error is another one.

    Spark 4.2 renames the second reading before it resolves an alias that its own select uses.
    """
    if "LateralColumnAliasReference" not in str(error):
        return None
    return (
        "Spark Connect fails on some queries that have a frame twice whose select uses an alias of its own (id AS v, "
        "v + 1 AS g); compute such a column in a select of its own to have hot keys treated"
    )


def is_of_a_task(error: Exception) -> bool:
    r"""Return whether a job raised this because a task of it failed, where PySpark has no class for the cause.

    Not because somebody cancelled it.

    >>> SparkException = type("SparkException", (Exception,), {})
    >>> is_of_a_task(SparkException("[MALFORMED]")), is_of_a_task(SparkException("x\n\nat\nCaused by: Job 3 cancelled"))
    (True, False)
    """
    said = [line for i, line in enumerate(str(error).splitlines()) if i < 3 or line.startswith("Caused by: ")]
    return type(error).__name__ in ("SparkException", "Py4JJavaError") and "cancelled" not in "".join(said).lower()


def is_too_large_a_result(error: Exception) -> bool:
    """Return whether a job raised this because its rows are more bytes than the driver takes.

    >>> is_too_large_a_result(ValueError("Total size of serialized results of 3 tasks is bigger than spark.driver."))
    True
    """
    return "Total size of serialized results of" in str(error)


def default_partitions(spark: SparkSession) -> int:
    """Return the session's number of shuffle partitions."""
    return int(conf_reader(spark)("spark.sql.shuffle.partitions") or 200)


def tasks_at_a_time(spark: SparkSession) -> int | None:
    """Return how many partitions Spark gives a frame by default, one per core as a rule. None if it is not seen.

    >>> tasks_at_a_time(spark)
    2
    """
    found = re.search(r"splits=Some\((\d+)\)|splits=(\d+)", explained(spark.range(1)))
    return int(found.group(1) or found.group(2)) if found else None


def resolves(df: DataFrame, column: Column | str) -> bool:
    """Return whether a frame has this column, a hidden one too. PySpark's own log does not hear of it.

    >>> resolves(spark.range(1), "id"), resolves(spark.range(1), "_metadata")
    (True, False)
    """
    try:
        with quiet_query_log():
            return bool(df.select(column).columns)
    except AnalysisException:
        return False


def explained(df: DataFrame, mode: str = "COST") -> str:
    """Return what EXPLAIN says of a frame, or '' where it cannot be asked. No job is started.

    Lists of more than 25 columns or values are cut short; see `explained_whole`. A text whose end is cut off, being
    longer than the session's `spark.sql.maxPlanStringLength`, says nothing for certain: '' as well.

    A classic session makes a view of the frame for a moment. Then it drops from the cache what has that view's plan:
    the user's own frame, if it were the view. The optimizer takes the filter away.
    """
    try:
        text = _explain(df.where(F.lit("explained by skewkit").isNotNull()), mode)
    except PySparkException:
        return ""
    return "" if _CUT_OFF.search(text) else text


def _explain(frame: Any, mode: str) -> str:
    """Return what EXPLAIN says. A Connect server is asked for the plan, in one request; a statement takes three.

    PySpark has kept that request private so far, so another version may be without it.
    """
    ask = getattr(type(frame), "_explain_string", None) if is_connect(frame) else None
    if ask is not None:
        return str(ask(frame, mode=mode.lower()))
    return str(frame.sparkSession.sql(f"EXPLAIN {mode} SELECT * FROM {{frame}}", frame=frame).collect()[0][0])


def is_too_deep(error: Exception) -> bool:
    """Return whether a Connect client could not copy the plan of a frame into that of a text.

    It copies none that is nested more than a hundred deep. It copies before it sends, so the server has run nothing.
    """
    kind = type(error)
    return kind.__module__.startswith("google.protobuf") and kind.__name__ == "DecodeError"


def explained_whole(df: DataFrame, mode: str = "COST") -> str:
    """Return what EXPLAIN says of a frame with no list cut short, or '' where it cannot be asked.

    A session conf is changed meanwhile, which only makes other plans of the session longer.
    """
    conf = df.sparkSession.conf
    with _EXPLAINING:
        before = conf_reader(df.sparkSession)(_MOST_FIELDS)
        try:
            conf.set(_MOST_FIELDS, "100000")
        except PySparkException:
            return ""
        try:
            return explained(df, mode)
        finally:
            if before is None:
                conf.unset(_MOST_FIELDS)
            else:
                conf.set(_MOST_FIELDS, before)


def physical_plan(df: DataFrame) -> str:
    """Return a frame's physical plan as text, or '' where it cannot be asked. No job is started."""
    return explained(df, "EXTENDED").rpartition("== Physical Plan ==")[2]


def collects_values() -> bool:
    """Return whether a frame comes to the driver as Arrow columns (Spark 4.0 and later)."""
    return VERSION >= (4, 0)


def has_sql_functions(spark: SparkSession) -> bool:
    """Return whether the session takes functions with a SQL body (Spark 4.0 and later)."""
    return int(spark.version.split(".")[0]) >= 4


def places_by_id() -> bool:
    """Return whether `repartitionById` exists, which puts rows on exactly the partition that a column names."""
    return VERSION >= (4, 1)


def has_star_except() -> bool:
    """Return whether `SELECT * EXCEPT (...)` exists. Older Connect servers keep no frame that they resolved."""
    return VERSION >= (4, 0)


def place(df: DataFrame, partitions: int, partition: Column | str) -> DataFrame:
    """Repartition by a column of partition numbers (modulo `partitions`).

    Before Spark 4.1 there is no `repartitionById`: rows of one number stay together, but numbers share partitions.
    """
    if places_by_id():
        return df.repartitionById(partitions, partition)
    return df.repartition(partitions, partition)


def as_arrow(df: DataFrame) -> Any:
    """Return a frame's rows as an Arrow table; before Spark 4.0 by way of rows.

    >>> as_arrow(spark.range(3)).num_rows
    3
    """
    if VERSION >= (4, 0):
        return df.toArrow()
    import pyarrow as pa

    rows = [row.asDict(recursive=True) for row in df.collect()]
    return pa.Table.from_pylist(rows) if rows else pa.table({name: [] for name in df.columns})
