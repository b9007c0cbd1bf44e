"""Chains of `skew_join`: the keys of a joined frame are seen in a sample of what was joined, without the join."""

import re
from contextlib import ExitStack
from math import inf

import pytest
from pyspark.sql import Window
from pyspark.sql import functions as F
from skewkit.spark.join.origin import Origin
from skewkit.spark.sampling.sources import Sampling, draw_before_join

import skewkit
from skewkit.api.arguments import settings_of
from skewkit.spark.explained.plan_facts import Seen
from skewkit.spark.sampling import quantiles as cutting
from skewkit.spark.session.compat import explained
from skewkit.spark.session.remembered import choice_of, origin_of
from skewkit.testing import assert_same_rows
from tests.helpers import conf

pytestmark = pytest.mark.connect

_SETTINGS = {
    "spark.skewkit.minRows": "1000",
    "spark.skewkit.sampleRows": "500",
    "spark.sql.autoBroadcastJoinThreshold": "-1",
}


@pytest.fixture
def chained(spark):
    """Return a fact of 20,000 rows, hot in shop 7; shops, of which number 7 is in region 3; regions."""
    with ExitStack() as stack:
        for name, value in _SETTINGS.items():
            stack.enter_context(conf(spark, name, value))
        facts = spark.range(20_000).selectExpr("if(id % 10 < 4, 7, id % 997) AS shop", "id % 100 AS day", "id AS v")
        shops = spark.range(1_000).selectExpr("id AS shop", "if(id = 7, 3, 1000 + id) AS region")
        regions = spark.range(3_000).selectExpr("id AS region", "concat('r', id) AS name")
        yield facts, shops, regions


def sample_of(frame, *columns):
    """Return the plan of a sample of a joined frame, or None where the join has to run."""
    drawn = draw_before_join(Seen(frame), [F.col(c) for c in columns], Sampling(2_000, 8, settings_of(frame)))
    return None if drawn is None else explained(drawn.at(0.1))


def is_drawn_before_the_join(plan):
    """Return whether what is sampled stands below all joins of a plan."""
    logical = plan.partition("== Physical Plan ==")[0].splitlines()
    samples, joins = ([_depth(line) for line in logical if word in line] for word in ("Sample", "Join"))
    return bool(samples) and bool(joins) and min(samples) > max(joins)


def _depth(line):
    return len(line) - len(line.lstrip(" :+-"))


@pytest.mark.slow
def test_a_join_that_was_left_to_spark_unread_need_not_run_to_be_seen(chained):
    """The look at its other side has seen how many rows a key has there."""
    facts, shops, regions = chained
    gathered = facts.repartition(8, "shop")
    for other in (shops, shops.groupBy("shop").agg(F.max("region").alias("region"))):
        first = skewkit.skew_join(gathered, other, "shop")
        origin = origin_of(first)
        assert (origin.left.most, origin.right.most) == (inf, 1.0)
        assert is_drawn_before_the_join(sample_of(first, "region"))
        then = skewkit.skew_join(first, regions, "region")
        assert_same_rows(then, gathered.join(other, "shop").join(regions, "region"))
        assert re.search(r"3   [34]\d\.\d\d%", skewkit.explain(then)), skewkit.explain(then)
    assert re.search(r"7   [34]\d\.\d\d%", skewkit.explain(first))


@pytest.mark.every(5)
@pytest.mark.parametrize("how", ["inner", "left", "right", "full"])
def test_a_key_that_a_hot_row_brings_is_seen(chained, how):
    facts, shops, regions = chained
    joined = skewkit.skew_join(facts, shops, "shop", how)
    assert "strategy   native" not in skewkit.explain(joined)
    plan = sample_of(joined, "region")
    # Rows of the shops that no row of a sample of facts meets are rows of a right and of a full join.
    assert is_drawn_before_the_join(plan) if how in ("inner", "left") else plan is None
    then = skewkit.skew_join(joined, regions, "region", "left")
    text = skewkit.explain(then)
    assert "strategy   native" not in text
    assert re.search(r"\n +3 +", text), text
    assert "one task writes" not in text, text  # the tasks of a sample's join are not the join's
    plain = facts.join(shops, "shop", how)
    assert_same_rows(then, plain.join(regions, "region", "left"))
    again = skewkit.skew_join(regions, joined, "region", "left")
    assert "strategy   native" not in skewkit.explain(again)
    assert_same_rows(again, regions.join(plain, "region", "left"))


