"""Aggregates with large states over one hot key, and built-ins that Spark combines: plain Spark, `wrap` and `auto`.

60 % of the rows are of one key. `u` has as many values as rows, `v` one for every 25 rows, so that each is read by many
tasks; `few` has 1,000. What Spark combines before the shuffle is there to show what it costs to ask `auto`.
"""

import statistics
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

import skewkit
from benchmarks.report import SLOTS, Run, timed
from benchmarks.session import PARTITIONS, session
from benchmarks.tasks import read_tasks, total_makespan

FILES = 64
WAYS = ("plain", "wrap", "auto")
CASES: dict[str, Callable[[], list[Column]]] = {
    "collect_set": lambda: [F.size(F.collect_set("u")).alias("n")],
    "collect_list": lambda: [F.size(F.collect_list("v")).alias("n")],
    "percentile": lambda: [F.percentile("v", [0.5, 0.9, 0.99]).alias("p")],
    "median, all distinct": lambda: [F.median("u").alias("m")],
    "mode": lambda: [F.mode("v", True).alias("m")],
    "mode, few values": lambda: [F.mode("few", True).alias("m")],
    "count(distinct a, b)": lambda: [F.count_distinct("v", "few").alias("n")],
    "listagg": lambda: [F.length(F.listagg("text", F.lit(","))).alias("n")],
    "hll sketch, 2 MB": lambda: [F.hll_sketch_estimate(F.hll_sketch_agg("u", F.lit(21))).alias("n")],
    "sum, count, avg": lambda: [F.sum("v").alias("total"), F.count("*").alias("n"), F.avg("few").alias("mean")],
}


def rows_of(spark: SparkSession, folder: Path, rows: int) -> DataFrame:
    """Write and read back the rows."""
    mixed = F.xxhash64("id")
    made = spark.range(rows).select(
        F.when(F.pmod(mixed, F.lit(10)) < 6, 0).otherwise(F.pmod(mixed, F.lit(10_007))).cast("int").alias("k"),
        mixed.alias("u"),
        F.pmod(F.xxhash64("id", F.lit(1)), F.lit(max(1, rows // 25))).alias("v"),
        F.pmod(F.xxhash64("id", F.lit(2)), F.lit(1000)).cast("int").alias("few"),
        F.concat(F.lit("t"), F.col("id") % 1000).alias("text"),
    )
    made.repartition(FILES).write.mode("overwrite").parquet(str(folder / "rows"))
    return spark.read.parquet(str(folder / "rows"))


def computed(frame: DataFrame, way: str, aggregates: list[Column]) -> DataFrame:
    """Return one row per key, computed in the way of this name."""
    if way == "plain":
        return frame.groupBy("k").agg(*aggregates)
    return skewkit.skew_groupby(frame, "k", strategy=way).agg(*aggregates)


class Heap:
    """The heap's old generation, where states live that survive a collection: its peak since `reset`."""

    def __init__(self, spark: SparkSession) -> None:
        self._jvm: Any = spark._jvm
        pools = self._jvm.java.lang.management.ManagementFactory.getMemoryPoolMXBeans()
        self._old = next(pool for pool in pools if "Old" in pool.getName() or "Tenured" in pool.getName())

    def reset(self) -> None:
        """Forget what was."""
        self._jvm.java.lang.System.gc()
        self._old.resetPeakUsage()

    @property
    def peak(self) -> float:
        """The peak in MB."""
        return float(self._old.getPeakUsage().getUsed()) / 1e6


def main(rows: int = 5_000_000, runs: int = 3, only: Sequence[str] = ()) -> None:
    """Print one line per case and way; figures are medians over the runs, the memory is the greatest.

    Every second run is in the order auto, wrap, plain, as what one way leaves in memory may cost the next something.
    """
    if unknown := sorted(set(only) - set(CASES)):
        raise SystemExit(f"there is no case {unknown[0]!r}; choose of {'; '.join(CASES)}")
    chosen = [case for case in CASES if not only or case in only]
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        (folder / "log").mkdir()
        done: list[tuple[Run, float]] = []
        with session(folder / "log") as spark:
            frame, heap = rows_of(spark, folder, rows), Heap(spark)
            print(f"{rows:,} rows, 60 % of one key, {PARTITIONS} partitions, {runs} runs after a first one", flush=True)
            for number in range(runs + 1):
                for case in chosen:
                    for way in WAYS if number % 2 else reversed(WAYS):
                        heap.reset()
                        made = timed(spark, case, way, lambda way=way, case=case: _write(frame, way, case))
                        if number or not runs:
                            done.append((made, heap.peak))
                            print(f"{case}, {way}: {made.wall:.2f} s", flush=True)
            for case in chosen:
                print(f"{case}, auto: {_reason(computed(frame, 'auto', CASES[case]()))}")
        report(done, folder / "log")


def _write(frame: DataFrame, way: str, case: str) -> None:
    computed(frame, way, CASES[case]()).write.format("noop").mode("overwrite").save()


def _reason(frame: DataFrame) -> str:
    return skewkit.explain(frame).splitlines()[1].removeprefix("  strategy").strip()


def report(done: list[tuple[Run, float]], log: Path) -> None:
    """Print wall time, CPU seconds, makespan, the longest task and the peak of the old generation."""
    tasks = read_tasks(log)
    found: dict[tuple[str, str], list[tuple[float, float, float, float, float]]] = {}
    for run, peak in done:
        mine = [task for task in tasks if run.began <= task.launched <= run.ended]
        longest = max(task.cpu for task in mine)
        span = total_makespan(mine, SLOTS)
        found.setdefault((run.case, run.way), []).append((run.wall, sum(t.cpu for t in mine), span, longest, peak))
    ordered = sorted(found, key=lambda key: (list(CASES).index(key[0]), WAYS.index(key[1])))
    medians = {key: [statistics.median(column) for column in zip(*found[key], strict=True)] for key in ordered}
    width = max(len(case) for case, _ in medians)
    print(f"{'case':<{width}}  way     wall s   wall   CPU s    CPU  makespan s  makespan  longest s  peak MB")
    for (case, way), (wall, cpu, span, longest, _) in medians.items():
        plain, peak = medians[case, "plain"], max(row[-1] for row in found[case, way])
        print(
            f"{case:<{width}}  {way:<6} {wall:7.2f} {wall / plain[0]:6.2f} {cpu:7.2f} {cpu / plain[1]:6.2f} "
            f"{span:11.2f} {span / plain[2]:9.2f} {longest:10.2f} {peak:8.0f}"
        )
