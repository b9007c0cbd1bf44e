"""Jobs killed with -9 at random moments and run again: the tables' contents, versions and what is left behind."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from pyspark.sql import functions as F

from skewkit import delta
from skewkit.testing import assert_same_rows
from tests.delta.tablelog import versions

pytestmark = [pytest.mark.delta, pytest.mark.slow, pytest.mark.timeout(1500)]

ROOT = Path(__file__).parents[2]
JOB = """
import sys
from skewkit import delta, skew_profile
from skewkit.testing import local_session

folder = sys.argv[1]
spark = local_session(delta=True, confs={"spark.sql.shuffle.partitions": "8"})
print("started", flush=True)
rows = spark.range(60000).selectExpr("id", "if(id % 10 < 9, 0, id % 30) AS day", "sha2(string(id), 256) AS text")
plan = delta.write(rows, folder + "/rows", partition_by="day", target_file_bytes="256kb", mode="append",
                   txnAppId="job", txnVersion=1)
print("written", flush=True)
history = delta.ProfileHistory(spark, folder + "/history")
history.record("rows", plan.profile or skew_profile(rows, "day"), run_id=1)
print("recorded", flush=True)
spark.sql(f"CREATE TABLE IF NOT EXISTS delta.`{folder}/keys` (k BIGINT, v BIGINT) USING delta")
source = spark.range(20000).selectExpr("if(id % 3 = 0, null, id) AS k", "id AS v").where("k IS NOT NULL OR v < 300")
spark.conf.set("spark.databricks.delta.write.txnAppId", "job")
spark.conf.set("spark.databricks.delta.write.txnVersion", "1")
delta.merge(folder + "/keys", source, "k").whenMatchedUpdateAll().whenNotMatchedInsertAll().execute()
print("merged", flush=True)
"""


def run(folder, kill_after=None):
    """Run the job; kill its whole process group so many seconds after it has started. Return what it printed."""
    with subprocess.Popen(
        [sys.executable, "-c", JOB, str(folder)], stdout=subprocess.PIPE, text=True, start_new_session=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    ) as job:  # fmt: skip
        printed = [job.stdout.readline()]
        if kill_after is not None:
            time.sleep(kill_after)
            os.killpg(job.pid, signal.SIGKILL)
        printed += job.stdout.readlines()
    return printed


@pytest.mark.parametrize("seed", range(4))
def test_killed_and_run_again(spark, tmp_path, seed):
    rng = random.Random(seed)
    for _ in range(2):
        run(tmp_path, kill_after=rng.uniform(1.0, 14.0))
    assert run(tmp_path)[-1] == "merged\n"
    assert run(tmp_path)[-1] == "merged\n", "once more changes nothing"
    rows = spark.range(60000).selectExpr("id", "if(id % 10 < 9, 0, id % 30) AS day", "sha2(string(id), 256) AS text")
    assert_same_rows(spark.read.format("delta").load(f"{tmp_path}/rows"), rows)
    assert versions(tmp_path / "rows") == 1
    assert [each.run_id for each in delta.ProfileHistory(spark, tmp_path / "history").runs("rows", "day")] == ["1"]
    keys = spark.read.format("delta").load(f"{tmp_path}/keys")
    source = spark.range(20000).selectExpr("if(id % 3 = 0, null, id) AS k", "id AS v").where("k IS NOT NULL OR v < 300")
    assert_same_rows(keys, source)
    assert keys.where(F.col("k").isNull()).count() == 100
    assert versions(tmp_path / "keys") == 2