@pytest.mark.slow
def test_a_third_join_is_drawn_from_the_first_frame(chained):
    facts, shops, regions = chained
    joined = skewkit.skew_join(skewkit.skew_join(facts, shops, "shop"), regions, "region")
    assert is_drawn_before_the_join(sample_of(joined, "day"))
    days = facts.select("day").distinct().withColumn("even", F.col("day") % 2 == 0)
    plain = facts.join(shops, "shop").join(regions, "region")
    assert_same_rows(skewkit.skew_join(joined, days, "day"), plain.join(days, "day"))


def test_group_bys_of_a_join_see_its_keys_in_a_sample(chained):
    facts, shops, _ = chained
    joined, plain = skewkit.skew_join(facts, shops, "shop"), facts.join(shops, "shop")
    first = F.collect_set("v").alias("all")
    groups = skewkit.skew_groupby(joined, "region", strategy="wrap").agg(first)
    assert "from a sample" in skewkit.explain(groups)
    sizes = "region", "size(all)"
    assert_same_rows(groups.selectExpr(*sizes), plain.groupBy("region").agg(first).selectExpr(*sizes))


def test_windows_of_a_join_are_cut_along_a_sample_of_it(chained, monkeypatch):
    facts, shops, _ = chained
    joined, plain = skewkit.skew_join(facts, shops, "shop"), facts.join(shops, "shop")
    read, original = [], cutting.samples
    monkeypatch.setattr(
        cutting, "samples", lambda frame, *args: read.append(explained(frame)) or original(frame, *args)
    )
    monkeypatch.setattr(cutting, "_ROWS_PER_BLOCK", 100)
    ours = skewkit.skew_window(joined, "region", "v", strategy="split").select(n=F.row_number(), total=F.sum("day"))
    assert "cut along v" in skewkit.explain(ours)
    assert [is_drawn_before_the_join(plan) for plan in read] == [True]
    over = Window.partitionBy("region").orderBy("v")
    assert_same_rows(
        ours, plain.select("*", F.row_number().over(over).alias("n"), F.sum("day").over(over).alias("total"))
    )


@pytest.mark.parametrize("how", ["semi", "anti"])
def test_of_a_semi_join_only_the_left_frame_is_sampled(chained, how):
    facts, shops, _ = chained
    few = shops.where("shop < 300")
    for left, right in ((facts, few), (few, facts)):
        joined = skewkit.skew_join(left, right, "shop", how)
        plan = sample_of(joined, "shop")
        assert (plan is None) == (left is few)  # so few rows are not sampled at all
    days = facts.select("day").distinct()
    joined = skewkit.skew_join(skewkit.skew_join(facts, few, "shop", how), days, "day")
    assert_same_rows(joined, facts.join(few, "shop", how).join(days, "day"))


def test_where_few_rows_of_either_side_bring_many_the_join_runs(chained):
    facts, shops, _ = chained
    hot_right = facts.selectExpr("if(shop = 7, 8, shop) AS shop", "v AS w")
    assert is_drawn_before_the_join(sample_of(skewkit.skew_join(shops, hot_right, "shop"), "region"))
    assert sample_of(skewkit.skew_join(facts, hot_right, "shop"), "day") is None


def test_a_row_may_bring_many_of_a_frame_that_spark_broadcasts(chained, spark):
    facts, shops, _ = chained
    with conf(spark, "spark.sql.autoBroadcastJoinThreshold", "10MB"):
        once = skewkit.skew_join(facts.selectExpr("v AS shop", "v AS day"), shops, "shop", "left")
        many = skewkit.skew_join(facts.selectExpr("v AS shop", "v AS day"), facts.select("shop"), "shop", "left")
        for joined, drawn in ((once, True), (many, False)):
            assert "Spark broadcasts one side" in skewkit.explain(joined)
            assert (sample_of(joined, "day") is not None) == drawn
        groups = skewkit.skew_groupby(many, "day").agg(F.collect_set("shop"))
    assert re.search(r"\n +7 +", skewkit.explain(groups))


