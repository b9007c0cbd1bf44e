"""The plan of salted joins: what is shuffled, hashed, looked up, and how the rows are joined."""

import re
from collections import Counter

import pytest
from pyspark.sql import functions as F

import skewkit
from skewkit import explain, skew_join, skew_profile
from skewkit.api.join.on import join_keys
from skewkit.plan.join.pair import Pair
from skewkit.spark.explained.plan_facts import PlanFacts
from skewkit.spark.join import joining
from skewkit.testing import assert_same_rows, partition_rows
from tests.helpers import KINDS, assert_split, conf, explained, physical_plan
from tests.spark.join.cases import SLOW, check

FRAMES = {
    "empty right": lambda f, d: (f, d.where("false")),
    "empty left": lambda f, d: (f.limit(0), d),
    "one row each": lambda f, d: (f.limit(1), d.limit(1)),
    "all keys null": lambda f, d: (f.withColumn("k", F.lit(None).cast("bigint")), d),
    "one key": lambda f, d: (f.withColumn("k", F.lit(1)), d.withColumn("k", F.lit(1))),
    "many empty partitions": lambda f, d: (f.repartition(40), d.coalesce(1)),
    "hot on both sides": lambda f, d: (f, f.select("k", F.col("v").alias("w"))),
    "hot on the right": lambda f, d: (d, f),
    "hot keys absent on the right": lambda f, d: (f, d.where("k > 10")),
    "int and bigint": lambda f, d: (f.withColumn("k", F.col("k").cast("int")), d),
    "maps": lambda f, d: (f.withColumn("m", F.create_map("s", "v")), d.withColumn("m", F.create_map("s", "w"))),
    "wide": lambda f, d: (f.select("*", *((F.col("v") + i).alias(f"c{i}") for i in range(200))), d),
    "cached": lambda f, d: (f.cache(), d),
}


@pytest.mark.every(7)
@pytest.mark.parametrize("frames", FRAMES)
def test_frames(facts, dims, frames):
    check(*FRAMES[frames](facts, dims), "k")


@pytest.mark.slow
def test_a_session_with_more_shuffle_partitions_than_a_plan_can_have(spark, facts, dims):
    with conf(spark, "spark.sql.shuffle.partitions", "100000"):
        assert "65536 partitions" in explain(skew_join(facts, dims, "k", strategy="salt"))


@pytest.mark.every(3)
@pytest.mark.parametrize("how", ["inner", "left"])
def test_the_salted_plan_shuffles_each_side_once(facts, dims, how):
    for on in ("k", facts["k"] == dims["k"]):
        text = explained(skew_join(facts, dims, on, how, strategy="salt", partitions=4), "FORMATTED")
        tree = text.partition("\n\n")[0]
        assert len(re.findall(r"\bExchange\b", tree)) == 2
        assert not re.search(r"\brand|Python|Nested|Cartesian", text)


@pytest.fixture
def wide(spark, tmp_path):
    """Long texts in a file, which hardly become smaller there."""
    spark.range(2_000).selectExpr(
        "id AS k", "concat_ws('', transform(sequence(1, 100), i -> uuid())) AS blob"
    ).write.parquet(str(tmp_path / "wide"))
    return spark.read.parquet(str(tmp_path / "wide"))


def test_rows_that_are_wide_in_their_files_are_not_hashed(spark, wide):
    facts = spark.range(4_000).selectExpr("if(id % 2 = 0, 0, id % 2000) AS k", "id AS v")
    for most, operator in (("134217728", "ShuffledHashJoin"), ("200000", "SortMergeJoin")):
        with conf(spark, "spark.skewkit.hashJoinBytes", most):
            assert operator in explained(skew_join(facts, wide, "k", strategy="salt", partitions=4))


