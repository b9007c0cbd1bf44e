"""Rows of hot and null keys per task of `skew_join`, and what `explain` says where they stay in one."""

import re

import pytest
from pyspark.sql import functions as F

import skewkit
from skewkit.errors import UnsupportedError
from skewkit.testing import assert_same_rows, partition_rows
from tests.helpers import KINDS, assert_split, conf, hot_frames, physical_plan

COMES_OUT = {
    "inner": ["left", "right"],
    "left": ["left", "left, absent right", "right"],
    "right": ["left", "right", "right, absent left"],
    "full": ["left", "left, absent right", "right", "right, absent left"],
    "semi": ["left"],
    "anti": ["left, absent right"],
}
"""Where key 0 is hot, so that its rows come out of a join of this type."""


def hot_partition(joined, n=8):
    """Return the rows of the fullest partition over the mean of all n."""
    rows = partition_rows(joined)
    return max(rows) / (sum(rows) / n)


@pytest.mark.every(5)
@pytest.mark.parametrize(("how", "case"), [(how, case) for how in KINDS for case in COMES_OUT[how]])
def test_no_task_gets_more_of_a_hot_key_than_its_part_of_all_rows(skewed, how, case):
    left, right = hot_frames(skewed, case)
    rows = partition_rows(skewkit.skew_join(left, right, "k", how, strategy="salt").where("k = 0"))
    assert sum(rows) >= 500
    assert max(rows) <= 1.4 * (1200 + 120) / 8


@pytest.mark.every(4)
@pytest.mark.parametrize("how", ["full", "inner", "left", "right"])
def test_pairs_of_a_key_that_is_hot_on_both_sides_are_spread(skewed, how):
    left, right = hot_frames(skewed, "both")
    joined = skewkit.skew_join(left, right, "k", how, strategy="salt")
    assert assert_same_rows(joined, left.join(right, "k", how)) > 20_000
    assert hot_partition(joined.where("k = 0")) <= 1.5


@pytest.mark.every(7)
@pytest.mark.parametrize("how", ["inner", "left", "right", "semi", "anti"])
def test_pairs_of_a_hot_key_are_spread_beside_a_residual_condition(skewed, how):
    left, right = skewed(3000), skewed(60, hot=0.1).selectExpr("k AS key", "v AS w")
    if how in ("semi", "anti"):
        right = right.where("key > 0").unionAll(right.limit(1).selectExpr("0L AS key", "2L AS w"))
    on = (left["k"] == right["key"]) & (left["v"] % 5 < right["w"] % 7)
    left, right = (right, left) if how == "right" else (left, right)
    joined = skewkit.skew_join(left, right, on, how, strategy="salt")
    assert_same_rows(joined, left.join(right, on, how))
    assert "  residual   the rest of the condition" in skewkit.explain(joined)
    rows = joined.where("k = 0")
    assert rows.count() > 500
    assert hot_partition(rows) <= 1.5


@pytest.mark.parametrize("how", ["inner", "left"])
def test_pairs_in_order_of_time_are_spread(skewed, how):
    left = skewed(3000).selectExpr("k", "v AS t").alias("l")
    right = skewed(60, hot=0.1).selectExpr("k", "v * 40 AS t").alias("r")
    on = F.expr("l.k = r.k AND l.t < r.t")
    joined, plain = skewkit.skew_join(left, right, on, how, strategy="salt"), left.join(right, on, how)
    assert_same_rows(joined.select("l.*", "r.t"), plain.select("l.*", "r.t"))
    assert hot_partition(joined.where("l.k = 0")) <= 1.5


WHOLE = {"left": "right", "right": "left", "semi": "right", "anti": "right", "full": "left"}
"""The side whose hot keys stay whole beside a residual condition, as rows of the other one are kept."""


