"""Frames whose plans are nested deeper than a Connect client copies."""

import pytest
from pyspark.sql import functions as F

from skewkit.hints.running import Runner

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
