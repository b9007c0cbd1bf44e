"""`skew_join` returns the rows, columns and types of `DataFrame.join`; the salted plan shuffles each side once."""

import pytest
from pyspark.sql import functions as F

import skewkit
from skewkit.spark.compat import explained
from skewkit.testing import assert_same_rows, partition_rows

STRATEGIES = ["auto", "native", "broadcast_head", "salt"]
ALL_HOWS = [
    "inner",
    "left",
    "left_outer",
    "right",
    "rightouter",
    "full",
    "outer",
    "semi",
    "left_semi",
    "anti",
    "leftanti",
]


@pytest.fixture(scope="module")
def facts(skewed):
    return skewed(4000)


@pytest.fixture(scope="module")
def dimension(spark):
    """One row per key, hot key included; half of the tail is missing, two rows have a null key."""
    keys = spark.range(0, 160).selectExpr("id k", "concat('name ', id) name")
    return keys.unionAll(spark.range(2).selectExpr("cast(null as bigint) k", "'nobody' name")).repartition(3)


@pytest.mark.connect
@pytest.mark.parametrize("how", ["inner", "left"])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_many_to_one(facts, dimension, how, strategy, adaptive):
    joined = skewkit.skew_join(facts, dimension, "k", how, strategy=strategy)
    assert assert_same_rows(joined, facts.join(dimension, "k", how)) > 1000


@pytest.mark.parametrize("how", ["inner", "left"])
@pytest.mark.parametrize("strategy", ["auto", "salt"])
def test_many_to_many_with_both_sides_hot(skewed, how, strategy, adaptive):
    left, right = skewed(2000), skewed(300, hot=0.3).withColumnRenamed("v", "w").drop("s")
    joined = skewkit.skew_join(left, right, ["k"], how, strategy=strategy)
    assert assert_same_rows(joined, left.join(right, ["k"], how)) > 50_000


@pytest.mark.parametrize("strategy", ["auto", "salt"])
def test_hot_on_the_right_only(facts, dimension, strategy):
    joined = skewkit.skew_join(dimension, facts, "k", "inner", strategy=strategy)
    assert_same_rows(joined, dimension.join(facts, "k", "inner"))
    assert_same_rows(skewkit.skew_join(dimension, facts, "k", "left"), dimension.join(facts, "k", "left"))


@pytest.mark.parametrize("how", ALL_HOWS)
def test_every_type_of_join_is_answered(facts, dimension, how):
    joined = skewkit.skew_join(facts, dimension, "k", how)
    assert_same_rows(joined, facts.join(dimension, "k", how))


@pytest.mark.parametrize("strategy", ["broadcast_head", "salt"])
def test_composite_keys_with_partial_nulls(skewed, strategy):
    left = skewed(3000).withColumn("s", F.when(F.col("v") % 5 > 0, F.col("s")))
    right = left.select("k", "s").distinct().withColumn("found", F.lit(True))
    for how in ("inner", "left"):
        joined = skewkit.skew_join(left, right, ["s", "k"], how, strategy=strategy)
        assert_same_rows(joined, left.join(right, ["s", "k"], how))


@pytest.mark.connect
@pytest.mark.parametrize("strategy", ["auto", "broadcast_head", "salt"])
def test_by_condition_columns_and_references_stay(facts, dimension, strategy, connect):
    for on in (facts["k"] == dimension["k"], [dimension["k"] == facts["k"]]):
        joined = skewkit.skew_join(facts, dimension, on, "left", strategy=strategy)
        plain = facts.join(dimension, on, "left")
        assert_same_rows(joined, plain)
        if connect and strategy == "broadcast_head":
            continue  # the union of its branches hides the columns there, which is why `auto` does not take it
        assert_same_rows(
            joined.select(facts["k"], dimension["k"].alias("other"), dimension["name"]),
            plain.select(facts["k"], dimension["k"].alias("other"), dimension["name"]),
        )


@pytest.mark.connect
@pytest.mark.parametrize("strategy", ["broadcast_head", "salt"])
def test_self_join_by_alias(facts, strategy):
    a, b = facts.alias("a"), facts.groupBy("k").agg(F.max("v").alias("v")).alias("b")
    on = F.col("a.k") == F.col("b.k")
    joined = skewkit.skew_join(a, b, on, "inner", strategy=strategy).select("a.k", "b.v", "a.s")
    assert_same_rows(joined, a.join(b, on, "inner").select("a.k", "b.v", "a.s"))


