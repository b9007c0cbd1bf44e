"""Physical plans of split aggregations, group functions and windows: so many exchanges, nothing that is random."""

import re

import pandas as pd
import pytest
from pyspark.sql import Window
from pyspark.sql import functions as F

import skewkit
from skewkit.testing import assert_same_rows
from tests.helpers import VERSION, conf, physical_plan

pytestmark = pytest.mark.skipif(VERSION < (4, 1), reason="rows are placed in another way before Spark 4.1")
RANDOM = ("rand(", "randn(", "uuid(", "shuffle(", "monotonically_increasing_id", "RoundRobin")


@pytest.fixture(scope="module")
def facts(skewed, spark, tmp_path_factory):
    """Return a frame that is read from files: what is computed may be read once more, files are."""
    path = str(tmp_path_factory.mktemp("plans") / "facts")
    wide = skewed(900, tail=50).selectExpr("*", "v * 31 % 97 AS i", "v % 13 AS w", "double(v) AS d")
    wide.write.parquet(path)
    return spark.read.parquet(path)


def exchanges(frame, but=None):
    """Return how many exchanges a plan computes by why they are there, and how many it reads once more."""
    plan = physical_plan(frame)
    assert not [word for word in RANDOM if word.lower() in plan.lower() and word != but]
    lines = [line for line in plan.splitlines() if re.search(r"\bExchange\b", line)]
    reused = [line for line in lines if "ReusedExchange" in line]
    computed = [line for line in lines if line not in reused]
    placed = sum("shufflepartitionidpassthrough" in line for line in computed)
    return placed, len(computed) - placed, len(reused)


def size(frame):
    return pd.DataFrame({"k": frame["k"].iloc[:1], "n": [len(frame)]})


def total(frame):
    return frame.groupby("k", as_index=False, dropna=False).sum()


def of_pairs(key, left, right):
    return pd.DataFrame({"n": [len(left) + len(right)]})


def grouped(facts, strategy="wrap"):
    return skewkit.skew_groupby(facts, "k", strategy=strategy, partitions=4)


def window(facts, *order):
    return skewkit.skew_window(facts, "k", list(order) or None, strategy="split", partitions=4)


SIZE = "k bigint, n bigint"
# Exchanges that place rows by the plan, others (a merge by key, totals per block), and those that are read twice.
PLANS = {
    "list": (lambda df: grouped(df).agg(F.collect_list("v"), F.sum("i")), (1, 1, 1)),
    "set": (lambda df: grouped(df).agg(F.collect_set("v"), F.count("*")), (1, 1, 1)),
    "mode": (lambda df: grouped(df).agg(F.mode("v", True)), (1, 1, 1)),
    "median": (lambda df: grouped(df).agg(F.median("i")), (1, 1, 1)),
    # Of values that hardly repeat, rows are counted by range of the value first.
    "median by ranges": (lambda df: grouped(df).agg(F.median("v")), (2, 4, 2)),
    "a list beside a median": (lambda df: grouped(df).agg(F.collect_list("v"), F.median("i")), (1, 1, 2)),
    "a set, and what Spark combines": (lambda df: grouped(df).agg(F.collect_set("v"), F.stddev("i")), (1, 2, 2)),
    "groups whole": (lambda df: grouped(df, "dkg").applyInPandas(size, SIZE), (1, 0, 0)),
    # In parts, one more asks which columns of a hot key have nulls, so that its parts have the dtypes of the whole.
    "groups in parts": (lambda df: grouped(df).applyInPandas(size, SIZE, merge=total), (0, 3, 0)),
    "groups in order": (lambda df: grouped(df).applyInPandas(size, SIZE, merge=total, order_by="v"), (1, 2, 2)),
    "cogroup": (
        lambda df: grouped(df, "dkg").cogroup(grouped(df.where("v > 9"), "dkg")).applyInPandas(of_pairs, "n bigint"),
        (2, 0, 0),
    ),
    "running": (lambda df: window(df, "v").select(rn=F.row_number(), total=F.sum("i")), (2, 1, 1)),
    "lag": (lambda df: window(df, "v").select(before=F.lag("i")), (2, 1, 1)),
    "range": (lambda df: window(df, "i").rangeBetween(-2, 1).select(total=F.sum("v")), (1, 0, 0)),
    "whole partitions": (lambda df: window(df).select(total=F.sum("v")), (2, 1, 1)),
}


@pytest.mark.every(5)
@pytest.mark.parametrize("name", PLANS)
def test_exchanges(spark, facts, name):
    make, expected = PLANS[name]
    with conf(spark, "spark.sql.adaptive.enabled", "false"):
        assert exchanges(make(facts)) == expected


def test_rows_next_to_a_block_are_shuffled_once(spark, facts):
    """Beside the exchange of the rows, they go to one task, and from there to where they are needed.

    There they come with whichever row of the partition is the first, which is found by its number.
    """
    frame = window(facts, "v").rowsBetween(-2, 2).select(total=F.sum("i"))
    with conf(spark, "spark.sql.adaptive.enabled", "false"):
        assert exchanges(frame, but="monotonically_increasing_id") == (2, 1, 1)


def test_what_stays_native_is_the_plan_of_plain_spark(spark, facts):
    def plan(frame):
        return re.sub(r"#\d+L?|\[plan_id=\d+\]", "", physical_plan(frame))

    exprs = F.sum("v"), F.count("*"), F.avg("i"), F.count_distinct("v", "s")
    assert plan(skewkit.skew_groupby(facts, "k").agg(*exprs)) == plan(facts.groupBy("k").agg(*exprs))


def test_explain_says_what_is_cut_by_what(facts):
    text = skewkit.explain(grouped(facts).agg(F.collect_set("v"), F.collect_list("v"), F.stddev("i"), F.sum("v")))
    assert "collect_set in parts of the hot keys, cut by the hash of the values" in text
    assert "collect_list, sum in the same parts" in text
    assert "stddev as plain Spark does it" in text
    text = skewkit.explain(skewkit.skew_groupby(facts, "k").agg(F.sum("v"), F.count_distinct("v")))
    assert "Spark combines sum before the shuffle; Spark spreads count(distinct) by its values, so a hot" in text
    text = skewkit.explain(skewkit.skew_groupby(facts, "k").agg(F.collect_list("v"), F.sum("i")))
    assert "the whole result is in one task in any case" in text
    assert "so a hot key would not take less time in parts" in text
    assert "hot partitions are cut along v: 0 into" in skewkit.explain(window(facts, "v").select(rn=F.row_number()))


@pytest.mark.slow
@pytest.mark.connect
def test_a_session_without_lateral_aliases(spark, facts):
    """There each column that uses another one is selected after it."""
    names = spark.range(40).selectExpr("if(id < 2, 0, id) AS k", "id AS n")
    total = F.sum("v")
    with conf(spark, "spark.sql.lateralColumnAlias.enableImplicitResolution", "false"):
        joined = skewkit.skew_join(facts, names, "k", "full", strategy="salt", partitions=4)
        assert_same_rows(joined, facts.join(names, "k", "full"))
        assert_same_rows(grouped(facts).agg(F.median("v"), total), facts.groupBy("k").agg(F.median("v"), total))
        spec = Window.partitionBy("k").orderBy("v")
        assert_same_rows(window(facts, "v").select(t=total), facts.select("*", total.over(spec).alias("t")))
