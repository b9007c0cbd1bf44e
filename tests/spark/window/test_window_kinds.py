"""Windows that only look like the call's own, and values at the ends of their types."""

import re
from datetime import timedelta
from decimal import Decimal

import numpy as np
import pytest
from pyspark.sql import Window
from pyspark.sql import functions as F

import skewkit
from skewkit.errors import ArgumentError
from skewkit.spark.expressions.nodes import Node
from skewkit.testing import assert_same_rows
from tests.helpers import conf, physical_plan
from tests.spark.window.cases import plain

pytestmark = pytest.mark.connect


@pytest.fixture(scope="module")
def texts(spark):
    """Return rows with one hot key, whose order is another as texts, as numbers and by the field of a struct."""
    return spark.range(0, 400, 1, 4).selectExpr(
        "if(id % 4 < 3, 'a', string(id)) AS k", "string(id) AS t", "named_struct('k', id % 5, 't', -id) AS s",
        "id % 7 AS nothing",
    )  # fmt: skip


WINDOWS = {
    "order by a cast": (["k"], ["t"], lambda: Window.partitionBy("k").orderBy(F.col("t").cast("int"))),
    "order by a field": (["k"], ["t"], lambda: Window.partitionBy("k").orderBy("s.t")),
    "by a field": (["k"], ["t"], lambda: Window.partitionBy("s.k").orderBy("t")),
    "a key that is computed": ([F.upper], ["t"], lambda: Window.partitionBy("k").orderBy("t")),
    "no key": ([], ["t"], lambda: Window.partitionBy("nothing").orderBy("t")),
}


@pytest.mark.every(2)
@pytest.mark.parametrize("strategy", ["auto", "split", "native"])
@pytest.mark.parametrize("case", WINDOWS)
def test_another_window_of_the_same_names_is_another(texts, case, strategy):
    keys, order, spec = WINDOWS[case]
    keys = [key("k").alias("k") if callable(key) else key for key in keys]
    number = F.row_number().over(spec())
    ours = skewkit.skew_window(texts, keys, order, strategy=strategy, partitions=4).select(n=number, m=F.count("t"))
    own = Window.partitionBy(*(keys or [F.lit("all rows")])).orderBy(*order)  # Connect warns of none
    assert_same_rows(ours, texts.select("*", number.alias("n"), F.count("t").over(own).alias("m")))


@pytest.mark.parametrize("same", [lambda df: (df["k"], df["t"]), lambda df: ("k", F.col("t"))])
def test_the_same_window_is_seen_however_it_is_named(texts, same):
    key, order = same(texts)
    spec = Window.partitionBy(key).orderBy(order)
    ours = skewkit.skew_window(texts, "k", "t", strategy="split", partitions=4).select(n=F.row_number().over(spec))
    assert "strategy   split" in skewkit.explain(ours)
    assert_same_rows(ours, plain(texts, ["k"], ["t"], {"n": F.row_number()}))


@pytest.mark.parametrize("frame", [None, ("rowsBetween", Window.unboundedPreceding, 0)])
def test_deviations_whose_squares_nearly_overflow(spark, frame):
    df = spark.range(0, 2000, 1, 4).selectExpr("0 AS k", "id AS v", "if(id < 1000, -1e152D, 1e152D) AS x")
    window = skewkit.skew_window(df, "k", "v" if frame else None, strategy="split", partitions=4)
    window = window.rowsBetween(*frame[1:]) if frame else window
    ours = window.select(d=F.stddev_pop("x"))
    assert "strategy   split" in skewkit.explain(ours)
    expected = plain(df, ["k"], ["v"] if frame else [], {"d": F.stddev_pop("x")}, frame)
    for mine, theirs in zip(*([row.d for row in each.sort("v").collect()] for each in (ours, expected)), strict=True):
        assert mine == pytest.approx(theirs, rel=1e-9)


