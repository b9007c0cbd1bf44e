"""Chains of `skew_join`: the keys of a joined frame are seen in a sample of what was joined, without the join."""

import re
from contextlib import ExitStack

import pytest
from pyspark.sql import functions as F

import skewkit
from skewkit.api.drawing import draw_before_join
from skewkit.spark.compat import explained
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


def profiled(frame, *columns):
    """Return the plan of a sample of a joined frame, or None where the join has to run."""
    drawn = draw_before_join(frame, [F.col(column) for column in columns], 2_000)
    return None if drawn is None else explained(drawn.at(0.1))


def is_drawn_before_the_join(plan):
    """Return whether what is sampled stands below all joins of a plan."""
    logical = plan.partition("== Physical Plan ==")[0].splitlines()
    samples, joins = ([_depth(line) for line in logical if word in line] for word in ("Sample", "Join"))
    return bool(samples) and bool(joins) and min(samples) > max(joins)


def _depth(line):
    return len(line) - len(line.lstrip(" :+-"))


@pytest.mark.every(3)
@pytest.mark.parametrize("how", ["inner", "left", "right", "full"])
def test_a_key_that_a_hot_row_brings_is_seen(chained, how):
    facts, shops, regions = chained
    joined = skewkit.skew_join(facts, shops, "shop", how)
    assert "strategy   native" not in skewkit.explain(joined)
    assert is_drawn_before_the_join(profiled(joined, "region"))
    then = skewkit.skew_join(joined, regions, "region", "left")
    text = skewkit.explain(then)
    assert "strategy   native" not in text
    assert re.search(r"\n +3 +", text), text
    plain = facts.join(shops, "shop", how)
    assert_same_rows(then, plain.join(regions, "region", "left"))
    again = skewkit.skew_join(regions, joined, "region", "left")
    assert "strategy   native" not in skewkit.explain(again)
    assert_same_rows(again, regions.join(plain, "region", "left"))


def test_a_third_join_is_drawn_from_the_first_frame(chained):
    facts, shops, regions = chained
    joined = skewkit.skew_join(skewkit.skew_join(facts, shops, "shop"), regions, "region")
    assert is_drawn_before_the_join(profiled(joined, "day"))
    days = facts.select("day").distinct().withColumn("even", F.col("day") % 2 == 0)
    plain = facts.join(shops, "shop").join(regions, "region")
    assert_same_rows(skewkit.skew_join(joined, days, "day"), plain.join(days, "day"))
    groups = joined.groupBy("region").agg(F.collect_set("v").alias("all"))
    assert_same_rows(
        skewkit.skew_groupby(joined, "region").agg(F.collect_set("v").alias("all")).selectExpr("region", "size(all)"),
        groups.selectExpr("region", "size(all)"),
    )


@pytest.mark.parametrize("how", ["semi", "anti"])
def test_of_a_semi_join_only_the_left_frame_is_sampled(chained, how):
    facts, shops, _ = chained
    few = shops.where("shop < 300")
    for left, right in ((facts, few), (few, facts)):
        joined = skewkit.skew_join(left, right, "shop", how)
        plan = profiled(joined, "shop")
        assert (plan is None) == (left is few)  # so few rows are not sampled at all
    days = facts.select("day").distinct()
    joined = skewkit.skew_join(skewkit.skew_join(facts, few, "shop", how), days, "day")
    assert_same_rows(joined, facts.join(few, "shop", how).join(days, "day"))


def test_where_few_rows_of_either_side_bring_many_the_join_runs(chained):
    facts, shops, _ = chained
    hot_right = facts.selectExpr("if(shop = 7, 8, shop) AS shop", "v AS w")
    assert is_drawn_before_the_join(profiled(skewkit.skew_join(shops, hot_right, "shop"), "region"))
    assert profiled(skewkit.skew_join(facts, hot_right, "shop"), "day") is None
