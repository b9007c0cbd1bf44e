"""A pandas function per country over order lines: plain Spark against `applyInPandas` with and without a merge.

The lines are those of `benchmarks.window`; 91 % of them are of one country, which plain Spark holds in one Python
worker's memory. `python -m benchmarks groups --rows 21676360` is the retail table times 40.
"""

import statistics
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pandas as pd
from pyspark.sql import DataFrame

import skewkit
from benchmarks.pythonworkers import PythonWorkers, watched
from benchmarks.session import PARTITIONS, session
from benchmarks.tasks import Task, read_tasks, total_makespan
from benchmarks.window import SLOTS, lines, run

SCHEMA = "Country string, lines bigint, pence bigint, first timestamp_ntz, largest bigint"
NAMES = ("plain", "whole", "merge", "ordered")
WEIGHT, UNWEIGHED = "spark.sql.execution.arrow.maxBytesPerBatch", str((1 << 31) - 1)

Found = dict[str, list[tuple[float, PythonWorkers, list[Task]]]]


def revenue(frame: pd.DataFrame) -> pd.DataFrame:
    """Return one row for the lines of a country."""
    pence = (frame["Quantity"] * frame["UnitPrice"] * 100).round().astype("int64")
    return pd.DataFrame(
        {
            "Country": frame["Country"].iloc[:1],
            "lines": [len(frame)],
            "pence": [pence.sum()],
            "first": [frame["InvoiceDate"].min()],
            "largest": [pence.max()],
        }
    )


def together(parts: pd.DataFrame) -> pd.DataFrame:
    """Return one row from those of the parts of a country."""
    how = {"lines": "sum", "pence": "sum", "first": "min", "largest": "max"}
    return parts.groupby("Country", as_index=False, dropna=False).agg(how)


def grouped(frame: DataFrame, name: str) -> DataFrame:
    """Return one row per country, computed in the way of this name."""
    if name == "plain":
        return frame.groupBy("Country").applyInPandas(revenue, SCHEMA)
    groups = skewkit.skew_groupby(frame, "Country")
    if name == "whole":
        return groups.applyInPandas(revenue, SCHEMA)
    return groups.applyInPandas(revenue, SCHEMA, merge=together, order_by="InvoiceDate" if name == "ordered" else None)


def main(rows: int = 5_000_000, runs: int = 3, only: Sequence[str] = NAMES) -> None:
    """Print one line per way, of all or of `only`; figures are medians over the runs, the memory is the peak.

    The profile is included. A run before them warms up: Spark compiles its code, and Python workers import their
    libraries. Its wall is printed.
    """
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        with session(folder) as spark:
            frame, source = lines(spark, folder, rows)
            print(f"{frame.count():,} rows ({source}), {PARTITIONS} partitions, {runs} runs; plain = 1.00")
        report(measured(folder, runs, tuple(only), {}))
        if tuple(only) != NAMES:
            return
        print(f"\nSpark does not weigh every row that goes to Python ({WEIGHT} = {UNWEIGHED})")
        report(measured(folder, runs, ("plain", "merge"), {WEIGHT: UNWEIGHED}))


def measured(folder: Path, runs: int, names: tuple[str, ...], confs: dict[str, str]) -> Found:
    """Run every way several times, in a session of its own: a worker keeps memory that another way made it take."""
    found: Found = {}
    for name in names:
        log = Path(tempfile.mkdtemp(dir=folder))
        timed = []
        with session(log) as spark:
            for key, value in {"spark.sql.files.minPartitionNum": str(SLOTS), **confs}.items():
                spark.conf.set(key, value)
            frame = spark.read.parquet(str(folder / "lines"))
            for _ in range(runs + 1):
                with watched() as workers:
                    wall, began, ended = run(lambda frame=frame, name=name: grouped(frame, name))
                timed.append((wall, workers, began, ended))
        tasks = read_tasks(log)
        found[name] = [(w, p, [t for t in tasks if b <= t.launched <= e]) for w, p, b, e in timed]
    return found


def report(found: Found) -> None:
    """Print wall time, CPU seconds of Spark and of Python, makespan on 32 slots and the memory of a worker.

    `first` is the wall of the run to warm up. The peak has the pages of library files; `own` has not.
    """
    times = f"wall s   wall  CPU s JVM  CPU s Python    CPU  makespan on {SLOTS} s  makespan"
    print(f"way         first s  {times}  peak MB  own MB")
    plain: list[float] = []
    for name, timed in found.items():
        columns = [
            (wall, sum(t.cpu for t in tasks), workers.cpu, total_makespan(tasks, SLOTS, python=True))
            for wall, workers, tasks in timed[1:]
        ]
        wall, jvm, python, span = (statistics.median(column) for column in zip(*columns, strict=True))
        plain = plain or [wall, jvm + python, span]
        peak = max(workers.peak for _, workers, _ in timed) / 1e6
        own = max(workers.own for _, workers, _ in timed) / 1e6
        print(
            f"{name:<10} {timed[0][0]:8.2f} {wall:7.2f} {wall / plain[0]:6.2f} {jvm:10.2f} {python:13.2f} "
            f"{(jvm + python) / plain[1]:6.2f} {span:16.2f} {span / plain[2]:9.2f} {peak:8.0f} {own:7.0f}"
        )
