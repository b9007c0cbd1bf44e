"""Profiles and named keys of joins are only hints: stale, foreign or wrong, the rows are plain Spark's.

Named keys are treated by the cheapest strategy; a query says which, where it may pay.
"""

import re

import pytest
from pyspark.sql import functions as F

import skewkit
from skewkit import KeyProfile, explain, skew_join, skew_profile
from skewkit.errors import ArgumentError, ColumnNotFoundError, UnsupportedError
from skewkit.plan import costs
from skewkit.spark.explained.plan_facts import PlanFacts
from skewkit.spark.session.jobs import counted
from skewkit.testing import assert_same_rows, partition_rows
from tests.compare import assert_equal_rows, collected
from tests.helpers import KINDS, assert_split, conf, explained, hot_frames
from tests.spark.join.cases import check

PROFILES = {
    "stale": lambda f: skew_profile(f.withColumn("k", F.col("k") + 1), "k", partitions=3),
    "of strings": lambda f: skew_profile(f.selectExpr("concat('x', k) AS k"), "k", partitions=3),
    "two keys that cast to one": lambda f: skew_profile(f.selectExpr("if(v % 2 = 0, 1.25D, 1.5D) AS k"), "k"),
    "of dates": lambda f: skew_profile(f.selectExpr("date_add(DATE'2020-01-01', int(k)) AS k"), "k", partitions=3),
    "empty": lambda f: skew_profile(f.where("false"), "k"),
    "forgotten": lambda f: skew_profile(f, "k").decay(0),
    "merged": lambda f: skew_profile(f, "k", partitions=100).merge(skew_profile(f, "k", partitions=3)),
    "from JSON": lambda f: KeyProfile.from_json(skew_profile(f, "k", partitions=3).to_json()),
    "infinite weight": lambda f: skew_profile(f.withColumn("i", F.lit(float("inf"))), "k", weight="i", partitions=3),
}


@pytest.mark.every(5)
@pytest.mark.parametrize("profile", PROFILES)
def test_a_profile_is_only_a_hint(facts, dims, profile):
    check(facts, dims, "k", left_profile=PROFILES[profile](facts))


def test_a_profile_that_promises_few_rows_does_not_make_a_huge_broadcast(spark, facts, dims):
    """The profile is of one row per key, and by now the right side has more of them than may be broadcast."""
    profiles = {"left_profile": skew_profile(facts, "k"), "right_profile": skew_profile(dims, "k")}
    many = dims.unionAll(dims.selectExpr("0L AS k", "w", "x", "s"))
    with conf(spark, "spark.skewkit.broadcastRows", "20"):
        joined = skew_join(facts, dims, "k", partitions=3, strategy="broadcast_head", **profiles)
        assert "strategy   broadcast_head" in explain(joined)
        joined = skew_join(facts, many, "k", partitions=3, **profiles)
        assert "strategy   salt" in explain(joined)
        assert "nobody has counted the other side's rows" in explain(joined)
        assert_same_rows(joined, facts.join(many, "k"))
        with pytest.raises(UnsupportedError, match="not what its profile says"):
            skew_join(facts, many, "k", partitions=3, strategy="broadcast_head", **profiles)


@pytest.mark.every(3)
@pytest.mark.parametrize("heavy", [[0, 12345, None], [], [12345], [0, 0.0]], ids=str)
def test_named_keys_are_only_a_hint(facts, dims, heavy):
    check(facts, dims, "k", heavy=heavy)


@pytest.mark.connect
def test_a_key_that_is_named_is_spread_where_it_is_hot(spark):
    facts = spark.range(20_000).selectExpr("if(id % 2 = 0, 0, id % 90) AS k", "id AS v")
    dims = spark.range(90).selectExpr("id AS k", "id AS w")
    for how in ("inner", "left"):
        joined = skew_join(dims, facts, "k", how, heavy=[0], partitions=8)
        assert max(partition_rows(joined)) < 5_000
        assert_same_rows(joined, dims.join(facts, "k", how))


