"""Of a table of many files some are read, evenly along their order; what cannot be skipped is read as a whole."""

import pytest
from pyspark.sql import functions as F

from skewkit.options import Settings
from skewkit.plan.profile.key_profile import KeyProfile
from skewkit.spark.explained.plan_facts import PlanFacts
from skewkit.spark.sampling.file_sample import sample_files
from tests.spark.sampling.test_ask import answered

FILES = 96
FEW = Settings(sample_rows=100)
"""So that a sample of 800 rows is taken, which a part of these small files has."""


@pytest.fixture(scope="module")
def tables(spark, tmp_path_factory):
    """Return paths of one table each: sorted by its key, the same in one file, partitioned, and with empty files."""
    path = tmp_path_factory.mktemp("tables")
    key = "CASE WHEN id BETWEEN 30000 AND 31920 THEN -1 WHEN id > 38400 THEN -2 ELSE id div 10 END AS k"
    rows = spark.range(0, 48_000, 1, FILES).selectExpr(key, "id AS v", "int(id % 80) AS d")
    rows.write.parquet(str(path / "sorted"))
    rows.write.orc(str(path / "orc"))
    rows.coalesce(1).write.parquet(str(path / "one"))
    rows.repartition(1).write.partitionBy("d").parquet(str(path / "by d"))
    spark.range(0, 4_000, 1, 4).selectExpr("id % 3 AS k", "id AS v").write.parquet(str(path / "holes"))
    nothing = spark.range(0, 76, 1, 76).selectExpr("id AS k", "id AS v").where("v % 2 < 0")
    spark.conf.set("spark.sql.files.maxRecordsPerFile", "0")
    nothing.repartition(76).write.mode("append").parquet(str(path / "holes"))
    return path


@pytest.mark.connect
@pytest.mark.parametrize("table", ["sorted", "orc"])
def test_a_table_sorted_by_its_key_shows_every_key_of_three_percent(spark, tables, table):
    reader = spark.read.parquet if table == "sorted" else spark.read.orc
    df = reader(str(tables / table)).where("v >= 0").select("v", "k")
    answer = answered(df, "k", settings=FEW)
    profile = answer.profile
    assert profile.files == (48, FILES)
    assert answer.notes == ("the keys are from a sample of 48 of 96 files",)
    found = {h.key[0]: h for h in profile.heavy}
    assert set(found) == {-1, -2}
    assert found[-1].low <= 1_921 <= found[-1].high
    assert found[-2].low <= 9_599 <= found[-2].high
    assert profile.rows == pytest.approx(48_000, rel=0.1)
    assert "48 of 96 files" in str(profile)
    assert KeyProfile.from_json(profile.to_json()) == profile


def test_files_that_are_not_taken_are_not_read(spark, tables):
    taken = sample_files(PlanFacts(spark.read.parquet(str(tables / "sorted"))), 1_000).frame
    with_names = taken.select(F.col("_metadata.file_name").alias("name"))
    assert with_names.distinct().count() == 48
    assert "file_name" in taken._jdf.queryExecution().executedPlan().toString().split("DataFilters")[1]


@pytest.mark.connect
def test_files_of_one_name_in_several_folders_are_told_apart(spark, tables):
    df = spark.read.parquet(str(tables / "by d"))
    profile = answered(df, "k", settings=FEW).profile
    assert profile.files == (40, 80)
    assert profile.rows == pytest.approx(48_000, rel=0.1)
    filtered = answered(df.where("d < 9"), "k", settings=FEW)
    assert filtered.profile.files is None
    assert filtered.profile.rows == pytest.approx(5_400, rel=0.2)


@pytest.mark.connect
def test_all_of_one_file_is_read(spark, tables):
    df = spark.read.parquet(str(tables / "one"))
    assert sample_files(PlanFacts(df), 1_000).why == "it has 1 file"
    profile = answered(df, "k", settings=FEW).profile
    assert (profile.files, profile.sampled) == (None, True)
    assert profile.rows == pytest.approx(48_000, rel=0.1)


@pytest.mark.parametrize(
    "other", ["joined", "cached", "two scans", "own _metadata"], ids=lambda other: other.replace(" ", "_")
)
def test_what_is_not_one_table_of_files_is_read_as_a_whole(spark, tables, other):
    table = spark.read.parquet(str(tables / "sorted"))
    cached = spark.read.parquet(str(tables / "sorted")).where("v >= 1").cache()
    frames = {
        "joined": lambda: table.join(spark.range(9), F.col("k") == F.col("id"), "left"),
        "cached": lambda: cached,
        "two scans": lambda: table.unionAll(table),
        "own _metadata": lambda: table.withColumn("_metadata", F.struct("k")),
    }
    try:
        found = sample_files(PlanFacts(frames[other]()), 1_000)
        assert (found.of, found.why is None) == (0, False)
    finally:
        cached.unpersist()


@pytest.mark.connect
def test_files_without_rows_count_as_others_do(spark, tables):
    profile = answered(spark.read.parquet(str(tables / "holes")), "k", settings=FEW).profile
    assert profile.rows > 0
    assert all(h.low <= 1_334 and h.high >= 1_333 for h in profile.heavy)
