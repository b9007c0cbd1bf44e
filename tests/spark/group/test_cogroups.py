"""Cogroups: pairs of groups are placed apart, and plain Spark's rows come out."""

import pandas as pd
import pytest

import skewkit
from skewkit.testing import assert_same_rows
from tests.helpers import conf, explained


def pairs(key, left, right):
    return pd.DataFrame({"k": [repr(key)], "l": [len(left)], "r": [len(right)], "s": [right["w"].sum()]})


@pytest.mark.every(3)
@pytest.mark.connect
@pytest.mark.parametrize(("strategy", "aqe"), [("auto", "true"), ("dkg", "false"), ("native", "true")])
def test_cogroups(spark, sales, strategy, aqe):
    other = sales.selectExpr("k kk", "v w").where("w % 3 = 0 or kk is null or kk > 20")
    left = skewkit.skew_groupby(sales, "k", strategy=strategy, partitions=4)
    right = skewkit.skew_groupby(other, "kk", partitions=4)
    schema = "k string, l bigint, r bigint, s bigint"
    ours = left.cogroup(right).applyInPandas(pairs, schema)
    with conf(spark, "spark.sql.adaptive.enabled", aqe):
        assert_same_rows(ours, sales.groupBy("k").cogroup(other.groupBy("kk")).applyInPandas(pairs, schema))
    text = skewkit.explain(ours)
    assert f"strategy   {'dkg' if strategy == 'auto' else strategy}" in text
    assert ("adaptive execution never splits a group-by" in text) == (strategy != "native"), text


@pytest.mark.slow
@pytest.mark.every(3)
@pytest.mark.parametrize("hint", ["left", "both"])
def test_cogroups_of_named_keys_add_no_exchange(sales, hint):
    left = skewkit.skew_groupby(sales, "k", "s", partitions=4, heavy=[(0, "1")])
    right = skewkit.skew_groupby(sales, "k", "s", partitions=4, heavy=[(0, "2")] if hint == "both" else None)
    schema = "k bigint, s string, n int"

    def both(left, right):
        return pd.DataFrame({"k": left["k"].iloc[:1], "s": left["s"].iloc[:1], "n": [len(left) * len(right)]})

    ours = left.cogroup(right).applyInPandas(both, schema)
    grouped = sales.groupBy("k", "s")
    assert_same_rows(ours, grouped.cogroup(grouped).applyInPandas(both, schema))
    assert "given as hot" in skewkit.explain(ours)
    assert explained(ours, "FORMATTED").count("Exchange (") == 2, "one for each side"


@pytest.mark.parametrize("native", ["left", "right"])
def test_cogroups_of_which_one_side_is_native_are_plain_sparks(sales, native):
    left, right = (
        skewkit.skew_groupby(sales, "k", partitions=4, strategy="native" if native == side else "auto")
        for side in ("left", "right")
    )

    def both(left, right):
        return pd.DataFrame({"k": left["k"].iloc[:1], "n": [len(left) * len(right)]})

    ours = left.cogroup(right).applyInPandas(both, "k bigint, n int")
    grouped = sales.groupBy("k")
    assert_same_rows(ours, grouped.cogroup(grouped).applyInPandas(both, "k bigint, n int"))
    assert "strategy   native" in skewkit.explain(ours)
