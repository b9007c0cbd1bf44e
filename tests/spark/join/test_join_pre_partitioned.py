"""Joins of a side that is repartitioned by the key: left to plain Spark where nothing can be spread any more."""

import re

import pytest
from pyspark.sql import functions as F

import skewkit
from skewkit.spark.explained.plan_facts import PlanFacts
from tests.helpers import conf

pytestmark = pytest.mark.usefixtures("adaptive")


@pytest.fixture(scope="module")
def hot(spark):
    """Key 7 has a third of the rows, each of 6,000 others 6 or 7."""
    return spark.range(60_000).selectExpr("if(id % 3 = 0, 7, id % 9000) AS k", "id % 11 AS s")


@pytest.fixture(scope="module")
def names(spark):
    return spark.range(9_000).selectExpr("id AS k", "id AS w")


@pytest.fixture(scope="module")
def pre_partitioned(hot):
    return hot.repartition(5, "k")


def reason_of(caplog, join):
    """Return what the log says of the only join that is made."""
    caplog.clear()
    with caplog.at_level("INFO", "skewkit"):
        join()
    (said,) = (record.getMessage() for record in caplog.records if record.name == "skewkit")
    return said


@pytest.mark.every(2)
def test_a_hot_other_side_is_spread(spark, hot, names, pre_partitioned):
    """It has hot keys of its own, or so many rows of a key that what comes out is skewed."""
    some = names.unionAll(spark.range(100).selectExpr("7L AS k", "id AS w"))
    for left, right in ((hot, names.repartition(5, "k")), (pre_partitioned, hot), (pre_partitioned, some)):
        text = skewkit.explain(skewkit.skew_join(left, right, "k"))
        assert "strategy   native" not in text, text


def test_by_another_column_it_is_no_obstacle(hot, names, pre_partitioned):
    by_other = pre_partitioned.selectExpr("s AS k", "k AS s")
    for left, right in ((hot.repartition(5, "s"), names), (by_other, names)):
        text = skewkit.explain(skewkit.skew_join(left, right, "k"))
        assert "strategy   native" not in text, text


@pytest.mark.every(2)
def test_hot_rows_that_are_together_stay_so(spark, hot, names, pre_partitioned):
    """The other side has few rows of a key, or many of a cold one, or of null; or nobody has sampled it."""
    other = names.unionAll(spark.range(900).selectExpr("if(id % 2 = 0, 8001L, NULL) AS k", "id AS w"))
    profile = skewkit.skew_profile(hot, "k")
    for right, how, given in (
        (hot, "semi", None),
        (names.repartition(7, "k"), "inner", None),
        (names, "inner", profile),
        (other, "inner", None),
    ):
        text = skewkit.explain(skewkit.skew_join(pre_partitioned, right, "k", how, left_profile=given))
        assert "strategy   native: the left side is repartitioned by the key" in text, text
        assert (
            "leave this repartition out to have them spread; plain Spark's longest task (key 7) is expected at " in text
        ), text


def test_keys_that_are_named_are_not_spread_either(names, pre_partitioned):
    text = skewkit.explain(skewkit.skew_join(pre_partitioned, names, "k", heavy=[7]))
    assert "strategy   native: the left side is repartitioned by the key" in text, text
    for other in (names.repartition(5, "k"), names):
        left, right = (pre_partitioned.repartition(5, "s"), other)
        text = skewkit.explain(skewkit.skew_join(left, right, "k", heavy=[7]))
        assert "strategy   salt: these keys were given as hot" in text, text


@pytest.mark.every(3)
@pytest.mark.connect
@pytest.mark.parametrize("side", ["left", "right"])
def test_explain_names_the_hot_keys(names, pre_partitioned, side, adaptive):
    frames = (pre_partitioned, names) if side == "left" else (names, pre_partitioned)
    joined = skewkit.skew_join(*frames, "k")
    text = skewkit.explain(joined)
    assert f"strategy   native: the {side} side is repartitioned by the key" in text, text
    # Work is rows in and some of the rows out: one of eight tasks has 20,000 rows of them and an eighth of the rest.
    assert re.search(r"plain Spark's longest task \(key 7\) is expected at [23]\.\d times the mean", text), text
    assert re.search(rf"\n  {side:11}k: \d\d,\d+ rows \(from a sample of .*\n             7   3\d\.\d\d%", text), text
    why = f"would not act: it splits only what was shuffled for this join alone, and the {side} side was repartitioned"
    assert (why if adaptive == "true" else "adaptive execution is off") in text, text


def test_explain_gives_no_advice_where_no_key_is_hot(spark, names):
    even = spark.range(60_000).selectExpr("id % 9000 AS k", "id AS s").repartition(5, "k")
    text = skewkit.explain(skewkit.skew_join(even, names, "k"))
    assert "strategy   native: no key holds" in text or "strategy   native: plain Spark's longest" in text, text
    assert "leave this repartition out" not in text, text


def test_what_is_pre_partitioned_by_a_column_of_the_same_name_in_other_case(spark):
    hot = spark.range(60_000).selectExpr("if(id % 3 = 0, 7, id % 9000) AS k", "id AS K")
    with conf(spark, "spark.sql.caseSensitive", "true"):
        facts = PlanFacts(hot.repartition(5, "K"))
        assert (facts.pre_partitioned(["K"]), facts.pre_partitioned(["k"])) == (True, False)
        once = PlanFacts(hot.groupBy("K").agg(F.max("k").alias("m")))
        assert (once.unique_by(["K"]), once.unique_by(["k"])) == (True, False)
    assert PlanFacts(spark.range(9).repartition(5, "ID")).pre_partitioned(["Id"])
