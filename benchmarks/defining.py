"""What defining a call costs, over plain Spark's own: on small frames without a job, on others one query and the rest.

The query's seconds are those of its jobs, as Spark's status store has them; what is left is skewkit's own time.
"""

import statistics
import tempfile
import time
from pathlib import Path

from pyspark.sql import SparkSession

import skewkit
from benchmarks.never_lose import OPERATORS, PARTITIONS, Run, facts, operators, others
from skewkit.testing import local_session

FRAMES = ((10_000, 4), (10_000, 50), (1_000_000, 50), (100_000, 1000))
"""Rows and columns. With a negative margin every call asks, so that wide frames of few rows have a query, too."""


def defined(spark: SparkSession, run: Run, ours: bool) -> tuple[float, float]:
    """Return the seconds to define a frame, and those of them in which a job ran."""
    spark.sparkContext.setJobGroup("defining", "defining")
    store = spark.sparkContext._jsc.sc().statusStore()
    tracker = spark.sparkContext.statusTracker()
    before = set(tracker.getJobIdsForGroup("defining"))
    began = time.perf_counter()
    run(ours).schema  # noqa: B018 - the analysis belongs to the defining
    took = time.perf_counter() - began
    jobs = [store.job(job) for job in set(tracker.getJobIdsForGroup("defining")) - before]
    ran = sum(j.completionTime().get().getTime() - j.submissionTime().get().getTime() for j in jobs) / 1000
    return took, ran


def main(rows: int = 1_000_000, runs: int = 5) -> None:
    """Print the medians of each operator over frames of several sizes and widths."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        spark = local_session(confs={"spark.sql.shuffle.partitions": str(PARTITIONS), "spark.driver.memory": "8g"})
        try:
            for size, columns in FRAMES:
                size = min(size, rows)
                asks = size > 10_000
                spark.conf.set("spark.skewkit.margin", "-1000" if asks else "0.5")
                frame = facts(spark, folder, size, columns, 0.5)
                few, half = others(spark, folder, size // 50, size // 50), others(spark, folder, size // 2, size // 2)
                runs_of = operators(frame, few, half)
                for name in OPERATORS:
                    plain, ours = [], []
                    for number in range(runs + 1):
                        found = [defined(spark, runs_of[name], each) for each in (False, True)]
                        if number:
                            plain.append(found[0][0])
                            ours.append(found[1])
                    own = statistics.median(took - ran for took, ran in ours)
                    print(
                        f"{name:18}{size:>10,} x {columns:<5} plain {statistics.median(plain):5.2f} s  "
                        f"own time {own:5.2f} s  jobs {statistics.median(ran for _, ran in ours):5.2f} s  "
                        f"{skewkit.decisions()[-1].jobs} queries  {skewkit.decisions()[-1].strategy}",
                        flush=True,
                    )
        finally:
            spark.stop()
