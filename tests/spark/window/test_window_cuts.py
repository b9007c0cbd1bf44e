"""Where hot partitions are cut into blocks, and where they cannot be."""

import re
from datetime import date, datetime
from decimal import Decimal

import pytest
from pyspark.sql import functions as F

import skewkit
from skewkit.api.window import window_decision as deciding
from skewkit.hashing.spark import xxhash64
from skewkit.plan.placement.key_plan import key_plan
from skewkit.plan.placement.load import HeavyLoad, KeyLoad
from skewkit.plan.window.window_plan import Block, WindowPlan, turned
from skewkit.spark.expressions.keys import Names
from skewkit.spark.window.blocks import with_block
from skewkit.spark.window.ordering import as_text, cut_array, cut_value, find_order
from skewkit.testing import assert_same_rows
from tests.helpers import conf
from tests.spark.window.cases import plain


@pytest.mark.slow
def test_blocks_are_sorted_by_radix_first_where_one_hot_key_is_most_of_the_rows(skewed):
    facts = skewed(2500, tail=60)
    hot = facts.where("k = 0 or v % 9 = 0").selectExpr("*", "cast(if(v % 7 = 0, null, v) as double) AS d")
    for order in (F.desc("v"), F.asc_nulls_last("d"), F.desc_nulls_first("d")):
        window = skewkit.skew_window(hot, "k", [order, "v"], strategy="split", partitions=8)
        ours = window.select(rn=F.row_number(), total=F.sum("v"))
        assert local_sorts(ours) == 1
        assert_same_rows(ours, plain(hot, ["k"], [order, "v"], {"rn": F.row_number(), "total": F.sum("v")}))
    text = skewkit.skew_window(hot, "k", F.col("v").cast("string"), strategy="split", partitions=8)
    assert local_sorts(text.select(rn=F.row_number())) == 0


def local_sorts(df):
    """Return how many sorts within partitions the optimizer left."""
    return df._jdf.queryExecution().optimizedPlan().toString().count("Sort [")


def test_what_is_too_small_to_be_cut_off_is_left_whole(spark):
    """There is no order, of which the reason could say that it has one value."""
    keys = "CASE WHEN id < 2503 THEN 0 WHEN id < 5002 THEN 1 WHEN id < 7501 THEN 2 ELSE 3 END AS k"
    df = spark.range(10_000).selectExpr(keys, "id AS v")
    ours = skewkit.skew_window(df, "k", strategy="split", partitions=2).select(s=F.sum("v"))
    assert "what is to be cut off the hot partitions is too small" in skewkit.explain(ours)
    assert_same_rows(ours, plain(df, ["k"], [], {"s": F.sum("v")}))


@pytest.mark.parametrize("order", ["t", "cast(t AS binary)"])
def test_long_order_values_are_cut_near(spark, order, monkeypatch):
    """Cuts become part of the plan, so that whole texts would be too much for the driver."""
    cuts, original = [], deciding.window_plan
    monkeypatch.setattr(deciding, "window_plan", lambda *args: cuts.append(args[2]) or original(*args))
    long = "concat(lpad(string(id), 8, '0'), repeat('0', 100000))"
    df = spark.range(400).selectExpr("if(id % 10 < 8, 0, id) AS k", f"{long} AS t").selectExpr("k", f"{order} AS t")
    found = skewkit.skew_window(df, ["k"], ["t"], strategy="split", partitions=4).select(n=F.row_number())
    assert "into 4 blocks" in skewkit.explain(found)
    assert_same_rows(found, plain(df, ["k"], ["t"], {"n": F.row_number()}))
    assert cuts
    assert max(len(text) for found in cuts for parts in found.values() for (text,) in parts) <= 2048


def test_texts_that_begin_alike_cannot_be_cut(spark):
    df = spark.range(2_000).selectExpr("if(id % 10 < 9, 0, id) AS k", "concat(repeat('x', 2000), id) AS t", "id AS v")
    for order in (["t"], ["t", "v"]):
        found = skewkit.skew_window(df, ["k"], order, strategy="split", partitions=4).select(n=F.row_number())
        assert "of long values the first 1,024 characters or bytes count" in skewkit.explain(found)
    found = skewkit.skew_window(df, ["k"], ["v", "t"], strategy="split", partitions=4).select(n=F.row_number())
    assert "into 4 blocks" in skewkit.explain(found)
    assert_same_rows(found, plain(df, ["k"], ["v", "t"], {"n": F.row_number()}))


