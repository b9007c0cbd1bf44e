"""Rows per partition, as even as the sample that placed them allows, at n = 32, for Zipf keys and for real ones."""

import math
import os
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from pyspark.sql import functions as F

import skewkit
from skewkit.simulator.streams import zipf
from skewkit.testing import partition_rows
from tests.helpers import assert_split

N = 32
DATA = Path(__file__).parents[3] / "shared" / "data"
REAL = [
    ("retail_lines", "Country"),
    ("retail_lines", "CustomerID"),
    ("tate_artworks", "artist_id"),
    ("tate_artwork_subjects", "subject"),
    ("git_changes", "author"),
    ("git_changes", "dir"),
    ("git_changes", "commit"),
]


def assert_even(df, key):
    """Check that no partition has 5 % more rows than the mean, and none fewer than the sample that placed them allows.

    A partition of m rows has m f of them in a sample of the fraction f, so its load is known to sqrt((1 - f) / (m f)).
    The least is held to four such errors.
    """
    dimension = df.select(key).distinct().withColumn("found", F.lit(True))
    joined = skewkit.skew_join(df, dimension, key, strategy="salt", partitions=N)
    rows = partition_rows(joined)
    mean = df.where(F.col(key).isNotNull()).count() / N
    assert sum(rows) == pytest.approx(mean * N)
    assert len(rows) == N
    sampled = re.search(r"from a sample of ([\d.]+)%", skewkit.explain(joined))
    fraction = float(sampled[1]) / 100 if sampled else 1.0
    error = max(0.05, 4 * math.sqrt((1 - fraction) / (mean * fraction)))
    assert error < 0.12
    assert max(rows) <= 1.05 * mean
    assert min(rows) >= (1 - error) * mean


@pytest.mark.every(4)
@pytest.mark.parametrize("z", [0.8, 1.2, 1.6, 2.0])
def test_zipf(spark, tmp_path, z):
    import pandas as pd

    keys = np.asarray(zipf(400_000, keys=10_000, exponent=z, seed=7))
    pd.DataFrame({"k": keys, "v": np.arange(keys.size)}).to_parquet(tmp_path / "zipf.parquet", row_group_size=100_000)
    assert_even(spark.read.parquet(str(tmp_path / "zipf.parquet")), "k")


@pytest.mark.every(9)
@pytest.mark.parametrize(("table", "key"), REAL)
def test_real_keys(spark, tmp_path, table, key):
    """The salt of a row takes the time of its file, which is fixed here.

    The smallest table has 1,231 rows of its hottest key in a partition of 2,163: 5 % are three standard deviations of
    a draw, so that some other time in twenty would have a partition past them.
    """
    file = DATA / f"{table}.parquet"
    if not file.is_file():
        pytest.skip(f"{table}.parquet is not at hand; the Zipf keys above stand for it")
    copy = tmp_path / file.name
    shutil.copyfile(file, copy)
    os.utime(copy, (1_000_000_000, 1_000_000_000))
    assert_even(spark.read.parquet(str(copy)), key)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_pairs_of_real_keys_that_are_hot_on_both_sides(spark):
    """886 million pairs of artworks that share a subject; at most 1.5 times the mean in a task."""
    file = DATA / "tate_artwork_subjects.parquet"
    if not file.is_file():
        pytest.skip(
            "tate_artwork_subjects.parquet is not at hand; generated pairs stand for it in test_join_balance.py"
        )
    subjects = spark.read.parquet(str(file)).where("subject IS NOT NULL")
    left, right = (subjects.selectExpr("subject AS k", f"artwork_id AS {name}") for name in "vw")
    joined = skewkit.skew_join(left, right, "k", strategy="salt", partitions=N)
    assert_split(joined)
    pairs = partition_rows(joined)
    assert sum(pairs) == left.groupBy("k").count().selectExpr("sum(count * count)").first()[0] > 8e8
    assert len(pairs) == N
    assert max(pairs) <= 1.5 * sum(pairs) / N