def test_long_texts_are_seen_below_a_filter_and_in_a_cache(spark, wide):
    facts = spark.range(4_000).selectExpr("if(id % 2 = 0, 0, id % 2000) AS k", "id AS v")
    cached = wide.where("k < 1999").cache()
    assert cached.count() == 1_999
    frames = {
        "filtered": (wide.where("k < 1900"), "SortMergeJoin"),
        "other order": (wide.selectExpr("blob AS b", "k"), "SortMergeJoin"),
        "cached": (cached, "SortMergeJoin"),
        "no text": (wide.where("k < 1900").select("k", F.length("blob").alias("n")), "ShuffledHashJoin"),
    }
    with conf(spark, "spark.skewkit.hashJoinBytes", "200000"):
        for name, (frame, operator) in frames.items():
            plan = explained(skew_join(facts, frame, "k", strategy="salt", partitions=4))
            assert operator in plan, name
    cached.unpersist()


def test_group_bys_that_lose_their_keys_are_not_used(spark, facts, dims):
    with conf(spark, "spark.sql.retainGroupColumns", "false"):
        joined = skew_join(facts, dims, "k", partitions=3)
        assert "native: spark.sql.retainGroupColumns is off" in explain(joined)
        assert Counter(joined.collect()) == Counter(facts.join(dims, "k").collect())


@pytest.mark.slow
def test_a_look_up_does_not_double_the_plan_of_a_chain(spark, tmp_path):
    """A look-up on the result of joins runs these again, and the next one all of that: its price grows with it."""
    spark.range(60_000).selectExpr("if(id % 2 = 0, 0, id % 5000) AS k", "id AS v0").write.parquet(str(tmp_path / "0"))
    chain = plain = spark.read.parquet(str(tmp_path / "0"))
    salted = []
    for number in range(1, 6):
        path = str(tmp_path / str(number))
        spark.range(5000).selectExpr("id AS k", f"id AS v{number}").write.parquet(path)
        other = spark.read.parquet(path)
        with conf(spark, "spark.skewkit.margin", "-2"):
            chain, plain = skew_join(chain, other, "k", "full", partitions=8), plain.join(other, "k", "full")
        salted.append("strategy   salt" in explain(chain))
    assert salted[0], "the first one is cheap"
    assert not salted[-1], "the last one is not"
    assert salted == sorted(salted, reverse=True)
    assert physical_plan(chain).count("FileScan parquet") < 3 * physical_plan(plain).count("FileScan parquet")
    assert_same_rows(chain, plain)


def test_texts_that_are_computed_may_be_too_long_for_a_hash_table(spark):
    """Nobody sees how long they are, and a hash table cannot spill."""
    many = spark.range(400_000).selectExpr("id AS k", "repeat(string(id), 4000) AS blob")
    hot = spark.range(2_000_000).selectExpr("if(id % 2 = 0, 0, id % 400000) AS k", "id AS v")
    known = {
        "left_profile": skew_profile(hot, "k", partitions=4),
        "right_profile": skew_profile(many, "k", partitions=4),
    }
    for right, operator in (
        (many, "SortMergeJoin"),
        (many.select("k", F.length("blob").alias("n")), "ShuffledHashJoin"),
    ):
        joined = skew_join(hot, right, "k", strategy="salt", partitions=4, **known)
        assert operator in physical_plan(joined)


def test_tables_that_are_bucketed_by_the_key(spark, tmp_path):
    hot = "if(id % 3 > 0, 0, id % 5000)"
    for name, key in (("bucketed_a", hot), ("bucketed_b", "id % 5000")):
        spark.sql(f"DROP TABLE IF EXISTS {name}")
        rows = spark.range(30_000).selectExpr(f"{key} AS k", f"id AS {name}")
        rows.write.option("path", str(tmp_path / name)).bucketBy(3, "k").saveAsTable(name)
    try:
        left, right = spark.table("bucketed_a"), spark.table("bucketed_b").where("bucketed_b < 5000")
        joined = skew_join(left, right, "k", strategy="salt", partitions=3)
        assert_same_rows(joined, left.join(right, "k"))
        assert "side is not shuffled at all, as its table is bucketed by the key" in explain(joined)
    finally:
        for name in ("bucketed_a", "bucketed_b"):
            spark.sql(f"DROP TABLE IF EXISTS {name}")