@pytest.mark.parametrize("strategy", ["auto", "native"])
def test_other_conditions_are_left_to_spark(facts, dimension, strategy):
    right = dimension.withColumnRenamed("k", "key")
    for on in (
        (F.col("k") == F.col("key")) & (F.col("v") > 50),
        F.col("k").eqNullSafe(F.col("key")),
        F.col("k") < F.col("key") - 155,
    ):
        joined = skewkit.skew_join(facts, right, on, "left", strategy=strategy)
        assert_same_rows(joined, facts.join(right, on, "left"))
        assert "native" in skewkit.explain(joined)


def test_column_order_and_duplicate_names(facts, dimension):
    left = facts.select("v", "s", "k").withColumn("name", F.lit("left"))
    joined = skewkit.skew_join(left, dimension, "k", "left", strategy="salt")
    assert joined.columns == ["k", "v", "s", "name", "name"]
    assert_same_rows(joined, left.join(dimension, "k", "left"))
    doubled = facts.select("v", "v", "k")
    assert_same_rows(skewkit.skew_join(doubled, dimension, "k", strategy="salt"), doubled.join(dimension, "k"))


def test_helper_names_do_not_clash(facts, dimension):
    left = facts.withColumn("_skew_hash", F.lit(1)).withColumn("_SKEW_l_packed", F.col("v"))
    right = dimension.withColumn("_skew_heavy", F.lit(2)).withColumn("_skew_r_key0", F.lit(3))
    for strategy in ("broadcast_head", "salt"):
        joined = skewkit.skew_join(left, right, "k", "left", strategy=strategy)
        assert_same_rows(joined, left.join(right, "k", "left"))


@pytest.mark.parametrize(
    "key",
    [
        "cast(k as int)",
        "cast(k as string)",
        "cast(k as decimal(20,3))",
        "date_add(date'2020-01-01', cast(k as int))",
        "timestamp_seconds(k * 1000)",
        "k % 2 = 0",
        "cast(cast(k as string) as binary)",
        "struct(k, if(k = 1, null, s) as s)",
        "array(k, null, 1)",
        "if(k = 0, double('NaN'), if(k = 1, double('-0.0'), if(k = 2, double('0.0'), double(k))))",
        "make_dt_interval(cast(k as int))",
    ],
)
def test_key_types(skewed, key):
    left = skewed(1500).selectExpr(f"{key} k", "v")
    right = skewed(1500).selectExpr(f"{key} k").distinct().selectExpr("k", "'there' hit")
    for how, strategy in (("inner", "salt"), ("left", "salt"), ("left", "broadcast_head")):
        joined = skewkit.skew_join(left, right, "k", how, strategy=strategy, partitions=5)
        assert_same_rows(joined, left.join(right, "k", how))


def test_integers_of_different_width(facts, dimension):
    narrow = dimension.withColumn("k", F.col("k").cast("int"))
    for strategy in ("broadcast_head", "salt"):
        assert_same_rows(
            skewkit.skew_join(facts, narrow, "k", "left", strategy=strategy), facts.join(narrow, "k", "left")
        )
        assert_same_rows(skewkit.skew_join(narrow, facts, "k", strategy="salt"), narrow.join(facts, "k"))


@pytest.mark.parametrize("how", ["inner", "left"])
def test_any_profile_gives_the_same_rows(spark, facts, dimension, how):
    true = skewkit.skew_profile(facts, "k")
    old = skewkit.skew_profile(spark.range(50).selectExpr("id % 3 + 5 k"), "k", partitions=3)
    other_type = skewkit.skew_profile(spark.range(50).selectExpr("cast(0 as int) k"), "k")
    expected = facts.join(dimension, "k", how)
    for profile in (true, old, other_type, true.merge(old) if len(true.tail) >= len(old.tail) else true, true.decay(0)):
        for strategy in ("salt", "broadcast_head"):
            joined = skewkit.skew_join(facts, dimension, "k", how, strategy=strategy, left_profile=profile)
            assert_same_rows(joined, expected)


@pytest.mark.parametrize("partitions", [1, 2, 7, 100])
def test_any_number_of_partitions_and_named_keys(facts, dimension, partitions):
    joined = skewkit.skew_join(facts, dimension, "k", "left", heavy=[0, 1, 999], partitions=partitions)
    assert_same_rows(joined, facts.join(dimension, "k", "left"))
    assert "named" in skewkit.explain(joined)


