"""Group functions with a merge see bounded sub-groups of hot keys, and plain Spark's rows come out."""

import re

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import functions as F

import skewkit
from skewkit.errors import ArgumentError
from skewkit.testing import assert_same_rows
from tests.helpers import conf
from tests.spark.group.functions import HERE, KINDS, ONCE, TOTALS, TWICE, add_up, totals

FRAMES = {
    "where they are read": (lambda df: (df, None), HERE),
    "with a profile": (lambda df: (df, skewkit.skew_profile(df, "k", partitions=4)), TWICE),
    "behind a shuffle": (lambda df: (df.repartition(3, "v"), None), ONCE),
}


@pytest.mark.every(7)
@pytest.mark.connect
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("frame", FRAMES)
def test_hot_groups_in_parts(spark, sales, frame, kind):
    (df, profile), note = FRAMES[frame][0](sales), FRAMES[frame][1]
    name, func, merge = KINDS[kind]
    with conf(spark, "spark.skewkit.groupRows", "150"):
        groups = skewkit.skew_groupby(df, "k", strategy="wrap", partitions=4, profile=profile)
        ours = getattr(groups, name)(func, TOTALS, merge=merge)
        assert_same_rows(ours, getattr(df.groupBy("k"), name)(func, TOTALS))
    assert note in skewkit.explain(ours)
    assert "maxBytesPerBatch=2147483647 saves that time" in skewkit.explain(ours)


@pytest.mark.every(3)
@pytest.mark.parametrize("frame", FRAMES)
def test_without_adaptive_execution(spark, sales, frame):
    df, profile = FRAMES[frame][0](sales)
    with conf(spark, "spark.sql.adaptive.enabled", "false"):
        ours = skewkit.skew_groupby(df, "k", strategy="wrap", partitions=4, profile=profile)
        assert_same_rows(
            ours.applyInPandas(totals, TOTALS, merge=add_up), df.groupBy("k").applyInPandas(totals, TOTALS)
        )


KEYS = {
    "nan and null": (["if(id % 5 < 3, double('NaN'), if(id % 5 = 3, null, id)) a"], ["a"]),
    "composite": (["if(id % 5 < 3, 'hot', string(id)) a", "if(id % 7 > 0, null, id) b"], ["a", "b"]),
    "struct": (["struct(if(id % 5 < 4, 1, id) x, id % 2 y) a"], ["a"]),
    "computed": (["if(id % 5 < 4, 0, id) a"], lambda: [F.col("a") + 1]),
    "timestamp and decimal": (["timestamp_seconds(id % 3) a", "cast(id % 2 as decimal(5, 2)) b"], ["a", "b"]),
}


@pytest.mark.every(5)
@pytest.mark.parametrize("keys", KEYS)
def test_keys(spark, keys):
    columns, by = KEYS[keys]
    by = by() if callable(by) else by
    df = spark.range(200, numPartitions=3).selectExpr(*columns, "id v")
    plain = df.groupBy(*by).applyInPandas(totals, TOTALS)
    groups = skewkit.skew_groupby(df, *by, strategy="wrap", partitions=3)
    assert_same_rows(groups.applyInPandas(totals, TOTALS, merge=add_up), plain)
    assert_same_rows(groups.applyInPandas(totals, TOTALS), plain)


def test_a_frame_with_a_column_twice_is_refused_as_spark_does(spark):
    df = spark.range(9).selectExpr("id k", "id v", "-id v")
    with pytest.raises(ArgumentError, match="AMBIGUOUS_REFERENCE"):
        skewkit.skew_groupby(df, "k").applyInPandas(totals, TOTALS, merge=add_up)


def sizes(frame):
    return pd.DataFrame({"k": frame["k"].iloc[:1], "sizes": [[len(frame)]]})


def one_list(parts):
    return pd.DataFrame({"k": parts["k"].iloc[:1], "sizes": [[n for each in parts["sizes"] for n in each]]})


@pytest.mark.every(3)
@pytest.mark.parametrize("batch", ["50", "10000"])
@pytest.mark.parametrize(("setting", "value", "most"), [("groupRows", "70", 70), ("groupBytes", "4000", 300)])
def test_sub_groups_are_bounded(spark, sales, setting, value, most, batch):
    with (
        conf(spark, f"spark.skewkit.{setting}", value),
        conf(spark, "spark.sql.execution.arrow.maxRecordsPerBatch", batch),
    ):
        groups = skewkit.skew_groupby(sales, "k", strategy="wrap", partitions=4)
        rows = groups.applyInPandas(sizes, "k bigint, sizes array<int>", merge=one_list).collect()
    hot = {row.k: row.sizes for row in rows}
    assert max(hot[0]) <= most
    assert sum(hot[0]) > 1000
    assert len(hot[0]) < sum(hot[0]) / most * 3 + 3, "and not much smaller than they may be"


