"""Frames whose plans are nested deeper than a Connect client copies."""

import pytest
from pyspark.sql import functions as F

import skewkit
from skewkit.hints.running import Runner
from skewkit.spark.session.compat import explained
from skewkit.testing import assert_same_rows

pytestmark = pytest.mark.connect

STEPS = 70


def deep(spark):
    """Return a frame of 20 rows whose plan has 70 steps of two messages each."""
    frame = spark.range(20)
    for step in range(STEPS):
        frame = frame.where(F.col("id") >= -step)
    return frame


def test_a_query_over_a_deep_plan(spark):
    runner = Runner(spark)
    frame = runner.query(f"SELECT id + 1 AS n FROM {runner.add(deep(spark))}")
    assert sorted(row.n for row in frame.collect()) == list(range(1, 21))


def test_a_command_over_a_deep_plan_runs_once(spark, tmp_path):
    table = f"deep_{tmp_path.name.replace('-', '_')}"
    spark.sql(f"CREATE TABLE {table} (id BIGINT) USING parquet LOCATION '{tmp_path}/t'")
    try:
        runner = Runner(spark)
        runner.run(f"INSERT INTO {table} SELECT * FROM {runner.add(deep(spark))}")
        assert sorted(row.id for row in spark.table(table).collect()) == list(range(20))
    finally:
        spark.sql(f"DROP TABLE {table}")


def test_a_join_of_a_deep_plan(spark):
    left, right = deep(spark), spark.range(10).selectExpr("id", "id * 2 AS w")
    views = {row.viewName for row in spark.sql("SHOW VIEWS").collect()}
    assert "Range" in explained(left)
    for strategy in ("auto", "salt"):
        assert_same_rows(skewkit.skew_join(left, right, "id", strategy=strategy), left.join(right, "id"))
    assert {row.viewName for row in spark.sql("SHOW VIEWS").collect()} == views
