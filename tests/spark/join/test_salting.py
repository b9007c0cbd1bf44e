"""Rows of a hot key, a null one too, are told apart even where they are alike in every column that is hashed."""

import pytest
from pyspark.sql import functions as F

import skewkit
from skewkit.spark.session.compat import places_by_id
from skewkit.testing import assert_same_rows, partition_rows
from tests.helpers import conf, physical_plan

PLACED = pytest.mark.skipif(not places_by_id(), reason="before Spark 4.1 several salts share a task")
pytestmark = PLACED
N = 8
WIDE = ["if(id % 4 < 3, null, id % 50) AS k", *(f"cast(null AS double) AS d{i}" for i in range(9))]


@pytest.fixture(scope="module")
def dimension(spark):
    return spark.range(50).selectExpr("id AS k", "id * 3 AS w")


def of_files(spark, path, kind="parquet"):
    spark.range(8000).selectExpr(*WIDE).write.format(kind).save(path)
    return spark.read.format(kind).load(path)


def assert_spread(joined, unmatched, most):
    """Check that no task has more than `most` of the rows whose key is null."""
    rows = partition_rows(joined.where(unmatched))
    assert sum(rows) == 6000
    assert max(rows) <= most


@pytest.mark.connect
@pytest.mark.every(5)
@pytest.mark.parametrize(("kind", "how"), [(k, h) for h in ("left", "full", "anti") for k in ("parquet", "orc")])
def test_null_keys_of_files(spark, dimension, tmp_path, kind, how):
    facts = of_files(spark, str(tmp_path / "t"), kind)
    joined = skewkit.skew_join(facts, dimension, "k", how, strategy="salt", partitions=N)
    assert_spread(joined, F.col("k").isNull(), 1000)
    assert_same_rows(joined, facts.join(dimension, "k", how))
    mirror = {"left": "right", "full": "full", "anti": None}[how]
    if mirror is not None:
        on = facts["k"] == dimension["k"]
        joined = skewkit.skew_join(dimension, facts, on, mirror, strategy="salt", partitions=N)
        assert_spread(joined, facts["k"].isNull() & dimension["k"].isNull(), 1000)
        named = [f"c{i}" for i in range(len(joined.columns))]
        assert_same_rows(joined.toDF(*named), dimension.join(facts, on, mirror).toDF(*named))


@pytest.mark.slow
def test_null_keys_of_many_small_files(spark, dimension, tmp_path):
    """Rows of the same number in their files are other rows."""
    spark.range(400).selectExpr(*WIDE).repartition(100).write.parquet(str(tmp_path / "t"))
    facts = spark.read.parquet(str(tmp_path / "t"))
    joined = skewkit.skew_join(facts, dimension, "k", "left", strategy="salt", partitions=32)
    rows = partition_rows(joined.where("k IS NULL"))
    assert sum(rows) == 300
    assert len(rows) > 25
    assert max(rows) < 30


def test_null_safe_keys_of_files(spark, dimension, tmp_path):
    facts = of_files(spark, str(tmp_path / "t"))
    nulls = dimension.selectExpr("nullif(k, 7) AS k", "w")
    joined = skewkit.skew_join(facts, nulls, facts["k"].eqNullSafe(nulls["k"]), strategy="salt", partitions=N)
    assert_spread(joined, facts["k"].isNull(), 1000)
    on = facts["k"].eqNullSafe(nulls["k"])
    named = [f"c{i}" for i in range(len(joined.columns))]
    assert_same_rows(joined.toDF(*named), facts.join(nulls, on).toDF(*named))


def test_null_keys_of_a_cached_frame(spark, dimension, tmp_path):
    facts = of_files(spark, str(tmp_path / "t")).cache()
    joined = skewkit.skew_join(facts, dimension, "k", "left", strategy="salt", partitions=N)
    assert_spread(joined, "k IS NULL", 1000)
    assert_same_rows(joined, facts.join(dimension, "k", "left"))
    facts.unpersist()


def test_null_keys_of_a_table_cached_by_name(spark, dimension, tmp_path):
    of_files(spark, str(tmp_path / "t")).createOrReplaceTempView("salting_cached")
    spark.catalog.cacheTable("salting_cached")
    facts = spark.table("salting_cached")
    joined = skewkit.skew_join(facts, dimension, "k", "left", strategy="salt", partitions=N)
    assert_spread(joined, "k IS NULL", 1000)
    assert_same_rows(joined, facts.join(dimension, "k", "left"))
    spark.catalog.uncacheTable("salting_cached")
    spark.catalog.dropTempView("salting_cached")


