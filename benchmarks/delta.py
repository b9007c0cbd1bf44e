"""Delta writes and MERGE: files and their sizes, the longest task, makespan on 32 slots, wall time, bytes written."""

import glob
import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from operator import itemgetter
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from benchmarks.tasks import Task, read_tasks, stages, total_makespan
from skewkit import delta, skew_profile
from skewkit.plan.profile.key_profile import KeyProfile
from skewkit.testing import local_session

SLOTS = 32
TARGET = 8 << 20
TASKS = 16
MAPPERS = 1, 2, 32


def main(rows: int, runs: int, only: Sequence[str] = ("writes", "merges")) -> None:
    """Print both tables, or one of them; at most a million rows are written and 400,000 merged."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        log.mkdir()
        confs = {
            "spark.sql.shuffle.partitions": str(TASKS),
            "spark.eventLog.enabled": "true",
            "spark.eventLog.dir": log.as_uri(),
            "spark.eventLog.rolling.enabled": "false",
            "spark.eventLog.compress": "false",
            "spark.sql.autoBroadcastJoinThreshold": "-1",
        }
        spark = local_session(delta=True, confs=confs)
        lines = writes(spark, Path(folder), min(rows, 1_000_000), runs) if "writes" in only else []
        merged = merges(spark, Path(folder), min(rows, 400_000), runs) if "merges" in only else []
        spark.stop()
        tasks = read_tasks(log)
    if lines:
        show_writes(lines, tasks, min(rows, 1_000_000))
    if merged:
        show_merges(merged, tasks, min(rows, 400_000))


def show_writes(lines: list[tuple], tasks: list[Task], rows: int) -> None:
    """Print the table of the writes."""
    print(f"write of {rows:,} rows over 200 days, one of them 90 %, target {TARGET >> 20} MiB")
    print(
        f"{'way':<28}{'mappers':>8}{'files':>7}  {'hot day, MiB':<24}{'MiB':>6}{'wall s':>8}{'makespan':>9}{'max':>6}"
    )
    for way, mappers, wall, began, ended, found in lines:
        mine = [task for task in tasks if began <= task.launched <= ended]
        hot = sorted(max(found.values(), key=sum), reverse=True)
        shown = f"{len(hot)} x {hot[-1] / 2**20:.1f} to {hot[0] / 2**20:.1f}"
        count, size = sum(map(len, found.values())), sum(map(sum, found.values())) / 2**20
        longest = max((task.cpu for task in mine), default=0.0)
        span = total_makespan(mine, SLOTS)
        print(f"{way:<28}{mappers:>8}{count:>7}  {shown:<24}{size:>6.0f}{wall:>8.2f}{span:>9.2f}{longest:>6.2f}")


def show_merges(merged: list[tuple], tasks: list[Task], rows: int) -> None:
    """Print the table of the MERGEs."""
    print(f"\nMERGE of as many rows into {rows:,}, {TASKS} partitions; the stage that joins and writes")
    print(f"{'case':<26}{'way':<10}{'longest rows':>13}{'median rows':>12}{'wall s':>8}{'makespan':>9}{'MiB':>6}")
    for case, way, wall, began, ended, size in merged:
        mine = [task for task in tasks if began <= task.launched <= ended]
        most = widest(mine)
        span = total_makespan(mine, SLOTS)
        print(
            f"{case:<26}{way:<10}{max(most):>13,}{statistics.median(most):>12,.0f}{wall:>8.2f}{span:>9.2f}{size:>6.0f}"
        )


def widest(tasks: list[Task]) -> list[int]:
    """Return the rows that the tasks fetched, of the stage that fetched the most of those that wrote the table."""
    wrote = [stage for stage in stages(tasks).values() if any(task.stored for task in stage)]
    return max(([task.fetched for task in stage] for stage in wrote), key=sum, default=[0])


def median(took: list[tuple]) -> tuple:
    """Return the run of median wall time, their first figure."""
    return sorted(took, key=itemgetter(0))[len(took) // 2]


def timed(job: Callable[..., object], *arguments: object) -> tuple[float, int, int]:
    """Run a job; return its seconds, and when it began and ended (epoch ms)."""
    start, began = time.perf_counter(), int(time.time() * 1000)
    job(*arguments)
    return time.perf_counter() - start, began, int(time.time() * 1000)


def files(path: Path) -> dict[str, list[tuple[str, int]]]:
    """Return the names and bytes of a table's files by folder."""
    found: dict[str, list[tuple[str, int]]] = {}
    for file in glob.glob(f"{path}/**/*.parquet", recursive=True):
        if "_delta_log" not in file:
            found.setdefault(os.path.dirname(file), []).append((file, os.path.getsize(file)))
    return found


def sizes(path: Path, without: Iterable[str] = ()) -> dict[str, list[int]]:
    """Return the bytes of a table's files by folder, but for some files."""
    old = set(without)
    return {folder: [size for file, size in each if file not in old] for folder, each in files(path).items()}


