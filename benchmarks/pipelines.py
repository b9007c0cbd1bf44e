"""Operators in a row, by plain Spark and by `auto`: what each costs when it knows what those before it knew.

Eight are five left joins to dimensions and three windows. Twelve and twenty-four are joins, windows and group-bys that
are joined back, in turn, over the same hot key.
"""

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

import skewkit
from benchmarks.never_lose import PARTITIONS, facts, others
from skewkit.testing import local_session

Step = Callable[[DataFrame, int, bool], DataFrame]


def steps(dim: DataFrame) -> dict[str, Step]:
    """Return operators that add a column to a frame, as functions of the frame, a number and whose they are."""

    def joined(frame: DataFrame, number: int, ours: bool) -> DataFrame:
        other = dim.withColumnRenamed("w", f"w{number}")
        return skewkit.skew_join(frame, other, "k", "left") if ours else frame.join(other, "k", "left")

    def windowed(frame: DataFrame, number: int, ours: bool) -> DataFrame:
        if ours:
            return skewkit.skew_window(frame, "k", "v").select(**{f"t{number}": F.sum("y")})
        return frame.withColumn(f"t{number}", F.sum("y").over(Window.partitionBy("k").orderBy("v")))

    def grouped(frame: DataFrame, number: int, ours: bool) -> DataFrame:
        groups = skewkit.skew_groupby(frame, "k") if ours else frame.groupBy("k")
        sets = groups.agg(F.collect_set("y").alias(f"s{number}"))
        return skewkit.skew_join(frame, sets, "k", "left") if ours else frame.join(sets, "k", "left")

    return {"join": joined, "window": windowed, "group": grouped}


TURN = ("join", "join", "window", "join", "group")
PIPELINES = {8: ("join",) * 5 + ("window",) * 3, 12: tuple(TURN[i % 5] for i in range(10)), 24: TURN * 4}
"""Number of operators -> its steps; a group-by is joined back, so that it counts twice."""


def main(rows: int = 900_000, runs: int = 3) -> None:
    """Print for each pipeline the medians of the seconds to define and to run it, and its queries."""
    rows = min(rows, 900_000)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        spark = local_session(confs={"spark.sql.shuffle.partitions": str(PARTITIONS), "spark.driver.memory": "8g"})
        try:
            frame, dim = facts(spark, folder, rows, 4, 0.7), others(spark, folder, rows // 50, rows // 50)
            kinds = steps(dim)
            for operators, names in PIPELINES.items():
                walls: dict[bool, list[tuple[float, float]]] = {False: [], True: []}
                for run in range(runs + 1):
                    for ours in (False, True):
                        decided, began, made = len(skewkit.decisions()), time.perf_counter(), frame
                        for number, name in enumerate(names):
                            made = kinds[name](made, number, ours)
                        made.schema  # noqa: B018 - the analysis belongs to the defining
                        defined = time.perf_counter() - began
                        made.write.format("noop").mode("overwrite").save()
                        if run:
                            walls[ours].append((defined, time.perf_counter() - began))
                decisions = skewkit.decisions()[decided:]
                text = ", ".join(
                    f"{'auto' if ours else 'plain'} {median(all_ for _, all_ in found):.2f} s "
                    f"(to define {median(defined for defined, _ in found):.2f} s)"
                    for ours, found in walls.items()
                )
                print(f"{operators} operators: {text}, {sum(each.jobs for each in decisions)} queries", flush=True)
        finally:
            spark.stop()
