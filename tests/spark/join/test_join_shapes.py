"""Joins that adaptive execution never splits: ours spreads their hot keys, and what `explain` says of Spark is so."""

from contextlib import ExitStack
from functools import partial

import pandas as pd
import pytest
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

import skewkit
from skewkit.testing import assert_same_rows, partition_rows
from tests.helpers import assert_split, conf

TINY = {
    "skewJoin.skewedPartitionThresholdInBytes": "1",
    "skewJoin.skewedPartitionFactor": "1",
    "advisoryPartitionSizeInBytes": "1k",
    "coalescePartitions.enabled": "false",
}
"""What adaptive execution takes for skewed and for large enough is of the size of these tests then."""


@pytest.fixture(scope="module")
def facts(sales):
    return sales


def filled(frame):
    """Return a cached frame; Spark knows how one lies once it was computed."""
    frame.count()
    return frame


SHAPES = {
    "grouped": lambda f: f.groupBy("k").agg(F.max("v").alias("v")),
    "repartitioned": lambda f: f.repartition(5, "k"),
    "one file": lambda f: f.coalesce(1),
    "window": lambda f: f.withColumn("r", F.row_number().over(Window.partitionBy("k").orderBy("v"))),
    "joined": lambda f: f.join(f.select("k").distinct(), "k"),
    "cached": lambda f: filled(f.repartition(8, "k").cache()),
}
ALONE = "it splits only what was shuffled for this join alone, and the left side "
WHY_NOT = {
    "grouped": ALONE + "is already grouped by the key",
    "repartitioned": ALONE + "was repartitioned by the user",
    "one file": "it cuts a partition only between the tasks that wrote it, and one task writes all rows of the left",
    "window": ALONE + "comes from a window over the key",
    "joined": ALONE + "comes from a join on the key",
    "cached": ALONE + "is cached, and already partitioned by the key",
}


@pytest.mark.every(11)
@pytest.mark.parametrize("how", ["inner", "full"])
@pytest.mark.parametrize("shape", SHAPES)
def test_shapes_that_adaptive_execution_never_splits(facts, dimension, shape, how, adaptive):
    left = SHAPES[shape](facts)
    joined = skewkit.skew_join(left, dimension, "k", how, strategy="salt")
    assert_same_rows(joined, left.join(dimension, "k", how))
    why = f"would not act: {'it never splits a full join' if how == 'full' else WHY_NOT[shape]}"
    said = f"adaptive execution {why if adaptive == 'true' else 'is off, so plain Spark splits no partition'}"
    assert said in skewkit.explain(joined), skewkit.explain(joined)
    cheapest = skewkit.skew_join(left, dimension, "k", how)
    assert_same_rows(cheapest, left.join(dimension, "k", how))
    text = skewkit.explain(cheapest)
    assert said in text, text
    assert ("strategy   native" in text) == (shape in ("grouped", "repartitioned")), text
    if shape != "grouped":  # which has every key once
        assert_split(joined, "split left")
        rows = partition_rows(joined.where("k = 0"))
        assert sum(rows) > 1900
        assert max(rows) <= 1.4 * 4000 / 8


@pytest.mark.every(3)
@pytest.mark.parametrize("hot", ["left", "right"])
@pytest.mark.parametrize("how", ["inner", "left", "full"])
def test_a_hot_side_is_spread_beside_one_that_is_grouped_by_the_key(facts, dimension, how, hot):
    grouped = dimension.groupBy("k").agg(F.max("name").alias("name"))
    left, right = (facts, grouped) if hot == "left" else (grouped, facts)
    joined = skewkit.skew_join(left, right, "k", how, strategy="salt")
    assert_same_rows(joined, left.join(right, "k", how))
    text = skewkit.explain(joined)
    never = f"it never splits {'a full join' if how == 'full' else 'the right side of a left join'}"
    made = f"{'right' if hot == 'left' else 'left'} side is already grouped by the key"
    assert (never if how == "full" or (how == "left" and hot == "right") else made) in text, text
    assert_split(joined, f"split {hot}")
    assert max(partition_rows(joined.where("k = 0"))) <= 1.4 * 4000 / 8


