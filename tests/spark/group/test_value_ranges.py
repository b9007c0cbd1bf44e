"""Percentiles of values that hardly repeat: from counts by ranges of the values, to the last bit of plain Spark."""

import pytest
from pyspark.sql import functions as F

from skewkit import explain, skew_groupby
from skewkit.plan.group.value_cuts import value_cuts
from skewkit.plan.placement.key_plan import key_plan
from skewkit.plan.placement.load import HeavyLoad, KeyLoad
from skewkit.plan.window.window_plan import Order
from skewkit.spark.group import aggregates
from skewkit.testing import assert_same_rows
from tests.helpers import VERSION

pytestmark = pytest.mark.skipif(VERSION < (4, 0), reason="aggregates are cut on Spark 4")
AMONG_RANGES = "counts by ranges of the values"
CASES = [
    "median(u)",
    "median(x)",
    "median(cast(x AS float))",
    "median(d)",
    "median(big)",
    "median(half)",
    "median(no_hot)",
    "median(u * 2) - percentile(u * 2, 0.25)",
    "percentile(x, array(0.0D, 0.1D, 0.5D, 0.99D, 1.0D))",
    "percentile(x, 0.5, 1) FILTER (WHERE b)",
    "percentile_cont(array(0.37, 0.8)) WITHIN GROUP (ORDER BY d)",
    "percentile_disc(0.999) WITHIN GROUP (ORDER BY x ASC)",
    "percentile_disc(array(0.0, 0.37, 1.0)) WITHIN GROUP (ORDER BY no_hot) FILTER (WHERE b)",
]


@pytest.fixture(scope="module")
def facts(spark):
    """Return two hot keys, one of them null, and values with NaN, both zeros, infinities and nulls."""
    spread = "pmod(hash(id), 1000003)"
    return spark.range(0, 20_000, 1, 6).selectExpr(
        "CASE WHEN id % 10 < 6 THEN 0 WHEN id % 10 = 9 THEN NULL ELSE id % 50 END AS k",
        "if(id % 50 = 7, NULL, id * 7 - 1000) AS u",
        "CASE WHEN id % 91 = 0 THEN double('NaN') WHEN id % 11 = 3 THEN -0.0D WHEN id % 11 = 4 THEN 0.0D "
        f"WHEN id % 97 = 1 THEN double('-Infinity') WHEN id % 13 = 2 THEN NULL ELSE {spread} / 7D - 9 END AS x",
        f"cast({spread} AS decimal(20, 2)) / 3 AS d",
        "9007199254740993 + id AS big",
        "if(id % 3 = 0, 5, id) AS half",
        "if(id % 10 < 6, NULL, id) AS no_hot",
        "id % 3 = 0 AS b",
    )


@pytest.mark.parametrize("text", [pytest.param(text, marks=pytest.mark.connect) for text in CASES])
def test_like_plain_spark(facts, text):
    exprs = [F.expr(text).alias("found"), F.count("*").alias("rows"), F.median("big").alias("middle")]
    ours = skew_groupby(facts, "k", partitions=4).agg(*exprs)
    assert AMONG_RANGES in explain(ours), explain(ours)
    assert_same_rows(ours, facts.groupBy("k").agg(*exprs))


@pytest.mark.usefixtures("adaptive")
def test_beside_sets_and_lists(facts):
    exprs = [F.median("u").alias("m"), F.collect_set("big").alias("set"), F.collect_list("b").alias("list")]
    exprs += [F.percentile("x", [0.1, 0.9]).alias("p"), F.mode("half").alias("mode")]
    ours = skew_groupby(facts, "k", strategy="d_choices", partitions=5).agg(*exprs)
    assert AMONG_RANGES in explain(ours), explain(ours)
    assert_same_rows(ours, facts.groupBy("k").agg(*exprs), unordered=("set", "list"))


def test_few_values_are_left_for_the_merge(facts, monkeypatch):
    frames = []

    def kept(*given):
        frames.append(by_range(*given))
        return frames[-1]

    by_range = aggregates.by_range
    monkeypatch.setattr(aggregates, "by_range", kept)
    skew_groupby(facts, "k", strategy="wrap", partitions=4).agg(F.median("big"))
    hot = facts.where("k = 0 OR k IS NULL").count()
    assert 0 < frames[0].count() < hot / 10


@pytest.mark.parametrize("cuts", [[], ["-5"], ["19999999"], ["1000", "1001", "1002", "90000"]])
def test_any_cuts_give_the_right_value(facts, monkeypatch, cuts):
    """The sample that cuts are from says nothing of the rows that are there."""
    from skewkit.api.group import agg

    def odd(keys, order, samples):
        return value_cuts(keys, order, {i: [(text,) for text in ["-9", *cuts] for _ in range(99)] for i in samples})

    monkeypatch.setattr(agg, "value_cuts", odd)
    exprs = [F.percentile("u", [0.0, 0.3, 1.0]).alias("p")]
    ours = skew_groupby(facts, "k", strategy="wrap", partitions=4).agg(*exprs)
    assert_same_rows(ours, facts.groupBy("k").agg(*exprs))


def test_cuts_rise_and_the_heaviest_key_has_most():
    heavy = tuple(HeavyLoad((i,), i, weight) for i, weight in enumerate((900.0, 90.0, 60.0)))
    keys = key_plan(KeyLoad(("k",), ("int",), heavy, (1.0,)), 4)
    samples = {i: [(None,)] * 5 + [(str(v),) for v in range(h.key[0], 500)] for i, h in enumerate(keys.heavy)}
    plan = value_cuts(keys, Order("v", "int"), samples)
    numbers = [[int(b.cut[0]) for b in plan.blocks[first + 1 : last + 1]] for first, last in plan.spans.values()]
    assert all(cuts == sorted(set(cuts)) for cuts in numbers)
    ranges = {keys.heavy[i].key[0]: last - first + 1 for i, (first, last) in plan.spans.items()}
    assert ranges == {0: 64, 1: 21, 2: 14}
    assert value_cuts(keys, Order("v", "int"), {0: [("7",)] * 9}).blocks == ()
