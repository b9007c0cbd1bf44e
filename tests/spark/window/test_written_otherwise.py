"""Window functions written in ways that mean something of their own, or over values that Spark first casts."""

import pytest
from pyspark.sql import Window
from pyspark.sql import functions as F

import skewkit
from skewkit.testing import assert_same_rows
from tests.helpers import VERSION, conf

pytestmark = pytest.mark.connect
OF_ONE_ROW = "spark.sql.legacy.statisticalAggregate"


def numbers(spark):
    return spark.range(0, 1200, 1, 4).selectExpr(
        "if(id % 3 < 2, 0, id % 20) AS k",
        "id AS t",
        "if(id % 2 = 0, '1', 'false') AS s",
        "if(id % 3 = 0, null, id) AS v",
        "if(id = 4, 1.5D, null) AS once",
    )


def check(df, function, frame=None, split=True, over=None):
    """Compare a function in `skew_window`, over this frame, with the window of plain Spark."""
    plain = over or Window.partitionBy("k").orderBy("t")
    window = skewkit.skew_window(df, "k", "t", strategy="split", partitions=4)
    if frame is not None:
        plain, window = plain.rowsBetween(*frame), window.rowsBetween(*frame)
    found = window.select(x=function if over is None else function.over(over))
    assert ("strategy   split" in skewkit.explain(found)) == split, skewkit.explain(found)
    assert_same_rows(found, df.select("*", function.over(plain).alias("x")))


@pytest.mark.parametrize("name", ["bool_or", "some", "bool_and", "every"])
def test_texts_are_made_booleans_before_they_are_compared(spark, name):
    with conf(spark, "spark.sql.ansi.enabled", "true"):
        check(numbers(spark), F.call_function(name, F.col("s")), split=False)
        check(numbers(spark).withColumn("s", F.col("t") % 2 == 0), F.call_function(name, F.col("s")))


@pytest.mark.parametrize("text", ["collect_list(v) RESPECT NULLS", "sum(ALL v)", "first(v) RESPECT NULLS"])
def test_words_within_a_call(spark, text):
    if "list" in text and VERSION < (4, 2):
        pytest.skip("collect_list keeps nulls since Spark 4.2")
    check(numbers(spark), F.expr(text), (-2, 0) if "list" in text else None, split=text.startswith("first"))


@pytest.mark.parametrize("name", ["stddev", "var_samp", "stddev_pop"])
def test_deviations_of_one_row_are_as_the_session_says(spark, name):
    for legacy in ("true", "false"):
        with conf(spark, OF_ONE_ROW, legacy):
            check(numbers(spark), F.call_function(name, F.col("once")), split=legacy == "false" or name == "stddev_pop")


def test_shifts_over_their_own_frame(spark):
    window = Window.partitionBy("k").orderBy("t")
    check(numbers(spark), F.expr("lead(v, 1, null) IGNORE NULLS"), over=window.rowsBetween(1, 1), split=False)
    check(numbers(spark), F.expr("lag(v, 2, null)"), over=window.rowsBetween(-2, -2))
