"""Options and properties of Delta in `delta.write`: what passes through, what is overruled, and Delta's features."""

import json

import pyarrow.parquet as pq
import pytest
from pyspark.sql import functions as F

import skewkit
from skewkit import delta
from skewkit.testing import assert_same_rows
from tests.delta.frames import KIB, added, commit_info, days, read
from tests.delta.tablelog import actions, versions

pytestmark = [pytest.mark.delta, pytest.mark.connect, pytest.mark.slow]


def test_optimized_write_of_the_table_is_overruled(spark, tmp_path):
    path, frame = tmp_path / "t", days(spark)
    spark.sql(
        f"CREATE TABLE delta.`{path}` (id BIGINT, day INT, text STRING, few BIGINT) USING delta PARTITIONED BY (day) "
        "TBLPROPERTIES ('delta.autoOptimize.optimizeWrite' = 'true')"
    )
    planned = skewkit.repartition_by_file_size(frame, "day", target_file_bytes=512 * KIB)
    planned.write.format("delta").mode("append").save(str(path))
    by_delta = len(added(path))
    plan = delta.write(frame, path, mode="append", target_file_bytes=512 * KIB)
    assert len(added(path)) == plan.files > by_delta, "Delta's own shuffle undid the first one"
    assert_same_rows(read(spark, path), frame.unionAll(frame))


@pytest.mark.parametrize("codec", ["zstd", "gzip", "uncompressed"])
def test_the_codec_is_that_which_is_given(spark, tmp_path, codec):
    plan = delta.write(days(spark, rows=2000), tmp_path / "t", compression=codec)
    assert f"encoded with {codec}" in str(plan)
    (add,) = added(tmp_path / "t")
    assert pq.ParquetFile(tmp_path / "t" / add["path"]).metadata.row_group(0).column(0).compression == codec.upper()


def test_metadata_and_records_per_file_pass_through(spark, tmp_path):
    frame = days(spark, rows=2000)
    delta.write(frame, tmp_path / "t", userMetadata="night 7", MAXRECORDSPERFILE=300)
    assert commit_info(tmp_path / "t")["userMetadata"] == "night 7"
    rows = [json.loads(add["stats"])["numRecords"] for add in added(tmp_path / "t")]
    assert sorted(rows) == [200, *[300] * 6]
    assert_same_rows(read(spark, tmp_path / "t"), frame)


def test_a_dynamic_overwrite_replaces_the_days_that_it_has(spark, tmp_path):
    frame, path = days(spark, rows=2000), tmp_path / "t"
    delta.write(frame, path, partition_by="day")
    new = frame.where("day IN (0, 3)").withColumn("text", F.lit("new"))
    delta.write(new, path, mode="overwrite", partitionOverwriteMode="dynamic")
    assert_same_rows(read(spark, path), new.unionAll(frame.where("day NOT IN (0, 3)")))
    assert len(added(path)) == 2
    assert versions(path) == 2


def test_features_of_delta_keep_working(spark, tmp_path):
    path = tmp_path / "t"
    rows = spark.range(3000).selectExpr("id", "timestamp_seconds(id * 100) AS ts", "id % 3 AS `a b`")
    spark.sql(
        f"CREATE TABLE delta.`{path}` (id BIGINT, ts TIMESTAMP, `a b` BIGINT, "
        "day DATE GENERATED ALWAYS AS (CAST(ts AS DATE))) USING delta "
        "PARTITIONED BY (day) TBLPROPERTIES ('delta.columnMapping.mode' = 'name', "
        "'delta.enableDeletionVectors' = 'true', 'delta.enableChangeDataFeed' = 'true')"
    )
    plan = delta.write(rows, path, mode="append")
    written = added(path)
    assert len(written) == plan.files == 4, "one file a day, though the frame has no day"
    assert {value for add in written for value in add["partitionValues"].values()} == {
        f"1970-01-0{day}" for day in (1, 2, 3, 4)
    }
    assert all(name.startswith("col-") for add in written for name in add["partitionValues"]), "mapped names"
    spark.sql(f"DELETE FROM delta.`{path}` WHERE id = 5")
    (deleted,) = added(path)
    assert deleted["deletionVector"]["cardinality"] == 1
    assert deleted["path"] in {add["path"] for add in written}, "the file itself stays"
    spark.sql(f"ALTER TABLE delta.`{path}` ADD CONSTRAINT small CHECK (id < 5000)")
    before = versions(path)
    delta.write(rows.where("id = 5"), path, mode="append")
    assert versions(path) == before + 1
    assert [json.loads(add["stats"])["numRecords"] for add in added(path)] == [1]
    with pytest.raises(Exception, match=r"DELTA_VIOLATE_CONSTRAINT|CHECK constraint"):
        delta.write(rows.withColumn("id", F.col("id") + 5000), path, mode="append")
    assert versions(path) == before + 1
    assert_same_rows(read(spark, path), rows.withColumn("day", F.to_date("ts")))
    changes = spark.sql(f"SELECT * FROM table_changes_by_path('{path}', 1)")
    found = {row[0]: row[1] for row in changes.groupBy("_change_type").count().collect()}
    assert found == {"insert": 3001, "delete": 1}
    assert sum("add" in action for commit in actions(path) for action in commit) == 6
    assert spark.sql(f"DESCRIBE DETAIL delta.`{path}`").select("numFiles").collect()[0][0] == 5
