"""`skew_profile` on Spark: counts, bounds, nulls, types, one query."""

from collections import Counter
from dataclasses import asdict

import pytest
from pyspark.sql import functions as F

import skewkit
from skewkit.errors import ArgumentError, ArgumentTypeError, ColumnNotFoundError, KeyTypeError
from skewkit.spark.expressions.keys import find_keys
from skewkit.spark.sampling.profiling import Task, grouped
from skewkit.spark.session.jobs import counted
from tests.compare import canonical
from tests.helpers import conf, physical_plan

pytestmark = pytest.mark.connect
N = 8


def counts(df, *keys):
    return {tuple(row[:-1]): row[-1] for row in df.groupBy(*keys).count().collect()}


@pytest.mark.every(3)
@pytest.mark.parametrize("keys", [("k",), ("k", "s")])
def test_exact_profile_counts(skewed, keys, adaptive):
    df = skewed()
    truth = counts(df, *keys)
    profile = skewkit.skew_profile(df, *keys, sample="exact", partitions=N)
    assert not profile.sampled
    assert profile.rows == sum(truth.values())
    assert profile.nulls == sum(n for key, n in truth.items() if None in key)
    heavy = {key: n for key, n in truth.items() if None not in key and n >= profile.rows / (5 * N)}
    assert {h.key: h.estimate for h in profile.heavy} == heavy
    assert all(h.low == h.estimate == h.high for h in profile.heavy)
    assert [h.estimate for h in profile.heavy] == sorted(heavy.values(), reverse=True)
    assert sum(h.estimate for h in profile.heavy) + sum(profile.tail) + profile.nulls == profile.rows
    assert all(n <= profile.unlisted for key, n in truth.items() if None not in key and key not in heavy)
    assert skewkit.KeyProfile.from_json(profile.to_json()) == profile


def test_sampled_bounds_hold(spark):
    df = spark.range(200_000).selectExpr("cast(pow(1000, (id % 9973) / 9973) as int) k")
    truth = counts(df, "k")
    profile = skewkit.skew_profile(df, "k", sample=0.1, partitions=N)
    assert profile.sampled
    assert profile.heavy
    assert profile.rows == pytest.approx(200_000, rel=0.05)
    for h in profile.heavy:
        assert h.low <= truth[h.key] <= h.high
        assert h.low <= h.estimate <= h.high
    assert max(n for key, n in truth.items() if key not in {h.key for h in profile.heavy}) <= profile.unlisted


def test_auto_reads_small_frames_whole_and_samples_large_ones(spark):
    assert not skewkit.skew_profile(spark.range(1000), "id", partitions=N).sampled
    large = spark.range(3_000_000).selectExpr("if(id % 3 = 0, 0, id) k")
    profile = skewkit.skew_profile(large, "k", partitions=N)
    assert profile.sampled
    assert 0 < profile.fraction < 0.1
    (hot,) = profile.heavy
    assert hot.key == (0,)
    assert hot.low <= 1_000_000 <= hot.high


def test_a_sample_that_came_out_too_small_is_taken_again(spark):
    few = spark.range(5_000_000).where("id % 100000 = 0").selectExpr("1 k")
    profile = skewkit.skew_profile(few, "k", partitions=N)
    assert profile.rows == 50


def test_one_query_and_one_pass(spark, skewed, connect):
    if connect:
        pytest.skip("the job tracker is of classic sessions")
    df = skewed()
    context = spark.sparkContext
    with_stages = spark.sql("EXPLAIN SELECT 1")  # nothing else runs while the group is set
    with_stages.collect()
    context.setJobGroup("profile", "profile")
    skewkit.skew_profile(df, "k", partitions=N)
    context.setJobGroup("other", "other")
    jobs = context.statusTracker().getJobIdsForGroup("profile")
    # Adaptive execution submits every shuffle of a query as a job of its own: one for the rows, one for the buckets.
    assert len(jobs) <= 4


