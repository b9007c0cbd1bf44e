"""What a row and a byte cost in each step that Spark takes: the table of `skewkit.plan.costs`.

Every step is timed as the difference of two plans, over rows of two widths, on evenly spread keys; wall time times the
two slots is its CPU time. The last thing printed is the table: what its lines say beside what was measured.
"""

import statistics
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from skewkit.plan import costs
from skewkit.plan.costs import Step
from skewkit.testing import local_session

SLOTS = 2
PARTITIONS = 16
WIDTHS = {"narrow": 2, "wide": 14}
"""Long columns of a row: key and value alone, or twelve more."""
NARROW = ("output", "collect")
"""Plans that read no more than two columns."""
OF_HALF = ("SENT",)
"""Lines of rows of the other side, which has two columns beside a table of any width."""
HALF = 0.5
"""Rows of the other side of a join, per row of the table. It has each key once."""
COPIES = 30
"""Rows that the join of many pairs returns, per row of the table."""


@dataclass(frozen=True)
class Line:
    """Lines of the table of costs, and how they are timed: a plan that takes `steps`, so many times per row each.

    `less` are plans without these steps, whose time is taken off. Both are divided by `per`, rows of the step.
    """

    steps: Mapping[Step, float]
    plan: str
    less: tuple[str, ...] = ()
    per: float = 1.0


LINES = {
    "READ": Line({costs.READ: 1}, "read"),
    "WRITTEN, FETCHED": Line({costs.WRITTEN: 1, costs.FETCHED: 1}, "shuffle", ("read",)),
    "SORTED": Line({costs.SORTED: 1}, "sort", ("shuffle",)),
    "MERGED, RETURNED": Line({costs.MERGED: 1 + HALF, costs.RETURNED: 1}, "sort_merge", ("sort", "sort_half")),
    "BUILT, PROBED, RETURNED": Line(
        {costs.BUILT: HALF, costs.PROBED: 1, costs.RETURNED: 1}, "hash_join", ("shuffle", "shuffle_half")
    ),
    "PROBED": Line({costs.PROBED: 1}, "broadcast", ("read",)),
    "RETURNED": Line({costs.RETURNED: COPIES}, "output", ("read",), COPIES),
    # Nobody else works while a side is sent, so its seconds are those of the clock.
    "SENT": Line({costs.SENT: HALF * SLOTS}, "broadcast_half", ("broadcast",), HALF * SLOTS),
    "WINDOWED": Line({costs.WINDOWED: 1}, "window", ("sort",)),
    "ARROW": Line({costs.ARROW: 1}, "arrow", ("read",)),
    "ARROW, CALLED": Line({costs.ARROW: 1, costs.CALLED: 1}, "group_pandas", ("sort",)),
    "ROUTED": Line({costs.ROUTED: 1}, "hash", ("read",)),
    "COLLECTED, WRITTEN, FETCHED": Line({costs.COLLECTED: 1, costs.WRITTEN: 1, costs.FETCHED: 1}, "collect", ("read",)),
}


def table(spark: SparkSession, folder: Path, rows: int, columns: int, keys: int) -> DataFrame:
    """Write and read back rows of a hashed key, a value and more values."""
    more = [f"xxhash64(id, {i}) AS c{i}" for i in range(columns - 2)]
    made = spark.range(0, rows, 1, PARTITIONS).selectExpr(f"pmod(xxhash64(id), {keys}) AS k", "id AS v", *more)
    made.write.mode("overwrite").parquet(str(folder))
    return spark.read.parquet(str(folder))


def seconds(make: Callable[[], DataFrame], runs: int) -> float:
    """Return the median wall time of computing all rows, times the slots."""
    walls = []
    for number in range(runs + 1):
        began = time.perf_counter()
        make().write.format("noop").mode("overwrite").save()
        if number:
            walls.append(time.perf_counter() - began)
    return statistics.median(walls) * SLOTS


