"""`skew_asof_join` beside `pandas.merge_asof`: every direction, tolerances, null keys, hot keys on both sides."""

import re
from datetime import timedelta
from itertools import product

import pandas as pd
import pytest
from pyspark.sql import functions as F

import skewkit
from skewkit.errors import ArgumentError, ArgumentTypeError, ColumnNotFoundError, KeyTypeError
from skewkit.spark.session.jobs import counted

DIRECTIONS = ("backward", "forward", "nearest")


@pytest.fixture(scope="module")
def sides(spark):
    """Return trades and quotes, of which most are of one key, with times that are unique in the quotes of a key."""
    key = "CASE WHEN pmod(xxhash64(id, {0}), 10) < 7 THEN 'hot' WHEN id % 11 = 0 THEN null ELSE concat('s', id % 5) END"
    trades = spark.range(0, 900, 1, 3).selectExpr("id", f"{key.format(1)} k", "(id * 7919) % 3000 t", "id % 17 v")
    quotes = spark.range(0, 700, 1, 3).selectExpr(f"{key.format(2)} k", "id * 4 + id % 3 t", "id / 7D price", "id v")
    return trades.cache(), quotes.cache()


def rows(frame):
    return sorted(map(repr, frame.astype(object).where(frame.notna(), None).itertuples(index=False, name=None)))


def check(left, right, on, by=None, strategy="split", **options):
    """Compare with pandas; return the frame."""
    ours = skewkit.skew_asof_join(left, right, on, by, strategy=strategy, **options)
    frames = [frame.toPandas().sort_values(on, kind="stable") for frame in (left, right)]
    expected = pd.merge_asof(*frames, on=on, by=by, **options)
    assert ours.columns == list(expected.columns)
    assert rows(ours.toPandas()) == rows(expected)
    return ours


@pytest.mark.every(3)
@pytest.mark.connect
@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("by", ["k", None])
@pytest.mark.parametrize("tolerance", [None, 5])
def test_as_pandas(sides, direction, by, tolerance):
    left, right = sides
    right = right if by else right.withColumnRenamed("k", "of")
    ours = check(left, right, "t", by, direction=direction, tolerance=tolerance)
    assert "strategy   split" in skewkit.explain(ours)
    assert f"as-of join {direction} on t{' by k' if by else ''}" in skewkit.explain(ours)


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_one_query_is_run(sides, direction):
    """The second window of `nearest` is cut where the first one is, in the opposite order."""
    with counted() as used:
        found = skewkit.skew_asof_join(*sides, "t", "k", strategy="split", direction=direction)
    assert used.jobs == 1
    assert len(set(re.findall(r"_skew_w\d+_", found._jdf.queryExecution().toString()))) == 1 + (direction == "nearest")


@pytest.mark.parametrize("strategy", ["auto", "native"])
def test_strategies(sides, strategy):
    check(*sides, "t", "k", strategy=strategy, direction="nearest")


@pytest.mark.every(2)
@pytest.mark.parametrize("type_", ["timestamp", "date", "timestamp_ntz", "double", "float"])
def test_orders(sides, type_):
    times = type_.startswith("timestamp")
    day = F.date_from_unix_date((F.col("t") % 900).cast("int"))
    at = day if type_ == "date" else (F.timestamp_seconds("t") if times else F.col("t") / 4).cast(type_)
    left, right = (
        frame.select(at.alias("t"), *columns)
        for frame, columns in zip(sides, (["id", "k"], ["k", "price"]), strict=True)
    )
    right = right.groupBy("k", "t").agg(F.max("price").alias("price"))
    options = {"tolerance": timedelta(days=1) if type_ == "date" else timedelta(seconds=3) if times else 1.5}
    if type_ == "date":  # pandas takes no dates
        ours = skewkit.skew_asof_join(left, right, "t", "k", strategy="split", **options)
        as_times = (frame.withColumn("t", F.col("t").cast("timestamp")) for frame in (left, right))
        expected = skewkit.skew_asof_join(*as_times, "t", "k", strategy="native", **options)
        assert rows(ours.drop("t").toPandas()) == rows(expected.drop("t").toPandas())
    else:
        check(left, right, "t", "k", **options)


def test_what_pandas_refuses_meets_nothing(spark):
    left = spark.createDataFrame([(1, None), (2, float("nan")), (3, 5.0)], "id int, t double")
    right = spark.createDataFrame([(None, "a"), (float("nan"), "b"), (4.0, "c")], "t double, x string")
    for direction, found in zip(DIRECTIONS, ("c", None, "c"), strict=True):
        ours = skewkit.skew_asof_join(left, right, "t", direction=direction).sort("id")
        assert [row.x for row in ours.collect()] == [None, None, found]


def test_the_ends_of_long_numbers_are_far_apart(spark):
    left = spark.createDataFrame([((1 << 63) - 1,), (-(1 << 63),)], "t bigint")
    right = spark.createDataFrame([(-(1 << 63) + 1, "low")], "t bigint, x string")
    found = {
        direction: [row.x for row in skewkit.skew_asof_join(left, right, "t", direction=direction).sort("t").collect()]
        for direction in DIRECTIONS
    }
    assert found == {"backward": [None, "low"], "forward": ["low", None], "nearest": ["low", "low"]}


def test_bad_input(sides):
    left, right = sides
    for error, said, call in (
        (ArgumentError, "unknown direction 'back'; expected one of backward", {"direction": "back"}),
        (ArgumentError, "expected a number that is not negative", {"tolerance": -1}),
        (ArgumentTypeError, "along a bigint it is a number", {"tolerance": timedelta(1)}),
        (ArgumentTypeError, "on and by are names", {"by": F.col("k")}),
        (ArgumentError, "unknown strategy 'salt'", {"strategy": "salt"}),
        (KeyTypeError, "expected a number, a date or a timestamp", {"on": "k"}),
        (ColumnNotFoundError, "'price' is not in the frame", {"on": "price"}),
    ):
        with pytest.raises(error, match=said):
            skewkit.skew_asof_join(left, right, **{"on": "t", **call})
    with pytest.raises(KeyTypeError, match="of type bigint in the left frame and string in the right one"):
        skewkit.skew_asof_join(left, right.withColumn("t", F.col("t").cast("string")), "t")


def test_directions_and_strategies_meet_in_the_rows(sides):
    left, right = sides
    for direction, by in product(DIRECTIONS, ("k", None)):
        named = right if by else right.withColumnRenamed("k", "of")
        assert skewkit.skew_asof_join(left, named, "t", by, direction=direction).count() == left.count()
