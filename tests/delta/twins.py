"""Two tables of the same rows: one for the plain MERGE, one for ours."""

from skewkit.testing import assert_same_rows


def read(spark, path):
    return spark.read.format("delta").load(str(path))


def twins(frame, tmp_path, *, partition_by=(), options=()):
    """Write a frame to two tables: the plain MERGE's and ours."""
    paths = []
    for name in ("plain", "ours"):
        writer = frame.coalesce(2).write.format("delta").partitionBy(*partition_by).options(**dict(options))
        path = tmp_path / name
        writer.save(str(path))
        paths.append(str(path))
    return paths


def last(spark, path):
    """Return the last commit's operation, its predicate left out, and its metrics without times, bytes and files."""
    row = spark.sql(f"DESCRIBE HISTORY delta.`{path}` LIMIT 1").collect()[0]
    metrics = {k: v for k, v in row["operationMetrics"].items() if "Rows" in k}
    return row["version"], row["operation"], metrics


def plain_merge(spark, path, source, on, clauses, evolve=False):
    source.createOrReplaceTempView("plain_source")
    evolution = "WITH SCHEMA EVOLUTION " if evolve else ""
    sql = f"MERGE {evolution}INTO delta.`{path}` AS t USING plain_source AS s ON {on} " + " ".join(clauses)
    return spark.sql(sql).collect()


def assert_alike(spark, plain, ours):
    assert_same_rows(read(spark, ours), read(spark, plain))
    assert last(spark, ours) == last(spark, plain)
