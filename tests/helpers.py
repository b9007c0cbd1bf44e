"""What tests share that is no fixture."""

import io
import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout

import pyspark
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

import skewkit
from skewkit.testing import partition_rows

VERSION = tuple(int(part) for part in pyspark.__version__.split(".")[:2])


@contextmanager
def conf(spark: SparkSession, name: str, value: str) -> Iterator[None]:
    """Set a session conf for a while. A Connect client warns of one that Spark has deprecated."""
    before = spark.conf.get(name, None)
    _set(spark, name, value)
    try:
        yield
    finally:
        _set(spark, name, before)


def _set(spark: SparkSession, name: str, value: str | None) -> None:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*has been deprecated in Spark", category=UserWarning)
        if value is None:
            spark.conf.unset(name)
        else:
            spark.conf.set(name, value)


def explained(frame: DataFrame, mode: str = "COST") -> str:
    """Return what EXPLAIN says of a frame that has not run, even if this one has."""
    with redirect_stdout(io.StringIO()) as said:
        frame.select("*").explain(mode=mode.lower())
    return said.getvalue()


def physical_plan(frame: DataFrame) -> str:
    """Return a frame's physical plan as text."""
    return explained(frame, "EXTENDED").rpartition("== Physical Plan ==")[2]


def condition_of(error: PySparkException) -> str:
    """Return the name of Spark's error condition, '' where it has none."""
    named = error.getCondition if hasattr(error, "getCondition") else error.getErrorClass
    return named() or ""


NOT_COMPILED = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
"""Settings under which Spark interprets plans."""
TREATED_BY_AUTO = {
    "spark.skewkit.margin": "-1e9",
}
"""Settings under which `auto` treats small frames, too."""
KINDS = ["inner", "left", "right", "full", "semi", "anti"]
"""Types of joins."""
CASES = ["left", "left, absent right", "right", "right, absent left"]
"""Where key 0 is hot, and whether it is on the other side."""


def assert_split(joined: DataFrame, how: str = r"(split|answered)") -> None:
    """Fail where no hot key of a salted join is split, in the way that is named if one is."""
    text = skewkit.explain(joined)
    assert re.search(rf"\n  heavy      .*\d {how}", text), text


def assert_spread(hot: DataFrame) -> None:
    """Fail where the rows of a hot key are in one task, as they are unless the query finds the key as the plan does."""
    rows = partition_rows(hot)
    assert sum(rows) > 100, rows
    assert max(rows) <= 0.6 * sum(rows), rows


def hot_frames(skewed: Callable[..., DataFrame], case: str) -> tuple[DataFrame, DataFrame]:
    """Return a left and a right frame of which key 0 is hot, or there, as the case says; 10 % null keys."""
    many, few = skewed(1200), skewed(120, hot=0.0, nulls=0.1).withColumnRenamed("v", "w").drop("s")
    one = few.limit(0).unionAll(few.sparkSession.range(1).selectExpr("0L k", "id w"))
    return {
        "left": (many, few.unionAll(one)),
        "left, absent right": (many, few),
        "right": (few.unionAll(one), many),
        "right, absent left": (few, many),
        "both": (many.where("v < 400"), skewed(300, hot=0.4).withColumnRenamed("v", "w").drop("s")),
    }[case]
