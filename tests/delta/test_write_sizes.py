"""Numbers and sizes of the files of `delta.write`: one value, thousands, rows that are alike, old profiles, tasks."""

import json

import pytest
from pyspark.sql import functions as F

import skewkit
from skewkit import delta
from skewkit.api.repartition import by_file_size
from skewkit.testing import assert_same_rows
from tests.delta.frames import KIB, added, days, read, tasks
from tests.delta.tablelog import assert_planned, sizes

pytestmark = [pytest.mark.delta, pytest.mark.connect, pytest.mark.slow]

HOT = (("day", "0"),)


def test_as_many_files_of_each_value_from_any_number_of_mappers(spark, tmp_path):
    counts = []
    for mappers in (1, 2, 200):
        path = tmp_path / str(mappers)
        delta.write(days(spark, mappers=mappers), path, partition_by="day", target_file_bytes=512 * KIB)
        counts.append({value: len(files) for value, files in sizes(path).items()})
    assert counts[0].keys() == counts[1].keys() == counts[2].keys()
    for value in counts[0]:
        found = [count[value] for count in counts]
        # The sample by which bytes are estimated is another one.
        assert max(found) - min(found) <= (value == HOT), (value, found)


@pytest.mark.parametrize("mappers", [1, 2, 200])
def test_one_partition_value(spark, tmp_path, mappers):
    frame, target = days(spark, mappers=mappers, hot=1.0), 256 * KIB
    plan = delta.write(frame, tmp_path / "t", partition_by="day", target_file_bytes=target)
    ((value, files),) = sizes(tmp_path / "t").items()
    assert value == HOT
    assert_planned({value: files}, target)
    assert len(files) == plan.files >= sum(files) / (2 * target)
    assert plan.cut == plan.values == 1
    assert_same_rows(read(spark, tmp_path / "t"), frame)


@pytest.mark.parametrize("mappers", [1, 200])
def test_five_thousand_partition_values(spark, tmp_path, mappers):
    frame = days(spark, rows=200_000, mappers=mappers, hot=0.5, values=10_000)
    plan = delta.write(frame, tmp_path / "t", partition_by=["day"], target_file_bytes="1MB")
    found = sizes(tmp_path / "t")
    assert_planned(found, 1 << 20)
    assert len(found) == 5001, "half of 10,000, and the hot one"
    assert {len(files) for value, files in found.items() if value != HOT} == {1}
    assert plan.files == sum(map(len, found.values()))
    assert read(spark, tmp_path / "t").count() == 200_000


def test_a_hot_values_files_are_of_several_tasks(spark, tmp_path):
    plan = delta.write(days(spark), tmp_path / "t", partition_by="day", target_file_bytes=512 * KIB)
    found = tasks(tmp_path / "t")
    assert len(found[HOT]) >= 6
    assert len(set(found[HOT])) == len(found[HOT]), "each by a task of its own"
    assert max(number for numbers in found.values() for number in numbers) < plan.tasks


def test_the_default_target_is_128_mib(spark, tmp_path):
    frame = days(spark, rows=2000)
    plan = delta.write(frame, tmp_path / "t", partition_by="day")
    again = delta.write(frame, tmp_path / "t", mode="append")
    assert plan.target == again.target == 128 << 20
    assert plan.files == sum(map(len, sizes(tmp_path / "t").values())) / 2
    assert "target 128.0 MiB" in skewkit.explain(skewkit.repartition_by_file_size(frame, "day"))


def test_rows_that_are_all_alike_are_still_cut(spark, tmp_path):
    # They come out of a shuffle, so not even a position tells them apart.
    frame = spark.range(60_000).selectExpr("1 AS k", "sequence(0, 63) AS v").repartition(1)
    target = 64 * KIB
    delta.write(frame, tmp_path / "t", partition_by="k", target_file_bytes=target, compression="uncompressed")
    (files,) = sizes(tmp_path / "t").values()
    assert sum(files) > 20 * target, "or nothing is shown"
    assert len(files) >= sum(files) / (2.2 * target)
    assert max(files) <= 2.2 * target
    assert len(set(tasks(tmp_path / "t")[(("k", "1"),)])) == 1, "one task cuts them"
    assert_same_rows(read(spark, tmp_path / "t"), frame)


def test_an_old_profile_costs_files_but_no_rows(spark, tmp_path):
    frame = days(spark)
    stale = skewkit.skew_profile(frame.withColumn("day", F.col("day") + 1000), "day")
    plan = delta.write(frame, tmp_path / "new", partition_by="day", target_file_bytes=512 * KIB, profile=stale)
    rows = [json.loads(add["stats"])["numRecords"] for add in added(tmp_path / "new")]
    assert 0 < max(rows) <= plan.rows_per_file, "rows per byte are a guess, and the writer stops where it says"
    assert len(sizes(tmp_path / "new")[HOT]) > 1
    assert_same_rows(read(spark, tmp_path / "new"), frame)


@pytest.mark.parametrize(
    "columns",
    [
        ["id", "sha2(string(id), 256) AS text"],
        ["id", "id % 7 AS few", "repeat('x', 300) AS same"],
        ["id % 1000 AS number", "array(id, id + 1, id + 2) AS list", "string(id % 3) AS word"],
    ],
)
@pytest.mark.parametrize("stored", [True, False])
def test_a_new_table_by_a_profile_samples_rows_and_counts_nothing(spark, tmp_path, monkeypatch, columns, stored):
    # By the types of these columns a row has another number of bytes.
    frame = spark.range(0, 120_000, 1, 5).selectExpr("if(id % 10 < 8, 0, id % 50) AS day", *columns)
    if stored:
        frame.write.parquet(str(tmp_path / "source"))
        frame = spark.read.parquet(str(tmp_path / "source")).where("day < 45")
    profile = skewkit.skew_profile(frame, "day")
    asked = []
    query = by_file_size.partition_sizes
    monkeypatch.setattr(by_file_size, "partition_sizes", lambda df, keys: asked.append((df, keys)) or query(df, keys))
    plan = delta.write(frame, tmp_path / "probe", partition_by="day", profile=profile)
    target = max(4 * KIB, int(sum(sizes(tmp_path / "probe")[HOT]) / 6))
    plan = delta.write(frame, tmp_path / "t", partition_by="day", target_file_bytes=target, profile=profile)
    assert "by the profile" in str(plan)
    assert "sampled rows" in str(plan)
    assert len(asked) == 2
    for df, keys in asked:
        assert keys is None
        assert "day" not in df.columns
    assert_planned(sizes(tmp_path / "t"), target)
    assert len(sizes(tmp_path / "t")[HOT]) > 1
    assert_same_rows(read(spark, tmp_path / "t"), frame)


def test_an_old_profile_beside_last_files_keeps_to_two_targets(spark, tmp_path):
    frame = days(spark)
    stale = skewkit.skew_profile(frame.withColumn("day", F.col("day") + 1000), "day")
    delta.write(frame, tmp_path / "t", partition_by="day", target_file_bytes=512 * KIB)
    plan = delta.write(frame, tmp_path / "t", mode="overwrite", target_file_bytes=512 * KIB, profile=stale)
    assert "last files" in str(plan)
    files = sizes(tmp_path / "t")[HOT]
    assert max(files) <= 2.1 * 512 * KIB
    assert len(files) >= sum(files) / (2.1 * 512 * KIB)
    assert_same_rows(read(spark, tmp_path / "t"), frame)
