"""A fact joined to a dimension, one key with share p1: skewkit against plain Spark with and without AQE."""

from collections.abc import Callable
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import skewkit
from benchmarks.report import compared, timed
from benchmarks.session import PARTITIONS

TUNED = {
    "spark.sql.adaptive.skewJoin.skewedPartitionFactor": "2",
    "spark.sql.adaptive.skewJoin.skewedPartitionThresholdInBytes": "4MB",
    "spark.sql.adaptive.advisoryPartitionSizeInBytes": "8MB",
}
PLAIN = {"AQE": {}, "AQE tuned": TUNED, "no AQE": {"spark.sql.adaptive.enabled": "false"}}


def tables(spark: SparkSession, folder: Path, rows: int, p1: float) -> tuple[DataFrame, DataFrame]:
    """Write and read back a fact table and its dimension of rows * 0.15 keys."""
    keys = int(rows * 0.15)
    draw = F.pmod(F.xxhash64("id"), F.lit(1_000_000)) / 1_000_000
    cold = F.pmod(F.xxhash64("id", F.lit(1)), F.lit(keys))
    fact = spark.range(rows).select(F.when(draw < p1, 0).otherwise(cold).alias("k"), F.col("id").alias("v"))
    # As many files as slots: a file of one row group is read by one task, however many splits it has.
    for name, frame in (("fact", fact), ("dim", spark.range(keys).selectExpr("id k", "id * 7 name"))):
        frame.repartition(PARTITIONS).write.mode("overwrite").parquet(str(folder / name))
    return spark.read.parquet(str(folder / "fact")), spark.read.parquet(str(folder / "dim"))


def main(rows: int = 5_000_000, runs: int = 3, *, stages: bool = False) -> None:
    """Print one line per share and way to join; every figure is a median over the runs, profile included."""
    print(f"{rows:,} rows joined to {int(rows * 0.15):,}, {PARTITIONS} partitions, median of {runs} runs; AQE = 1.00")
    with compared("AQE", by_stage=stages) as (spark, folder, done):
        for p1 in (0.38, 0.12, 0.0):
            fact, dim = tables(spark, folder / f"p{p1}", rows, p1)

            def plain(f: DataFrame = fact, d: DataFrame = dim) -> DataFrame:
                return f.join(d, "k")

            def ours(strategy: str, f: DataFrame = fact, d: DataFrame = dim) -> DataFrame:
                return skewkit.skew_join(f, d, "k", strategy=strategy)

            ways: dict[str, tuple[Callable[[], DataFrame], dict[str, str]]] = {
                name: (plain, confs) for name, confs in PLAIN.items()
            }
            for strategy in ("salt", "broadcast_head", "auto"):
                ways[strategy] = (lambda s=strategy, o=ours: o(s), {})
            for number in range(runs + 1):
                for name, (way, confs) in ways.items():
                    run = timed(spark, f"p1 {p1:.2f}", name, lambda w=way: total(w()), confs)
                    if number:
                        done.append(run)


def total(frame: DataFrame) -> None:
    """Run a frame to its last row and return next to nothing."""
    frame.agg(F.sum("v"), F.sum("name"), F.count("*")).collect()