def test_a_row_that_brings_many_in_an_earlier_join_is_not_enough(chained, spark):
    facts, _, _ = chained
    many = facts.selectExpr("shop", "v AS w")
    first = skewkit.skew_join(facts.selectExpr("v AS shop", "v AS day"), many, "shop", "left")
    days = spark.range(20_000).selectExpr("id AS day", "id AS x")
    assert sample_of(first, "day") is None
    second = sample_of(skewkit.skew_join(first, days, "day", "left"), "x")
    assert not is_drawn_before_the_join(second), "the first join runs, and is sampled before the second one"


def test_where_nobody_looked_at_both_sides_the_join_runs(chained):
    facts, shops, _ = chained
    profile = skewkit.skew_profile(facts, "shop")
    for known in ({"left_profile": profile}, {"heavy": [7]}, {"strategy": "native"}):
        assert sample_of(skewkit.skew_join(facts, shops, "shop", **known), "region") is None


def test_rows_that_an_outer_join_keeps_of_the_other_side_are_not_lost(chained, spark):
    facts, _, _ = chained
    kept = spark.range(4_000).selectExpr("id + 1000000 AS shop", "if(id % 10 < 9, 3, id) AS region")
    joined = skewkit.skew_join(kept, facts, "shop", "left")
    regions = spark.range(9_000).selectExpr("id AS region", "id AS w")
    text = skewkit.explain(skewkit.skew_join(joined, regions, "region"))
    assert re.search(r"\n +3 +(8[5-9]|9[0-5])\.", text), text


def test_a_cached_join_is_read_and_not_joined_again(chained):
    facts, shops, regions = chained
    joined = skewkit.skew_join(facts, shops, "shop")
    assert sample_of(joined, "region") is not None
    joined.cache()
    try:
        assert sample_of(joined, "region") is None
    finally:
        joined.unpersist()
    joined = skewkit.skew_join(facts, shops, "shop", "full").cache()
    try:
        others = regions.withColumnRenamed("region", "shop")
        then = skewkit.skew_join(joined, others, joined["shop"] == others["shop"])
        plain = facts.join(shops, "shop", "full")
        assert_same_rows(then, plain.join(others, plain["shop"] == others["shop"]))
    finally:
        joined.unpersist()


def test_no_more_is_broadcast_than_the_setting_allows(chained, monkeypatch, spark):
    facts, shops, regions = chained
    parts = []
    original = Origin.joined

    def joined(self, side, part, *, broadcast):
        parts.append((broadcast, part))
        return original(self, side, part, broadcast=broadcast)

    monkeypatch.setattr(Origin, "joined", joined)
    skewkit.skew_join(skewkit.skew_join(facts, shops.where("shop < 3"), "shop"), regions, "region")
    broadcast = [part.count() for hint, part in parts if hint]
    assert broadcast
    with conf(spark, "spark.skewkit.broadcastBytes", "100000"):
        parts.clear()
        skewkit.skew_join(skewkit.skew_join(facts, shops.where("shop < 3"), "shop"), regions, "region")
    few = [part.count() for hint, part in parts if hint]
    assert max(few, default=0) * 8 <= 100_000 < max(broadcast) * 8, "a row has 8 bytes at least"
    assert any(not hint for hint, _ in parts)
    with conf(spark, "spark.sql.adaptive.enabled", "false"):
        parts.clear()
        joined = skewkit.skew_join(skewkit.skew_join(facts, shops, "shop"), regions, "region")
        assert [hint for hint, _ in parts] == [False] * len(parts) != []
        assert_same_rows(joined, facts.join(shops, "shop").join(regions, "region"))


def test_what_on_was_when_the_frames_were_joined_counts(chained):
    facts, shops, regions = chained
    on = ["shop"]
    joined = skewkit.skew_join(facts, shops, on)
    on.clear()
    plain = facts.join(shops, "shop").join(regions, "region")
    assert_same_rows(skewkit.skew_join(joined, regions, "region"), plain)


@pytest.mark.slow
def test_a_side_that_was_only_sampled_before_its_join_makes_no_hash_table(chained, spark):
    facts, shops, _ = chained
    more = spark.range(60_000).selectExpr("id % 30000 AS region", "id AS w")
    for known, hashed in (({}, False), ({"strategy": "native"}, True)):  # after a native join the whole is profiled
        joined = skewkit.skew_join(facts, shops, "shop", **known)
        then = skewkit.skew_join(joined, more, "region", strategy="salt")
        assert choice_of(then).hashed == hashed
        assert_same_rows(then, facts.join(shops, "shop").join(more, "region"))