@pytest.mark.parametrize(
    ("order", "cuts"),
    [
        (lambda: [F.desc("t")], [("700",), ("300",), (None,)]),
        (lambda: ["t"], [("300",), ("700",)]),
        (lambda: ["flag", F.desc("t")], [("0", "700"), ("0", "0"), ("1", "500")]),
        (lambda: [F.asc_nulls_last("flag")], [("1",)]),
        (lambda: ["t"], [(str(i),) for i in range(10, 900, 10)]),
    ],
)
def test_the_opposite_order_has_the_same_blocks(spark, order, cuts):
    """Also of rows that are equal to a cut, and of nulls."""
    df = spark.range(2000).selectExpr("0L AS k", "if(id % 3 = 0, null, id div 2) AS t", "id % 2 AS flag")
    load = KeyLoad(("k",), ("bigint",), (HeavyLoad((0,), xxhash64((0,), ("bigint",)), 2000.0),), (0.0,) * 4)
    keys = key_plan(load, 4)
    by = find_order(df, order())
    blocks = [Block(0, i % 4, cut) for i, cut in enumerate([None, *cuts])]
    plan, names = WindowPlan(keys, by.orders, tuple(blocks)), Names(df)
    found = df.select("*", F.lit(0).alias(names("heavy")))
    for role, each in (("there", plan), ("here", turned(plan))):
        found = with_block(found, [order.name for order in by.orders[: plan.depth]], each, names, role)
    pairs = {(row[0], row[1]) for row in found.select(names("there"), names("here")).distinct().collect()}
    assert pairs == {(i, len(cuts) - i) for i in range(len(blocks))}
    assert turned(turned(plan)) is plan


@pytest.mark.every(3)
@pytest.mark.connect
@pytest.mark.parametrize("fickle", ["rand()", "udf", "hex(aes_encrypt(s, '0123456789abcdef'))"])
def test_a_column_that_no_function_reads_may_be_fickle(facts, fickle):
    noise = F.udf(lambda v: v, "bigint")("v") if fickle == "udf" else F.expr(fickle)
    df = facts.select("k", "v", "i", noise.alias("x"))
    functions = {"n": F.row_number(), "total": F.sum("i"), "before": F.lag("v", 1)}
    ours = skewkit.skew_window(df, "k", "v", strategy="split", partitions=4).select(**functions)
    assert "strategy   split" in skewkit.explain(ours)
    assert_same_rows(ours.drop("x"), plain(facts.select("k", "v", "i"), ["k"], ["v"], functions))
    unordered = skewkit.skew_window(df, "k", strategy="split", partitions=4).select(total=F.sum("i"))
    assert_same_rows(unordered.drop("x"), plain(facts.select("k", "v", "i"), ["k"], [], {"total": F.sum("i")}))
    for keys, order, function in (("k", "v", F.max("x")), ("k", "x", F.row_number()), ("x", "v", F.row_number())):
        asked = skewkit.skew_window(df, keys, order, strategy="split", partitions=4).select(n=function)
        assert "strategy   native" in skewkit.explain(asked), (keys, order)
    call = skewkit.skew_window(facts, "k", "v", strategy="split", partitions=4).select(n=F.max(noise))
    assert "strategy   native" in skewkit.explain(call)


@pytest.mark.slow
def test_blocks_of_many_partitions(facts):
    """Optimizing the search for one of many blocks took for ever: every step mentions the one before several times."""
    window = skewkit.skew_window(facts, ["k"], ["d", "v"], strategy="split", partitions=108)
    found = window.select(rank=F.rank(), total=F.sum("v"))
    assert max(int(blocks) for blocks in re.findall(r"into (\d+) blocks", skewkit.explain(found))) > 64
    assert_same_rows(found, plain(facts, ["k"], ["d", "v"], {"rank": F.rank(), "total": F.sum("v")}))


