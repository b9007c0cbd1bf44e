"""Rows reach a function of batches, and what it returns comes back, as by `mapInArrow`, whatever way is taken."""

from collections.abc import Iterator

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import functions as F

import skewkit
from skewkit.spark.group.sending import UNWEIGHED, WEIGHT, _as_column, on_batches
from skewkit.testing import assert_same_rows
from tests.helpers import VERSION, conf, explained


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 4), st.lists(st.integers(0, 9), max_size=3))), st.lists(st.integers(0, 9)))
def test_a_value_for_every_row_and_every_result_once(steps, last):
    """`func` reads batches of so many rows, and returns results after each of them and when all are read."""
    rows = sum(size for size, _ in steps)
    wanted = [result for size, results in steps if size for result in results] + (last if rows else [])

    def func(batches):
        after = iter([results for size, results in steps if size])
        for batch in batches:
            assert batch.schema.names == ["a", "a"]
            yield from (pa.RecordBatch.from_pydict({"n": [n]}) for n in (next(after) if batch.num_rows else ()))
        yield from (pa.RecordBatch.from_pydict({"n": [n]}) for n in (last if rows else ()))

    sizes = [size for size, _ in steps]
    given_rows = ((pa.array(range(size)), pa.nulls(size)) for size in sizes)
    values = [value for array in _as_column(func, ["a", "a"])(given_rows) for value in array.to_pylist()]
    assert len(values) == rows
    assert [row["n"] for value in values if value for row in value] == wanted


def doubled(columns: Iterator[pd.Series]) -> Iterator[pd.Series]:
    yield from (column * 2 for column in columns)


FRAMES = {
    "names to quote": lambda spark: spark.range(50, numPartitions=4).select(
        "id", F.lit("x").alias("a b"), F.lit(1).alias("ID ")
    ),
    "one column": lambda spark: spark.range(50, numPartitions=4),
    "partitions without rows": lambda spark: spark.range(8, numPartitions=4).where("id > 6"),
    "no rows": lambda spark: spark.range(8, numPartitions=4).where("id < 0"),
    "nested": lambda spark: spark.range(50, numPartitions=4).selectExpr(
        "id", "struct(id, array(string(id), null)) s", "map(id, timestamp_seconds(id)) m", "null n", "decimal(id) d"
    ),
    "columns of other functions": lambda spark: spark.range(50, numPartitions=4).select(
        "id", F.udf(lambda x: x + 1, "long")("id").alias("u"), F.pandas_udf(doubled, "long")("id").alias("p")
    ),
    "a wide frame": lambda spark: spark.range(9, numPartitions=2).selectExpr(*(f"id + {i} c{i}" for i in range(400))),
}


def told(batches):
    """Return two rows for all rows of a task: their names and values, and how many there are."""
    table = pa.Table.from_batches(list(batches)) if (batches := list(batches)) else None
    if table is not None and table.num_rows:
        columns = [str(column.to_pylist()) for column in table.columns]
        yield pa.RecordBatch.from_pydict({"said": [f"{table.column_names} {table.schema.types} {columns}"]})
        yield pa.RecordBatch.from_pydict({"said": [str(table.num_rows)]})


@pytest.mark.every(5)
@pytest.mark.connect
@pytest.mark.parametrize("weight", ["67108864", UNWEIGHED])
@pytest.mark.parametrize("frame", FRAMES)
def test_what_map_in_arrow_returns(spark, frame, weight):
    df = FRAMES[frame](spark)
    with conf(spark, WEIGHT, weight):
        ours = on_batches(df, told, "said string")
        assert_same_rows(ours, df.mapInArrow(told, "said string"))
        assert ("MapInArrow" in explained(ours)) == (weight == UNWEIGHED or VERSION < (4, 2))


def test_large_types_of_arrow(spark):
    df = spark.range(50, numPartitions=4).selectExpr("string(id) s", "binary(string(id)) b")
    with conf(spark, "spark.sql.execution.arrow.useLargeVarTypes", "true"):
        assert_same_rows(on_batches(df, told, "said string"), df.mapInArrow(told, "said string"))
        sums = skewkit.skew_groupby(df.selectExpr("s LIKE '1%' k", "s", "b"), "k", strategy="wrap", partitions=2)
        rows = sums.applyInPandas(lambda frame: frame[["k"]].iloc[:1], "k boolean", merge=lambda parts: parts.iloc[:1])
        assert sorted(rows.collect()) == [(False,), (True,)]


def test_a_function_that_fails_is_named(spark):
    def fails(batches):
        for batch in batches:
            raise ValueError(f"no more than {batch.num_rows} rows, please")
        yield

    with pytest.raises(Exception, match="no more than 9 rows, please"):
        on_batches(spark.range(9, numPartitions=1), fails, "said string").collect()


def test_the_function_is_computed_once(spark):
    counted = spark.sparkContext.accumulator(0)

    def counts(batches):
        rows = sum(batch.num_rows for batch in batches)
        counted.add(rows)
        yield pa.RecordBatch.from_pydict({"n": [rows]})

    found = on_batches(spark.range(100, numPartitions=1), counts, "n bigint").where("n > 0").groupBy("n").count()
    assert found.collect() == [(100, 1)]
    assert counted.value == 100