@pytest.mark.parametrize("how", ["inner", "full"])
def test_hot_rows_of_one_file_of_many_are_spread(spark, facts, dimension, tmp_path, how):
    by_key = facts.withColumn("hot", F.expr("k <=> 0")).repartitionByRange(4, "hot", "k").drop("hot")
    by_key.write.parquet(str(tmp_path / "rows"))
    left = spark.read.parquet(str(tmp_path / "rows"))
    assert len(partition_rows(left)) > 1
    assert len(partition_rows(left.where("k = 0"))) == 1
    joined = skewkit.skew_join(left, dimension, "k", how, strategy="salt")
    assert_same_rows(joined, left.join(dimension, "k", how))
    assert_split(joined, "split left")
    assert max(partition_rows(joined.where("k = 0"))) <= 1.4 * 4000 / 8
    text = skewkit.explain(joined)
    one = "that wrote it, and one task writes about 100% of the left side's rows of 0\n"
    assert ("adaptive execution would not act: it never splits a full join\n" if how == "full" else one) in text, text


@pytest.mark.every(2)
@pytest.mark.parametrize("key", ["k", "timestamp_seconds(k)", "named_struct('a', k)"])
def test_explain_says_how_many_of_a_hot_keys_rows_come_from_one_task(spark, facts, dimension, tmp_path, key):
    """A sample shows it of all keys, those, too, whose values it does not bring."""
    frames = {}
    for name, tasks in (("one", facts.coalesce(1)), ("four", facts.repartition(4)), ("names", dimension)):
        tasks.where("k IS NOT NULL").withColumn("k", F.expr(key)).write.parquet(str(tmp_path / name))
        frames[name] = spark.read.parquet(str(tmp_path / name))
    apart = spark.read.parquet(str(tmp_path / "one"), str(tmp_path / "four")).where("k IS NOT NULL")
    wrote = "between the tasks that wrote it, and one task writes about 100% of the left side's rows of"
    threshold = conf(spark, "spark.sql.adaptive.skewJoin.skewedPartitionThresholdInBytes", "1")
    with threshold, conf(spark, "spark.sql.files.minPartitionNum", "8"):
        some = "of which one writes about "
        for left, said in ((frames["one"], wrote), (frames["four"], f"{some}2"), (apart, f"{some}5")):
            text = skewkit.explain(skewkit.skew_join(left, frames["names"], "k", strategy="salt"))
            assert said in text, text
        text = skewkit.explain(skewkit.skew_join(frames["names"], frames["one"], "k", strategy="salt"))
        assert "one task writes about 100% of the right side's rows of" in text, text
        names = frames["names"].repartition(3)
        for left, said in ((frames["one"], wrote), (frames["four"], f"{some}2")):
            text = skewkit.explain(skewkit.skew_join(left, names, "k", strategy="salt"))
            assert said in text, text


def group_sizes(left: pd.DataFrame, right: pd.DataFrame) -> pd.DataFrame:
    key = left["k"] if len(left) else right["k"]
    return pd.DataFrame({"k": key.iloc[:1], "n": [len(left)], "m": [len(right)]})


FOLLOWED_BY = {
    "group-by": lambda j, other, join: j.groupBy("k").agg(F.sum("v").alias("v"), F.count("*").alias("n")),
    "window": lambda j, other, join: j.withColumn("r", F.rank().over(Window.partitionBy("k").orderBy("v"))),
    "second join": lambda j, other, join: join(j, other, "k", "full"),
    "cogroup": lambda j, other, join: (
        j.groupBy("k").cogroup(other.groupBy("k")).applyInPandas(group_sizes, "k bigint, n bigint, m bigint")
    ),
}