@pytest.mark.connect
def test_orders_that_may_change_are_not_cut(spark, facts):
    """A row on a cut would be lost, or there twice, if only a part of its tasks ran again."""
    sums = facts.groupBy("k", "i").agg(F.sum("d").alias("total"), F.first("v").alias("any"))
    lists = facts.groupBy("k").agg(F.collect_list("v").alias("vs"))
    placed = lists.select("k", F.posexplode("vs").alias("pos", "v"))
    dotted = facts.groupBy("k", "i").agg(F.sum("d").alias("a.b"))
    odd = ((sums, "TOTAL"), (dotted, "`a.b`"), (placed, "pos"), (facts.repartition(3), F.expr("rand()")))
    for df, order in ((sums, "total"), (sums, "any"), *odd):
        ours = skewkit.skew_window(df, "k", order, strategy="split", partitions=4).select(rn=F.row_number())
        text = skewkit.explain(ours)
        assert re.search(
            "native: (rows may be in other blocks when a task runs again|blocks read the frame more)", text
        )
        numbers = ours.groupBy("k").agg(F.count("*"), F.count_distinct("rn"), F.max("rn")).collect()
        assert all(len({*row[1:]}) == 1 for row in numbers)
    rows = spark.range(2000).selectExpr("if(id % 10 < 8, 0, id) AS k", "id AS V")
    latest = rows.selectExpr("*", "row_number() OVER (PARTITION BY v ORDER BY k) AS n").where("n = 1")
    for df, order in ((sums, "i"), (latest, "v"), (facts.where("abs(d) >= 0"), "t")):  # no row moves along these
        ours = skewkit.skew_window(df, "k", order, strategy="split", partitions=4).select(rn=F.row_number())
        assert "native: rows may" not in skewkit.explain(ours)
    cached = sums.cache()
    try:
        ours = skewkit.skew_window(cached, "k", "total", strategy="split", partitions=4).select(rn=F.rank())
        assert "native: rows may" not in skewkit.explain(ours)
    finally:
        cached.unpersist()


VALUES = {
    "tinyint": [-128, 127],
    "bigint": [-(1 << 63), (1 << 63) - 1, 0],
    "float": [float("nan"), float("-inf"), 0.1],
    "double": [float("nan"), float("inf"), -0.0, 5e-324, 1.7976931348623157e308],
    "decimal(38,18)": [Decimal("-99999999999999999999.999999999999999999"), Decimal("1e-18")],
    "boolean": [True, False],
    "string": ["", "it's", 'a "b"', "back\\slash", "\\u0041", "$1", "`;--", "\n\t\0", "é€😀"],
    "binary": [b"", b"\x00\xff", b"'"],
    "date": [date(1, 1, 1), date(1582, 10, 4), date(1969, 12, 31), date(9999, 12, 31)],
    "timestamp": [datetime(1900, 1, 1, 0, 0, 0, 1), datetime(2024, 11, 3, 1, 30), datetime(9999, 12, 30)],
    "timestamp_ntz": [datetime(1, 1, 1), datetime(2024, 3, 31, 2, 30, 0, 123456)],
}


@pytest.mark.connect
@pytest.mark.parametrize("type_", VALUES)
@pytest.mark.parametrize("escaped", ["false", "true"])
def test_a_cut_is_the_very_value_that_was_read(spark, type_, escaped):
    """Whatever quotes it has, and however the session reads quotes."""
    rows = [(i, value) for i, value in enumerate([*VALUES[type_], None])]
    df = spark.createDataFrame(rows, f"i int, v {type_}").select("i", "v", as_text(F.col("v"), type_).alias("text"))
    texts = [row.text for row in sorted(df.collect())]
    with conf(spark, "spark.sql.parser.escapedStringLiterals", escaped):
        same = [F.col("v").eqNullSafe(cut_value(text, type_)) & (F.col("i") == i) for i, text in enumerate(texts)]
        listed = F.col("v").eqNullSafe(F.get(cut_array(texts, type_), F.col("i")))
        found = df.select("i", F.greatest(*same).alias("alone"), listed.alias("listed")).collect()
    assert sorted(map(tuple, found)) == [(i, True, True) for i in range(len(rows))]