def test_a_named_key_with_several_rows_on_the_other_side_is_broadcast(spark):
    facts = spark.range(2_000).selectExpr("if(id % 2 = 0, 0, id % 20) AS k", "id AS v")
    dims = spark.range(40).selectExpr("id % 20 AS k", "id AS w")
    assert check(facts, dims, "k", "inner", "broadcast_head", heavy=[0]) == 4_000
    joined = skew_join(facts, dims, "k", strategy="broadcast_head", heavy=[0], partitions=3)
    assert "BroadcastHashJoin" in explained(joined)
    with (
        pytest.raises(UnsupportedError, match="too many rows on the right side"),
        conf(spark, "spark.skewkit.broadcastRows", "30"),
    ):
        skew_join(dims, facts, "k", strategy="broadcast_head", heavy=[0], partitions=3)


def test_a_named_key_is_broadcast_to_the_left_frame_only(spark):
    facts = spark.range(2_000).selectExpr("if(id % 2 = 0, 0, id % 20) AS k", "id AS v")
    dims = spark.range(20).selectExpr("id AS k", "id AS w")
    with pytest.raises(UnsupportedError, match="nobody knows how many rows the keys that were named have there"):
        skew_join(dims, facts, "k", "right", strategy="broadcast_head", heavy=[0], partitions=3)


def test_explain_says_which_keys_of_a_profile_are_lost(facts, dims):
    profile = skew_profile(facts.selectExpr("concat('x', k) AS k"), "k", partitions=3)
    joined = skew_join(facts, dims, "k", strategy="salt", left_profile=profile, partitions=3)
    lost = len(profile.heavy)
    assert f"{lost} of the {lost} heavy keys of the left profile are not known as string cast to" in explain(joined)


def test_a_profile_of_a_day_makes_no_hash_table_of_the_year(spark):
    """A hash table cannot spill: profiles that were given may say less than there is."""
    facts = spark.range(400_000).selectExpr("if(id % 2 = 0, 0, id % 20000) AS k", "id AS v")
    dims = spark.range(20_000).selectExpr("id AS k", "id AS w")
    left, right = (skew_profile(frame, "k") for frame in (facts, dims))
    day = left.decay(1 / 365)
    with conf(spark, "spark.skewkit.hashJoinRows", "60000"), conf(spark, "spark.sql.autoBroadcastJoinThreshold", "-1"):
        for known, operator in ((left, "ShuffledHashJoin"), (day, "SortMergeJoin")):
            joined = skew_join(facts, dims, "k", strategy="salt", left_profile=known, right_profile=right, partitions=4)
            assert PlanFacts(joined).top_join() == operator
        unseen = facts.join(dims, "k").select("k", "v")
        joined = skew_join(dims, unseen, "k", strategy="salt", left_profile=right, right_profile=day, partitions=4)
        assert PlanFacts(joined).top_join() == "SortMergeJoin"


def test_a_semi_join_is_found_below_the_joins_that_it_is_moved_under(facts, dims):
    other = dims.select(F.col("k").alias("j"), F.col("k").alias("more"))
    both = facts.join(F.broadcast(other), facts["k"] == other["j"])
    semi = both.join(dims.hint("merge"), "k", "semi")
    assert PlanFacts(semi).top_join() == "BroadcastHashJoin"
    assert PlanFacts(semi).top_join("semi") == "SortMergeJoin"


def test_a_sample_that_the_driver_has_no_room_for_leaves_the_join_to_spark(spark):
    facts = spark.range(40_000).selectExpr("repeat(string(if(id % 2 = 0, 0, id)), 40) AS k", "id AS v")
    dims = spark.range(4_000).selectExpr("repeat(string(id), 40) AS k", "id AS w")
    most = spark.sparkContext._jsc.sc().conf()
    before = most.get("spark.driver.maxResultSize", "1g")
    most.set("spark.driver.maxResultSize", "60k")
    try:
        joined = skew_join(facts, dims, "k", partitions=64)
    finally:
        most.set("spark.driver.maxResultSize", before)
    assert "the keys could not be profiled" in explain(joined)
    assert_same_rows(joined, facts.join(dims, "k"))


