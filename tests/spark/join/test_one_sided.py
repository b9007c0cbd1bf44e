"""Conditions with a one-sided predicate: what it rules out is spread, in every type of join."""

import re

import pytest
from pyspark.sql import functions as F

import skewkit
from skewkit.testing import assert_same_rows, partition_rows


@pytest.fixture(scope="module")
def frames(spark):
    """Return a left frame whose hot rows a predicate mostly rules out, and a right one with each key twice or not."""
    left = spark.range(0, 4_000, 1, 4).selectExpr("if(id % 10 < 7, 7, if(id % 40 = 39, null, id % 90)) AS k", "id AS v")
    right = spark.range(0, 120, 1, 3).selectExpr("if(id % 30 = 29, null, id % 60) AS key", "id AS w")
    return left, right


@pytest.mark.connect
@pytest.mark.parametrize("how", ["left", "full", "anti"])
def test_rows_are_those_of_plain_spark(frames, how):
    left, right = frames
    equal, safe = left["k"] == right["key"], left["k"].eqNullSafe(right["key"])
    for on in (
        equal & (right["w"] > 40) & (left["v"] % 3 == 0),
        safe & (left["v"] % 2 == right["w"] % 2) & (left["v"] > 5),
    ):
        joined = skewkit.skew_join(left, right, on, how)
        assert_same_rows(joined, left.join(right, on, how))
        text = skewkit.explain(joined)
        assert f"strategy   {'salt' if how == 'full' else 'broadcast_head'}" in text, text


CALLS = {
    # a predicate of the left side -> a type of join, and whether it is known that the predicate cannot fail
    "lower(s) = ' a'": ("left", True),
    "upper(s) <> ' A'": ("full", True),
    "trim(s) = 'A'": ("anti", True),
    "length(s) > 1 AND s IS NOT NULL": ("full", True),
    "month(day) = 3 OR dayofmonth(day) > 25": ("left", True),
    "year(day) = 2023": ("anti", True),
    "startswith(trim(lower(s)), 'a') AND month(day) IN (1, 3)": ("full", True),
    "ltrim(s) = 'A'": ("left", False),
    "quarter(day) = 1": ("full", False),
    "month(at) = 1": ("anti", False),
}


@pytest.mark.every(4)
@pytest.mark.parametrize("call", CALLS)
def test_calls_that_cannot_fail_become_part_of_the_key(frames, call):
    left, right = frames
    left = left.selectExpr(
        "*",
        "if(v % 3 = 0, null, if(v % 3 = 1, ' A', 'bb')) AS s",
        "date_add(date'2023-12-20', int(v % 100)) AS day",
        "timestamp_seconds(v * 10000) AS at",
    )
    on, (how, folded) = (left["k"] == right["key"]) & F.expr(call), CALLS[call]
    joined = skewkit.skew_join(left, right, on, how, partitions=8)
    assert_same_rows(joined, left.join(right, on, how))
    text = skewkit.explain(joined)
    if how == "full" and not folded:
        assert "strategy   native" in text, text
        assert "stay whole: a full join keeps the right side's rows, and the condition is more than" in text, text
    else:
        assert re.search(r"strategy   (salt|broadcast_head)", text), text
        assert ("residual   the rest of the condition" in text) != folded, text


def test_ruled_out_rows_of_a_full_join_are_spread(frames):
    left, right = frames
    on = (left["k"] == right["key"]) & (left["v"] % 10 == 1)
    joined = skewkit.skew_join(left, right, on, "full", strategy="salt", partitions=8)
    rows = partition_rows(joined.where(F.col("k") == 7))
    assert max(rows) <= 0.25 * sum(rows), rows


@pytest.mark.connect
@pytest.mark.parametrize(
    "fails", ["1 div (v - 37) > 0", "v % z > 0", "int(if(v = 37, 'x', v)) > 3", "assert_true(v <> 37) IS NULL"]
)
def test_a_predicate_that_would_fail_is_computed_where_keys_match_and_nowhere_else(spark, frames, fails):
    left, right = frames
    left = left.where("v = 37 OR v % 3 = 0").withColumn("z", F.expr("int(v - 37)"))
    right = right.where(~F.col("key").isin(left.where("v = 37").select("k").first()[0]))
    on = (left["k"] == right["key"]) & F.expr(fails)
    joined = skewkit.skew_join(left, right, on, "left", strategy="salt", partitions=8)
    assert_same_rows(joined, left.join(right, on, "left"))
    assert "strategy   salt" in skewkit.explain(joined)
