"""Group functions along an order: hot groups are cut by ranges and merged in order."""

import itertools
import math

import pandas as pd
import pytest
from pyspark.sql import functions as F

import skewkit
from skewkit.errors import ArgumentError
from skewkit.testing import assert_same_rows
from tests.helpers import VERSION, conf, explained
from tests.spark.group.functions import (
    SESSIONS,
    TOTALS,
    add_up,
    join_sessions,
    sessions,
    totals,
)


@pytest.mark.every(3)
@pytest.mark.parametrize(
    ("frame", "aqe"), [("as it is", "true"), ("with a profile", "false"), ("behind a shuffle", "true")]
)
def test_sessions_along_an_order(spark, skewed, frame, aqe):
    df = skewed(3000, tail=40).where("v % 100 < 50 and k is not null")
    df = df.repartition(3, "v") if frame == "behind a shuffle" else df
    profile = skewkit.skew_profile(df, "k", partitions=4) if frame == "with a profile" else None
    with conf(spark, "spark.skewkit.groupRows", "64"), conf(spark, "spark.sql.adaptive.enabled", aqe):
        groups = skewkit.skew_groupby(df, "k", strategy="wrap", partitions=4, profile=profile)
        ours = groups.applyInPandas(sessions, SESSIONS, merge=join_sessions, order_by="v")
        assert_same_rows(ours, df.groupBy("k").applyInPandas(sessions, SESSIONS))
    assert "cut along v" in skewkit.explain(ours)


ORDERS = {
    "ties": (lambda: [F.col("t")], lambda t: t),
    "descending": (lambda: [F.desc("t")], lambda t: [-each for each in t]),
    "two columns": (lambda: ["t", "v"], lambda t: t),
    "nulls last": (lambda: [F.asc_nulls_last("nt")], lambda t: t),
    "a struct": (lambda: [F.struct("t")], lambda t: t),
}


@pytest.mark.every(7)
@pytest.mark.parametrize("order", ORDERS)
def test_ranges_are_consecutive_and_merged_in_order(spark, order):
    by, key = ORDERS[order][0](), ORDERS[order][1]
    df = spark.range(2000, numPartitions=3).selectExpr(
        "if(id % 4 < 3, 0, id) k", "cast(hash(id) % 50 as int) t", "nullif(hash(id) % 50, 7) nt", "id v"
    )

    def part(frame):
        column = "nt" if order == "nulls last" else "t"
        values = [1000.0 if math.isnan(each) else float(each) for each in frame[column]]
        return pd.DataFrame({"k": frame["k"].iloc[:1], "parts": [[values]], "v": [frame["v"].tolist()]})

    def merge(parts):
        lists = [[each for part in parts["parts"] for each in part], [each for v in parts["v"] for each in v]]
        return pd.DataFrame({"k": parts["k"].iloc[:1], "parts": [lists[0]], "v": [lists[1]]})

    with conf(spark, "spark.skewkit.groupRows", "100"):
        groups = skewkit.skew_groupby(df, "k", strategy="wrap", partitions=4)
        rows = groups.applyInPandas(
            part, "k bigint, parts array<array<double>>, v array<bigint>", merge=merge, order_by=by
        )
        hot = rows.where("k = 0").first()
    truth = [row.v for row in df.where("k = 0").select("v").collect()]
    assert sorted(hot.v) == sorted(truth)
    parts = [list(key(part)) for part in hot.parts]
    assert len(parts) >= 15
    assert max(map(len, parts)) <= 100
    assert all(part == sorted(part) for part in parts)
    if order == "two columns":
        rank = {row.v: i for i, row in enumerate(df.where("k = 0").orderBy(*by).collect())}
        assert [rank[v] for v in hot.v] == list(range(len(truth)))
    else:
        assert all(a[-1] < b[0] for a, b in itertools.pairwise(parts)), "no tie is cut"


def test_the_ordered_form_reads_one_exchange(sales, connect):
    groups = skewkit.skew_groupby(sales, "k", strategy="wrap", partitions=4)
    frame = groups.applyInPandas(totals, TOTALS, merge=add_up, order_by="v")
    with conf(sales.sparkSession, "spark.sql.adaptive.enabled", "false"):
        plan = explained(frame, "FORMATTED").partition("\n\n")[0]
    assert plan.count("ReusedExchange") == 1
    assert plan.count("Exchange") - 1 == 2, "the rows, and the partial results"


def test_orders_by_which_nothing_can_be_cut(spark, skewed):
    grouped = skewkit.skew_groupby(skewed(rows=500).repartition(3), "k", strategy="wrap", partitions=3)
    given = {"func": lambda f: f[["k"]].head(1), "schema": "k bigint", "merge": lambda parts: parts.head(1)}
    with pytest.raises(ArgumentError, match="does not support ordering on type"):
        grouped.applyInPandas(order_by=F.expr("make_interval(0, 0, 0, int(v))"), **given)
    for order, why in (
        (F.rand(), "holds random values"),
        (F.expr("s COLLATE UTF8_LCASE"), "the order has a collation"),
    ):
        if "COLLATE" in str(order) and VERSION < (4, 0):
            continue
        ours = grouped.applyInPandas(order_by=order, **given)
        assert "strategy   native" in skewkit.explain(ours)
        assert why in skewkit.explain(ours)