def test_merge_runs_once_for_a_hot_key_with_one_sub_group(spark):
    df = spark.range(100, numPartitions=1).selectExpr("if(id < 60, 0, id) k", "id v")
    rows = skewkit.skew_groupby(df, "k", strategy="wrap", partitions=1).applyInPandas(
        lambda frame: pd.DataFrame({"k": frame["k"].iloc[:1], "merged": [0]}),
        "k bigint, merged int",
        merge=lambda parts: parts.assign(merged=len(parts)),
    )
    merged = {row.k: row.merged for row in rows.collect()}
    assert len(merged) == 41
    assert merged[0] == 1


def test_large_groups_are_cut_even_where_the_load_is_level(spark, sales):
    def explained_with(rows):
        with conf(spark, "spark.skewkit.margin", "1e9"), conf(spark, "spark.skewkit.groupRows", rows):
            groups = skewkit.skew_groupby(sales, "k", partitions=4)
            return skewkit.explain(groups.applyInPandas(totals, TOTALS, merge=add_up))

    assert "strategy   native" in explained_with("2000")
    assert "held in one Python worker" in explained_with("1000")


def test_keys_without_results_have_none(sales):
    schema = "k bigint, v bigint"
    groups = skewkit.skew_groupby(sales, "k", strategy="wrap", partitions=4)
    assert groups.applyInPandas(lambda f: f[["k", "v"]].iloc[:0], schema, merge=lambda p: p.iloc[[0]]).count() == 0
    late = groups.applyInPandas(lambda f: f[["k", "v"]][f["v"] > 2900], schema, merge=lambda p: p.iloc[[0]])
    assert late.where("k = 0").count() == 1, "merge sees the sub-groups that have rows"


def test_nulls_and_nans_of_one_hash_are_merged_apart(spark):
    """Spark's hash passes over nulls, and in pandas a null of doubles is a NaN."""
    df = spark.range(2_000).selectExpr(
        "if(id % 3 = 0, null, double('NaN')) AS a", "if(id % 3 = 0, double('NaN'), null) AS b", "id AS v"
    )

    def size(frame):
        return pd.DataFrame({"n": [len(frame)]})

    def add(parts):
        return pd.DataFrame({"n": [int(parts["n"].sum())]})

    ours = skewkit.skew_groupby(df, "a", "b", strategy="wrap", partitions=4).applyInPandas(size, "n bigint", merge=add)
    assert sorted(row.n for row in ours.collect()) == [667, 1333]


def test_whole_groups_are_placed_largest_first(spark):
    """Six groups on three partitions: by their hashes some would meet, and one partition have up to 160 rows."""
    sizes_of = {"a": 60, "b": 50, "c": 40, "d": 40, "e": 50, "f": 60}
    df = spark.createDataFrame([(key, v) for key, n in sizes_of.items() for v in range(n)], "k string, v bigint")

    def where(key, frame):
        from pyspark import TaskContext

        return pd.DataFrame({"k": [key[0]], "task": [TaskContext.get().partitionId()], "n": [len(frame)]})

    def where_in_arrow(key, table):
        from pyspark import TaskContext

        return pa.table({"k": [key[0].as_py()], "task": [TaskContext.get().partitionId()], "n": [table.num_rows]})

    for name, func in (("applyInPandas", where), ("applyInArrow", where_in_arrow)):
        groups = skewkit.skew_groupby(df, "k", strategy="dkg", partitions=3)
        rows = getattr(groups, name)(func, "k string, task bigint, n bigint").collect()
        assert {row.k: row.n for row in rows} == sizes_of
        loads = {task: sum(row.n for row in rows if row.task == task) for task in {row.task for row in rows}}
        assert sorted(loads.values()) == [100, 100, 100], rows


