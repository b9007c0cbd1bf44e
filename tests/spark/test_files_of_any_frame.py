"""`repartition_by_file_size` of whatever frame: hot values are cut, and rows of any type have their size."""

import numpy as np
import pytest
from pyspark.sql import functions as F

import skewkit
from skewkit.errors import ArgumentError
from skewkit.spark.expressions.keys import find_keys
from skewkit.spark.write.partition_sizes import partition_sizes
from tests.helpers import conf

TARGET = 200_000
TEXT = "sha2(string(id), 256) AS text"


def parsed(frame, path):
    frame.write.csv(str(path))
    return frame.sparkSession.read.schema("day int, text string").csv(str(path)).dropDuplicates()


FRAMES = {
    "one task": lambda frame, path: frame.coalesce(1),
    "two tasks": lambda frame, path: frame.repartition(2),
    "distinct": lambda frame, path: frame.distinct(),
    "aggregated": lambda frame, path: frame.groupBy("day", "text").agg(F.sum(F.length("text")).alias("n")),
    "of an RDD": lambda frame, path: frame.sparkSession.createDataFrame(frame.coalesce(1).rdd, frame.schema),
    "parsed": parsed,
}


def sizes(frame, path):
    """Write a frame by day; return the sizes of the hot day's files, in targets, and what `explain` says."""
    placed = skewkit.repartition_by_file_size(frame, "day", target_file_bytes=TARGET)
    placed.write.partitionBy("day").parquet(str(path))
    return [file.stat().st_size / TARGET for file in path.glob("day=0/*.parquet")], skewkit.explain(placed)


@pytest.fixture(scope="module")
def days(spark):
    """Return rows of which a column is the key and the other is computed, and nothing is stored."""
    return spark.range(0, 40_000, 1, 8).selectExpr("if(id % 10 < 9, 0, int(id % 40)) AS day", TEXT)


@pytest.mark.every(3)
@pytest.mark.parametrize("made", FRAMES)
def test_a_hot_value_is_cut(days, tmp_path, made):
    found, text = sizes(FRAMES[made](days, tmp_path / "source"), tmp_path / "out")
    assert len(found) > 5, text
    assert 0.5 < min(found) <= max(found) < 2
    assert len(found) <= sum(found) + 2


@pytest.mark.slow
def test_what_python_makes_is_not_cut_and_said(days, tmp_path):
    """A function may return something else when its task runs again, and a row would be lost or there twice."""
    made = days.coalesce(1).mapInPandas(lambda frames: frames, days.schema)
    found, text = sizes(made, tmp_path / "out")
    assert len(found) == 1
    assert "nothing that comes out the same again" in text
    cached = made.cache()
    found, text = sizes(cached, tmp_path / "cached")
    cached.unpersist()
    assert len(found) > 5, text


LONG = "array_join(transform(sequence(1, {n}), i -> sha2(concat(id, i), 256)), '')"
NULLS = [f"if(id % 11 = 0, pmod(xxhash64(id, {i}), 1000000007) / 7D, null) AS d{i}" for i in range(20)]
WIDE = f"if(id % 50 = 0, {LONG.format(n=100)}, sha2(string(id), 256))"
TYPES = {
    "nulls of one value": (120_000, 400_000, ["if(id % 11 = 0, 'buy', 'view') AS kind", "id", *NULLS]),
    "texts in a struct": (30_000, 500_000, ["id % 50 = 0 AS kind", f"named_struct('a.b', id, 'c', {WIDE}) AS s"]),
    "texts in an array": (30_000, 500_000, ["id % 50 = 0 AS kind", f"array('x', {WIDE}) AS s"]),
    "a variant": (8_000, 500_000, ["0 AS kind", "id", f"parse_json(concat('\"', {LONG.format(n=15)}, '\"')) AS v"]),
    "a map in an array": (20_000, 500_000, ["0 AS kind", "id", "array(map(id, sha2(string(id), 512))) AS m"]),
    "a map in a struct": (20_000, 500_000, ["0 AS kind", "named_struct('m', map(id, sha2(string(id), 512))) AS s"]),
    "a map of texts": (20_000, 300_000, ["id % 50 = 0 AS kind", f"map('a', {WIDE}) AS m"]),
    "deep": (20_000, 200_000, ["0 AS kind", "array(named_struct('p', id, 'q', array(sha2(string(id), 256)))) AS a"]),
}


