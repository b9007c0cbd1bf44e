"""Two tables of the same rows, one for the plain MERGE and one for ours; random rows of both sides of a MERGE."""

import random

from pyspark.sql import functions as F

from skewkit.testing import assert_same_rows

TYPES = {
    "bigint": "cast(k AS bigint)",
    "string": "string(k)",
    "double": "double(k)",
    "decimal(12,2)": "cast(k AS decimal(12,2))",
    "date": "date_add(date'2024-01-01', k)",
    "timestamp": "timestamp_seconds(k)",
    "binary": "binary(string(k))",
    "struct<a:string>": "if(k IS NULL, null, struct(string(k) AS a))",
    "array<string>": "if(k IS NULL, null, array(string(k)))",
}
MORE_TYPES = {
    "tinyint": "tinyint(k)",
    "boolean": "k % 2 = 0",
    "float": "float(k)",
    "timestamp_ntz": "timestamp_ntz'2024-01-01' + make_dt_interval(k)",
    "NaN and zeros": "CASE k WHEN 30 THEN double('NaN') WHEN 25 THEN double('{zero}') ELSE double(k) END",
}
"""Intervals, times of day and collated strings are none of Delta 4.4's types."""


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


def changes(spark, path):
    """Return a table's change data feed since it was first written, without times."""
    feed = spark.read.format("delta").option("readChangeFeed", "true").option("startingVersion", "0").load(str(path))
    return feed.drop("_commit_timestamp")


def plain_merge(spark, path, source, on, clauses, evolve=False):
    source.createOrReplaceTempView("plain_source")
    evolution = "WITH SCHEMA EVOLUTION " if evolve else ""
    sql = f"MERGE {evolution}INTO delta.`{path}` AS t USING plain_source AS s ON {on} " + " ".join(clauses)
    return spark.sql(sql).collect()


def assert_alike(spark, plain, ours):
    assert_same_rows(read(spark, ours), read(spark, plain))
    assert last(spark, ours) == last(spark, plain)


def random_rows(spark, seed, type_, *, target, null_l):
    """Return rows with nulls in both keys; those of the source match several, and repeat only where they match none."""
    rng = random.Random(f"{seed} {target}")
    if target:
        numbers = [*range(40), *(range(15, 35) if rng.random() < 0.5 else ())]
    elif type_ == "boolean":
        numbers = [20]
    else:
        numbers = [*range(20, 50), *(rng.randrange(100, 105) for _ in range(10))]
    own = 0 if target else 7
    nulls = [None] * (5 if target else 200)
    rows = [
        (k, None if rng.random() < null_l else own if k is None else k % 3, rng.randrange(20)) for k in numbers + nulls
    ]
    rows += [(None, 0, 10)]
    rng.shuffle(rows)
    frame = spark.createDataFrame(rows, "k int, l int, v int")
    frame = frame.repartition(5) if target or rng.random() < 0.5 else frame
    key = {**TYPES, **MORE_TYPES}[type_].replace("{zero}", "0.0" if target else "-0.0")
    return frame.select(F.expr(key).alias("k"), "l", "v")
