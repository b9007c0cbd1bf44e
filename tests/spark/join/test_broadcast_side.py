"""A broadcast of a whole side: plain Spark's own join with a hint, where that is cheaper and surely fits."""

import re

import pytest
from pyspark.sql import functions as F

import skewkit
from skewkit.testing import assert_same_rows
from tests.helpers import conf, physical_plan

THRESHOLD = "spark.sql.autoBroadcastJoinThreshold"
SAID = "to a broadcast of the whole {} side"


@pytest.fixture(autouse=True)
def spark_broadcasts_nothing_so_small(spark):
    """Set Spark's own threshold below any frame of these tests; a negative one would forbid all broadcasts."""
    with conf(spark, THRESHOLD, "1"):
        yield


@pytest.fixture(scope="module")
def stored(spark, tmp_path_factory):
    """Return facts with a hot key and null ones, and names of most keys, of which some are there twice."""
    folder = tmp_path_factory.mktemp("sides")
    key = "CASE WHEN id % 3 = 0 THEN 7 WHEN id % 31 = 1 THEN NULL ELSE id % 9000 END"
    frames = {
        "facts": spark.range(60_000).selectExpr(f"{key} AS k", "id AS v", "if(id % 3 = 0, 2, id % 5) AS x"),
        "names": spark.range(8_000).selectExpr(
            "if(id % 50 = 49, id - 1, nullif(id, 3)) AS k", "id AS w", "id % 5 AS x"
        ),
    }
    for name, frame in frames.items():
        frame.write.parquet(str(folder / name))
    return {name: spark.read.parquet(str(folder / name)) for name in frames}


def is_broadcast(joined, side):
    """Return whether a side is broadcast and the other one shuffled for no join."""
    plan = physical_plan(joined)
    broadcast = re.search(rf"BroadcastHashJoin.*Build{side.capitalize()}", plan)
    return broadcast is not None and "Exchange hashpartitioning" not in plan


HOWS = [
    ("inner", "facts"),
    ("left", "facts"),
    ("semi", "facts"),
    ("anti", "facts"),
    ("inner", "names"),
    ("right", "names"),
]


@pytest.mark.every(7)
@pytest.mark.connect
@pytest.mark.parametrize(("how", "left"), HOWS)
def test_every_type_of_join_that_can_have_it(stored, how, left, adaptive):
    left, right = stored[left], stored["names" if left == "facts" else "facts"]
    side = "right" if left is stored["facts"] else "left"
    for on in ("k", ["k", "x"], left["k"].eqNullSafe(right["k"]), (left["k"] == right["k"]) & (left["x"] < right["x"])):
        joined, plain = skewkit.skew_join(left, right, on, how), left.join(right, on, how)
        text = skewkit.explain(joined)
        assert SAID.format(side) in text, text
        assert "strategy   broadcast_side: " in text
        assert re.search(rf"to a broadcast of the whole {side} side, some (8,000|7,999) {side} rows", text), text
        assert re.search(r"cost       a hash table of some [1-9] MB in the driver", text), text
        assert is_broadcast(joined, side), physical_plan(joined)
        assert joined.schema == plain.schema
        assert_same_rows(joined, plain)


@pytest.mark.connect
def test_columns_and_references_stay(stored):
    left, right = stored["facts"].alias("a"), stored["names"].alias("b")
    joined, plain = skewkit.skew_join(left, right, "k"), left.join(right, "k")
    assert SAID.format("right") in skewkit.explain(joined)
    for pick in (lambda f: f.select("b.k", left["x"], right["x"]), lambda f: f.where(right["k"] > 9).select("b.*")):
        assert_same_rows(pick(joined), pick(plain))


@pytest.mark.parametrize("how", ["full", "right"])
def test_a_join_that_keeps_the_small_side_cannot_have_it(stored, how):
    joined = skewkit.skew_join(stored["facts"], stored["names"], "k", how)
    assert "strategy   salt" in skewkit.explain(joined), skewkit.explain(joined)


