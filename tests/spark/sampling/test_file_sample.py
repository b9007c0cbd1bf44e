"""Of a table of many files some are read, evenly along their order; what cannot be skipped is read as a whole."""

from contextlib import ExitStack

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import orc
from pyspark.sql import functions as F

import skewkit
from skewkit.options import Settings
from skewkit.plan.profile.key_profile import KeyProfile
from skewkit.spark.explained.plan_facts import PlanFacts
from skewkit.spark.sampling.file_sample import sample_files
from skewkit.spark.sampling.row_sample import guessed_tasks
from tests.helpers import conf, physical_plan
from tests.spark.sampling.test_ask import answered

FILES = 96
FEW = Settings(sample_rows=100)
"""So that a sample of 800 rows is taken, which a part of these small files has."""


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """Return a folder of tables: sorted by their key, in many files of Parquet or ORC and in one, and partitioned."""
    path = tmp_path_factory.mktemp("tables")
    v = np.arange(48_000)
    k = np.where(v > 38_400, -2, np.where((v >= 30_000) & (v <= 31_920), -1, v // 10))
    noise = np.random.default_rng(1).bytes(48_000 * 16).hex()
    rows = pa.table({"k": k, "v": v, "s": [noise[i * 32 : i * 32 + 32] for i in range(48_000)]})
    for name in ("sorted", "orc", "one", *(f"by d/d={d}" for d in range(80))):
        (path / name).mkdir(parents=True)
    pq.write_table(rows, path / "one" / "part-0.parquet")
    for i in range(FILES):
        part = rows.slice(i * 500, 500)
        pq.write_table(part, path / "sorted" / f"part-{i:05}.parquet")
        orc.write_table(part, path / "orc" / f"part-{i:05}.orc")
    for d in range(80):
        pq.write_table(rows.filter(v % 80 == d), path / "by d" / f"d={d}" / "part-0.parquet")
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


NOTED = {
    # call -> the strategy that is taken
    "cut group-by": ("wrap", lambda df: skewkit.skew_groupby(df, "k").agg(F.collect_set("v"))),
    "native group-by": ("native", lambda df: skewkit.skew_groupby(df, "v").agg(F.collect_set("k"))),
    "cut window": ("split", lambda df: skewkit.skew_window(df, "k", "v").select(n=F.row_number())),
    "native window": ("native", lambda df: skewkit.skew_window(df, "v", "k").select(n=F.row_number())),
}


@pytest.mark.parametrize("call", NOTED)
def test_explain_says_how_many_files_were_read(spark, tables, call):
    strategy, made = NOTED[call]
    with conf(spark, "spark.skewkit.sampleRows", "100"):
        text = skewkit.explain(made(spark.read.parquet(str(tables / "sorted")).select("k", "v")))
    assert f"  strategy   {strategy}" in text, text
    assert text.count("  note       the keys are from a sample of 48 of 96 files\n") == 1, text


def test_files_that_are_not_taken_are_not_read(spark, tables):
    taken = sample_files(PlanFacts(spark.read.parquet(str(tables / "sorted"))), 1_000).frame
    with_names = taken.select(F.col("_metadata.file_name").alias("name"))
    assert with_names.distinct().count() == 48
    with conf(spark, "spark.sql.maxMetadataStringLength", "1000"):
        assert "file_name" in physical_plan(taken).split("DataFilters")[1]


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
def test_files_of_which_a_filter_leaves_no_row_count_as_others_do(spark, tables):
    df = spark.read.parquet(str(tables / "sorted")).where("k = -2")
    (heavy,) = answered(df, "k", settings=FEW).profile.heavy
    assert heavy.low <= 9_599 <= heavy.high
    assert heavy.estimate == pytest.approx(9_599, rel=0.2)


@pytest.mark.parametrize(("files", "read"), [(63, 63), (64, 32), (65, 33), (66, 33), (127, 64), (128, 43)])
def test_no_stretch_of_more_than_a_64th_of_the_files_is_skipped(spark, tmp_path, files, read):
    for i in range(files):
        pq.write_table(pa.table({"k": list(range(50))}), tmp_path / f"part-{i:05}.parquet")
    found = sample_files(PlanFacts(spark.read.parquet(str(tmp_path))), 10)
    assert found.read == read


@pytest.mark.connect
@pytest.mark.parametrize("confs", [{}, {"maxPartitionBytes": "64k"}, {"maxPartitionBytes": "131072b"},
                                   {"minPartitionNum": "40", "openCostInBytes": "1k"},
                                   {"openCostInBytes": "0"}])  # fmt: skip
def test_tasks_are_guessed_as_spark_splits_files(spark, tmp_path, confs):
    """How many rows a task may send follows from that."""

    def one_row(batches):
        import pyarrow as arrow

        for _ in batches:
            pass
        yield arrow.RecordBatch.from_pydict({"k": arrow.array([0], arrow.int64())})

    spark.range(0, 400_000, 1, 12).selectExpr("xxhash64(id) AS k").write.parquet(str(tmp_path / "t"))
    with ExitStack() as set_:
        for name, value in confs.items():
            set_.enter_context(conf(spark, f"spark.sql.files.{name}", value))
        frame = spark.read.parquet(str(tmp_path / "t"))
        facts = PlanFacts(frame)
        found = guessed_tasks(facts, sample_files(facts, 80_000))
        tasks = frame.mapInArrow(one_row, "k long").count()  # of tasks without rows, too
    assert tasks / 2 <= found <= 2 * tasks, (found, tasks)
