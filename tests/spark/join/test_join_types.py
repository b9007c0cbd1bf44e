"""`skew_join` returns the rows, columns and types of `DataFrame.join`, in every type of join and by every strategy."""

import re

import pytest
from pyspark.sql import Window
from pyspark.sql import functions as F

import skewkit
from skewkit.errors import UnsupportedError
from skewkit.testing import assert_same_rows
from tests.helpers import CASES, KINDS, assert_split, conf, explained, hot_frames, physical_plan
from tests.spark.join.cases import SLOW, STRATEGIES

ALIASES = ["leftsemi", "outer", "rightouter", "left_outer", "leftouter", "right_outer", "full_outer", "FULL"]
ALIASES += ["FullOuter", "left_semi", "left_anti", "leftanti", None]


@pytest.mark.every(15)
@pytest.mark.connect
@pytest.mark.parametrize("how", ["inner", "left"])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_many_to_one(sales, dimension, how, strategy, adaptive):
    joined = skewkit.skew_join(sales, dimension, "k", how, strategy=strategy)
    assert assert_same_rows(joined, sales.join(dimension, "k", how)) > 1000


@pytest.mark.every(15)
@pytest.mark.parametrize("how", ["inner", "left"])
@pytest.mark.parametrize("strategy", ["auto", "salt"])
def test_many_to_many_with_both_sides_hot(skewed, how, strategy, adaptive):
    left, right = skewed(2000), skewed(300, hot=0.3).withColumnRenamed("v", "w").drop("s")
    joined = skewkit.skew_join(left, right, ["k"], how, strategy=strategy)
    assert assert_same_rows(joined, left.join(right, ["k"], how)) > 50_000


@pytest.mark.every(3)
@pytest.mark.parametrize("strategy", ["auto", "salt"])
def test_hot_on_the_right_only(sales, dimension, strategy):
    joined = skewkit.skew_join(dimension, sales, "k", "inner", strategy=strategy)
    assert_same_rows(joined, dimension.join(sales, "k", "inner"))
    assert_same_rows(skewkit.skew_join(dimension, sales, "k", "left"), dimension.join(sales, "k", "left"))


@pytest.mark.every(15)
@pytest.mark.parametrize("how", ALIASES)
def test_aliases_of_how(sales, dimension, how):
    joined = skewkit.skew_join(sales, dimension, "k", how)
    assert_same_rows(joined, sales.join(dimension, "k", how))


@pytest.mark.every(3)
@pytest.mark.parametrize("strategy", ["auto", "native"])
def test_conditions_without_an_equality_are_left_to_spark(sales, dimension, strategy):
    right = dimension.withColumnRenamed("k", "key")
    on = F.col("k") < F.col("key") - 155
    joined = skewkit.skew_join(sales, right, on, "left", strategy=strategy)
    assert_same_rows(joined, sales.join(right, on, "left"))
    assert "native" in skewkit.explain(joined)


@pytest.mark.every(23)
@pytest.mark.parametrize("how", KINDS)
@pytest.mark.parametrize("case", CASES)
def test_hot_keys_in_every_type_of_join(skewed, how, case, adaptive):
    left, right = hot_frames(skewed, case)
    joined = skewkit.skew_join(left, right, "k", how, strategy="salt")
    assert_same_rows(joined, left.join(right, "k", how))
    cut = (
        "answered by a look-up"
        if how in ("semi", "anti") and case.startswith("right")
        else f"split {case[:5].strip(',')}"
    )
    assert_split(joined, cut)


@pytest.mark.every(11)
@pytest.mark.parametrize("how", KINDS)
def test_both_sides_hot_in_every_type_of_join(skewed, how, adaptive):
    left, right = hot_frames(skewed, "both")
    joined = skewkit.skew_join(left, right, "k", how, strategy="salt")
    assert_same_rows(joined, left.join(right, "k", how))
    assert_split(joined, "answered by a look-up" if how in ("semi", "anti") else "split on both sides")


CONDITIONS = {
    "null-safe": lambda k, key, a, b: key.eqNullSafe(k),
    "residual": lambda k, key, a, b: (k == key) & (a % 5 < b % 7),
    "residual, as a list": lambda k, key, a, b: [a % 5 < b % 7, k == key],
    "null-safe with residual": lambda k, key, a, b: k.eqNullSafe(key) & (a % 5 < b % 7),
    "composite, null-safe in part": lambda k, key, a, b: k.eqNullSafe(key) & (a % 2 == b % 2),
}


