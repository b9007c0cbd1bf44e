"""Each operator's plan compiled by Spark's code generation, which is off in the other tests, and interpreted."""

import pandas as pd
import pytest
from pyspark.sql import Window
from pyspark.sql import functions as F

import skewkit
from tests.compare import assert_same
from tests.helpers import NOT_COMPILED, conf


@pytest.fixture(autouse=True)
def compiled(spark):
    """Turn on what the session of the tests turns off."""
    wanted = {"spark.sql.codegen.wholeStage": "true", "spark.sql.codegen.factoryMode": "CODEGEN_ONLY"}
    assert wanted.keys() == NOT_COMPILED.keys()
    with (
        conf(spark, "spark.sql.codegen.wholeStage", "true"),
        conf(spark, "spark.sql.codegen.factoryMode", "CODEGEN_ONLY"),
    ):
        yield


@pytest.fixture(scope="module")
def facts(skewed):
    return skewed(2000)


@pytest.fixture(scope="module")
def dims(spark):
    return (
        spark.range(0, 200).selectExpr("if(id = 7, NULL, id) AS k", "id % 5 AS w", "string(id) AS name").repartition(3)
    )


@pytest.mark.parametrize("how", ["inner", "left", "right", "full", "semi", "anti"])
def test_salted_joins(facts, dims, how):
    joined = skewkit.skew_join(facts, dims, "k", how, strategy="salt", partitions=4)
    assert "strategy   salt" in skewkit.explain(joined)
    assert_same(joined, facts.join(dims, "k", how), by_name=dims)


def test_salted_joins_with_a_residual_condition_and_null_safe_keys(facts, dims):
    on = facts["k"].eqNullSafe(dims["k"]) & (facts["v"] % 5 >= dims["w"])
    joined = skewkit.skew_join(facts, dims, on, strategy="salt", partitions=4)
    assert_same(joined, facts.join(dims, on))


def test_hot_rows_broadcast(facts, dims):
    joined = skewkit.skew_join(facts, dims, "k", "left", strategy="broadcast_head", partitions=4)
    assert "strategy   broadcast_head" in skewkit.explain(joined)
    assert_same(joined, facts.join(dims, "k", "left"), by_name=dims)


def test_aggregates(facts):
    wanted = [F.array_sort(F.collect_set("s")).alias("set"), F.median("v"), F.mode("s", True), F.sum("v"), F.count("*")]
    found = skewkit.skew_groupby(facts, "k", strategy="wrap", partitions=4).agg(*wanted)
    assert "strategy   wrap" in skewkit.explain(found)
    assert_same(found, facts.groupBy("k").agg(*wanted))


def test_windows(facts):
    spec = Window.partitionBy("k").orderBy("v")
    functions = {"rn": F.row_number(), "total": F.sum("v"), "before": F.lag("s"), "top": F.max("s")}
    found = skewkit.skew_window(facts, "k", "v", strategy="split", partitions=4).select(**functions)
    assert "strategy   split" in skewkit.explain(found)
    assert_same(found, facts.select("*", *(column.over(spec).alias(name) for name, column in functions.items())))


def test_group_functions(facts):
    count = lambda key, frame: pd.DataFrame({"k": [repr(key)], "n": [len(frame)]})  # noqa: E731
    merge = lambda parts: parts.groupby("k", as_index=False).sum()  # noqa: E731
    groups = skewkit.skew_groupby(facts, "k", strategy="wrap", partitions=4)
    found = groups.applyInPandas(count, "k string, n bigint", merge=merge)
    assert_same(found, facts.groupBy("k").applyInPandas(count, "k string, n bigint"))
