"""A frame that skewkit returned is used twice in one query: joined to what was made of it, united with itself."""

import pandas as pd
import pytest
from pyspark.sql import functions as F

import skewkit
from skewkit.testing import assert_same_rows
from tests.helpers import conf


@pytest.fixture(scope="module")
def left(spark):
    return spark.range(0, 300, 1, 3).selectExpr("cast(if(id < 180, 0, id) AS int) AS k", "id AS v")


@pytest.fixture(scope="module")
def right(spark):
    return spark.range(0, 20, 1, 2).selectExpr("cast(id AS int) AS k", "id AS w")


def twice(frame):
    """Return a few frames in which `frame` is more than once."""
    counts = frame.groupBy("k").agg(F.count("*").alias("n"))
    return frame.union(frame), frame.join(counts, "k"), frame.alias("a").join(frame.alias("b"), "k")


JOINS = [
    *(("salt", how) for how in ("inner", "left", "right", "full", "semi", "anti")),
    *(("broadcast_head", how) for how in ("inner", "left", "semi")),
]


@pytest.mark.every(7)
@pytest.mark.connect
@pytest.mark.parametrize(("strategy", "how"), JOINS)
@pytest.mark.parametrize("by", ["name", "condition"])
def test_joins(left, right, strategy, how, by):
    right = right if by == "name" else right.withColumnRenamed("k", "j")
    on = "k" if by == "name" else left["k"] == right["j"]
    ours = skewkit.skew_join(left, right, on, how, strategy=strategy, heavy=[0], partitions=3)
    for found, plain in zip(twice(ours), twice(left.join(right, on, how)), strict=True):
        assert_same_rows(found, plain)


@pytest.mark.every(2)
@pytest.mark.parametrize("how", ["inner", "left", "full"])
def test_a_join_of_a_join_is_treated(spark, left, right, how):
    """What fails while it is profiled would be left to plain Spark, and nobody would see it."""
    others = spark.range(0, 300, 1, 2).selectExpr("if(id < 200, 7, id) AS v", "id * 2 AS t")
    with conf(spark, "spark.skewkit.margin", "-1e9"), conf(spark, "spark.sql.autoBroadcastJoinThreshold", "-1"):
        first = skewkit.skew_join(left, right, "k", how, partitions=3)
        both = skewkit.skew_join(first, others, "v", "left", partitions=3)
        assert "strategy   native" not in skewkit.explain(first) + skewkit.explain(both)
    assert_same_rows(both, left.join(right, "k", how).join(others, "v", "left"))


@pytest.mark.slow
@pytest.mark.connect
def test_groups_and_windows(left):
    grouped = skewkit.skew_groupby(left, "k", strategy="wrap", partitions=3)
    asked = [F.collect_set("v").alias("vs"), F.median("v").alias("m")]
    made = {
        "sets": (grouped.agg(*asked), left.groupBy("k").agg(*asked)),
        "function": (
            grouped.applyInPandas(size, "k int, n bigint", merge=add_up),
            left.groupBy("k").applyInPandas(size, "k int, n bigint"),
        ),
        "window": (
            skewkit.skew_window(left, "k", "v", strategy="split", partitions=3).select(rn=F.row_number()),
            skewkit.skew_window(left, "k", "v", strategy="native").select(rn=F.row_number()),
        ),
    }
    for ours, plain in made.values():
        assert "strategy   native" not in skewkit.explain(ours)
        for found, expected in zip(twice(ours), twice(plain), strict=True):
            assert_same_rows(found, expected, unordered=[name for name in ("vs",) if name in found.columns])


def size(frame):
    """Return the key and the rows of a group."""
    return pd.DataFrame({"k": frame["k"].iloc[:1], "n": [len(frame)]})


def add_up(parts):
    """Merge what `size` returned."""
    return pd.DataFrame({"k": parts["k"].iloc[:1], "n": [parts["n"].sum()]})
