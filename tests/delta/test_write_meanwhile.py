"""Writes that something happens to: another job commits meanwhile, shuffle files get lost and tasks run again."""

import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from pyspark.sql import functions as F

import skewkit
from skewkit import delta
from skewkit.testing import assert_same_rows
from tests.delta.frames import KIB, days, read, tasks
from tests.delta.tablelog import versions
from tests.spark import test_retries

pytestmark = [pytest.mark.delta, pytest.mark.slow]

lose = test_retries.lose


def waiting(folder):
    """Return a UDF that returns its argument; its first call says that it runs, and waits for the other job."""

    @F.udf("bigint")
    def same(value):
        if not (folder / "done").exists():
            (folder / "running").touch()
            until = time.monotonic() + 120
            while not (folder / "done").exists() and time.monotonic() < until:
                time.sleep(0.05)
        return value

    return same


@pytest.mark.connect
@pytest.mark.parametrize("other", ["append", "overwrite", "delete"])
def test_an_overwrite_while_another_job_changes_the_table(spark, tmp_path, other):
    path, old = tmp_path / "t", days(spark, rows=2000)
    delta.write(old, path, partition_by="day")
    new = days(spark, rows=3000, mappers=1).withColumn("text", F.lit("new"))
    theirs = days(spark, rows=500).withColumn("text", F.lit("theirs"))
    # By a profile no query comes before the write, so the other job commits while the write runs.
    profile = skewkit.skew_profile(new, "day")
    slow = new.withColumn("id", waiting(tmp_path)("id"))
    with ThreadPoolExecutor(1) as pool:
        ours = pool.submit(delta.write, slow, path, mode="overwrite", profile=profile)
        until = time.monotonic() + 60
        while not (tmp_path / "running").exists() and not ours.done() and time.monotonic() < until:
            time.sleep(0.05)
        assert not ours.done(), ours.exception()
        if other == "delete":
            spark.sql(f"DELETE FROM delta.`{path}` WHERE day = 0")
            after = old.where("day <> 0")
        else:
            theirs.write.format("delta").mode(other).save(str(path))
            after = old.unionAll(theirs) if other == "append" else theirs
        assert versions(path) == 2
        (tmp_path / "done").touch()
        error = ours.exception(timeout=120)
    if error is not None:
        assert "DELTA_CONCURRENT" in str(error), error
        assert versions(path) == 2
        assert_same_rows(read(spark, path), after)
        return
    assert versions(path) == 3
    assert other == "append", "both take the same files away"
    # Delta's order: the append reads nothing, so it may come after the overwrite.
    assert_same_rows(read(spark, path), new.unionAll(theirs))


def test_two_overwrites_at_the_same_time(spark, tmp_path):
    path = tmp_path / "t"
    delta.write(days(spark, rows=500), path, partition_by="day")
    frames = [days(spark, rows=3000).withColumn("text", F.lit(str(i))) for i in range(3)]
    with ThreadPoolExecutor(3) as pool:
        writes = [pool.submit(delta.write, frame, path, mode="overwrite") for frame in frames]
    errors = [write.exception() for write in writes]
    assert all(error is None or "DELTA_CONCURRENT" in str(error) for error in errors), errors
    assert versions(path) == 1 + errors.count(None) > 1
    (last,) = {row[0] for row in read(spark, path).select("text").distinct().collect()}
    assert errors[int(last)] is None
    assert_same_rows(read(spark, path), frames[int(last)])


def test_a_write_whose_input_is_made_again(spark, tmp_path, lose):
    rows = days(spark, mappers=3)
    profile = skewkit.skew_profile(rows, "day")  # no query comes before the write, whose first task loses files
    frame = rows.repartition(5, "few").withColumn("z", test_retries.slowly(lose)("id"))
    plan = delta.write(frame, tmp_path / "t", partition_by="day", target_file_bytes=256 * KIB, profile=profile)
    assert plan.tasks > 2
    assert plan.cut == 1
    assert_same_rows(read(spark, tmp_path / "t"), rows.withColumn("z", F.col("id")))
    assert versions(tmp_path / "t") == 1


def test_a_counted_write_whose_shuffle_is_made_again(spark, tmp_path, lose):
    rows = days(spark, mappers=3)
    planned = skewkit.repartition_by_file_size(rows, "day", target_file_bytes=256 * KIB)
    # The tasks that write lose the files that planned rows come from.
    frame = planned.withColumn("z", test_retries.slowly(lose)("id"))
    frame.write.format("delta").partitionBy("day").save(str(tmp_path / "t"))
    assert len(set(tasks(tmp_path / "t")[(("day", "0"),)])) > 2
    assert_same_rows(read(spark, tmp_path / "t"), rows.withColumn("z", F.col("id")))
    assert versions(tmp_path / "t") == 1