def test_rows_of_a_hot_key_that_are_alike_in_many_columns(spark, dimension, tmp_path):
    """Files and caches have a position for them at no cost."""
    flags = [f"int(id % 1000 = {i}) AS f{i}" for i in range(5)]
    spark.range(8000).selectExpr("if(id % 4 < 3, 7, id % 50) AS k", *flags).write.parquet(str(tmp_path / "t"))
    stored = spark.read.parquet(str(tmp_path / "t"))
    kept = stored.select("*").cache()
    for facts in (stored, kept):
        joined = skewkit.skew_join(facts, dimension, "k", strategy="salt", partitions=N)
        rows = partition_rows(joined.where("k = 7"))
        assert sum(rows) == 6080
        assert max(rows) <= 1000
        assert_same_rows(joined, facts.join(dimension, "k"))
    kept.unpersist()


def test_rows_that_found_nothing_in_a_join_before(spark, dimension, tmp_path):
    """They are alike in all columns of that join's right side, of which there are more than are hashed."""
    facts = spark.range(8000).selectExpr("if(id % 4 < 3, -1 - id % 5, id % 50) AS a", "1L AS v", "1D AS d")
    wide = dimension.selectExpr("k AS a", "k", *(f"double(w) AS d{i}" for i in range(9)))
    tables = []
    for name, frame in (("facts", facts), ("wide", wide)):
        frame.write.parquet(str(tmp_path / name))
        tables.append(spark.read.parquet(str(tmp_path / name)))
    found = tables[0].join(tables[1].hint("merge"), "a", "left")
    joined = skewkit.skew_join(found.drop("a"), dimension, "k", "left", strategy="salt", partitions=N)
    with conf(spark, "spark.sql.adaptive.coalescePartitions.enabled", "false"):  # as many tasks as had them before
        rows = partition_rows(joined.where("k IS NULL"))
    assert sum(rows) == 6000
    assert len(rows) > 2
    assert_same_rows(joined, found.drop("a").join(dimension, "k", "left"))


def test_rows_alike_that_come_out_of_a_shuffle(spark, dimension):
    """As many tasks get them as had them before: a row's place in a partition is another one when a task runs again."""
    facts = spark.range(8000).selectExpr(*WIDE).repartition(N, F.spark_partition_id(), F.rand(7))
    joined = skewkit.skew_join(facts, dimension, "k", "left", strategy="salt", partitions=N)
    assert_spread(joined, F.col("k").isNull(), 3000)


def test_a_later_filter_on_rows_whose_keys_are_no_nulls_is_still_pushed(spark, dimension, tmp_path, connect):
    days = spark.range(8000).selectExpr("if(id % 4 < 3, 7, id % 50) AS k", *(f"id + {i} AS v{i}" for i in range(5)))
    days.write.orc(str(tmp_path / "days"))
    facts = spark.read.orc(str(tmp_path / "days"))
    asked = skewkit.skew_join(facts, dimension, "k", strategy="salt", partitions=N).where("v1 > 7990")
    assert_same_rows(asked, facts.join(dimension, "k").where("v1 > 7990"))
    if not connect:
        assert "GreaterThan(v1,7990)" in physical_plan(asked)


def test_a_parquet_frame_and_itself(spark, tmp_path):
    facts = of_files(spark, str(tmp_path / "t"))
    small = facts.where("k % 10 = 0 OR k IS NULL").limit(99)
    for left, right, how in ((facts, facts.select("k").distinct(), "full"), (small.cache(), facts, "right")):
        joined = skewkit.skew_join(left.alias("a"), right.alias("b"), "k", how, strategy="salt", partitions=N)
        assert_same_rows(joined, left.alias("a").join(right.alias("b"), "k", how))
    small.unpersist()


def test_a_later_filter_is_still_pushed_to_parquet_files(spark, dimension, tmp_path, connect):
    days = spark.range(8000).selectExpr(*WIDE, "id % 4 AS day", "id AS v")
    days.write.partitionBy("day").parquet(str(tmp_path / "days"))
    facts = spark.read.parquet(str(tmp_path / "days"))
    joined = skewkit.skew_join(facts, dimension, "k", "left", strategy="salt", partitions=N)
    asked = joined.where("day = 3 AND v > 7990")
    assert_same_rows(asked, facts.join(dimension, "k", "left").where("day = 3 AND v > 7990"))
    if not connect:
        plan = physical_plan(asked)
        assert "GreaterThan(v,7990)" in plan
        assert "= 3)], PushedFilters" in plan


def test_a_column_of_the_files_that_is_called_metadata(spark, dimension, tmp_path):
    spark.range(8000).selectExpr(*WIDE, "struct(1 AS row_index) AS _metadata").write.parquet(str(tmp_path / "t"))
    facts = spark.read.parquet(str(tmp_path / "t"))
    joined = skewkit.skew_join(facts, dimension, "k", "left", strategy="salt", partitions=N)
    assert_spread(joined, F.col("k").isNull(), 1000)
