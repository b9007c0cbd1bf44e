"""A first look at large frames: it finds the hot hashes, and `auto` takes it for an answer only where all is even."""

import pytest
from pyspark.sql import functions as F

import skewkit
from skewkit.spark.keys import find_keys
from skewkit.spark.looking import Glance, look
from skewkit.testing import assert_same_rows
from tests.helpers import conf


@pytest.mark.connect
def test_a_look_finds_what_a_profile_finds(skewed):
    df = skewed(40_000)
    keys = find_keys(df, ["k"])
    (seen,) = look([Glance(df, keys, 0.2, keys.any_null)], 8)
    true = skewkit.skew_profile(df, "k", partitions=8, sample="exact")
    assert [h.hash for h in seen.heavy[:2]] == [h.hash for h in true.heavy[:2]]
    for found, exact in zip(seen.heavy[:2], true.heavy[:2], strict=True):
        assert found.low <= exact.estimate <= found.high
    assert seen.rows == pytest.approx(true.rows, rel=0.05)
    assert seen.nulls == pytest.approx(true.nulls, rel=0.2)
    assert sum(seen.tail) + seen.nulls + sum(h.estimate for h in seen.heavy) == pytest.approx(seen.rows)


def test_nulls_that_match_are_a_key_like_any_other(skewed):
    df = skewed(20_000, nulls=0.4)
    (seen,) = look([Glance(df, find_keys(df, ["k"]), 0.5, None)], 8)
    assert seen.nulls == 0
    assert max(h.estimate for h in seen.heavy) / seen.rows == pytest.approx(0.5, abs=0.05)


@pytest.mark.connect
def test_even_keys_are_left_to_spark_after_a_look(spark):
    even = spark.range(100_000).selectExpr("id % 20000 AS k", "id AS v")
    names = spark.range(20_000).selectExpr("id AS k", "id AS w")
    joined = skewkit.skew_join(even, names, "k", partitions=4)
    assert "from a look" in skewkit.explain(joined)
    hot = even.withColumn("k", F.when(F.col("v") % 3 == 0, 0).otherwise(F.col("k")))
    assert "from a look" not in skewkit.explain(skewkit.skew_join(hot, names, "k", partitions=4))
    many = skewkit.skew_join(names, hot, "k", partitions=4)
    assert "from a look" not in skewkit.explain(many)
    assert_same_rows(many, names.join(hot, "k"))


def test_what_is_not_a_plain_read_is_profiled_at_once(spark):
    """A look brings hashes to the driver, so it is for frames whose size is known."""
    many = spark.range(50_000).selectExpr("explode(sequence(1, 20)) AS n", "id % 20000 AS k")
    names = spark.range(20_000).selectExpr("id AS k", "id AS w")
    with conf(spark, "spark.skewkit.sampleRows", "5000"):
        assert "from a look" not in skewkit.explain(skewkit.skew_join(many, names, "k", partitions=4))