def test_a_right_frame_of_a_session_whose_groups_lose_their_keys(spark, facts):
    other = spark.newSession()
    other.conf.set("spark.sql.retainGroupColumns", "false")
    right = other.range(60).selectExpr("if(id % 2 = 0, 0, id) AS k", "id AS w")
    joined = skew_join(facts, right, "k", "left")
    assert "retainGroupColumns is off" in explain(joined)
    assert_same_rows(joined, facts.join(right, "k", "left"))


def test_small_frames_of_a_session_with_thousands_of_partitions(spark):
    """Adaptive execution leaves few of them, and what is placed exactly cannot be coalesced."""
    left = spark.range(60_000).selectExpr("if(id % 2 = 0, 0, id % 5000) AS k", "id AS v")
    right = spark.range(5_000).selectExpr("id AS k", "id AS w")
    with conf(spark, "spark.sql.shuffle.partitions", "2000"):
        assert ", 200 partitions" in explain(skew_join(left, right, "k"))
        assert ", 2000 partitions" in explain(skew_join(left.selectExpr("explode(array(k)) AS k", "v"), right, "k"))
        assert ", 2000 partitions" in explain(skew_join(left, right, "k", partitions=2000, heavy=[0]))
        with conf(spark, "spark.sql.adaptive.coalescePartitions.enabled", "false"):
            assert ", 2000 partitions" in explain(skew_join(left, right, "k", heavy=[0]))


def test_null_keys_of_both_sides_are_not_compared_with_each_other(spark, monkeypatch):
    placed = []

    def recorded(df, n, column):
        placed.append(df.select(column.alias("packed"), "v"))
        return place(df, n, column)

    place = joining.place
    monkeypatch.setattr(joining, "place", recorded)
    rows = spark.range(4_000).selectExpr("if(id % 2 = 0, null, id) AS k", "id AS v")
    left, right = rows.select("*"), rows.selectExpr("k AS j", "v")
    joined = skew_join(left, right, left["k"] == right["j"], "full", strategy="salt", partitions=4)
    assert joined.count() == 6_000
    packed = [Counter(row.packed for row in side.where("v % 2 = 0").collect()) for side in placed]
    assert [side.total() for side in packed] == [2_000, 2_000]
    assert sum(rows * packed[1][key] for key, rows in packed[0].items()) <= 2_000


@pytest.mark.every(11)
@pytest.mark.parametrize("how", ["inner", "left", pytest.param("full", marks=SLOW), "semi"])
@pytest.mark.parametrize("on", [["t"], ["t", "k"]], ids=str)
def test_texts_that_meet_many_rows_are_compared_before(skewed, how, on, connect):
    left, right = (
        frame.selectExpr("if(k = 0, 'hot \"\\u00e9\\u0000', concat('key ', k)) t", "k", "v")
        for frame in (skewed(2000), skewed(300, hot=0.3))
    )
    right = right.withColumnRenamed("v", "w")
    joined = skewkit.skew_join(left, right, on, how, strategy="salt", partitions=4)
    assert assert_same_rows(joined, left.join(right, on, how)) > 100
    if how == "inner" and not connect:
        assert re.search(r"packed#\d+ >= 1073741824\) OR", explained(joined))
    stale = skewkit.skew_profile(left.where("k > 2"), *on, sample="exact")
    joined = skewkit.skew_join(left, right, on, how, strategy="salt", partitions=4, left_profile=stale)
    assert_same_rows(joined, left.join(right, on, how))


@pytest.mark.every(7)
@pytest.mark.parametrize("how", KINDS)
def test_self_join_with_both_sides_hot(skewed, how):
    rows = skewed(300)
    a, b = rows.alias("a"), rows.alias("b")
    on = F.col("a.k") == F.col("b.k")
    joined, plain = skewkit.skew_join(a, b, on, how, strategy="salt", partitions=5), a.join(b, on, how)
    assert_same_rows(joined, plain)
    picks = ["a.k", "a.v"] if how in ("semi", "anti") else ["a.k", "b.k", "b.v", "a.s"]
    assert_same_rows(joined.select(picks), plain.select(picks))
    assert_split(joined)


