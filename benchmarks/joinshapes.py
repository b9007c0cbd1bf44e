"""Joins that adaptive execution never splits, and both sides hot: AQE against `salt` and `auto`."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

import pandas as pd
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F

import skewkit
from benchmarks.join import tables
from benchmarks.report import compared, timed
from benchmarks.session import PARTITIONS

DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "tate_artwork_subjects.parquet"

JOINS: dict[str, Callable[..., DataFrame]] = {
    "AQE": DataFrame.join,
    "salt": partial(skewkit.skew_join, strategy="salt"),
    "auto": skewkit.skew_join,
}


def shapes(
    fact: DataFrame, dim: DataFrame, one_file: DataFrame, kept: Mapping[str, DataFrame]
) -> dict[str, tuple[DataFrame, DataFrame, str]]:
    """Return (left, right, how) for each shape; the fact is hot in key 0.

    The rows of key 0 are in one file of `one_file`; `kept` is what is cached, as it lies in its files or by the key.
    """
    return {
        "full outer": (fact, dim, "full"),
        "left outer, hot right": (dim, fact, "left"),
        "right outer, hot left": (fact, dim, "right"),
        "semi, hot right": (dim.withColumn("v", F.col("name")), fact.select("k"), "semi"),
        "anti, hot left": (fact, dim.where("k > 0"), "anti"),
        "repartitioned": (fact.repartition(PARTITIONS, "k"), dim, "inner"),
        "grouped": (fact, dim.groupBy("k").agg(F.max("name").alias("name")), "inner"),
        "one mapper": (one_file, dim, "inner"),
        **{name: (frame, dim, "inner") for name, frame in kept.items()},
    }


def chain(fact: DataFrame, dim: DataFrame, join: Callable[..., DataFrame]) -> DataFrame:
    """Join the fact on three keys, each hot with other rows."""
    return join(join(join(fact, dim, "k"), *_other(dim, "b")), *_other(dim, "c")).drop("name")


def _other(dim: DataFrame, key: str) -> tuple[DataFrame, str]:
    return dim.select(F.col("k").alias(key), F.col("name").alias(f"name_{key}")), key


def twice(fact: DataFrame, dim: DataFrame, join: Callable[..., DataFrame]) -> DataFrame:
    """Join twice by the same key, for which plain Spark shuffles the fact once."""
    return join(join(fact, dim, "k"), dim.select("k", F.col("name").alias("again")), "k")


def paired(left: DataFrame, join: Callable[..., DataFrame]) -> DataFrame:
    """Join a frame with itself: all pairs of rows of one key."""
    return join(left, left.withColumnRenamed("v", "w"), "k").withColumn("v", F.col("v") + F.col("w"))


def followed(fact: DataFrame, dim: DataFrame, join: Callable[..., DataFrame]) -> DataFrame:
    """Join, and group by the same key, for which plain Spark needs no other shuffle."""
    return join(fact, dim, "k").groupBy("k").agg(F.sum("v").alias("v"), F.max("name").alias("name"))


def ranked(fact: DataFrame, dim: DataFrame) -> tuple[Callable[[], DataFrame], Callable[[], DataFrame]]:
    """Join, and number the rows of each key, for which plain Spark needs no other shuffle; ours as its own window."""
    number = F.row_number().over(Window.partitionBy("k").orderBy("v"))

    def ours() -> DataFrame:
        joined = skewkit.skew_join(fact, dim, "k", strategy="salt")
        return skewkit.skew_window(joined, "k", "v").select(r=F.row_number()).withColumn("v", F.col("r"))

    return lambda: fact.join(dim, "k").withColumn("v", number), ours


def pair_sizes(left: pd.DataFrame, right: pd.DataFrame) -> pd.DataFrame:
    """Return the sizes of a group of the joined frame and of that of another one."""
    return pd.DataFrame({"v": [len(left)], "w": [len(right)]})


def cogrouped(fact: DataFrame, dim: DataFrame, join: Callable[..., DataFrame]) -> DataFrame:
    """Join, and hand the groups of the same key to Python beside those of another frame; each stays whole."""
    other = dim.select("k").groupBy("k")
    return join(fact, dim, "k").groupBy("k").cogroup(other).applyInPandas(pair_sizes, "v bigint, w bigint")


def three_keys(spark: SparkSession, folder: Path, fact: DataFrame, keys: int) -> DataFrame:
    """Write and read back a fact with two keys more, of which one has 0.3 and one 0.2 of the rows."""
    other = {
        name: F.when(F.pmod(F.xxhash64("v", F.lit(name)), F.lit(10)) < tenths, hot).otherwise(
            F.pmod(F.xxhash64(F.lit(name), "v"), F.lit(keys))
        )
        for name, hot, tenths in (("b", 1, 3), ("c", 2, 2))
    }
    fact.withColumns(other).write.mode("overwrite").parquet(str(folder / "three"))
    return spark.read.parquet(str(folder / "three"))


def pairs(spark: SparkSession, rows: int) -> DataFrame:
    """Return the subjects of artworks, real ones if they are there, else keys of the same shape."""
    if DATA.exists():
        return spark.read.parquet(str(DATA)).select(F.col("subject").alias("k"), F.col("artwork_id").alias("v"))
    print(f"{DATA.name} is not here: generated keys instead")
    key = (F.pmod(F.xxhash64("id"), F.lit(1_000_000)) / 1_000_000 + 1e-6) ** -1.2
    return spark.range(min(rows, 400_000)).select(key.cast("bigint").alias("k"), F.col("id").alias("v"))


def main(rows: int = 5_000_000, runs: int = 3, only: Sequence[str] = (), *, stages: bool = False) -> None:
    """Print one line per shape and way, of the shapes named in `only`, if any are."""
    print(f"{rows:,} rows joined to {int(rows * 0.15):,}, p1 = 0.38, {PARTITIONS} partitions, median of {runs} runs")
    with compared("AQE", by_stage=stages) as (spark, folder, done):
        fact, dim = tables(spark, folder, rows, 0.38)
        jobs: dict[str, dict[str, Callable[[], DataFrame]]] = {}
        sorted_fact = fact.withColumn("hot", F.col("k") == 0).repartitionByRange(8, "hot", "k").drop("hot")
        sorted_fact.write.mode("overwrite").parquet(str(folder / "sorted"))
        one_file = spark.read.parquet(str(folder / "sorted"))
        # With a column more: else Spark would take `fact` itself for what is cached.
        more = fact.withColumn("more", F.lit(1))
        kept = {"cached": more, "cached by the key": more.repartition(PARTITIONS, "k")}
        for name, (left, right, how) in shapes(fact, dim, one_file, kept).items():
            jobs[name] = {way: partial(join, left, right, "k", how) for way, join in JOINS.items()}
        three = three_keys(spark, folder, fact, int(rows * 0.15))
        jobs["then grouped"] = {way: partial(followed, fact, dim, join) for way, join in JOINS.items()}
        jobs["then ranked"] = dict(zip(("AQE", "salt"), ranked(fact, dim), strict=True))
        jobs["then joined"] = {way: partial(twice, fact, dim, join) for way, join in JOINS.items()}
        # Python is slow: one row in 20, and groups of a thousand keys.
        few, few_keys = fact.where("v % 20 = 0").withColumn("k", F.col("k") % 1000), dim.where("k < 1000")
        jobs["then cogrouped"] = {way: partial(cogrouped, few, few_keys, join) for way, join in JOINS.items()}
        jobs["chain of three"] = {way: partial(chain, three, dim, join) for way, join in JOINS.items()}
        artworks = pairs(spark, rows)
        jobs["both sides hot"] = {way: partial(paired, artworks, join) for way, join in JOINS.items()}
        if unknown := set(only) - set(jobs):
            raise SystemExit(f"there is no case {', '.join(sorted(unknown))}; choose of {', '.join(jobs)}")
        for case in only or jobs:
            if case in kept:
                kept[case].cache().count()
            for number in range(runs + 1):
                for way, make in jobs[case].items():
                    run = timed(spark, case, way, lambda m=make: m().agg(F.sum("v"), F.count("*")).collect())
                    if number:
                        done.append(run)
            if case in kept:
                kept[case].unpersist()
