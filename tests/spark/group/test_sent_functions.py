"""What a group function sees in its worker, and what can be sent there."""

import pandas as pd
import pytest
from pyspark.sql import functions as F

import skewkit
from skewkit.testing import assert_same_rows
from tests.helpers import VERSION, conf
from tests.spark.group.functions import HERE, Frames


def test_functions_see_what_spark_shows_them(spark):
    df = spark.range(3, numPartitions=1).selectExpr(
        "0 k", "id big", "if(id = 1, null, int(id)) small", "float(id) f", "string(id) s", "array(id) list",
        "named_struct('x', id, 'at', timestamp_seconds(id)) st", "map('a', id) m", "timestamp_seconds(id) at",
        "timestamp_ntz'2024-01-01' ntz", "date'2024-01-01' day", "cast(id as decimal(9, 2)) dec", "binary('b') bin",
        "id = 1 flag", "array(named_struct('y', id)) structs",
    )  # fmt: skip

    def shown(key, frame):
        values = [[type(value).__name__, repr(value)] for column in range(15) for value in frame.iloc[:, column]]
        return pd.DataFrame({"seen": [repr((key, list(frame.columns), list(map(str, frame.dtypes)), values))]})

    groups = skewkit.skew_groupby(df, "k", strategy="wrap", partitions=1)
    ours = groups.applyInPandas(shown, "seen string", merge=lambda parts: parts)
    assert_same_rows(ours, df.groupBy("k").applyInPandas(shown, "seen string"))


@pytest.mark.parametrize("columns", [["id v", "id w"], ["id v", "double(id) w", "string(id) s", "int(id) t"]])
def test_functions_may_write_into_their_frame(spark, columns):
    """As into that of plain Spark, whose columns of one type are one array."""
    df = spark.range(6, numPartitions=1).selectExpr("bigint(0) k", *columns)

    def written(frame):
        frame.iloc[0, 1] = 70
        frame["w"].array[1] = 71
        frame.loc[frame.index[2], frame.columns[-1]] = 72
        if len(set(frame.dtypes)) == 1:
            frame.values[3, 2] = 73
        frame["w"] += 1
        return pd.DataFrame({"seen": [repr(frame.to_dict("list"))]})

    ours = skewkit.skew_groupby(df, "k", strategy="wrap", partitions=1).applyInPandas(
        written, "seen string", merge=lambda parts: parts
    )
    assert HERE in skewkit.explain(ours)
    assert_same_rows(ours, df.groupBy("k").applyInPandas(written, "seen string"))


def test_a_function_that_fills_its_globals_can_still_be_sent_to_workers(spark, skewed):
    """A lock in them is no thing to be pickled."""
    held = {}
    exec(FILLS, held)
    df = skewed(2_000)
    ours = skewkit.skew_groupby(df, "k", strategy="wrap", partitions=4).applyInPandas(held["size"], "n bigint")
    assert_same_rows(ours, df.groupBy("k").agg(F.count("*").alias("n")).select("n"))


FILLS = """
import threading
import pandas as pd

lock = None

def size(frame):
    global lock
    lock = lock or threading.Lock()
    with lock:
        return pd.DataFrame({"n": [len(frame)]})
"""


@pytest.mark.skipif(VERSION < (4, 1), reason="functions of iterators came with Spark 4.1")
def test_hints_that_are_other_names_of_iterators(spark, skewed):
    def size(parts: "Frames") -> "Frames":
        yield pd.DataFrame({"n": [sum(map(len, parts))]})

    df = skewed(500)
    plain = df.groupBy("k").applyInPandas(size, "n bigint")
    ours = skewkit.skew_groupby(df, "k", strategy="wrap", partitions=4).applyInPandas(size, "n bigint")
    assert_same_rows(ours, plain)


@pytest.mark.connect
def test_the_time_zone_is_that_of_the_run(spark):
    df = spark.range(400).selectExpr("if(id % 4 < 3, 0, id) AS k", "timestamp_seconds(id * 5000) AS t")
    found = []
    for ours in (True, False):
        with conf(spark, "spark.sql.session.timeZone", "UTC"):
            grouped = skewkit.skew_groupby(df, "k", strategy="wrap", partitions=3) if ours else df.groupBy("k")
            merge = {"merge": lambda parts: parts} if ours else {}
            result = grouped.applyInPandas(
                lambda f: f.assign(hour=f["t"].dt.hour)[["k", "t", "hour"]], "k bigint, t timestamp, hour int", **merge
            ).selectExpr("k", "unix_seconds(t) AS t", "hour")
            result.schema  # noqa: B018
        with conf(spark, "spark.sql.session.timeZone", "Asia/Tokyo"):
            found.append(sorted(map(tuple, result.collect())))
    assert found[0] == found[1]


def test_nothing_is_counted_before_an_action(spark, skewed, connect):
    if connect:
        pytest.skip("Connect has no accumulators")
    seen = spark.sparkContext.accumulator(0)

    def function(frame):
        seen.add(len(frame))
        return frame[["k"]].head(1)

    df = skewed(rows=500)
    ours = skewkit.skew_groupby(df, "k", strategy="wrap", partitions=3).applyInPandas(
        function, "k bigint", merge=lambda parts: parts.head(1)
    )
    assert seen.value == 0
    ours.collect()
    assert seen.value == 500


def test_a_function_that_reads_a_broadcast(spark, skewed, connect):
    """What is pickled with a broadcast in it is noted by PySpark for the thread's next function."""
    if connect:
        pytest.skip("Connect has no broadcasts")
    context = spark.sparkContext
    seen, factor = context.accumulator(0), context.broadcast(2)

    def function(frame):
        seen.add(len(frame))
        return frame[["k"]].head(1).assign(n=len(frame) * factor.value)

    df = skewed(rows=500)
    ours = skewkit.skew_groupby(df, "k", strategy="wrap", partitions=3).applyInPandas(
        function, "k bigint, n bigint", merge=lambda parts: parts.head(1).assign(n=parts["n"].sum())
    )
    assert seen.value == 0
    assert ours.agg(F.sum("n")).first()[0] == 1000
    assert list(context._pickled_broadcast_vars) == []
