"""Conditions with a one-sided predicate: what it rules out is spread, in every type of join."""

import re

import pytest
from pyspark.sql import functions as F

import skewkit
from skewkit.spark.session.compat import is_connect
from skewkit.testing import assert_same_rows, partition_rows
from tests.helpers import conf


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
        # On Connect a union of two branches would hide the frames' columns from `left["v"]`.
        salted = how == "full" or is_connect(left)
        assert f"strategy   {'salt' if salted else 'broadcast_head'}" in text, text


CALLS = {
    # a type of join, and whether it is known that the predicates of the left side cannot fail
    ("left", True): ["lower(s) = ' a'", "month(day) = 3 OR dayofmonth(day) > 25"],
    ("anti", True): ["trim(s) = 'A'", "year(day) = 2023", "month(at) = 1"],
    ("full", True): [
        "upper(s) <> ' A'",
        "length(s) > 1 AND s IS NOT NULL",
        "startswith(trim(lower(s)), 'a') AND month(day) IN (1, 3)",
        "quarter(day) = 1",
    ],
    ("left", False): ["ltrim(s) = 'A'"],
    ("full", False): ["hour(day) = 0"],
    ("anti", False): ["add_months(day, 1) > day"],
}


@pytest.mark.every(4)
@pytest.mark.parametrize(
    ("how", "folded", "call"), [(*case, call) for case, calls in CALLS.items() for call in calls], ids=str
)
def test_calls_that_cannot_fail_become_part_of_the_key(frames, how, folded, call):
    left, right = frames
    left = left.selectExpr(
        "*",
        "if(v % 3 = 0, null, if(v % 3 = 1, ' A', 'bb')) AS s",
        "date_add(date'2023-12-20', int(v % 100)) AS day",
        "timestamp_seconds(v * 10000) AS at",
    )
    on = (left["k"] == right["key"]) & F.expr(call)
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


OF_TYPES = [
    "x / 3 + abs(-x) > 100 AND (name LIKE 'a%' OR NOT name LIKE '%8')",
    "day >= current_date() - 7 AND CASE WHEN name LIKE 'b%' THEN year(at) = 2024 ELSE price >= 3 AND at < now() END",
]


@pytest.mark.parametrize("how", ["inner", "left", "right", "full"])
@pytest.mark.parametrize("predicate", OF_TYPES)
def test_a_predicate_whose_types_say_that_it_cannot_fail(frames, how, predicate):
    left, right = frames
    left = left.selectExpr(
        *("*", "v / 4.0D AS x", "concat(if(v % 7 < 5, 'a', 'b'), v) AS name", "cast(v / 100 AS decimal(9,2)) AS price"),
        *("date_add(current_date(), int(v % 11) - 9) AS day", "timestamp '2024-01-01 00:00:00' AS at"),
    )
    on = (left["k"] == right["key"]) & F.expr(predicate)
    joined = skewkit.skew_join(left, right, on, how, partitions=8, heavy=[7], strategy="salt")
    assert "strategy   salt" in skewkit.explain(joined)
    assert "the condition is more than" not in skewkit.explain(joined)
    assert "compared with each pair" not in skewkit.explain(joined)
    columns = ("k", "v", "key", "w")
    assert_same_rows(joined.select(*columns), left.join(right, on, how).select(*columns))


@pytest.mark.parametrize("ansi", ["true", "false"])
def test_whole_numbers_overflow_in_ansi_mode_alone(spark, frames, ansi):
    left, right = frames
    left = left.withColumn("most", F.expr("if(v = 68, 2147483647, int(v))"))  # its key is on the left alone
    with conf(spark, "spark.sql.ansi.enabled", ansi):
        on = (left["k"] == right["key"]) & (left["most"] + 1 > 0)
        joined = skewkit.skew_join(left, right, on, "full", partitions=8)
        said = "the condition is more than an equality of keys" in skewkit.explain(joined)
        assert said == (ansi == "true")
        assert_same_rows(joined, left.join(right, on, "full"))


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
