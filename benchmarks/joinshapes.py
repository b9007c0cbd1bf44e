"""Joins that adaptive execution never splits, and both sides hot: AQE against `salt`, balance before all."""

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import skewkit
from benchmarks.join import tables
from benchmarks.report import Run, print_report, timed
from benchmarks.session import PARTITIONS, session

DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "tate_artwork_subjects.parquet"


def shapes(fact: DataFrame, dim: DataFrame, one_file: DataFrame) -> dict[str, tuple[DataFrame, DataFrame, str]]:
    """Return (left, right, how) for each shape; the fact is hot in key 0, whose rows are in one file of `one_file`."""
    return {
        "full outer": (fact, dim, "full"),
        "left outer, hot right": (dim, fact, "left"),
        "right outer, hot left": (fact, dim, "right"),
        "semi, hot right": (dim.withColumn("v", F.col("name")), fact.select("k"), "semi"),
        "repartitioned": (fact.repartition(PARTITIONS, "k"), dim, "inner"),
        "grouped": (fact, dim.groupBy("k").agg(F.max("name").alias("name")), "inner"),
        "one mapper": (one_file, dim, "inner"),
    }


def pairs(spark: SparkSession, rows: int) -> DataFrame:
    """Return the subjects of artworks, real ones if they are there, else keys of the same shape."""
    if DATA.exists():
        return spark.read.parquet(str(DATA)).select(F.col("subject").alias("k"), F.col("artwork_id").alias("v"))
    print(f"{DATA.name} is not here: generated keys instead")
    key = (F.pmod(F.xxhash64("id"), F.lit(1_000_000)) / 1_000_000 + 1e-6) ** -1.2
    return spark.range(min(rows, 400_000)).select(key.cast("bigint").alias("k"), F.col("id").alias("v"))


def main(rows: int = 5_000_000, runs: int = 3, only: Sequence[str] = ()) -> None:
    """Print one line per shape and way, of the shapes named in `only`, if any are."""
    print(f"{rows:,} rows joined to {int(rows * 0.15):,}, p1 = 0.38, {PARTITIONS} partitions, median of {runs} runs")
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        (folder / "log").mkdir()
        done: list[Run] = []
        with session(folder / "log") as spark:
            fact, dim = tables(spark, folder, rows, 0.38)
            jobs: dict[str, tuple[Callable[[], DataFrame], Callable[[], DataFrame]]] = {}
            sorted_fact = fact.withColumn("hot", F.col("k") == 0).repartitionByRange(8, "hot", "k").drop("hot")
            sorted_fact.write.mode("overwrite").parquet(str(folder / "sorted"))
            one_file = spark.read.parquet(str(folder / "sorted"))
            for name, (left, right, how) in shapes(fact, dim, one_file).items():
                jobs[name] = (
                    lambda a=left, b=right, h=how: a.join(b, "k", h),
                    lambda a=left, b=right, h=how: skewkit.skew_join(a, b, "k", h, strategy="salt"),
                )
            left = pairs(spark, rows)
            right = left.withColumnRenamed("v", "w")
            jobs["both sides hot"] = (
                lambda: left.join(right, "k").withColumn("v", F.col("v") + F.col("w")),
                lambda: skewkit.skew_join(left, right, "k").withColumn("v", F.col("v") + F.col("w")),
            )
            for case in only or jobs:
                plain, ours = jobs[case]
                for number in range(runs + 1):
                    for way, make in (("AQE", plain), ("skewkit", ours)):
                        run = timed(spark, case, way, lambda m=make: m().agg(F.sum("v"), F.count("*")).collect())
                        if number:
                            done.append(run)
        print_report(done, folder / "log", base="AQE")