@pytest.mark.every(3)
@pytest.mark.connect
@pytest.mark.parametrize("made", TYPES)
def test_rows_of_any_type_have_their_size(spark, tmp_path, made):
    rows, target, columns = TYPES[made]
    frame = spark.range(0, rows, 1, 8).selectExpr(*columns)
    placed = skewkit.repartition_by_file_size(frame, "kind", target_file_bytes=target)
    placed.write.partitionBy("kind").parquet(str(tmp_path / "out"))
    folders = list((tmp_path / "out").glob("kind=*"))
    found = [[file.stat().st_size / target for file in folder.glob("*.parquet")] for folder in folders]
    assert max(map(len, found)) > 2, found
    for files in found:
        assert max(files) < 2, files
        assert min(files) > 0.5 or sum(files) < 1, files
        assert len(files) <= sum(files) + 2, files


@pytest.mark.connect
def test_spark_and_a_sample_measure_lengths_alike(spark):
    columns = [
        "if(id % 3 = 0, null, id) AS n", "string(id) AS s", "binary(string(id)) AS b", "array(id, null) AS an",
        "array('ab', null, string(id)) AS at", "map('key', id) AS mt", "map(id, 1) AS mn",
        "named_struct('x', id, 'y', if(id % 2 = 0, null, named_struct('z', 'abc'))) AS st",
        "array(named_struct('p', id, 'q', array(string(id)))) AS deep",
        "if(id % 2 = 0, null, array(array(1, 2))) AS aa",
    ]  # fmt: skip
    found = partition_sizes(spark.range(0, 100, 1, 1).selectExpr(*columns), None)
    assert found.sample.num_rows == 100
    assert len(found.varying) >= len(columns) - 1
    np.testing.assert_allclose(found.lengths[0] / 100, found.sample_lengths)


def test_a_sample_is_bounded_in_bytes(spark):
    """Embeddings and many long texts: plain Spark needs no memory of the driver for them."""
    texts = [f"repeat(sha2(concat(id, {i}), 256), 60) AS t{i}" for i in range(20)]
    numbers = "transform(sequence(1, 2000), i -> pmod(xxhash64(id, i), 1000003) / 1000003D) AS e"
    frame = spark.range(0, 2_000, 1, 16).selectExpr("id", numbers, *texts)
    found = partition_sizes(frame, None)
    assert found.sample.num_rows > 1_000
    assert found.sample.nbytes < 6_000 * found.sample.num_rows
    np.testing.assert_allclose(found.lengths.sum(axis=0) / 2_000, [2_000, *[3_840] * 11, 3_840 * 9])


@pytest.mark.connect
def test_two_columns_of_one_name_are_refused(spark):
    frame = spark.range(9).selectExpr("id AS day", "id AS v", "id AS V")
    with pytest.raises(ArgumentError, match="two columns are called 'v', and no file can have both"):
        skewkit.repartition_by_file_size(frame, "day")
    with conf(spark, "spark.sql.caseSensitive", "true"):
        assert skewkit.repartition_by_file_size(frame, "day").count() == 9


def test_partition_columns_are_not_sampled(spark):
    """Their values are in the names of directories, and in no file."""
    frame = spark.range(0, 60_000, 1, 4).selectExpr("sha2(string(id % 700), 256) AS Day", "xxhash64(id) AS v")
    found = partition_sizes(frame, find_keys(frame, ["day"], literal=True))
    assert found.sample.num_columns == 1
    assert found.unsampled == ()
    np.testing.assert_array_equal(found.lengths, np.zeros((700, 0)))
