"""The null key, which is often the hottest of all, is named where `explain` lists hot keys."""

import re

import pytest
from pyspark.sql import functions as F

import skewkit


@pytest.fixture(scope="module")
def orders(spark):
    key = "CASE id % 10 WHEN 0 THEN 'hot' WHEN 1 THEN string(id) END AS k"
    return spark.range(0, 2000, 1, 4).selectExpr(key, "id AS v")


def test_in_a_group_by(orders):
    text = skewkit.explain(skewkit.skew_groupby(orders, "k", strategy="wrap", partitions=4).agg(F.collect_set("v")))
    assert re.search(r"\n +null: partition ", text), text


@pytest.mark.parametrize("strategy", ["salt", "broadcast_head"])
def test_in_a_join(orders, strategy):
    names = orders.select("k").distinct().where("k is not null")
    text = skewkit.explain(skewkit.skew_join(orders, names, "k", "left", strategy=strategy, partitions=4))
    said = r"heavy +null, 'hot'" if strategy == "broadcast_head" else r"nulls +1,600 rows of the key null match nothing"
    assert re.search(said, text), text