@pytest.mark.parametrize(
    ("name", "value"), [(THRESHOLD, "-1"), ("spark.skewkit.broadcastSide", "600000"), ("spark.driver.memory", "5m")]
)
def test_not_where_it_is_forbidden_or_too_large(spark, stored, name, value, monkeypatch):
    """8,000 rows of 24 bytes make a table of 768,000; an eighth of a heap of 5 MB is less."""
    if name.startswith("spark.driver"):
        monkeypatch.setattr("skewkit.api.join.strategies.broadcast_side.least_heap", lambda read: 5 << 20)
    else:
        monkeypatch.setattr("skewkit.api.join.strategies.broadcast_side.least_heap", lambda read: 1 << 30)
        spark.conf.set(name, value)
    try:
        joined = skewkit.skew_join(stored["facts"], stored["names"], "k")
        assert "strategy   broadcast_head" in skewkit.explain(joined)
        assert "both frames are read twice" in skewkit.explain(joined)
        assert not is_broadcast(joined, "right")
    finally:
        spark.conf.unset("spark.skewkit.broadcastSide")


def test_a_side_that_may_take_long_is_broadcast_only_by_adaptive_execution(stored, adaptive):
    """Without it a broadcast that takes more than five minutes fails, and who knows how long a group-by takes."""
    names = stored["names"].groupBy("w").agg(F.max("k").alias("k"))
    joined = skewkit.skew_join(stored["facts"], names, "k")
    assert (SAID.format("right") in skewkit.explain(joined)) == (adaptive == "true"), skewkit.explain(joined)
    assert_same_rows(joined, stored["facts"].join(names, "k"))


@pytest.mark.every(3)
@pytest.mark.parametrize("side", ["facts", "names"])
def test_not_beside_hot_rows_that_are_in_one_task_already(stored, side, adaptive):
    """A broadcast would not get them out of it. Where the small side is repartitioned, nothing is in the way."""
    frames = {**stored, side: stored[side].repartition(5, "k")}
    joined = skewkit.skew_join(frames["facts"], frames["names"], "k")
    text = skewkit.explain(joined)
    if side == "facts":
        assert "strategy   native: the left side is repartitioned by the key, so" in text, text
    else:  # without adaptive execution what is shuffled may take too long for a broadcast
        assert (SAID.format("right") in text) == (adaptive == "true"), text
    assert_same_rows(joined, stored["facts"].join(stored["names"], "k"))


def test_not_where_nobody_counted_the_side(stored):
    """A profile that was given may be of another day, and keys that are named say nothing of the other side."""
    given = (
        skewkit.skew_profile(stored["facts"], "k", partitions=8),
        skewkit.skew_profile(stored["names"], "k", partitions=8),
    )
    for more in ({"left_profile": given[0], "right_profile": given[1]}, {"heavy": [7]}):
        joined = skewkit.skew_join(stored["facts"], stored["names"], "k", **more)
        assert "whole" not in skewkit.explain(joined)
        assert not is_broadcast(joined, "right")


def test_broadcasts_of_one_query_share_the_memory(spark, stored, monkeypatch):
    """The second table of a chain may take half of what the first one may."""
    other = stored["names"].selectExpr("k AS x", "w AS u")
    hot = stored["facts"].withColumn("x", F.expr("if(v % 2 = 0, 7, v % 9000)"))
    for heap, broadcasts in ((16 << 20, 2), (9 << 20, 1)):
        monkeypatch.setattr("skewkit.api.join.strategies.broadcast_side.least_heap", lambda read, heap=heap: heap)
        first = skewkit.skew_join(hot, stored["names"].select("k", "w"), "k")
        chained = skewkit.skew_join(first, other, "x")
        assert is_broadcast(first, "right")
        assert physical_plan(chained).count("BroadcastExchange") == broadcasts, skewkit.explain(chained)
        assert_same_rows(chained, hot.join(stored["names"].select("k", "w"), "k").join(other, "x"))