def test_explain_invents_no_numbers_for_keys_that_were_named(spark):
    facts = spark.range(9000).selectExpr("id % 900 AS k", "id AS v")
    dims = spark.range(900).selectExpr("id AS k", "id AS w")
    for strategy, heavy in (("broadcast_head", [0, 1, 2]), ("salt", [0]), ("salt", list(range(8)))):
        said = explain(skew_join(facts, dims, "k", "left", heavy=heavy, strategy=strategy, partitions=8))
        assert "these keys were given as hot" in said
        assert not re.search(r"times the mean|00\.0%|rows are sent again|some \d", said.split("  note")[0]), said


@pytest.mark.every(3)
@pytest.mark.parametrize("how", ["left", "full", "anti", "right"])
def test_null_keys_are_spread_where_the_user_names_the_hot_keys(spark, how):
    """Nobody has counted the nulls then."""
    rows = spark.range(8_000).selectExpr("CASE id % 4 WHEN 0 THEN null WHEN 1 THEN id % 90 ELSE 0L END AS k", "id AS v")
    dims = spark.range(90).selectExpr("id AS k", "id AS w")
    left, right = (dims, rows) if how == "right" else (rows, dims)
    joined = skew_join(left, right, "k", how, heavy=[0], partitions=8)
    spread = partition_rows(joined.where("k IS NULL"))
    assert sum(spread) == 2_000
    assert max(spread) < 500
    assert_same_rows(joined, left.join(right, "k", how))


def test_what_spark_broadcasts_is_left_to_it_though_keys_are_named(spark, facts, dims):
    with conf(spark, "spark.sql.autoBroadcastJoinThreshold", "10MB"):
        joined = skew_join(facts, dims, "k", heavy=[0], partitions=3)
        assert "native: Spark broadcasts one side" in explain(joined)
        assert "strategy   salt" in explain(skew_join(facts, dims, "k", heavy=[0], partitions=3, strategy="salt"))


@pytest.mark.every(2)
@pytest.mark.parametrize("how", ["left", "right", "full"])
def test_nulls_that_a_profile_of_another_day_has_not_are_spread(spark, how):
    def rows(name):
        return spark.range(0, 4000, 1, 4).selectExpr("if(id % 2 = 0, NULL, id % 50) AS k", f"id AS {name}")

    left, right = rows("v"), rows("w")
    profiles = [skew_profile(f.where("k IS NOT NULL"), "k", partitions=4) for f in (left, right)]
    given = {"left_profile": profiles[0], "right_profile": profiles[1]}
    joined = skew_join(left, right, "k", how, strategy="salt", partitions=4, **given)
    alone = joined.where("v IS NULL OR w IS NULL").select(F.spark_partition_id().alias("p")).groupBy("p").count()
    spread = [row["count"] for row in alone.collect()]
    assert len(spread) == 4
    assert max(spread) < 1.5 * sum(spread) / 4
    check(left, right, "k", how, **given)


@pytest.mark.every(7)
@pytest.mark.parametrize("how", KINDS)
@pytest.mark.parametrize("case", ["left, absent right", "right, absent left"])
def test_a_profile_that_is_wrong_about_presence_changes_no_row(skewed, how, case):
    """The profile says that both sides are hot in key 0, and the rows say something else."""
    left, right = hot_frames(skewed, case)
    wrong = skewkit.skew_profile(skewed(2000, hot=0.7), "k", partitions=8)
    joined = skewkit.skew_join(left, right, "k", how, strategy="salt", left_profile=wrong, right_profile=wrong)
    assert_split(joined)
    assert_same_rows(joined, left.join(right, "k", how))


