"""What one operator knew of a frame's keys, the next one does not ask again."""

import pytest
from pyspark.sql import Window
from pyspark.sql import functions as F

import skewkit
from skewkit.spark.explained import plan_facts
from tests.compare import assert_same
from tests.helpers import TREATED_BY_AUTO, conf

pytestmark = pytest.mark.connect


def queries(made):
    before = {id(each): each for each in skewkit.decisions()}  # the oldest go, where a session has decided much
    frame = made()
    return frame, [each.jobs for each in skewkit.decisions() if id(each) not in before]


def test_a_left_join_keeps_the_keys_of_its_left_side(spark, tmp_path):
    path = str(tmp_path / "facts")
    spark.range(0, 4000, 1, 8).selectExpr("if(id % 10 < 6, 7, id % 40) AS k", "id AS v").write.parquet(path)
    facts = spark.read.parquet(path)
    dims = spark.range(40).selectExpr("id AS k", "id AS w")
    once = spark.range(400).selectExpr("id % 50 AS k").groupBy("k").agg(F.count("*").alias("n"))
    with conf(spark, *next(iter(TREATED_BY_AUTO.items()))):
        first, asked = queries(lambda: skewkit.skew_join(facts, dims, "k", "left"))
        assert asked == [1]
        second, asked = queries(lambda: skewkit.skew_join(first, once, "k", "left"))
        assert asked == [0]  # the left side is known, the right one has each key once
        third, asked = queries(lambda: skewkit.skew_join(first.withColumn("k", F.col("v")), once, "k", "left"))
        assert asked == [1]  # the keys are others
        plain = facts.join(dims, "k", "left")
        assert_same(second, plain.join(once, "k", "left"))
        assert_same(third, plain.withColumn("k", F.col("v")).join(once, "k", "left"))


def test_a_window_behind_it_asks_for_cuts_only_where_a_key_is_hot(spark):
    even = spark.range(0, 3000, 1, 8).selectExpr("id % 500 AS k", "id AS v")
    dims = spark.range(500).selectExpr("id AS k", "id AS w")
    with conf(spark, *next(iter(TREATED_BY_AUTO.items()))):
        joined, asked = queries(lambda: skewkit.skew_join(even, dims, "k", "left"))
        assert asked == [1]
        ours, asked = queries(lambda: skewkit.skew_window(joined, "k", "v").select(t=F.sum("w")))
        assert asked == [0]
        over = Window.partitionBy("k").orderBy("v")
        assert_same(ours, even.join(dims, "k", "left").withColumn("t", F.sum("w").over(over)))


def test_keys_that_are_hot_on_both_sides_are_asked_for_again(spark):
    left = spark.range(0, 900, 1, 4).selectExpr("if(id < 500, 7, id) AS k", "id AS v")
    right = spark.range(0, 200, 1, 4).selectExpr("if(id < 100, 7, id) AS k", "id AS w")
    with conf(spark, *next(iter(TREATED_BY_AUTO.items()))):
        joined = skewkit.skew_join(left, right, "k")
        _, asked = queries(lambda: skewkit.skew_join(joined, left.select("k", F.col("v").alias("u")), "k"))
        assert asked == [1]


def test_the_long_plan_of_a_pipeline_is_not_read_by_every_operator(spark, monkeypatch):
    read, explained = [], plan_facts.explained
    monkeypatch.setattr(plan_facts, "explained", lambda frame: read.append(frame.columns) or explained(frame))
    frame = spark.range(0, 3000, 1, 8).selectExpr("id % 500 AS k", "id AS v")
    plain, over = frame, Window.partitionBy("k").orderBy("v")
    with conf(spark, "spark.skewkit.margin", "0.5"):
        for i in range(3):
            dims = spark.range(500).selectExpr("id AS k", f"id AS w{i}")
            frame, plain = skewkit.skew_join(frame, dims, "k", "left"), plain.join(dims, "k", "left")
        frame = skewkit.skew_window(frame, "k", "v").select(t=F.sum("w0"))
        totals = skewkit.skew_groupby(frame, "k").agg(F.collect_set("t").alias("ts"))
    # The first join as a whole, then the new sides alone; no window and no group-by.
    assert read == [["k", "v", "w0"], ["k", "w1"], ["k", "w2"]]
    assert_same(frame, plain.withColumn("t", F.sum("w0").over(over)))
    assert "no plan would save enough" in skewkit.explain(totals)
