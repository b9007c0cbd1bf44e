"""`delta.write`: planned files, the frame's rows, Delta's features and errors; the log is read from outside."""

from pathlib import Path

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import functions as F

import skewkit
from skewkit import delta
from skewkit.errors import (
    ArgumentError,
    ArgumentTypeError,
    ColumnNotFoundError,
    KeyTypeError,
    ProfileError,
    UnsupportedError,
)
from skewkit.testing import assert_same_rows
from tests.delta.frames import KIB, TEXT, days, read
from tests.delta.tablelog import actions, assert_planned, orphans, sizes, versions
from tests.helpers import conf

pytestmark = [pytest.mark.delta, pytest.mark.connect]

DATA = Path(__file__).parents[3] / "shared" / "data"


@pytest.mark.every(3)
@pytest.mark.parametrize("mappers", [1, 2, 200])
def test_files_do_not_depend_on_the_number_of_mappers(spark, tmp_path, mappers):
    frame, path = days(spark, mappers=mappers), tmp_path / "it's a `table`"
    plan = delta.write(frame, str(path), partition_by="day", target_file_bytes=512 * KIB)
    found = sizes(path)
    assert_planned(found, 512 * KIB)
    assert len(found) == 40
    assert max(len(files) for files in found.values()) >= 6
    assert plan.files == sum(map(len, found.values()))
    assert plan.cut == 1
    assert_same_rows(read(spark, path), frame)
    assert versions(path) == 1
    assert orphans(path) == set()


@pytest.mark.slow
def test_many_partition_values_are_one_file_each(spark, tmp_path):
    frame = days(spark, rows=40_000, hot=0.5, values=500)
    plan = delta.write(frame, tmp_path / "t", partition_by=["day"], target_file_bytes="1MB")
    found = sizes(tmp_path / "t")
    assert_planned(found, 1 << 20)
    assert len(found) == 500
    assert sorted(map(len, found.values()))[-2:] == [1, 2]
    assert plan.tasks < 300, "several values to a task"


@pytest.mark.every(2)
@pytest.mark.parametrize("mappers", [1, 30])
def test_no_partition_columns_even_files(spark, tmp_path, mappers):
    frame = days(spark, mappers=mappers)
    delta.write(frame, tmp_path / "t", target_file_bytes=512 * KIB)
    (files,) = sizes(tmp_path / "t").values()
    assert_planned({(): files}, 512 * KIB)
    assert max(files) < 1.15 * min(files)
    assert abs(len(files) - sum(files) / (512 * KIB)) <= 1
    assert_same_rows(read(spark, tmp_path / "t"), frame)