@pytest.mark.every(7)
@pytest.mark.parametrize("how", KINDS)
@pytest.mark.parametrize("side", ["left", "right"])
def test_a_key_that_the_profile_denies_is_found(skewed, how, side):
    """The profiles say that the hot key is not on the other side, and it is."""
    before = hot_frames(skewed, f"{side}, absent {'right' if side == 'left' else 'left'}")
    left, right = hot_frames(skewed, side)
    profiles = dict(zip(("left_profile", "right_profile"), (skewkit.skew_profile(f, "k") for f in before), strict=True))
    joined = skewkit.skew_join(left, right, "k", how, strategy="salt", **profiles)
    assert_split(joined)
    assert_same_rows(joined, left.join(right, "k", how))


def test_hot_placeholders_on_either_side_are_named(sales, dimension):
    for left, right in ((sales, dimension), (dimension, sales)):
        text = skewkit.explain(skewkit.skew_join(left, right, "k", strategy="salt"))
        assert "note       0 may stand for no value" in text
        assert re.search(r"\n +0 .*\(a placeholder\?\)", text), text


def test_hot_texts_that_stand_for_no_value_are_named(spark):
    text = "CASE id % 4 WHEN 0 THEN '' WHEN 1 THEN 'unknown' ELSE concat('x', id) END AS s"
    left, right = spark.range(4000).selectExpr(text), spark.range(900).where("id % 4 > 1").selectExpr(text, "id AS w")
    shown = skewkit.explain(skewkit.skew_join(left, right, "s", "left"))
    assert "strategy   native" not in shown, shown
    assert re.search("note       ('' and 'unknown'|'unknown' and '') may stand for no value", shown), shown
    assert len(re.findall(r"\(a placeholder\?\)", shown)) == 2, shown


@pytest.mark.every(5)
@pytest.mark.parametrize("how", ["inner", "left"])
@pytest.mark.parametrize("strategy", ["salt", "broadcast_head"])
def test_any_profile_gives_the_same_rows(spark, sales, dimension, how, strategy):
    true = skewkit.skew_profile(sales, "k")
    old = skewkit.skew_profile(spark.range(50).selectExpr("id % 3 + 5 k"), "k", partitions=3)
    other_type = skewkit.skew_profile(spark.range(50).selectExpr("cast(0 as int) k"), "k")
    expected = sales.join(dimension, "k", how)
    for profile in (true, old, other_type, true.merge(old) if len(true.tail) >= len(old.tail) else true, true.decay(0)):
        joined = skewkit.skew_join(sales, dimension, "k", how, strategy=strategy, left_profile=profile)
        assert_same_rows(joined, expected)


@pytest.mark.connect
def test_a_skew_hint_on_a_frame_names_hot_keys(sales, dimension):
    for left, right in (
        (sales.hint("skew", "k", 0), dimension),
        (sales, dimension.hint("SKEW", "K", [0, 1])),
        (sales.hint("skew", F.col("k"), 0), dimension),
    ):
        joined = skewkit.skew_join(left, right, "k", "left")
        assert "these keys were given as hot" in skewkit.explain(joined)
        assert skewkit.decisions()[-1].jobs == 0
        assert_same_rows(joined, sales.join(dimension, "k", "left"))
    of_another = skewkit.skew_join(sales.hint("skew", "s", "x"), dimension, "k", "left")
    assert "named" not in skewkit.explain(of_another)
    for value, said in (("x", "'x' is no int"), (1.5, "1.5 is no int"), ([0, 1 << 40], "is no int")):
        with pytest.raises(ArgumentError, match=said):
            skewkit.skew_join(sales.selectExpr("int(k) AS k").hint("skew", "k", value), dimension, "k", "left")
    with pytest.raises(ColumnNotFoundError, match="did you mean 'k'"):
        skewkit.skew_join(sales.hint("skew", "kk", 0), dimension, "k", "left")


@pytest.fixture
def halved(spark):
    """Return facts of which half have key 0, and others with every key three times."""
    facts = spark.range(6_000).selectExpr("if(id % 2 = 0, 0, id % 700) AS k", "id AS v")
    dims = spark.range(2_100).selectExpr("id % 700 AS k", "id AS w")
    return facts, dims


@pytest.fixture
def always_weighed(monkeypatch):
    """Weigh the strategies of frames of any size."""
    monkeypatch.setattr(costs, "ODDS", 0.0)