@pytest.mark.every(11)
@pytest.mark.parametrize("follows", FOLLOWED_BY)
def test_joins_that_something_by_the_same_key_follows(spark, facts, dimension, adaptive, follows):
    """Plain Spark goes on with the partitions of such a join; ours have other partitions, and the same rows."""
    joined = skewkit.skew_join(facts, dimension, "k", "left", strategy="salt")
    assert_split(joined, "split left")
    with conf(spark, "spark.sql.adaptive.skewJoin.skewedPartitionThresholdInBytes", "1"):
        text = skewkit.explain(skewkit.skew_join(facts, dimension, "k", "left", strategy="salt"))
    follows_it = "unless a group-by, window or join by the same key follows"
    assert (follows_it if adaptive == "true" else "adaptive execution is off") in text, text
    then, other = FOLLOWED_BY[follows], dimension.select("k", F.lit(1).alias("one"))
    ours = then(joined, other, partial(skewkit.skew_join, strategy="salt"))
    assert_same_rows(ours, then(facts.join(dimension, "k", "left"), other, DataFrame.join))


@pytest.fixture
def tiny(spark):
    with ExitStack() as stack:
        for name, value in TINY.items():
            stack.enter_context(conf(spark, f"spark.sql.adaptive.{name}", value))
        yield


def is_split_by_spark(frame):
    """Return whether adaptive execution cut a partition of a join, as its final plan says after a run."""
    frame.collect()
    plan = frame._jdf.queryExecution().executedPlan().toString()
    assert "isFinalPlan=true" in plan
    return "skew=true" in plan


@pytest.mark.every(3)
@pytest.mark.parametrize("shape", ["as it is", *SHAPES, "cached as it lies"])
def test_what_explain_says_of_a_shape_is_what_adaptive_execution_does(facts, dimension, shape, tiny):
    shapes = {"as it is": lambda f: f, "cached as it lies": lambda f: filled(f.withColumn("more", F.lit(1)).cache())}
    left = (SHAPES | shapes)[shape](facts)
    text = skewkit.explain(skewkit.skew_join(left, dimension, "k", strategy="salt"))
    acts = is_split_by_spark(left.join(dimension, "k"))
    assert acts == (shape in ("as it is", "cached as it lies"))
    assert ("adaptive execution may split" if acts else "adaptive execution would not act") in text, text
    left.unpersist()


@pytest.mark.every(7)
@pytest.mark.parametrize("hot", ["left", "right"])
@pytest.mark.parametrize("how", ["inner", "left", "right", "full", "semi", "anti"])
def test_what_explain_says_of_a_type_of_join_is_what_adaptive_execution_does(facts, dimension, how, hot, tiny):
    left, right = (facts, dimension) if hot == "left" else (dimension, facts)
    text = skewkit.explain(skewkit.skew_join(left, right, "k", how, strategy="salt"))
    acts = is_split_by_spark(left.join(right, "k", how))
    assert ("adaptive execution may split" if acts else "adaptive execution would not act") in text, text


@pytest.mark.every(2)
@pytest.mark.parametrize("follows", FOLLOWED_BY)
def test_adaptive_execution_splits_no_join_that_something_by_the_same_key_follows(facts, dimension, follows, tiny):
    then, other = FOLLOWED_BY[follows], dimension.select("k", F.lit(1).alias("one"))
    assert is_split_by_spark(facts.join(dimension, "k", "left"))
    assert not is_split_by_spark(then(facts.join(dimension, "k", "left"), other, DataFrame.join))


@pytest.mark.parametrize("files", [1, 4], ids=["one file", "four files"])
def test_adaptive_execution_cannot_cut_what_one_task_writes(spark, facts, dimension, tmp_path, files, tiny):
    by_key = facts.where("k IS NOT NULL").withColumn("hot", F.expr("k = 0")).repartitionByRange(4, "hot", "k")
    rows = by_key.drop("hot") if files == 1 else facts.repartition(files)
    rows.write.parquet(str(tmp_path / "rows"))
    left = spark.read.parquet(str(tmp_path / "rows"))
    with conf(spark, "spark.sql.files.minPartitionNum", "8"):
        text = skewkit.explain(skewkit.skew_join(left, dimension, "k", strategy="salt"))
        most = max(partition_rows(left.join(dimension, "k")))
    if files == 1:
        assert "would not act: it cuts a partition only between the tasks that wrote it, and one task writes" in text, (
            text
        )
        assert most >= 2000, "all rows of the hot key"
    else:
        assert "adaptive execution may split" in text, text
        assert most <= 1200, "what one or two of the four files have"