@pytest.mark.every(5)
@pytest.mark.parametrize("how", WHOLE)
def test_explain_names_the_side_that_a_residual_condition_keeps_whole(skewed, how):
    left, right = hot_frames(skewed, WHOLE[how])
    right = right.withColumnRenamed("k", "key")
    on = (left["k"] == right["key"]) & (left[left.columns[1]] % 5 < right[right.columns[1]] % 7)
    joined = skewkit.skew_join(left, right, on, how)
    assert_same_rows(joined, left.join(right, on, how))
    kept = "left" if WHOLE[how] == "right" else "right"
    why = f"a {how} join keeps the {kept} side's rows, and the condition is more than an equality of keys"
    assert f"the {WHOLE[how]} side's hot keys stay whole: {why}" in skewkit.explain(joined), skewkit.explain(joined)
    other = skewkit.skew_join(left, right, left["k"] == right["key"], how)
    assert "stay whole" not in skewkit.explain(other)


def test_null_keys_are_spread_in_every_join_that_keeps_them(skewed):
    left, right = skewed(3000, hot=0.0, nulls=0.8), skewed(3000, hot=0.0, nulls=0.8).withColumnRenamed("v", "w")
    for how in ("left", "right", "full", "anti"):
        for strategy in ("salt", "auto"):
            joined = skewkit.skew_join(left, right, "k", how, strategy=strategy).where("k IS NULL")
            # `auto` broadcasts hot rows where it can; nulls stay in the three partitions of the frame then.
            assert hot_partition(joined, 8 if strategy == "salt" else 3) <= 1.3, (how, strategy)


@pytest.mark.every(2)
@pytest.mark.parametrize("how", ["left", "right", "anti"])
def test_null_keys_are_spread_beside_a_residual_condition(skewed, how):
    left = skewed(3000, hot=0.0, nulls=0.8).where("k IS NULL OR k > 9")
    right = skewed(3000, hot=0.0, nulls=0.8).selectExpr("k AS key", "v AS w").where("key IS NULL OR key > 9")
    on = (left["k"] == right["key"]) & (left["v"] % 5 < right["w"] % 7)
    joined = skewkit.skew_join(left, right, on, how, strategy="salt")
    assert_same_rows(joined, left.join(right, on, how))
    rows = joined.where("key IS NULL AND k IS NULL" if how == "right" else "k IS NULL")
    assert rows.count() > 2000
    assert hot_partition(rows) <= 1.3


def test_null_keys_are_spread_where_a_residual_condition_keeps_every_hot_key_whole(skewed):
    left = skewed(3000, hot=0.0, nulls=0.8).where("k IS NULL OR k > 9")
    right = skewed(3000, hot=0.0, nulls=0.8).selectExpr("k AS key", "v AS w").where("key IS NULL OR key > 9")
    on = (left["k"] == right["key"]) & (left["v"] % 5 < right["w"] % 7)
    joined = skewkit.skew_join(left, right, on, "full")
    assert_same_rows(joined, left.join(right, on, "full"))
    assert "strategy   salt" in skewkit.explain(joined), skewkit.explain(joined)
    assert hot_partition(joined.where("k IS NULL OR key IS NULL")) <= 1.3
    with pytest.raises(UnsupportedError, match="not possible here: a full join keeps both sides' rows"):
        skewkit.skew_join(left, right, on, "full", strategy="salt")
    fickle = left.withColumn("k", F.when(F.rand() < 0.2, F.col("k")))
    left_to_spark = skewkit.skew_join(fickle, right, (fickle["k"] == right["key"]) & (fickle["v"] < right["w"]), "full")
    assert "native: a full join keeps both sides' rows" in skewkit.explain(left_to_spark)


def test_a_full_join_that_no_null_can_be_in_is_left_to_spark(spark):
    left = spark.range(4000).selectExpr("if(id % 2 = 0, 7, id) AS k", "id AS v")
    right = spark.range(300).selectExpr("id AS key")
    joined = skewkit.skew_join(left, right, (left["k"] == right["key"]) & (left["v"] > right["key"]), "full")
    text = skewkit.explain(joined)
    assert "native: a full join keeps both sides' rows" in text, text