def plainly(frame: DataFrame, path: Path, **options: object) -> None:
    """Write as Delta does of itself."""
    frame.write.format("delta").partitionBy("day").options(**options).save(str(path))


def rebalanced(frame: DataFrame, path: Path) -> None:
    """Write behind Spark's rebalance by the day, told the same target."""
    advisory = "spark.sql.adaptive.advisoryPartitionSizeInBytes"
    before = frame.sparkSession.conf.get(advisory)
    frame.sparkSession.conf.set(advisory, TARGET)
    plainly(frame.hint("rebalance", "day"), path)
    frame.sparkSession.conf.set(advisory, before)


WAYS: dict[str, Callable[[DataFrame, Path], object]] = {
    "Delta's default": plainly,
    "repartition('day')": lambda frame, path: plainly(frame.repartition("day"), path),
    "rebalance by day": rebalanced,
    "optimizeWrite": lambda frame, path: plainly(frame, path, optimizeWrite=True),
    "repartition(16)": lambda frame, path: plainly(frame.repartition(TASKS), path),
    "skewkit": lambda frame, path: delta.write(frame, path, partition_by="day", target_file_bytes=TARGET),
}


def writes(spark: SparkSession, folder: Path, rows: int, runs: int) -> list[tuple]:
    """Write the same rows in every way, from 1, 2 and 32 mappers; of each the run of median wall time counts."""
    lines = []
    spark.conf.set("spark.sql.files.minPartitionNum", max(MAPPERS))  # a file each, where there are so many
    spark.conf.set("spark.databricks.delta.optimizeWrite.binSize", f"{TARGET >> 20}mb")
    day = "if(id % 10 < 9, date'2024-01-01', date_add(date'2024-01-01', cast(id % 199 AS int) + 1))"
    columns = "id", f"{day} AS day", "sha2(string(id), 256) AS text"
    for mappers in MAPPERS:
        source, path = folder / f"source{mappers}", folder / "written"
        spark.range(rows, numPartitions=mappers).selectExpr(*columns).write.parquet(str(source))
        stored = spark.read.parquet(str(source))
        frame = stored if mappers > 2 else stored.coalesce(mappers)
        for way, job in WAYS.items():
            took = []
            for _ in range(runs):
                shutil.rmtree(path, ignore_errors=True)
                took.append((*timed(job, frame, path), sizes(path)))
            lines.append((way, mappers, *median(took)))
        profile, old = skew_profile(frame, "day"), [file for each in files(path).values() for file, _ in each]
        once = timed(with_profile, frame, path, profile)
        lines.append(("skewkit, with a profile", mappers, *once, sizes(path, old)))
    spark.conf.unset("spark.databricks.delta.optimizeWrite.binSize")
    spark.conf.unset("spark.sql.files.minPartitionNum")
    return lines


def with_profile(frame: DataFrame, path: Path, profile: KeyProfile) -> None:
    """Append to the table without a query before."""
    delta.write(frame, path, mode="append", target_file_bytes=TARGET, profile=profile)


def merges(spark: SparkSession, folder: Path, rows: int, runs: int) -> list[tuple]:
    """Merge in Delta's way and in ours; of each the run of median wall time counts.

    Small partitions are not put together, as those of a large table would not be.
    """
    spark.conf.set("spark.sql.adaptive.coalescePartitions.enabled", False)
    target = spark.range(rows).selectExpr("id AS k", "sha2(string(id), 256) AS text")
    new = "sha2(string(id), 224) AS text"
    nulls = spark.range(rows, numPartitions=8).selectExpr("if(id % 10 < 3, null, id * 2) AS k", new)
    hot_target = target.withColumn("k", F.when(F.col("k") % 10 < 6, -1).otherwise(F.col("k")))
    few = spark.range(rows, numPartitions=8).selectExpr("id * 2 - 1 AS k", new)
    lines = []
    for case, into, source in (("30 % null keys", target, nulls), ("a target key with 60 %", hot_target, few)):
        for way in ("plain", "skewkit"):
            path = folder / "merged"
            took = []
            for _ in range(runs):
                shutil.rmtree(path, ignore_errors=True)
                into.write.format("delta").save(str(path))
                old = [file for each in files(path).values() for file, _ in each]
                written = timed(merge, spark, path, source, way)
                took.append((*written, sum(map(sum, sizes(path, old).values())) / 2**20))
            lines.append((case, way, *median(took)))
    return lines


def merge(spark: SparkSession, path: Path, source: DataFrame, way: str) -> None:
    """Upsert by the key."""
    if way == "skewkit":
        delta.merge(path, source, "k").whenMatchedUpdateAll().whenNotMatchedInsertAll().execute()
        return
    source.createOrReplaceTempView("benchmark_source")
    spark.sql(
        f"MERGE INTO delta.`{path}` AS t USING benchmark_source AS s ON t.k = s.k "
        "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    )
