"""A fact joined to a dimension, one key with share p1: plain Spark against `salt`, `broadcast_head` and `auto`."""

import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import skewkit
from benchmarks.tasks import read_tasks, total_makespan
from skewkit.testing import local_session

PARTITIONS = 32


@contextmanager
def session(folder: Path) -> Iterator[SparkSession]:
    """Start a session whose event log is kept, so that tasks can be counted afterwards."""
    confs = {
        "spark.sql.shuffle.partitions": str(PARTITIONS),
        "spark.sql.autoBroadcastJoinThreshold": "-1",
        "spark.driver.memory": "8g",
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": folder.as_uri(),
        "spark.eventLog.rolling.enabled": "false",
        "spark.eventLog.compress": "false",
    }
    spark = local_session(confs=confs)
    try:
        yield spark
    finally:
        spark.stop()


def tables(spark: SparkSession, folder: Path, rows: int, p1: float) -> tuple[DataFrame, DataFrame]:
    """Write and read back a fact table and its dimension of rows * 0.15 keys."""
    keys = int(rows * 0.15)
    draw = F.pmod(F.xxhash64("id"), F.lit(1_000_000)) / 1_000_000
    cold = F.pmod(F.xxhash64("id", F.lit(1)), F.lit(keys))
    fact = spark.range(rows).select(F.when(draw < p1, 0).otherwise(cold).alias("k"), F.col("id").alias("v"))
    for name, frame in (("fact", fact), ("dim", spark.range(keys).selectExpr("id k", "id * 7 name"))):
        frame.repartition(8).write.mode("overwrite").parquet(str(folder / name))
    return spark.read.parquet(str(folder / "fact")), spark.read.parquet(str(folder / "dim"))


def run(frame: Callable[[], DataFrame]) -> tuple[float, int, int]:
    """Return the wall time of planning and running a frame, and when it ran (epoch ms)."""
    start, began = time.perf_counter(), int(time.time() * 1000)
    frame().agg(F.sum("v"), F.sum("name"), F.count("*")).collect()
    return time.perf_counter() - start, began, int(time.time() * 1000)


def main(rows: int = 5_000_000, runs: int = 3) -> None:
    """Print one line per share and strategy; every figure is a median over the runs, profile included."""
    print(f"{rows:,} rows joined to {int(rows * 0.15):,}, {PARTITIONS} partitions, median of {runs} runs; plain = 1.00")
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        (folder / "log").mkdir()
        timed: list[tuple[float, str, float, int, int]] = []
        with session(folder / "log") as spark:
            for p1 in (0.38, 0.12, 0.0):
                fact, dim = tables(spark, folder / f"p{p1}", rows, p1)
                ways: dict[str, Callable[[], DataFrame]] = {"plain": lambda f=fact, d=dim: f.join(d, "k")}
                for strategy in ("salt", "broadcast_head", "auto"):
                    ways[strategy] = lambda s=strategy, f=fact, d=dim: skewkit.skew_join(f, d, "k", strategy=s)
                for number in range(runs + 1):
                    for name, way in ways.items():
                        wall, began, ended = run(way)
                        if number:
                            timed.append((p1, name, wall, began, ended))
        tasks = read_tasks(folder / "log")
        report(timed, tasks)


def report(timed: list[tuple[float, str, float, int, int]], tasks: list) -> None:
    """Print wall time, CPU seconds over all tasks and makespan on 32 slots as ratios to plain Spark."""
    print("   p1  strategy         wall s   wall   CPU s    CPU  makespan s  makespan")
    figures: dict[tuple[float, str], list[tuple[float, float, float]]] = {}
    for p1, name, wall, began, ended in timed:
        mine = [task for task in tasks if began <= task.launched <= ended]
        figures.setdefault((p1, name), []).append((wall, sum(t.cpu for t in mine), total_makespan(mine, 32)))
    medians = {key: [statistics.median(column) for column in zip(*runs, strict=True)] for key, runs in figures.items()}
    for (p1, name), (wall, cpu, span) in medians.items():
        plain = medians[p1, "plain"]
        print(
            f"{p1:5.2f}  {name:<15} {wall:7.2f} {wall / plain[0]:6.2f} {cpu:7.2f} {cpu / plain[1]:6.2f} "
            f"{span:11.2f} {span / plain[2]:9.2f}"
        )