@pytest.mark.every(2)
@pytest.mark.parametrize(
    "values",
    [
        "date'2024-01-01'",
        "X'00FF'",
        "1.50BD",
        "true",
        "array(1, null)",
        "named_struct('a', 1, 'b', null)",
        "double('NaN')",
    ],
)
def test_keys_of_every_type(spark, values):
    df = spark.range(100).selectExpr(f"if(id < 70, {values}, null) k")
    profile = skewkit.skew_profile(df, "k", partitions=N)
    assert profile.nulls == 30
    (hot,) = profile.heavy
    assert (hot.low, hot.estimate, hot.high) == (70, 70, 70)
    assert profile.share(*hot.key) == 0.7
    again = skewkit.KeyProfile.from_json(profile.to_json())
    assert canonical(asdict(again)) == canonical(asdict(profile))  # to which NaN is NaN


def test_weights(spark):
    df = spark.range(100).selectExpr("if(id = 0, 'rare', 'usual') k", "if(id = 0, 900.0, if(id = 1, null, 1.0)) w")
    profile = skewkit.skew_profile(df, "k", weight="w", partitions=N)
    assert profile.heavy[0].key == ("rare",)
    assert profile.share("rare") == pytest.approx(900 / 998)
    assert profile.weight == "w"
    by_column = skewkit.skew_profile(df, "k", weight=F.col("w") * 2, partitions=N)
    assert by_column.rows == pytest.approx(2 * 998)


def test_a_session_that_leaves_the_columns_of_groups_out(spark, skewed):
    expected = skewkit.skew_profile(skewed(), "k", "s", sample="exact", partitions=N)
    with conf(spark, "spark.sql.retainGroupColumns", "false"):
        assert skewkit.skew_profile(skewed(), "k", "s", sample="exact", partitions=N) == expected


def test_merge_is_the_profile_of_the_union(skewed):
    first, second = skewed(hot=0.5), skewed(hot=0.2, tail=50)
    merged = skewkit.skew_profile(first, "k", partitions=N).merge(skewkit.skew_profile(second, "k", partitions=N))
    truth = Counter(counts(first, "k")) + Counter(counts(second, "k"))
    for h in merged.heavy:
        assert h.low <= truth[h.key] <= h.high


def test_empty_frames_and_null_keys(spark):
    empty = skewkit.skew_profile(spark.range(0), "id", partitions=N)
    assert (empty.rows, empty.heavy, empty.nulls) == (0, (), 0)
    nulls = skewkit.skew_profile(spark.range(10).selectExpr("cast(null as int) k"), "k", partitions=N)
    assert (nulls.rows, nulls.heavy, nulls.nulls) == (10, (), 10)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"keys": ["kk"]}, ColumnNotFoundError, "did you mean 'k'"),
        ({"keys": []}, ArgumentError, "at least one"),
        ({"keys": [3]}, ArgumentTypeError, "not int"),
        ({"keys": ["m"]}, KeyTypeError, "to_json"),
        ({"keys": ["k"], "sample": "some"}, ArgumentError, "'exact'"),
        ({"keys": ["k"], "sample": 0.0}, ArgumentError, "above 0"),
        ({"keys": ["k"], "sample": 1.5}, ArgumentError, "at most 1"),
        ({"keys": ["k"], "partitions": -1}, ArgumentError, "at least 1"),
        ({"keys": ["k"], "weight": "ww"}, ColumnNotFoundError, "`ww`"),
    ],
)
def test_bad_input(spark, arguments, error, message):
    df = spark.range(3).selectExpr("id k", "map(1, id) m")
    keys = arguments.pop("keys")
    with pytest.raises(error, match=message):
        skewkit.skew_profile(df, *keys, **arguments)


def test_both_branches_of_a_profile_read_the_frame_once(spark, skewed):
    df = skewed(1000)
    with conf(spark, "spark.sql.adaptive.enabled", "false"):
        plan = physical_plan(grouped(Task(df, find_keys(df, ["k"]), 1.0), 8, 256))
    assert "ReusedExchange" in plan, plan


@pytest.mark.parametrize(("kept", "queries"), [("true", 1), ("id % 100 = 0", 2)])
def test_a_sample_of_a_filtered_frame_is_taken_again_once(spark, kept, queries):
    df = spark.range(40_000).where(kept).selectExpr("id % 3 AS k")
    with conf(spark, "spark.skewkit.sampleRows", "500"), counted() as used:
        profile = skewkit.skew_profile(df, "k", partitions=2)
    assert used.jobs == queries
    assert profile.rows == pytest.approx(df.count(), rel=0.3)
