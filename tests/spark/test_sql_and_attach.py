"""SQL functions compute the routes of the plan; methods are attached to all frames, or to none."""

import pytest
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

import skewkit
from skewkit import attach
from skewkit.errors import AttachError
from skewkit.plan.placement.key_plan import key_plan
from skewkit.plan.placement.load import group_load
from skewkit.spark.expressions.keys import Names, find_keys
from skewkit.spark.routing.route import with_heavy_index, with_partition

pytestmark = pytest.mark.connect


@pytest.mark.parametrize("scheme", ["wrap", "d_choices", "dkg"])
def test_python_columns_and_sql_take_the_same_routes(spark, skewed, scheme):
    skewkit.register(spark)
    df = skewed(2000).select("k", F.xxhash64("v", "s").alias("row_hash"))
    plan = key_plan(group_load(skewkit.skew_profile(df, "k", partitions=6)), 6, scheme)
    names = Names(df)
    routed = with_partition(with_heavy_index(df, find_keys(df, ["k"]), plan, names), plan, names, F.col("row_hash"))
    by_sql = routed.selectExpr(
        "*", f"skew_route('{plan.to_json()}', xxhash64(k), row_hash) AS by_sql", "xxhash64(k) AS key_hash"
    )
    rows = by_sql.collect()
    assert len(rows) == 2000
    for row in rows:
        expected = plan.partition(row.key_hash, row.row_hash)
        assert row[names("partition")] == row.by_sql == expected
        assert row[names("heavy")] == plan.heavy_index(row.key_hash)


def test_salt_and_bucket(spark):
    assert skewkit.register(spark) == skewkit.register(spark)
    rows = spark.sql(
        "SELECT skew_salt(xxhash64(id), 8) AS salt, skew_bucket(xxhash64(id), 1000) AS bucket, "
        "pmod(xxhash64(id), 8) AS salt_too FROM range(1000)"
    ).collect()
    assert all(row.salt == row.salt_too for row in rows)
    assert {row.salt for row in rows} == set(range(8))
    assert all(0 <= row.bucket < 1000 for row in rows)


def test_install_attaches_and_uninstall_detaches(spark):
    df = spark.range(10)
    assert not hasattr(type(df), "skew_join")
    skewkit.install()
    skewkit.install()
    try:
        assert df.skew_profile("id", partitions=2).rows == 10
        assert df.skew_join(df.withColumn("x", F.lit(1)), "id").count() == 10
        assert df.skew_groupby("id").count().count() == 10
        assert df.skew_window("id", "id").select(rn=F.row_number()).count() == 10
    finally:
        skewkit.uninstall()
        skewkit.uninstall()
    assert not hasattr(type(df), "skew_join")


def test_install_refuses_a_taken_name_and_attaches_nothing(monkeypatch):
    monkeypatch.setattr(DataFrame, "skew_join", lambda self: None, raising=False)
    with pytest.raises(AttachError, match="skew_join"):
        skewkit.install()
    assert not hasattr(DataFrame, "skew_groupby")
    assert set(attach.METHODS) == {"skew_profile", "skew_groupby", "skew_join", "skew_window", "skew_asof_join"}