def steps(rows: DataFrame, few: DataFrame, half: DataFrame) -> dict[str, Callable[[], DataFrame]]:
    """Return a plan for each step, by name."""
    shuffled = lambda frame: frame.repartition(PARTITIONS, "k")  # noqa: E731
    by_key = Window.partitionBy("k")

    def python(parts):
        yield from parts

    kept = ", ".join(f"{f.name} {f.dataType.simpleString()}" for f in rows.schema.fields)
    return {
        "read": lambda: rows,
        "hash": lambda: rows.withColumn("h", F.xxhash64("k", "v")).where("h != 7"),
        "shuffle": lambda: shuffled(rows),
        "sort": lambda: shuffled(rows).sortWithinPartitions("k"),
        "window": lambda: rows.select("*", F.sum("v").over(by_key.orderBy("v")).alias("t")),
        "shuffle_half": lambda: shuffled(half),
        "sort_half": lambda: shuffled(half).sortWithinPartitions("k"),
        "collect": lambda: rows.groupBy("k").agg(F.collect_set("v")),
        "sort_merge": lambda: rows.join(half.hint("merge"), "k"),
        "hash_join": lambda: rows.join(half.hint("shuffle_hash"), "k"),
        "broadcast": lambda: rows.join(F.broadcast(few), "k", "left"),
        "broadcast_half": lambda: rows.join(F.broadcast(half), "k", "left"),
        "arrow": lambda: rows.mapInArrow(python, kept),
        "group_pandas": lambda: rows.groupBy(F.expr("k % 1000")).applyInPandas(lambda frame: frame, kept),
        "output": lambda: copied(rows, COPIES),
    }


def copied(rows: DataFrame, times: int) -> DataFrame:
    """Return the narrow columns of each row so many times, as a join of many pairs returns them."""
    return rows.select("k", "v").join(F.broadcast(rows.sparkSession.range(times)), F.lit(True))


def compared(measured: dict[tuple[str, str], float]) -> list[str]:
    """Return the table in microseconds per row, narrow and wide: what a line says, and what was measured."""
    found = ["| line | narrow: table | measured | wide: table | measured |", "| --- | --- | --- | --- | --- |"]
    for name, line in LINES.items():
        cells = [name]
        for width, columns in WIDTHS.items():
            if width == "wide" and (line.plan in NARROW or name in OF_HALF):
                cells += ["-", "-"]
                continue
            said = sum(step.of(1e6, 8.0 + 8 * columns) * times for step, times in line.steps.items())
            took = measured[width, line.plan] - sum(measured[width, other] for other in line.less)
            cells += [f"{said / line.per:.2f}", f"{took / line.per:.2f}"]
        found.append(f"| {' | '.join(cells)} |")
    return found


def main(rows: int = 3_000_000, runs: int = 3) -> None:
    """Print seconds of one slot per million rows of each step, over narrow and wide rows."""
    rows = min(rows, 3_000_000)
    with tempfile.TemporaryDirectory() as scratch:
        confs = {
            "spark.sql.shuffle.partitions": str(PARTITIONS),
            "spark.driver.memory": "8g",
            "spark.sql.autoBroadcastJoinThreshold": "-1",
        }
        spark = local_session(confs=confs)
        try:
            print(f"{rows:,} rows, {SLOTS} slots; CPU seconds per million rows, median of {runs}")
            half = spark.range(0, rows // 2, 1, PARTITIONS).selectExpr("id AS k", "id AS w")
            half.write.parquet(str(Path(scratch) / "keys"))
            half = spark.read.parquet(str(Path(scratch) / "keys"))
            few = half.limit(10_000).coalesce(1)
            few.write.mode("overwrite").parquet(str(Path(scratch) / "few"))
            few = spark.read.parquet(str(Path(scratch) / "few"))
            measured: dict[tuple[str, str], float] = {}
            for width, columns in WIDTHS.items():
                frame = table(spark, Path(scratch) / width, rows, columns, rows // 2)
                for name, make in steps(frame, few, half).items():
                    if width == "wide" and name in NARROW:
                        continue
                    measured[width, name] = seconds(make, runs) / rows * 1e6
                    print(f"{width:8} {name:16} {measured[width, name]:8.3f}", flush=True)
            nothing = spark.range(10)
            for name, make in {
                "query": lambda: nothing.where("id < 5"),
                "shuffle": lambda: nothing.repartition(PARTITIONS, "id"),
                "python": lambda: nothing.mapInArrow(lambda parts: parts, "id bigint"),
            }.items():
                print(f"fixed    {name:16} {seconds(make, 5) / SLOTS:8.3f} s")
            print("\n".join(["", "Microseconds per row on one slot:", "", *compared(measured)]))
        finally:
            spark.stop()