@pytest.mark.every(2)
@pytest.mark.parametrize("by", ["author", "repo"])
def test_no_partition_columns_and_neighbours_that_are_alike(spark, tmp_path, by):
    # Neighbours are of one author and commit. A planned file has one row in some thirty of them.
    file, target = DATA / "git_changes.parquet", 600_000
    if file.is_file():
        changes = spark.read.parquet(str(file)).repartitionByRange(32, by).sortWithinPartitions(by)
    else:
        print("git_changes.parquet is not here: generated rows instead")
        changes = spark.range(0, 500_000, 1, 32).selectExpr(
            "id div 9000 AS author", "sha2(string(id div 30), 256) AS commit", "pmod(xxhash64(id), 40000) AS path"
        )
    plan = delta.write(changes, tmp_path / "t", target_file_bytes=target)
    (files,) = sizes(tmp_path / "t").values()
    assert len(files) == plan.files > 5
    assert len(files) <= -(-sum(files) // target) + 1
    assert 0.8 * target < min(files) <= max(files) < 1.3 * target
    assert read(spark, tmp_path / "t").count() == changes.count()


@pytest.mark.slow
def test_values_whose_rows_are_longer_have_more_files(spark, tmp_path):
    text = (
        f"if(id % 2 = 0, repeat({TEXT}, 1), concat_ws(',', transform(sequence(1, 12), i -> sha2(concat(id, i), 256))))"
    )
    frame = spark.range(6000, numPartitions=3).selectExpr("id", "id % 2 AS k", f"{text} AS text")
    delta.write(frame, tmp_path / "t", partition_by="k", target_file_bytes=256 * KIB)
    found = sizes(tmp_path / "t")
    assert_planned(found, 256 * KIB)
    assert len(found[(("k", "0"),)]) == 1
    assert len(found[(("k", "1"),)]) >= 4


@pytest.mark.slow
@pytest.mark.parametrize("mappers", [1, 40])
def test_values_whose_own_rows_compress_better_have_fewer_files(spark, tmp_path, mappers):
    # Runs of rows share a text, and no two values have one: of all rows most texts look like single ones.
    text = "sha2(concat(id % 60, '/', floor(id / if(id % 60 < 30, 6000, 60))), 512)"
    frame = spark.range(240_000, numPartitions=mappers).selectExpr("id", "cast(id % 60 AS int) AS k", f"{text} AS text")
    plan = delta.write(frame, tmp_path / "t", partition_by="k", target_file_bytes=16 * KIB)
    found = sizes(tmp_path / "t")
    assert_planned(found, 16 * KIB)
    assert plan.cut >= 30, "or nothing is shown"
    assert len(found[(("k", "0"),)]) < len(found[(("k", "59"),)]) / 2


@pytest.mark.slow
def test_a_hot_value_of_a_frame_with_a_limit_is_cut(spark, tmp_path):
    frame = days(spark, rows=60_000, mappers=3).limit(50_000)
    delta.write(frame, tmp_path / "t", partition_by="day", target_file_bytes=512 * KIB)
    found = sizes(tmp_path / "t")
    assert_planned(found, 512 * KIB)
    assert len(found[(("day", "0"),)]) >= 5
    assert read(spark, tmp_path / "t").count() == 50_000


@pytest.mark.slow
def test_a_hot_value_whose_rows_are_all_there_twice_is_cut(spark, tmp_path):
    rows = spark.range(0, 60_000, 1, 8).selectExpr(
        "if(pmod(xxhash64(id), 10) < 2, 0, pmod(id, 300)) AS day", "id", "sha2(string(id), 256) AS text",
        "pmod(xxhash64(id, 1), 50) AS few",
    )  # fmt: skip
    frame, target = rows.unionAll(rows).repartition(1), 60_000
    delta.write(frame, tmp_path / "t", partition_by="day", target_file_bytes=target)
    hot = sizes(tmp_path / "t")[(("day", "0"),)]
    assert len(hot) > 4
    assert all(target / 2 <= size <= 2 * target for size in hot), hot
    assert len(hot) <= -(-sum(hot) // target) + 1
    assert_same_rows(read(spark, tmp_path / "t"), frame)


@pytest.mark.slow
def test_the_target_is_that_of_the_table(spark, tmp_path):
    path = tmp_path / "t"
    # Delta 4.4 itself knows no such property; it lets those be that other writers of the table have set.
    with conf(spark, "spark.databricks.delta.allowArbitraryProperties.enabled", "true"):
        spark.sql(
            f"CREATE TABLE delta.`{path}` (id BIGINT, day INT, text STRING, few BIGINT) USING delta "
            "PARTITIONED BY (day) TBLPROPERTIES ('delta.targetFileSize' = '512kb')"
        )
    plan = delta.write(days(spark), path, mode="append")
    assert plan.target == 512 * KIB
    assert plan.keys == ("day",)
    assert_planned(sizes(path), 512 * KIB)


@pytest.mark.slow
def test_optimized_write_is_off_and_nothing_is_shuffled_twice(spark, tmp_path):
    with conf(spark, "spark.databricks.delta.optimizeWrite.enabled", "true"):
        plan = delta.write(days(spark), tmp_path / "t", partition_by="day", target_file_bytes=512 * KIB)
    assert plan.files == sum(map(len, sizes(tmp_path / "t").values()))


@pytest.mark.slow
def test_with_a_profile_no_query_reads_the_frame(spark, tmp_path, monkeypatch):
    frame = days(spark)
    profile = skewkit.skew_profile(frame, "day")
    first = delta.write(frame, tmp_path / "t", partition_by="day", target_file_bytes=512 * KIB)

    def never(*_):
        raise AssertionError("read")

    monkeypatch.setattr("skewkit.api.repartition.by_file_size.partition_sizes", never)
    for each in (profile, first.profile):
        plan = delta.write(frame, tmp_path / "t", mode="overwrite", target_file_bytes=512 * KIB, profile=each)
        assert "by the profile" in str(plan)
        assert "last files" in str(plan)
        assert_planned(sizes(tmp_path / "t"), 512 * KIB)
    assert_same_rows(read(spark, tmp_path / "t"), frame)


@pytest.mark.slow
def test_modes_and_options_pass_through(spark, tmp_path):
    path, frame = tmp_path / "t", days(spark, rows=2000)
    delta.write(frame, path, partition_by="day")
    with pytest.raises(AnalysisException, match=r"DELTA_PATH_EXISTS|already exists"):
        delta.write(frame, path)
    assert versions(path) == 1
    delta.write(frame, path, mode="ignore")
    assert versions(path) == 1
    for _ in range(2):
        delta.write(frame, path, mode="append", txnAppId="night", txnVersion=7)
    assert versions(path) == 2
    assert read(spark, path).count() == 4000
    day = frame.where("day = 3")
    delta.write(day, path, mode="overwrite", replaceWhere="day = 3")
    assert read(spark, path).where("day = 3").count() == day.count()
    assert read(spark, path).where("day <> 3").count() == 2 * frame.where("day <> 3").count()
    delta.write(frame.withColumn("new", F.lit(1)), path, mode="append", mergeSchema=True)
    assert "new" in read(spark, path).columns
    delta.write(frame, path, mode="overwrite", partition_by="few", overwriteSchema=True)
    assert_same_rows(read(spark, path), frame)
    assert {key for value in sizes(path) for key, _ in value} == {"few"}


@pytest.mark.slow
def test_partition_columns_of_the_table_stay(spark, tmp_path):
    path, frame = tmp_path / "t", days(spark, rows=4000)
    delta.write(frame, path, partition_by="few")
    added = delta.write(frame, path, mode="append", partition_by=[])
    wider = delta.write(frame.withColumn("more", F.lit(1)), path, mode="overwrite", overwriteSchema=True)
    for plan in (added, wider):
        assert plan.keys == ("few",)
        assert plan.files == 7
    assert {key for value in sizes(path) for key, _ in value} == {"few"}
    plan = delta.write(frame, path, mode="overwrite", partition_by=[], overwriteSchema=True)
    assert plan.keys == ()
    assert set(sizes(path)) == {()}
    assert_same_rows(read(spark, path), frame)


@pytest.mark.slow
def test_a_write_that_fails_leaves_no_version(spark, tmp_path):
    path, frame = tmp_path / "t", days(spark, rows=2000)
    delta.write(frame, path, partition_by="day")
    spark.sql(f"ALTER TABLE delta.`{path}` ADD CONSTRAINT small CHECK (id < 5000)")
    before = versions(path)
    with pytest.raises(Exception, match=r"DELTA_VIOLATE_CONSTRAINT|CHECK constraint"):
        delta.write(frame.withColumn("id", F.col("id") + 10_000), path, mode="append")
    with pytest.raises(AnalysisException):
        delta.write(frame.withColumn("more", F.lit(1)), path, mode="append")
    with pytest.raises(AnalysisException):
        delta.write(frame, path, mode="append", partition_by="few")
    assert versions(path) == before
    assert_same_rows(read(spark, path), frame)


@pytest.mark.slow
def test_a_clustered_table_is_left_to_optimize(spark, tmp_path):
    path, frame = tmp_path / "t", days(spark, rows=2000)
    spark.sql(f"CREATE TABLE delta.`{path}` (id BIGINT, day INT, text STRING, few BIGINT) USING delta CLUSTER BY (day)")
    plan = delta.write(frame, path, mode="append")
    assert "OPTIMIZE" in str(plan)
    assert plan.files == 1
    assert_same_rows(read(spark, path), frame)


@pytest.mark.slow
def test_hostile_names_nulls_and_a_table_in_the_catalog(spark, tmp_path):
    columns = ["a.b", "c`d", "_skew_partition", "hash"]
    frame = (
        spark.range(3000)
        .selectExpr("if(id % 3 = 0, null, id % 5)", "id", "id * 2", "cast(id AS string)")
        .toDF(*columns)
    )
    with conf(spark, "spark.databricks.delta.properties.defaults.columnMapping.mode", "name"):
        delta.write(frame, tmp_path / "x y", partition_by="a.b")
    assert_same_rows(read(spark, tmp_path / "x y"), frame)
    spark.sql("CREATE DATABASE IF NOT EXISTS skewed LOCATION '" + str(tmp_path / "db") + "'")
    try:
        plain = days(spark, rows=2000)
        delta.write(plain, "skewed.`my_table`", partition_by="day")
        delta.write(plain, "skewed.`my_table`", mode="append")
        assert_same_rows(spark.table("skewed.`my_table`"), plain.unionAll(plain))
    finally:
        spark.sql("DROP DATABASE skewed CASCADE")


@pytest.mark.slow
def test_an_empty_frame_and_a_nested_one(spark, tmp_path):
    frame = spark.range(50).selectExpr(
        "id % 2 AS k",
        "map('a', id) AS m",
        "array(struct(id AS x, string(id) AS y)) AS l",
        "struct(id AS i) AS s",
        "binary(string(id)) AS b",
        "id = 3 AS t",
        "cast(id AS decimal(30, 5)) AS d",
        "cast('NaN' AS float) AS f",
    )
    delta.write(frame, tmp_path / "t", partition_by="k")
    delta.write(frame.where("k > 5"), tmp_path / "t", mode="append")
    assert_same_rows(read(spark, tmp_path / "t"), frame)
    assert sorted(map(len, sizes(tmp_path / "t").values())) == [1, 1]
    assert sum("add" in action for commit in actions(tmp_path / "t") for action in commit) == 2


def test_bad_input_is_told_before_anything_is_written(spark, tmp_path):
    frame, path = days(spark, rows=100), tmp_path / "t"
    with pytest.raises(ColumnNotFoundError, match="did you mean 'day'"):
        delta.write(frame, path, partition_by="dya")
    for size in (0, -1, "0", "many", True, 1.5):
        with pytest.raises((ArgumentError, ArgumentTypeError), match="target_file_bytes"):
            delta.write(frame, path, target_file_bytes=size)
    with pytest.raises(ArgumentError, match="did you mean 'append'"):
        delta.write(frame, path, mode="apend")
    with pytest.raises(ArgumentTypeError):
        delta.write(frame, path, partition_by=[F.col("day")])
    with pytest.raises(ArgumentTypeError):
        delta.write(frame, 5)
    with pytest.raises(ArgumentTypeError):
        delta.write([1], path)
    with pytest.raises(ArgumentError, match="slash"):
        delta.write(frame, "my table")
    with pytest.raises(ArgumentError, match="optimizeWrite"):
        delta.write(frame, path, optimizeWrite=True)
    with pytest.raises(KeyTypeError):
        delta.write(frame.withColumn("m", F.create_map("id", "id")), path, partition_by="m")
    with pytest.raises(ProfileError):
        delta.write(frame, path, partition_by="day", profile=skewkit.skew_profile(frame, "few"))
    with pytest.raises(UnsupportedError, match="stream"):
        delta.write(spark.readStream.format("rate").load(), path)
    with pytest.raises(AnalysisException):
        delta.write(frame.select("id", "id"), path)
    assert not path.exists()
    frame.write.parquet(str(path))
    with pytest.raises(ArgumentError, match="no Delta table and holds other files"):
        delta.write(frame, path, mode="append")
    assert not (path / "_delta_log").exists()


def test_a_view_is_no_place_for_a_write(spark):
    frame = days(spark, rows=100)
    frame.createOrReplaceTempView("only_a_view")
    try:
        for mode in ("append", "overwrite", "errorifexists", "ignore"):
            with pytest.raises(ArgumentError, match="only_a_view is a view"):
                delta.write(frame, "only_a_view", mode=mode)
        assert [row["isTemporary"] for row in spark.sql("SHOW TABLES LIKE 'only_a_view'").collect()] == [True]
    finally:
        spark.catalog.dropTempView("only_a_view")


def test_any_sink_can_have_the_files(spark, tmp_path):
    frame = days(spark)
    planned = skewkit.repartition_by_file_size(frame, "day", target_file_bytes=512 * KIB)
    assert "partition values" in skewkit.explain(planned)
    planned.write.partitionBy("day").parquet(str(tmp_path / "p"))
    found: dict[tuple, list[int]] = {}
    for file in (tmp_path / "p").rglob("*.parquet"):
        found.setdefault((file.parent.name,), []).append(file.stat().st_size)
    assert_planned(found, 512 * KIB)
    assert_same_rows(planned, frame)
