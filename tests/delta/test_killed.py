"""Jobs killed with -9 at random moments of each step and run again: the tables' contents and what is left behind."""

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
from tests.delta.tablelog import most_added, orphans, temporary, versions

pytestmark = [pytest.mark.delta, pytest.mark.slow, pytest.mark.timeout(1500)]

ROOT = Path(__file__).parents[2]
JOB = """
import re
import sys
from skewkit import delta, explain, skew_profile
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
source = spark.range(20000).selectExpr("if(id % 3 = 0, null, id) AS k", "id AS v").where("k IS NOT NULL OR v < 9000")
spark.conf.set("spark.databricks.delta.write.txnAppId", "job")
spark.conf.set("spark.databricks.delta.write.txnVersion", "1")
done = delta.merge(folder + "/keys", source, "k").whenMatchedUpdateAll().whenNotMatchedInsertAll().execute()
views = spark.sql("SHOW VIEWS LIKE 'skewkit*'").count()
print("merged", *re.findall(r"strategy   (\\w+)", explain(done)), views, "views", flush=True)
"""
DONE = "merged spread 0 views\n"
TABLES = "rows", "history", "keys"


def run(folder, kill_after=None):
    """Run the job; kill its process group some seconds after a step, as `kill_after` says. Return what it printed."""
    with subprocess.Popen(
        [sys.executable, "-c", JOB, str(folder)], stdout=subprocess.PIPE, text=True, start_new_session=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    ) as job:  # fmt: skip
        printed = []
        if kill_after is not None:
            step, seconds = kill_after
            while not printed or printed[-1] not in ("", step + "\n"):
                printed.append(job.stdout.readline())
            time.sleep(seconds)
            os.killpg(job.pid, signal.SIGKILL)
        printed += job.stdout.readlines()
    return printed


@pytest.mark.parametrize(
    "steps", [("started", "written"), ("started", "recorded"), ("written", "recorded"), ("recorded", "started")]
)
def test_killed_and_run_again(spark, tmp_path, steps):
    rng = random.Random(f"{steps}")
    killed, left, before = [], [], {}
    for step in steps:
        killed.append(run(tmp_path, kill_after=(step, rng.uniform(0.1, 3.0))))
        now = {table: orphans(tmp_path / table) for table in TABLES}
        left.append({table: len(now[table] - before.get(table, set())) for table in TABLES})
        before = now
    assert any(printed[-1] != DONE for printed in killed), "a kill hit a running step"
    assert run(tmp_path)[-1] == DONE
    assert run(tmp_path)[-1] == DONE, "once more changes nothing"
    for each in left:
        there = {table: files for table, files in each.items() if files}
        assert len(there) <= 1, "a run writes one table at a time"
        for table, files in there.items():
            assert files <= most_added(tmp_path / table), "a killed write has made no more files than it would commit"
    for table in TABLES:
        assert orphans(tmp_path / table) == before[table], "a run that was not killed leaves none"
        assert temporary(tmp_path / table) == []
    rows = spark.range(60000).selectExpr("id", "if(id % 10 < 9, 0, id % 30) AS day", "sha2(string(id), 256) AS text")
    assert_same_rows(spark.read.format("delta").load(f"{tmp_path}/rows"), rows)
    assert versions(tmp_path / "rows") == 1
    assert [each.run_id for each in delta.ProfileHistory(spark, tmp_path / "history").runs("rows", "day")] == ["1"]
    keys = spark.read.format("delta").load(f"{tmp_path}/keys")
    source = (
        spark.range(20000).selectExpr("if(id % 3 = 0, null, id) AS k", "id AS v").where("k IS NOT NULL OR v < 9000")
    )
    assert_same_rows(keys, source)
    assert keys.where(F.col("k").isNull()).count() == 3000
    assert versions(tmp_path / "keys") == 2
