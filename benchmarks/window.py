"""Running sum and row_number over order lines by country, ordered by time: plain Spark against `split` and `auto`.

The lines are those of UCI Online Retail where they are at hand (see examples/retail.py), repeated with other times and
quantities until there are enough; 91 % of them are of one country.
"""

import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F

import skewkit
from benchmarks.session import PARTITIONS, session
from benchmarks.tasks import Task, read_tasks, total_makespan
from examples import retail

SLOTS = 32
FILES = 64


def lines(spark: SparkSession, folder: Path, rows: int) -> tuple[DataFrame, str]:
    """Write and read back so many order lines, in files that are read in parallel."""
    tables, source = retail.read(spark)
    one = tables["lines"]
    times = max(1, round(rows / one.count()))
    copies = one.crossJoin(spark.range(times).withColumnRenamed("id", "copy"))
    moved = copies.select(
        *(c for c in one.columns if c not in ("InvoiceDate", "Quantity")),
        (F.col("InvoiceDate") + F.make_dt_interval(secs=F.col("copy") * 7 % 60)).alias("InvoiceDate"),
        (F.col("Quantity") + F.col("copy") % 3).cast("int").alias("Quantity"),
    )
    moved.repartition(FILES).write.mode("overwrite").parquet(str(folder / "lines"))
    return spark.read.parquet(str(folder / "lines")), f"{source}, times {times}"


def windows(frame: DataFrame, strategy: str) -> DataFrame:
    """Return the lines with row number and running sum; `plain` without skewkit."""
    functions = {"rn": F.row_number(), "total": F.sum("Quantity")}
    if strategy != "plain":
        return skewkit.skew_window(frame, "Country", "InvoiceDate", strategy=strategy).select(**functions)
    spec = Window.partitionBy("Country").orderBy("InvoiceDate")
    return frame.select("*", *(function.over(spec).alias(name) for name, function in functions.items()))


def run(make: Callable[[], DataFrame]) -> tuple[float, int, int]:
    """Return the wall time of planning a frame and computing all its rows, and when that was (epoch ms)."""
    start, began = time.perf_counter(), int(time.time() * 1000)
    make().write.format("noop").mode("overwrite").save()
    return time.perf_counter() - start, began, int(time.time() * 1000)


def main(rows: int = 5_000_000, runs: int = 3) -> None:
    """Print one line per strategy; every figure is a median over the runs, profile and cuts included."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        (folder / "log").mkdir()
        timed: list[tuple[str, float, int, int]] = []
        with session(folder / "log") as spark:
            frame, source = lines(spark, folder, rows)
            print(f"{frame.count():,} rows ({source}), {PARTITIONS} partitions, median of {runs} runs; plain = 1.00")
            for number in range(runs + 1):
                for name in ("plain", "split", "auto"):
                    wall, began, ended = run(lambda name=name: windows(frame, name))
                    if number:
                        timed.append((name, wall, began, ended))
        report(timed, read_tasks(folder / "log"))


def report(timed: list[tuple[str, float, int, int]], tasks: list[Task]) -> None:
    """Print wall time, CPU seconds over all tasks and makespan on 32 slots, with ratios to plain Spark."""
    print(f"strategy    wall s   wall   CPU s    CPU  makespan on {SLOTS} s  makespan")
    figures: dict[str, list[tuple[float, float, float]]] = {}
    for name, wall, began, ended in timed:
        mine = [task for task in tasks if began <= task.launched <= ended]
        figures.setdefault(name, []).append((wall, sum(t.cpu for t in mine), total_makespan(mine, SLOTS)))
    medians = {
        name: [statistics.median(column) for column in zip(*runs, strict=True)] for name, runs in figures.items()
    }
    plain = medians["plain"]
    for name, (wall, cpu, span) in medians.items():
        print(
            f"{name:<10} {wall:7.2f} {wall / plain[0]:6.2f} {cpu:7.2f} {cpu / plain[1]:6.2f} "
            f"{span:16.2f} {span / plain[2]:9.2f}"
        )