def test_empty_sides(facts, dimension):
    none = facts.where("v < 0")
    for left, right in ((none, dimension), (facts, dimension.where("k < 0"))):
        for strategy in STRATEGIES:
            joined = skewkit.skew_join(left, right, "k", "left", strategy=strategy)
            assert_same_rows(joined, left.join(right, "k", "left"))


@pytest.mark.parametrize("how", ["inner", "left"])
def test_the_salted_plan(facts, dimension, how):
    joined = skewkit.skew_join(facts, dimension, "k", how, strategy="salt", partitions=16)
    plan = explained(joined, "EXTENDED").rpartition("== Physical Plan ==")[2]
    assert plan.count("Exchange") == 2 + explained(dimension, "EXTENDED").rpartition("== Physical")[2].count("Exchange")
    assert "rand(" not in plan.lower()
    assert "Python" not in plan
    assert plan.count("isnotnull(_skew") == plan.count("isnotnull(CASE") == 0, "the packed key is never null"
    assert max(rows := partition_rows(joined)) <= 1.3 * sum(rows) / 16, "some 190 rows each, drawn by hash"


def test_a_small_side_is_left_to_sparks_broadcast(spark, facts, dimension):
    from tests.helpers import conf

    with conf(spark, "spark.sql.autoBroadcastJoinThreshold", "10MB"):
        joined = skewkit.skew_join(facts, dimension, "k")
        assert "Spark broadcasts one side" in skewkit.explain(joined)


def test_even_keys_are_left_to_spark(spark):
    even = spark.range(3000).selectExpr("id % 500 k", "id v")
    joined = skewkit.skew_join(even, even.select("k").distinct(), "k")
    assert "hashing is level" in skewkit.explain(joined)


def test_a_source_that_must_not_be_read_twice_is_salted(facts, dimension):
    limited = facts.limit(3000)
    joined = skewkit.skew_join(limited, dimension, "k")
    assert "salt: " in skewkit.explain(joined)
    assert "limit" in skewkit.explain(joined)


def test_chained_joins_and_a_group_by_after(facts, dimension):
    sizes = facts.groupBy("s").agg(F.count("*").alias("n"))
    joined = skewkit.skew_join(facts, dimension, "k", "left", strategy="salt")
    joined = skewkit.skew_join(joined, sizes, "s", strategy="salt").groupBy("k").agg(F.sum("n").alias("n"))
    assert_same_rows(
        joined, facts.join(dimension, "k", "left").join(sizes, "s").groupBy("k").agg(F.sum("n").alias("n"))
    )


def test_char_keys_of_different_length_are_left_to_spark(spark, tmp_path):
    for name, width in (("a", 5), ("b", 8)):
        spark.sql(f"CREATE TABLE char_{name} (k CHAR({width}), v INT) USING parquet LOCATION '{tmp_path / name}'")
    try:
        spark.sql("INSERT INTO char_a SELECT 'x', id FROM range(50)")
        spark.sql("INSERT INTO char_b VALUES ('x', 1)")
        left, right = spark.table("char_a"), spark.table("char_b").withColumnRenamed("v", "w")
        joined = skewkit.skew_join(left, right, "k")
        assert assert_same_rows(joined, left.join(right, "k")) == 50
        assert "CHAR" in skewkit.explain(joined)
    finally:
        spark.sql("DROP TABLE char_a")
        spark.sql("DROP TABLE char_b")


def test_rows_that_are_all_alike_are_spread(spark, tmp_path):
    spark.range(8000).selectExpr("if(id % 4 < 3, 'hot', cast(id as string)) k", "id % 2 = 0 flag").write.parquet(
        str(tmp_path / "alike")
    )
    df = spark.read.parquet(str(tmp_path / "alike"))
    for left in (df, df.select("k")):
        joined = skewkit.skew_join(left, df.select("k").distinct().withColumn("x", F.lit(1)), "k", strategy="salt")
        rows = partition_rows(joined)
        assert max(rows) <= 1.15 * sum(rows) / 8
        assert sum(rows) == 8000


def test_a_broadcast_needs_a_right_side_that_was_measured(facts, dimension):
    profile = skewkit.skew_profile(facts, "k")
    joined = skewkit.skew_join(facts, dimension, "k", left_profile=profile)
    assert "salt: " in skewkit.explain(joined)
    assert "was not profiled" in skewkit.explain(joined)