@pytest.mark.every(23)
@pytest.mark.parametrize("how", KINDS)
@pytest.mark.parametrize("condition", CONDITIONS)
@pytest.mark.parametrize("case", ["both", pytest.param("left", marks=SLOW), pytest.param("right", marks=SLOW)])
def test_null_safe_and_residual_conditions(skewed, how, condition, case):
    left, right = hot_frames(skewed, case)
    right = right.toDF("key", *right.columns[1:])
    on = CONDITIONS[condition](F.col("k"), F.col("key"), left[left.columns[1]], right[right.columns[1]])
    joined = skewkit.skew_join(left, right, on, how, partitions=5)
    assert_same_rows(joined, left.join(right, on, how))
    text = skewkit.explain(joined)
    if how == "full" and "residual" in condition:
        assert re.search("a full join keeps .* and the condition is more than an equality of keys", text), text
    elif how in ("inner", case):
        assert re.search("strategy   (salt|broadcast_head): ", text), text
        assert ("\n  residual " in text) == ("residual" in condition), text


@pytest.mark.every(15)
@pytest.mark.parametrize("how", KINDS)
def test_broadcast_head_in_every_type_of_join_that_can_have_it(skewed, how, adaptive):
    for case in ("left", "right"):
        left, right = hot_frames(skewed, case)
        if how == "full":
            with pytest.raises(UnsupportedError, match="keeps the rows of both sides"):
                skewkit.skew_join(left, right, "k", how, strategy="broadcast_head")
            continue
        joined = skewkit.skew_join(left, right, "k", how, strategy="broadcast_head")
        assert_same_rows(joined, left.join(right, "k", how))
        if case == ("right" if how == "right" else "left"):
            assert "BroadcastHashJoin" in explained(joined)


@pytest.mark.every(2)
def test_a_chain_of_three_skew_joins_on_different_keys(sales, dimension, adaptive):
    keys = {"s": F.when(F.col("v") % 10 < 3, "1").otherwise(F.col("s")), "w": F.expr("if(v % 10 < 5, 7, v % 50)")}
    joined = plain = sales.withColumns(keys)
    sizes = plain.groupBy("s").agg(F.count("*").alias("n"))
    more = sales.selectExpr("v % 50 AS w").distinct().withColumn("even", F.col("w") % 2 == 0)
    for other, on, how in ((dimension, "k", "full"), (sizes, "s", "left"), (more, "w", "right")):
        joined = skewkit.skew_join(joined, other, on, how, strategy="salt")
        plain = plain.join(other, on, how)
        assert_split(joined, "split left")
    assert_same_rows(joined, plain)
    window = Window.partitionBy("k").orderBy("v")
    assert_same_rows(joined.withColumn("r", F.rank().over(window)), plain.withColumn("r", F.rank().over(window)))


SQL = {
    "a.k = b.k": "salt",
    "(a.k <=> b.k) AND a.v % 3 = b.k % 3": "salt",
    "a.k = b.k AND (a.v BETWEEN 1 AND 900 AND b.name <> 'x = y AND z')": "salt",
    "a.k + 1 == b.k + 1 AND CASE WHEN a.v > 2 AND b.k = 0 THEN a.v % 2 = 0 ELSE true END": "salt",
    "a.k = b.k AND a.v > 3 OR a.v = b.k": "native",
    "NOT a.k <> b.k": "salt",
}


@pytest.mark.every(7)
@pytest.mark.connect
@pytest.mark.parametrize("on", SQL)
def test_conditions_in_sql(sales, dimension, on):
    left, right = sales.alias("a"), dimension.alias("b")
    joined = skewkit.skew_join(left, right, F.expr(on), "left")
    assert_same_rows(joined, left.join(right, F.expr(on), "left"))
    assert f"strategy   {SQL[on]}" in skewkit.explain(joined)


