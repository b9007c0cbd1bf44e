"""What the one query for the keys of a frame takes, as the frame grows."""

import tempfile
import time
from pathlib import Path
from statistics import median

from skewkit.options import Settings
from skewkit.spark.explained.plan_facts import PlanFacts
from skewkit.spark.expressions.keys import find_keys
from skewkit.spark.sampling.ask import Question, ask
from skewkit.testing import local_session

FRAMES = ((5_000_000, 8), (20_000_000, 32), (80_000_000, 128))
"""Rows and files."""


def main(rows: int = 80_000_000, runs: int = 3) -> None:
    """Print rows and files of each frame, and the seconds of the query: the median of the runs after one to warm up."""
    with tempfile.TemporaryDirectory() as scratch:
        spark = local_session(confs={"spark.sql.shuffle.partitions": "32", "spark.driver.memory": "4g"})
        try:
            for size, files in FRAMES:
                if size > rows:
                    continue
                path = Path(scratch) / str(size)
                key = "if(pmod(xxhash64(id), 10) < 3, 7, pmod(xxhash64(id, 1), 1000000)) AS k"
                spark.range(0, size, 1, files).selectExpr(key, "id AS v").write.parquet(str(path))
                frame, taken = spark.read.parquet(str(path)), []
                for _ in range(runs + 1):
                    began = time.perf_counter()
                    ask([Question(PlanFacts(frame), find_keys(frame, ["k"]))], 32, Settings(), why="a benchmark")
                    taken.append(time.perf_counter() - began)
                print(f"{size:>11,} rows in {files:>3} files: {median(taken[1:]):.2f} s", flush=True)
        finally:
            spark.stop()