@pytest.mark.every(2)
@pytest.mark.parametrize("kind", KINDS)
def test_keys_of_one_hash_that_pandas_shows_alike_are_merged_apart(spark, kind):
    """Nulls within a key have no hash either, and within an array of doubles pandas has NaN for them."""
    df = spark.range(2_000, numPartitions=3).selectExpr(
        "CASE id % 4 WHEN 0 THEN array(null, double('NaN')) WHEN 1 THEN array(double('NaN'), null) "
        "WHEN 2 THEN array(1D, null) ELSE array(1D) END AS a",
        "timestamp_seconds(if(id % 3 = 0, -62135596800L - 86400, 0)) AS t",
        "date_add(date'9999-12-31', int(id % 2)) AS d",
        "id AS v",
    )

    def size(frame):
        return pa.table({"n": [len(frame)]}) if kind == "arrow" else pd.DataFrame({"n": [len(frame)]})

    def add(parts):
        n = sum(parts.column("n").to_pylist() if kind == "arrow" else parts["n"])
        return pa.table({"n": [n]}) if kind == "arrow" else pd.DataFrame({"n": [n]})

    # Pandas has no such times, and Python no dates after the year 9999, nor inside of other values.
    df = df.selectExpr("*", "named_struct('t', t, 'ds', array(d)) AS s") if kind == "arrow" else df.drop("t", "d")
    for by in (["a"], ["a", "t"], ["a", "d"], ["a", "s"])[: 4 if kind == "arrow" else 1]:
        groups = skewkit.skew_groupby(df, *by, strategy="wrap", partitions=4)
        ours = getattr(groups, KINDS[kind][0])(size, "n bigint", merge=add)
        assert_same_rows(ours, df.groupBy(*by).agg(F.count("*").alias("n")).select("n"))


@pytest.mark.connect
@pytest.mark.parametrize("order", [None, "v"])
def test_arrow_functions_in_parts(spark, sales, order):
    """In order, every part is a range of it, and `merge` sees them one after the other."""

    def first_and_last(table):
        v = table.column("v").to_pylist()
        assert order is None or v == sorted(v)
        return pa.table({"k": table.column("k").slice(0, 1), "n": [len(v)], "first": [min(v)], "last": [max(v)]})

    def merged(parts):
        firsts, lasts = parts.column("first").to_pylist(), parts.column("last").to_pylist()
        assert order is None or all(a < b for a, b in zip(lasts, firsts[1:], strict=False))
        k, n = parts.column("k").slice(0, 1), [pc.sum(parts.column("n")).as_py()]
        return pa.table({"k": k, "n": n, "first": [min(firsts)], "last": [max(lasts)]})

    with conf(spark, "spark.skewkit.groupRows", "150"):
        groups = skewkit.skew_groupby(sales, "k", strategy="wrap", partitions=4)
        ours = groups.applyInArrow(
            first_and_last, "k bigint, n bigint, first bigint, last bigint", merge=merged, order_by=order
        )
        plain = sales.groupBy("k").agg(F.count("*").alias("n"), F.min("v").alias("first"), F.max("v").alias("last"))
        assert_same_rows(ours, plain)
    text = skewkit.explain(ours)
    assert (HERE in text) if order is None else re.search(r"cut along v: .* into [2-9]", text), text


@pytest.mark.parametrize("what", ["function", "aggregate"])
@pytest.mark.parametrize("cached", [True, False])
def test_what_may_differ_the_second_time_is_not_cut_where_exchanges_are_not_shared(spark, sales, what, cached):
    """Cold and hot rows would be of two readings of the limit, and rows be lost or there twice. None shares a cache."""
    whole = sales.select("*").cache() if cached else sales
    some = whole.limit(1000)
    with conf(spark, "spark.sql.exchange.reuse", "true" if cached else "false"):
        for df in (some, whole):
            groups = skewkit.skew_groupby(df, "k", strategy="wrap", partitions=4)
            ours = (
                groups.applyInPandas(totals, TOTALS, merge=add_up)
                if what == "function"
                else groups.agg(F.collect_list("v").alias("vs"))
            )
            said = "native: cold and hot rows would be of two readings, and the frame"
            assert (said in skewkit.explain(ours)) == (df is some), skewkit.explain(ours)
        assert ours.count() == sales.select("k").distinct().count()
        fickle = F.udf(lambda k: k, "string")("k").alias("k")
        groups = skewkit.skew_groupby(whole, fickle, strategy="wrap", partitions=4)
        ours = groups.applyInPandas(totals, TOTALS, merge=add_up) if what == "function" else groups.agg(F.max("v"))
        assert "strategy   native" in skewkit.explain(ours)
    if cached:
        whole.unpersist()