@pytest.mark.parametrize("strategy", ["native", "split"])
@pytest.mark.parametrize("type_", ["tinyint", "smallint", "bigint"])
def test_sessions_of_numbers_that_are_far_apart(spark, type_, strategy):
    """Their difference is none of their type."""
    most = {"tinyint": 127, "smallint": 32767, "bigint": 2**63 - 1}[type_]
    rows = [("a", most - 1 - i % 3) for i in range(30)] + [("a", -most + i % 3) for i in range(30)]
    df = spark.createDataFrame(rows, "k string, t long").withColumn("t", F.col("t").cast(type_))
    for ansi in ("true", "false"):
        with conf(spark, "spark.sql.ansi.enabled", ansi):
            found = skewkit.skew_window(df, "k", "t", strategy=strategy, partitions=4).sessions(50)
            assert sorted({(row.t > 0, row.session) for row in found.collect()}) == [(False, 1), (True, 2)]


def test_gaps_and_tolerances_of_any_number(spark):
    df = spark.range(9).selectExpr("0 AS k", "cast(id * 0.5 AS decimal(10, 2)) AS t", "id * 0.5D AS d")
    for order, gaps in (("t", [Decimal("0.5"), 1]), ("d", [np.float64(0.5), np.int64(1)])):
        for gap in gaps:
            assert skewkit.skew_window(df, "k", order).sessions(gap).agg(F.max("session")).first()[0] == 1
        assert skewkit.skew_window(df, "k", order).sessions(type(gaps[0])("0.4")).agg(F.max("session")).first()[0] == 9
    with pytest.raises(ArgumentError, match="finite"):
        skewkit.skew_window(df, "k", "d").sessions(float("inf"))
    later = df.selectExpr("k", "cast(t + 0.1 AS decimal(10, 2)) AS t", "d")
    joined = skewkit.skew_asof_join(df.drop("d"), later, "t", "k", direction="forward", tolerance=Decimal("0.1"))
    assert joined.where("d IS NULL").count() == 0


def test_an_as_of_join_in_a_session_that_tells_case(spark):
    with conf(spark, "spark.sql.caseSensitive", "true"):
        left = spark.range(5).selectExpr("0 AS k", "id AS t", "id AS T1")
        right = spark.range(5).selectExpr("0 AS k", "id AS t", "-id AS T", "id AS t1")
        found = skewkit.skew_asof_join(left, right, "t", "k")
        assert found.columns == ["k", "t", "T1", "T", "t1"]
        assert {row.t + row.T for row in found.collect()} == {0}


def test_an_as_of_join_looks_forward_in_linear_time(spark):
    """A window to the end of its partition reads all rows behind each row."""
    left = spark.range(0, 20_000, 1, 2).selectExpr("timestamp_micros(id * 3) AS t")
    right = spark.range(0, 20_000, 1, 2).selectExpr("timestamp_micros(id * 3 + 1) AS t", "id AS v")
    for direction in ("forward", "nearest"):
        found = skewkit.skew_asof_join(left, right, "t", direction=direction, tolerance=timedelta(microseconds=1))
        assert found.agg(F.sum("v"), F.count("v")).first() == (19_999 * 10_000, 20_000)
        assert not re.search(r"currentrow\$\(\), unboundedfollowing", physical_plan(found).lower())


def test_sessions_are_right_where_no_column_can_be_read(spark, monkeypatch):
    """PySpark 3.5 shows nothing of a classic Column; there the time of a row was taken for 1."""
    monkeypatch.setattr("skewkit.spark.window.window_calls.node_of", lambda column: Node("other"))
    df = spark.range(0, 900, 1, 3).selectExpr("if(id % 4 < 3, 1, id % 9) AS k", "id * 7 % 1000 AS t")
    windows = [skewkit.skew_window(df, "k", "t", strategy=each, partitions=4) for each in ("split", "native")]
    ours, expected = (window.sessions(5) for window in windows)
    assert "strategy   split" in skewkit.explain(ours)
    assert_same_rows(ours, expected)