def test_small_joins_are_salted_without_a_query(halved):
    with counted() as used:
        joined = skew_join(*halved, "k", heavy=[0], partitions=4)
    assert used.jobs == 0
    assert "strategy   salt" in explain(joined)


@pytest.mark.parametrize(
    ("strategy", "threshold", "rows"),
    [("broadcast_side", "1", "0"), ("broadcast_head", "-1", "100"), ("salt", "-1", "2")],
)
def test_the_cheapest_strategy_is_taken(spark, halved, always_weighed, strategy, threshold, rows):
    """Without a side that may be broadcast it is `broadcast_head`, and `salt` where key 0 has more than `rows` rows."""
    with (
        conf(spark, "spark.sql.autoBroadcastJoinThreshold", threshold),
        conf(spark, "spark.skewkit.broadcastRows", rows),
        counted() as used,
    ):
        joined = skew_join(*halved, "k", heavy=[0], partitions=4)
    assert used.jobs == 1
    assert f"strategy   {strategy}" in explain(joined)
    assert "these keys were given as hot; expected on" in explain(joined)
    assert_equal_rows(collected(joined), collected(halved[0].join(halved[1], "k")))


@pytest.mark.parametrize("how", KINDS)
def test_the_rows_are_plain_sparks(halved, always_weighed, how):
    for left, right in (halved, halved[::-1]):
        joined = skew_join(left, right, "k", how, heavy=[0], partitions=4)
        assert_equal_rows(collected(joined), collected(left.join(right, "k", how)))


def test_a_key_that_is_not_found_to_be_hot_is_treated_as_the_user_says(halved, always_weighed):
    facts, dims = halved
    said = explain(skew_join(facts, dims, "k", heavy=[0, 5], partitions=4))
    assert "strategy   salt: these keys were given as hot; a sample of the keys does not find 5 to be hot" in said
    assert "nobody has counted the keys that were named" in said
    assert "expected on" not in said


def test_frames_of_unknown_size_are_salted(spark, halved, always_weighed):
    facts, dims = halved
    unknown = spark.createDataFrame(facts.limit(100).rdd)
    assert "expected on" not in explain(skew_join(unknown, dims, "k", heavy=[0], partitions=4))


@pytest.mark.connect
@pytest.mark.parametrize(
    ("how", "spread"), [("inner", False), ("left", False), ("anti", False), ("right", True), ("full", True)]
)
def test_a_key_that_a_side_cannot_have_is_spread_only_where_the_others_rows_are_returned(spark, how, spread):
    small = spark.range(0, 6_000, 1, 4).selectExpr("tinyint(if(id % 2 = 0, 0, id % 100)) AS k", "id AS v")
    large = spark.range(0, 900, 1, 4).selectExpr("if(id % 2 = 0, 300, id % 100) AS k", "id AS w")
    joined = skew_join(small, large, "k", how, heavy=[300], partitions=4)
    said = explain(joined)
    assert ("strategy   salt" in said) == spread
    if not spread:
        assert "native: of the keys that were named, the join has no row to spread" in said
        assert "300 is no value of the left key, which is tinyint: it matches nothing, and is not spread" in said
    assert_equal_rows(collected(joined), collected(small.join(large, "k", how)))
    both = skew_join(small, large, "k", how, heavy=[0, 300], partitions=4)
    assert "strategy   salt" in explain(both)
    assert_equal_rows(collected(both), collected(small.join(large, "k", how)))


@pytest.mark.parametrize(
    ("types", "value"), [(("int", "bigint"), 1 << 70), (("int", "bigint"), 1.5), (("tinyint", "int"), 1 << 31)]
)
def test_a_key_that_neither_side_can_have_is_an_error(spark, types, value):
    left, right = (spark.range(9).selectExpr(f"{type_}(id) AS k") for type_ in types)
    with pytest.raises(
        ArgumentError, match=f"no value of the key column 'k', which is {types[0]}, compared as {types[1]}"
    ):
        skew_join(left, right, "k", heavy=[0, value])