@pytest.mark.every(5)
@pytest.mark.parametrize("how", KINDS)
def test_the_salted_plan_of_every_type_of_join(spark, tmp_path, how):
    """Each side is shuffled once; a look-up is a broadcast; no salt is random and nothing runs in Python."""
    spark.range(4000).selectExpr("if(id % 2 = 0, 0, id % 97) AS k", "id AS v").write.parquet(str(tmp_path / "f"))
    sales = spark.read.parquet(str(tmp_path / "f"))
    few = sales.where("v % 40 = 0").withColumnRenamed("v", "w")
    for left, right in ((sales, few), (few, sales)):
        joined = skewkit.skew_join(left, right, "k", how, strategy="salt")
        plan = explained(joined, "FORMATTED").partition("\n\n")[0]
        lines = [line for line in plan.splitlines() if "Exchange" in line and "Broadcast" not in line]
        looked_up = plan.count("BroadcastExchange")
        assert len(lines) == 2 + looked_up, "a look-up groups the few hot keys before it is broadcast"
        named = re.search("the query reads the (.*) side's keys once more", skewkit.explain(joined))
        assert looked_up == (len(named[1].split(" and ")) if named else 0) <= 1, "one side is copied"
        assert not re.search(r"\brand|Python|Nested|Cartesian", plan)


def test_what_is_grouped_by_a_key_has_it_once(spark):
    hot = spark.range(900).selectExpr("if(id % 3 = 0, 7, id) AS k", *(f"id + {i} AS v{i}" for i in range(30)))
    wide = hot.groupBy("k").agg(*(F.max(f"v{i}").alias(f"m{i}") for i in range(30)))
    counts = hot.groupBy("k").count()
    for once in (counts, wide, counts.where("count > 1").select("count", "k")):
        keys = join_keys(Pair(once, counts), "k")
        assert keys.left.bare == keys.right.bare == ("k",)
        assert PlanFacts(once).unique_by(keys.left.bare)
    pairs = hot.groupBy(F.col("k").alias("my k"), F.col("v1").alias("k")).count()
    least = hot.where("v1 > (SELECT k FROM (SELECT id AS k FROM range(3) WHERE id > 1) GROUP BY k)").select("k")
    for often in (counts.withColumn("k", F.lit(7)), counts.select(F.col("count").alias("k")), pairs, least, hot):
        assert not PlanFacts(often).unique_by(["k"])
        joined = skewkit.skew_join(often, counts, "k", strategy="salt", partitions=4)
        assert_same_rows(joined, often.join(counts, "k"))


def test_explain_says_what_a_look_up_computes_twice(sales, dimension):
    first = skewkit.skew_join(sales, dimension, "k", "full", strategy="salt")
    text = skewkit.explain(skewkit.skew_join(first, dimension.selectExpr("k", "1 AS one"), "k", "full"))
    assert "the left side's shuffles run twice, once for the look-up: cache() it to save that" in text
    assert "run twice" not in skewkit.explain(first)


@pytest.mark.parametrize("how", ["inner", "left"])
def test_the_salted_plan(sales, dimension, how):
    joined = skewkit.skew_join(sales, dimension, "k", how, strategy="salt", partitions=16)
    plan = explained(joined, "EXTENDED").rpartition("== Physical Plan ==")[2]
    assert plan.count("Exchange") == 2 + explained(dimension, "EXTENDED").rpartition("== Physical")[2].count("Exchange")
    assert "rand(" not in plan.lower()
    assert "Python" not in plan
    assert plan.count("isnotnull(_skew") == plan.count("isnotnull(CASE") == 0, "the packed key is never null"
    assert max(rows := partition_rows(joined)) <= 1.3 * sum(rows) / 16, "some 190 rows each, drawn by hash"


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