@pytest.mark.every(3)
@pytest.mark.parametrize("how", ["inner", "left", "right", "semi", "anti"])
def test_null_keys_that_do_not_come_out_are_left_out_before_the_shuffle(skewed, spark, tmp_path, how):
    skewed(3000, hot=0.2, nulls=0.6).write.parquet(str(tmp_path / "rows"))
    rows = spark.read.parquet(str(tmp_path / "rows"))
    few = rows.where("v % 9 = 0").select("k")
    left, right = (few, rows) if how == "right" else (rows, few)
    joined = skewkit.skew_join(left, right, "k", how, strategy="salt")
    assert_same_rows(joined, left.join(right, "k", how))
    plan = physical_plan(joined)
    _, *sides = re.split(r"Exchange [^b]", plan)
    assert len(sides) == 2, plan
    dropped = {"inner": sides, "semi": sides, "right": sides[:1]}.get(how, sides[1:])
    assert all(re.search(r"Filter .*isnotnull\((coalesce\()?k#", side) for side in dropped), plan


@pytest.mark.parametrize("how", ["left", "anti"])
def test_kept_null_keys_stay_where_they_are_beside_a_broadcast(skewed, how):
    left, right = skewed(3000, hot=0.3, nulls=0.5), skewed(200, hot=0.01, tail=200).select("k")
    joined = skewkit.skew_join(left, right, "k", how, strategy="broadcast_head")
    assert_same_rows(joined, left.join(right, "k", how))
    assert max(partition_rows(joined.where("k IS NULL"))) <= 1.3 * 1500 / 3, "the frame has three partitions"


@pytest.mark.every(7)
@pytest.mark.parametrize("how", KINDS)
def test_a_hot_null_is_spread_where_null_equals_null(skewed, how):
    left = skewed(3000, hot=0.1, nulls=0.6)
    right = skewed(40, hot=0.0, nulls=0.05).select(F.col("k").alias("key"), F.col("v").alias("w"))
    on = left["k"].eqNullSafe(right["key"])
    joined = skewkit.skew_join(left, right, on, how, strategy="salt")
    assert_same_rows(joined, left.join(right, on, how))
    if how != "anti":
        assert hot_partition(joined.where("k IS NULL")) <= 1.5


@pytest.mark.every(3)
@pytest.mark.parametrize("how", ["left", "right", "full", "anti"])
def test_a_hot_null_that_equals_none_of_the_other_side_is_spread(skewed, how):
    """Null would equal null, and there is none."""
    left = skewed(3000, hot=0.1, nulls=0.6)
    right = skewed(40, hot=0.0, nulls=0.0).select(F.col("k").alias("key"), F.col("v").alias("w"))
    on = left["k"].eqNullSafe(right["key"])
    left, right = (right, left) if how == "right" else (left, right)
    joined = skewkit.skew_join(left, right, on, how, strategy="salt")
    assert_same_rows(joined, left.join(right, on, how))
    rows = joined.where("v IS NOT NULL AND k IS NULL")
    assert rows.count() > 1500
    assert hot_partition(rows) <= 1.5


@pytest.mark.every(7)
@pytest.mark.parametrize("side", ["right", "both"])
@pytest.mark.parametrize("how", KINDS)
def test_a_null_that_is_hot_on_the_right_is_spread_where_null_equals_null(skewed, how, side):
    left = skewed(300, hot=0.0, nulls=0.6 if side == "both" else 0.02)
    right = skewed(300 if side == "both" else 3000, hot=0.1, nulls=0.6).select(F.col("k").alias("key"), "v")
    right = right.withColumnRenamed("v", "w")
    on = left["k"].eqNullSafe(right["key"])
    joined = skewkit.skew_join(left, right, on, how, strategy="salt")
    assert_same_rows(joined, left.join(right, on, how))
    if how not in ("semi", "anti"):
        nulls = partition_rows(joined.where("k IS NULL AND key IS NULL"))
        assert sum(nulls) > 5000
        assert max(nulls) <= 1.4 * joined.count() / 8
    else:
        assert_split(joined, "answered by a look-up")


def test_a_broadcast_keeps_to_its_bytes_for_who_asks_for_it_too(spark, skewed):
    left, right = skewed(3000), skewed(300, hot=0.3).withColumnRenamed("v", "w")
    assert "broadcast_head" in skewkit.explain(skewkit.skew_join(left, right, "k", strategy="broadcast_head"))
    with (
        conf(spark, "spark.skewkit.broadcastBytes", "1000"),
        pytest.raises(
            UnsupportedError, match=r"the right side has more than .* rows of the hot keys, of some .* bytes"
        ),
    ):
        skewkit.skew_join(left, right, "k", strategy="broadcast_head")
