"""Shuffle files that get lost under way: tasks run again, and the rows are still plain Spark's."""

from collections import Counter

import pandas as pd
import pytest
from pyspark.sql import Window
from pyspark.sql import functions as F

import skewkit
from tests.helpers import conf

SCHEMA = "k bigint, n bigint, s bigint"


@pytest.fixture
def lose(spark, tmp_path):
    """Return a function that Python workers call: the first call deletes every other file of each shuffle."""
    manager = spark.sparkContext._jvm.org.apache.spark.SparkEnv.get().blockManager().diskBlockManager()
    folders, once = list(manager.localDirsString()), str(tmp_path / "lost")
    context, group = spark.sparkContext, str(tmp_path)
    context.setJobGroup(group, "jobs that lose files")
    tracker = context.statusTracker()

    def lose_half():
        import glob
        import os
        import re

        from pyspark import TaskContext

        if TaskContext.get() is None:
            return
        try:
            os.close(os.open(once, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return
        found = [file for folder in folders for file in glob.glob(f"{folder}/**/shuffle_*.data", recursive=True)]
        maps = {file: tuple(map(int, re.findall(r"\d+", os.path.basename(file)))) for file in found}
        for shuffle in {numbers[0] for numbers in maps.values()}:
            for file in sorted((file for file in found if maps[file][0] == shuffle), key=maps.__getitem__)[::2]:
                os.remove(file)

    with conf(spark, "spark.sql.adaptive.coalescePartitions.enabled", "false"):  # a task more than can run at once
        yield lose_half
    context._jsc.sc().listenerBus().waitUntilEmpty()
    jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(group)]
    stages = [tracker.getStageInfo(stage) for job in jobs if job for stage in job.stageIds]
    assert any(stage.currentAttemptId > 0 for stage in stages if stage), "nothing was lost that was still needed"


@pytest.fixture(scope="module")
def facts(spark):
    at = F.col("id") % 10
    return spark.range(4000, numPartitions=6).select(
        F.when(at < 6, 1).otherwise(F.col("id") % 50).cast("bigint").alias("k"),
        F.col("id").alias("v"),
        F.pmod(F.xxhash64("id"), F.lit(100)).alias("t"),
    )


@pytest.fixture(scope="module")
def others(spark):
    key = F.col("id") % 60
    return (
        spark.range(400, numPartitions=4)
        .select(key.alias("k"), F.col("id").alias("w"))
        .where("k NOT BETWEEN 40 AND 45")
    )


def check(ours, plain):
    """Compare rows; ours are made alone, so that the stage that runs again is one of ours."""
    got = Counter(map(repr, ours.collect()))
    assert got == Counter(repr(row) for row in plain.toDF(*ours.columns).collect())


def slowly(lose):
    """Return a UDF that loses files and returns its argument."""

    @F.udf("bigint")
    def same(value):
        lose()
        return value

    return same


@pytest.mark.parametrize("kind", ["parquet", pytest.param("orc", marks=pytest.mark.slow)])
def test_joins_of_null_keys_that_go_by_their_position(spark, others, lose, tmp_path, kind):
    """These rows are alike in all columns: nothing but the place in its file says where a row goes."""
    nulls = spark.range(4000, numPartitions=4).selectExpr("if(id % 4 < 3, null, id % 50) AS k", "1L AS v")
    nulls.write.format(kind).save(str(tmp_path / "nulls"))
    facts, same = spark.read.format(kind).load(str(tmp_path / "nulls")), slowly(lose)
    joined = skewkit.skew_join(facts, others, "k", "left", strategy="salt", partitions=5)
    check(joined.withColumn("z", same("v")), facts.join(others, "k", "left").withColumn("z", F.col("v")))


def total(lose):
    """Return a group function that loses files."""

    def count(frame: pd.DataFrame) -> pd.DataFrame:
        lose()
        return pd.DataFrame({"k": frame["k"].iloc[:1], "n": [len(frame)], "s": [int(frame["v"].sum())]})

    return count


@pytest.mark.parametrize("how", ["full", *(pytest.param(h, marks=pytest.mark.slow) for h in ("left", "semi"))])
def test_joins(facts, others, lose, how):
    left, right, same = facts.repartition(5, "t"), others.repartition(3), slowly(lose)
    joined = skewkit.skew_join(left, right, "k", how, heavy=[1], strategy="salt")
    assert "strategy   salt" in skewkit.explain(joined)
    check(joined.withColumn("z", same("v")), facts.join(others, "k", how).withColumn("z", F.col("v")))


@pytest.mark.every(2)
@pytest.mark.parametrize("options", [{}, {"order_by": "v"}, {"merge": None}], ids=["merge", "ordered", "whole"])
def test_group_functions(facts, lose, options):
    def add(parts: pd.DataFrame) -> pd.DataFrame:
        return parts.groupby("k", as_index=False).sum()

    grouped = skewkit.skew_groupby(facts.repartition(5, "t"), "k", heavy=[1], partitions=4)
    ours = grouped.applyInPandas(total(lose), SCHEMA, **{"merge": add, **options})
    assert "strategy   native" not in skewkit.explain(ours)
    check(ours, facts.groupBy("k").agg(F.count("*").alias("n"), F.sum("v").alias("s")))


def test_cogroups(facts, others, lose):
    def both(left: pd.DataFrame, right: pd.DataFrame) -> pd.DataFrame:
        lose()
        key = (left if len(left) else right)["k"].iloc[:1]
        return pd.DataFrame({"k": key, "n": [len(left)], "s": [len(right)]})

    hot = skewkit.skew_groupby(facts.repartition(5, "t"), "k", heavy=[1], partitions=4)
    ours = hot.cogroup(skewkit.skew_groupby(others, "k", heavy=[1], partitions=4)).applyInPandas(both, SCHEMA)
    ones = facts.selectExpr("k", "1 AS n", "0 AS s").unionAll(others.selectExpr("k", "0", "1"))
    check(ours, ones.groupBy("k").agg(F.sum("n").alias("n"), F.sum("s").alias("s")))


def test_udfs_with_a_merge(facts, lose):
    @F.pandas_udf("bigint")
    def greatest(values: pd.Series) -> int:
        lose()
        return int(values.max())

    grouped = skewkit.skew_groupby(facts.repartition(5, "t"), "k", heavy=[1], partitions=4)
    ours = grouped.agg(greatest("v").alias("v"), merge={greatest: lambda parts: int(parts.max())})
    assert "strategy   native" not in skewkit.explain(ours)
    check(ours, facts.groupBy("k").agg(F.max("v").alias("v")))


def test_aggregates(facts, lose):
    exprs = [F.sort_array(F.collect_set("t")).alias("set"), F.median("t").alias("m"), F.sum("v").alias("s")]
    exprs.append(F.countDistinct("t", "v").alias("d"))
    ours = skewkit.skew_groupby(facts.repartition(5, "t"), "k", heavy=[1], partitions=4).agg(*exprs)
    assert "strategy   native" not in skewkit.explain(ours)
    plain = facts.groupBy("k").agg(*exprs)
    check(ours.withColumn("z", slowly(lose)("s")), plain.withColumn("z", F.col("s")))


def test_windows(facts, lose):
    spec = Window.partitionBy("k").orderBy("v")
    window = skewkit.skew_window(facts.repartition(5, "t"), "k", "v", strategy="split", partitions=4)
    ours = window.select(n=F.row_number(), s=F.sum("t")).withColumn("z", slowly(lose)("s"))
    plain = facts.select("*", F.row_number().over(spec).alias("n"), F.sum("t").over(spec).alias("s"))
    check(ours, plain.withColumn("z", F.col("s")))
