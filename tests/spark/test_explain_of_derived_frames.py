"""`explain` of frames that the user derived from skewkit's, and confs that are no settings."""

import warnings
from weakref import WeakKeyDictionary

import pytest
from pyspark.sql import functions as F

import skewkit
from skewkit import explain
from skewkit.errors import ArgumentError
from skewkit.spark.explained.within import selected_from
from tests.helpers import conf


@pytest.mark.connect
def test_operators_inside_are_found(spark):
    left = spark.range(300).selectExpr("if(id % 3 > 0, 7, id) AS k", "id AS v")
    right = spark.range(40).selectExpr("id AS k", "id AS w")
    joined = skewkit.skew_join(left, right, "k", "left", strategy="salt", partitions=4)
    again = skewkit.skew_window(joined.where("v > 3"), "k", "v", strategy="native").select(n=F.count("v"))
    native = skewkit.skew_join(left, right, "k", strategy="native")
    derived = (
        again.where("n > 1"),
        again.select("k", (F.col("n") + 1).alias("m")),
        again.withColumn("x", F.lit(1)),
        again.alias("a").groupBy("k").count(),
        right.withColumnRenamed("k", "other").join(again, F.col("other") == again["k"], "left"),
    )
    del again
    for frame in derived:
        window, join = explain(frame).split("\n\n")
        assert "window partitioned by k" in window
        assert "left join on k" in join
        assert "strategy   salt" in join
    assert "inner join on k" in explain(native.limit(3))
    for frame in (left, right.where("w > 3"), left.join(right, "k", "left")):
        with pytest.raises(ArgumentError, match="was not returned by skewkit"):
            explain(frame)


def test_a_name_that_is_none_of_skewkit():
    with pytest.raises(AttributeError, match="did you mean 'skew_join'"):
        _ = skewkit.skewjoin


@pytest.mark.connect
def test_a_conf_that_is_no_setting_is_told_once(spark, monkeypatch):
    monkeypatch.setattr("skewkit.api.arguments._TOLD", WeakKeyDictionary())
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        with conf(spark, "spark.skewkit.marign", "3"):
            for _ in range(2):
                counted = skewkit.skew_groupby(spark.range(9), "id").count()
        with conf(spark, "spark.skewkit.slot", "3"):  # when a session has been asked already, `explain` looks again
            for _ in range(2):
                skewkit.explain(counted)
    found = [str(each.message) for each in told if "spark.skewkit" in str(each.message)]
    assert [text.partition("?")[0].partition(" is no ")[0] for text in found] == [
        "spark.skewkit.marign",
        "spark.skewkit.slot",
    ]
    assert "did you mean 'spark.skewkit.margin'?" in found[0]
    assert {each.filename for each in told if "spark.skewkit" in str(each.message)} == {__file__}


@pytest.mark.connect
@pytest.mark.parametrize(
    ("select", "same"),
    [
        (lambda df: df, True),
        (lambda df: df.withColumn("x", F.col("v") + 1).withColumnRenamed("x", "y").drop("y"), True),
        (lambda df: df.alias("a").select("*", F.lit(1).alias("one")), True),
        (lambda df: df.select("k", "v").select(F.col("k"), F.upper(F.lit("v")).alias("v")), True),
        (lambda df: df.withColumn("K", F.col("k") + 1), False),
        (lambda df: df.withColumnRenamed("k", "key").withColumnRenamed("v", "k"), False),
        (lambda df: df.select(F.col("v").alias("k")), False),
        (lambda df: df.selectExpr("v AS k", "k AS v"), False),
        (lambda df: df.where("v > 3"), False),
        (lambda df: df.distinct(), False),
        (lambda df: df.union(df), False),
        (lambda df: df.withColumn("v", F.explode(F.array("v", "v"))), False),
    ],
)
def test_a_frame_that_selects_of_another_is_told_from_one_with_other_rows_or_keys(spark, select, same):
    made = spark.range(9).selectExpr("id % 2 AS k", "id AS v")
    others = [spark.range(9).selectExpr("id % 2 AS k", "id AS v"), made]
    found = selected_from(select(made), others, ["k"])
    assert (found is made) == same
    assert found is None or found is made


def test_nothing_is_known_of_a_frame_whose_plan_a_session_does_not_show(spark, monkeypatch):
    def refused(frame):
        raise RuntimeError("this session shows no plans")

    made = spark.range(9).selectExpr("id % 2 AS k", "id AS v")
    assert selected_from(made.select("*"), [made], ["k"]) is made
    monkeypatch.setattr("skewkit.spark.explained.within.resolved_plan", refused)
    assert selected_from(made.select("*"), [made], ["k"]) is None
    again = skewkit.skew_window(made, "k", "v").select(total=F.sum("v"))
    more = skewkit.skew_window(again.withColumn("w", F.col("v") + 1), "k", "v").select(n=F.count("w"))
    assert sorted(row.n for row in more.collect()) == [1, 1, 2, 2, 3, 3, 4, 4, 5]
