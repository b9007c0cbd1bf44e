"""Joins of frames made of one another, whose columns are the very same ones."""

import pytest
from pyspark.sql import functions as F

from skewkit import explain, skew_join
from skewkit.testing import assert_same_rows

HOT = "if(id % 3 < 2, 0, id % 40)"
KINDS = ["inner", "left", "right", "full", "semi", "anti"]


def check(left, right, on, how, strategy="salt"):
    """Compare with plain Spark, and return what is said of the join."""
    plain, ours = left.join(right, on, how), skew_join(left, right, on, how, strategy=strategy, partitions=4)
    assert_same_rows(ours, plain)
    return explain(ours)


@pytest.mark.connect
@pytest.mark.every(3)
@pytest.mark.parametrize("how", KINDS)
def test_a_condition_of_both_frames_that_one_could_compute(spark, how):
    """`right` has a `ts`, too, of which plain Spark does not speak here."""
    base = spark.range(600).selectExpr(f"{HOT} AS user", "id AS ts")
    left = base.where("ts >= 0")
    right = base.where("ts < 60").select(F.col("user").alias("u2"), "ts", (F.col("ts") + 10).alias("until"))
    on = (left["user"] == right["u2"]) & (left["ts"] < right["until"])
    said = check(left, right, on, how, "auto" if how == "full" else "salt")  # a broadcast keeps the condition as it is
    assert how == "full" or "strategy   salt" in said
    assert left.join(right, on).count() < left.join(right, left["user"] == right["u2"]).count()


@pytest.mark.every(3)
@pytest.mark.parametrize("how", KINDS)
def test_the_row_with_the_maximum_of_its_group(spark, how, connect):
    df = spark.range(800).selectExpr("id % 50 AS k", "if(id % 3 < 2, 0, id % 97) AS t", "id AS v")
    best = df.groupBy("k").agg(F.max("t").alias("m"))
    check(df, best, [df["k"] == best["k"], df["t"] == best["m"]], how, "auto")
    if connect:  # a classic session cannot tell whose `k` is meant
        check(df, best, [df["k"] > 5, df["t"] == best["m"]], how, "auto")


@pytest.mark.every(2)
@pytest.mark.connect
@pytest.mark.parametrize("how", ["left", "right", "full"])
def test_keys_of_a_frame_that_both_read(spark, how):
    """The right columns get new ids in a join, by which its copies have to be asked for."""
    base = spark.range(800).selectExpr("if(id % 3 < 2, 0, id % 50) AS a", "id % 60 AS b", "id AS v")
    left, right = base.select("a", "v"), base.where("v < 60").select("b", "v")
    said = check(left, right, left["a"] == right["b"], how)
    assert "strategy   salt" in said
    check(left, right, left["a"] + 1 == right["b"] + 1, how)
    check(left, right, left["a"].eqNullSafe(right["b"]), how)


def test_a_key_of_the_left_frame_that_the_right_one_has_in_part(spark):
    """Spark takes `user` for the left frame's; and a Python UDF of both frames is of neither."""
    base = spark.range(600).selectExpr(f"{HOT} AS user", "id AS ts")
    left = base.where("ts >= 0")
    right = base.where("ts < 60").select("user", (F.col("user") * 100).alias("key"))
    check(left, right, left["user"] * 100 + left["ts"] * 0 == right["key"], "inner")
    later = F.udf(lambda ts, until: ts < until, "boolean")
    right = base.where("ts < 60").select(F.col("user").alias("u2"), "ts", (F.col("ts") + 10).alias("until"))
    check(left, right, (left["user"] == right["u2"]) & later(left["ts"], right["until"]), "inner")


def test_python_udfs_of_both_frames_with_computed_arguments(spark):
    base = spark.range(600).selectExpr(f"{HOT} AS user", "id AS ts")
    left = base.where("ts >= 0")
    right = base.where("ts < 60").select(F.col("user").alias("u2"), "ts", (F.col("ts") + 10).alias("until"))
    later = F.udf(lambda ts, until: ts < until, "boolean")
    for until in (right["until"] + 1, F.col("until")):
        check(left, right, (left["user"] == right["u2"]) & later(left["ts"], until), "inner")


def test_keys_that_a_python_udf_makes_of_two_columns(spark):
    facts = spark.range(600).selectExpr(f"concat({HOT}, '-', 1) AS k", "id AS v")
    dims = spark.range(40).selectExpr("id AS a", "1 AS b")
    key = F.udf(lambda a, b: f"{a}-{b}", "string")
    assert "strategy   salt" in check(facts, dims, facts["k"] == key(dims["a"], dims["b"]), "inner")
    assert "strategy   salt" in check(dims, facts, facts["k"] == key(dims["a"], dims["b"] + 0), "inner")
