"""`auto` beside plain Spark over a grid of sizes, widths, shares and operators: it must never lose.

Every cell is run in turn by plain Spark and by `auto`, defining included, after one run of each that does not count.
The ratio is that of the medians, and the worst cells are listed once more. `--rows 12000000` takes the greatest size
in, and `--only "x 60" "share 0.5"` the cells whose line has all of these texts.
"""

import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F

import skewkit
from skewkit.testing import local_session

PARTITIONS = 32
SIZES = (10_000, 300_000, 1_000_000, 4_000_000, 12_000_000)
SHARES = (0.0, 0.1, 0.5, 0.9)
WIDTHS = (4, 60, 150)
OPERATORS = ("inner join, few", "inner join, half", "full join, few", "window", "collect_set", "applyInPandas")
MOST_IN_PANDAS = 60
"""Columns of a frame whose groups become pandas frames: with 150, a cell had not ended after ten minutes."""
ALLOWED, ALLOWED_SECONDS = 1.10, 0.3
"""A call may take so many times plain Spark's time, and so many seconds more."""


def facts(spark: SparkSession, folder: Path, rows: int, columns: int, share: float) -> DataFrame:
    """Write and read back rows of which a share has one key."""
    path = folder / f"facts-{rows}-{columns}-{share}"
    if not path.exists():
        key = f"if(pmod(xxhash64(id), 1000) < {share * 1000}, 7, pmod(xxhash64(id, 1), {max(10, rows // 50)})) AS k"
        more = [f"pmod(xxhash64(id, {i}), 1000) AS c{i}" for i in range(columns - 3)]
        spark.range(0, rows, 1, 8).selectExpr(key, "id AS v", "pmod(xxhash64(id, 2), 97) AS y", *more).write.parquet(
            str(path)
        )
    return spark.read.parquet(str(path))


def others(spark: SparkSession, folder: Path, rows: int, keys: int) -> DataFrame:
    """Write and read back rows of the other side of a join, each key once."""
    path = folder / f"others-{rows}-{keys}"
    if not path.exists():
        spark.range(0, rows, 1, 4).selectExpr(f"id % {keys} + {keys} * (id div {keys}) AS k", "id AS w").write.parquet(
            str(path)
        )
    return spark.read.parquet(str(path))


Run = Callable[[bool], DataFrame]


def operators(frame: DataFrame, few: DataFrame, half: DataFrame) -> dict[str, Run]:
    """Return each operator as a function of whether skewkit is to do it."""

    def join(other: DataFrame, how: str) -> Run:
        return lambda ours: skewkit.skew_join(frame, other, "k", how) if ours else frame.join(other, "k", how)

    def window(ours: bool) -> DataFrame:
        if ours:
            return skewkit.skew_window(frame, "k", "v").select(t=F.sum("y"))
        return frame.withColumn("t", F.sum("y").over(Window.partitionBy("k").orderBy("v")))

    def collect(ours: bool) -> DataFrame:
        grouped = skewkit.skew_groupby(frame, "k") if ours else frame.groupBy("k")
        return grouped.agg(F.collect_set("v"))

    def function(parts):
        return parts.groupby("k", as_index=False, dropna=False)["y"].sum()

    def python(ours: bool) -> DataFrame:
        if ours:
            return skewkit.skew_groupby(frame, "k").applyInPandas(function, "k bigint, y bigint", merge=function)
        return frame.groupBy("k").applyInPandas(function, "k bigint, y bigint")

    runs = (join(few, "inner"), join(half, "inner"), join(few, "full"), window, collect, python)
    return dict(zip(OPERATORS, runs, strict=True))


def timed(run: Run, ours: bool) -> tuple[float, float]:
    """Return the seconds to define a frame, and those to define and compute it."""
    began = time.perf_counter()
    frame = run(ours)
    defined = time.perf_counter() - began
    frame.write.format("noop").mode("overwrite").save()
    return defined, time.perf_counter() - began


def cell(run: Run, runs: int) -> tuple[float, float, float]:
    """Return plain Spark's median seconds, those of `auto`, and what `auto` took to define."""
    walls: dict[bool, list[tuple[float, float]]] = {True: [], False: []}
    for number in range(runs + 1):
        for ours in (False, True):
            found = timed(run, ours)
            if number:
                walls[ours].append(found)
    plain = statistics.median(wall for _, wall in walls[False])
    ours_median = statistics.median(wall for _, wall in walls[True])
    return plain, ours_median, statistics.median(defined for defined, _ in walls[True])


def main(rows: int = 4_000_000, runs: int = 3, only: Sequence[str] = ()) -> None:
    """Print the cells, the worst first: those above the allowed time are marked."""
    cells = [
        (size, columns, share)
        for size in SIZES
        for columns in WIDTHS
        for share in SHARES
        if size <= rows and size * columns <= 100_000_000
    ]
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        confs = {"spark.sql.shuffle.partitions": str(PARTITIONS), "spark.driver.memory": "8g"}
        spark = local_session(confs=confs)
        try:
            found = []
            for size, columns, share in cells:
                labels = {
                    name: label(name, size, columns, share)
                    for name in OPERATORS
                    if name != "applyInPandas" or columns <= MOST_IN_PANDAS
                }
                wanted = [name for name, text in labels.items() if all(each in text for each in only)]
                if not wanted:
                    continue
                frame = facts(spark, folder, size, columns, share)
                few = others(spark, folder, size // 50, size // 50)
                half = others(spark, folder, size // 2, size // 2)
                runs_of = operators(frame, few, half)
                for name in wanted:
                    plain, ours, defined = cell(runs_of[name], runs)
                    last = skewkit.decisions()[-1]
                    found.append((plain, ours, defined, last, labels[name]))
                    print(line(found[-1]), flush=True)
            print("worst first")
            for each in sorted(found, key=lambda each: each[0] * ALLOWED - each[1])[:20]:
                print(line(each))
        finally:
            spark.stop()


def label(name: str, size: int, columns: int, share: float) -> str:
    """Return how the line of a cell begins."""
    return f"{name:18}{size:>11} x {columns:<3} share {share:<4}"


def line(found: tuple) -> str:
    """Return one line of a cell."""
    plain, ours, defined, decision, text = found
    mark = "ABOVE" if ours > ALLOWED * plain + ALLOWED_SECONDS else "ok"
    return (
        f"{mark:6}{text} plain {plain:6.2f} s  auto {ours:6.2f} s "
        f"{ours / plain:5.2f}  defined {defined:5.2f} s  {decision.jobs} queries  {decision.strategy}"
    )