@pytest.mark.every(5)
@pytest.mark.parametrize("partitions", [1, 2, 7, 100])
def test_any_number_of_partitions_and_named_keys(sales, dimension, partitions):
    joined = skewkit.skew_join(sales, dimension, "k", "left", heavy=[0, 1, 999], partitions=partitions)
    assert_same_rows(joined, sales.join(dimension, "k", "left"))
    assert "these keys were given as hot" in skewkit.explain(joined)


def test_empty_sides(sales, dimension):
    none = sales.where("v < 0")
    for left, right in ((none, dimension), (sales, dimension.where("k < 0"))):
        for strategy in STRATEGIES:
            joined = skewkit.skew_join(left, right, "k", "left", strategy=strategy)
            assert_same_rows(joined, left.join(right, "k", "left"))


def test_a_small_side_is_left_to_sparks_broadcast(spark, sales, dimension):

    with conf(spark, "spark.sql.autoBroadcastJoinThreshold", "10MB"):
        joined = skewkit.skew_join(sales, dimension, "k")
        assert "Spark broadcasts one side" in skewkit.explain(joined)


def test_even_keys_are_left_to_spark(spark):
    even = spark.range(3000).selectExpr("id % 500 k", "id v")
    joined = skewkit.skew_join(even, even.select("k").distinct(), "k")
    assert "hashing is balanced" in skewkit.explain(joined)


def test_a_source_that_must_not_be_read_twice_is_salted(sales, dimension):
    limited = sales.limit(3000)
    joined = skewkit.skew_join(limited, dimension, "k")
    assert "salt: " in skewkit.explain(joined)
    assert "limit" in skewkit.explain(joined)


def test_chained_joins_and_a_group_by_after(sales, dimension):
    sizes = sales.groupBy("s").agg(F.count("*").alias("n"))
    joined = skewkit.skew_join(sales, dimension, "k", "left", strategy="salt")
    joined = skewkit.skew_join(joined, sizes, "s", strategy="salt").groupBy("k").agg(F.sum("n").alias("n"))
    assert_same_rows(
        joined, sales.join(dimension, "k", "left").join(sizes, "s").groupBy("k").agg(F.sum("n").alias("n"))
    )


def test_a_broadcast_needs_a_right_side_that_was_measured(sales, dimension):
    profile = skewkit.skew_profile(sales, "k")
    joined = skewkit.skew_join(sales, dimension, "k", left_profile=profile)
    assert "salt: " in skewkit.explain(joined)
    assert "was not profiled" in skewkit.explain(joined)


def test_a_side_of_an_rdd_is_read_once(spark):
    """Nobody sees what makes an RDD: this one has other rows whenever it is computed."""

    def drawn(rows):
        import random

        return ((random.choice((1, 1, 1, 2, 3)), i) for i in rows)

    rdd = spark.sparkContext.parallelize(range(4000), 4).mapPartitions(drawn)
    frame = spark.createDataFrame(rdd, "k bigint, v bigint")
    keys = spark.range(1, 4).withColumnRenamed("id", "k")
    for left, right, how in ((frame, keys, "right"), (keys, frame, "left"), (frame, keys, "full")):
        joined = skewkit.skew_join(left, right, "k", how, heavy=[1], partitions=4)
        assert "salt: " in skewkit.explain(joined)
        assert len(re.findall("Scan ExistingRDD", physical_plan(joined))) == 1, how
        assert joined.count() == 4000, how
    joined = skewkit.skew_join(frame, frame, "k", "full", heavy=[1], partitions=4)
    assert "comes from an RDD, which may hold other rows the second time" in skewkit.explain(joined)
    listed = spark.createDataFrame([(i % 3, i) for i in range(90)], "k bigint, v bigint")
    for how, strategy in (("full", "salt"), ("left", "salt"), ("inner", "broadcast_head")):
        ours = skewkit.skew_join(listed, listed.withColumnRenamed("v", "w"), "k", how, strategy=strategy, partitions=4)
        assert f"strategy   {strategy}" in skewkit.explain(ours), "who asks for it trusts the RDD"
        assert_same_rows(ours, listed.join(listed.withColumnRenamed("v", "w"), "k", how))
    kept = frame.cache()
    kept.count()
    full = skewkit.skew_join(kept, keys, "k", "full", strategy="salt", partitions=4)
    assert_same_rows(full, kept.join(keys, "k", "full"))
    kept.unpersist()
