"""`skew_window` returns the rows, columns and types of plain Spark's windows; hot partitions are computed in blocks."""

import pytest
from pyspark.sql import Window
from pyspark.sql import functions as F

import skewkit
from skewkit.testing import assert_same_rows

UNB, NOW = (Window.unboundedPreceding, Window.unboundedFollowing), Window.currentRow


@pytest.fixture(scope="module")
def facts(skewed):
    """Return a frame with a unique order `v`, orders with ties and nulls, and values of several types."""
    return skewed(2500, tail=60).selectExpr(
        "*",
        "if(v % 11 = 0, null, v * 7919 % 101) tied",
        "if(v % 13 = 0, null, cast(v * 31 % 17 as double)) d",
        "cast(v * 7 % 23 as int) i",
        "if(v % 5 = 0, null, cast(v * 31 % 1000 / 10 as decimal(12,2))) e",
        "timestamp_micros(v * 7919 % 5000 * 1000000) t",
    )


def plain(df, keys, order, functions, frame=None):
    spec = Window.partitionBy(*keys).orderBy(*order) if order else Window.partitionBy(*keys)
    if frame:
        spec = getattr(spec, frame[0])(*frame[1:])
    return df.select("*", *(column.over(spec).alias(name) for name, column in functions.items()))


def check(df, keys, order, functions, frame=None, strategy="split", is_split=True, **options):
    """Compare with plain Spark; return the rows."""
    window = skewkit.skew_window(df, keys, order or None, strategy=strategy, partitions=4, **options)
    if frame:
        window = getattr(window, frame[0])(*frame[1:])
    ours = window.select(**functions)
    text = skewkit.explain(ours)
    assert ("strategy   split" in text) == is_split, text
    expected = plain(df, keys, order, functions, frame)
    assert ours.schema == expected.schema
    return assert_same_rows(ours, expected)


def ranks():
    return {"rank": F.rank(), "dense": F.dense_rank(), "percent": F.percent_rank(), "cume": F.cume_dist()}


def sums(x="v"):
    return {
        "total": F.sum(x),
        "n": F.count(x),
        "rows": F.count("*"),
        "least": F.min(x),
        "most": F.max(x),
        "mean": F.avg(x),
    }


@pytest.mark.connect
@pytest.mark.parametrize("strategy", ["auto", "native", "split"])
def test_running_functions(facts, strategy, adaptive):
    functions = {"rn": F.row_number(), "bucket": F.ntile(7), **ranks(), **sums()}
    assert check(facts, ["k"], ["v"], functions, strategy=strategy, is_split=strategy != "native") == 2500


ORDERS = {
    "ties": lambda: ["tied"],
    "descending": lambda: [F.desc("tied")],
    "nulls last": lambda: [F.asc_nulls_last("tied")],
    "descending, nulls first": lambda: [F.desc_nulls_first("d")],
    "several": lambda: [F.desc("s"), "tied", F.col("d").asc_nulls_last()],
    "few values, then many": lambda: [F.col("i") % 2, F.desc("tied")],
    "computed": lambda: [F.col("v") * -1],
    "timestamp": lambda: ["t"],
    "decimal": lambda: [F.desc("e")],
    "string": lambda: [F.concat("s", F.col("v").cast("string"))],
    "binary": lambda: [F.concat("s", F.col("v").cast("string")).cast("binary")],
    "date": lambda: [F.date_from_unix_date(F.col("i") * 100)],
    "timestamp_ntz": lambda: [F.col("t").cast("timestamp_ntz")],
    "boolean": lambda: [F.col("v") % 2 == 0, "tied"],
}


@pytest.mark.connect
@pytest.mark.parametrize("order", ORDERS)
def test_orders(facts, order):
    check(facts, ["k"], ORDERS[order](), {**ranks(), **sums("i")})


KEYS = {
    "composite": lambda: ["k", "s"],
    "computed": lambda: [F.col("k") % 2],
    "struct": lambda: ["st"],
    "double": lambda: ["f"],
    "partly null": lambda: ["a", "b"],
    "other case": lambda: ["K"],
}


@pytest.mark.parametrize("keys", KEYS)
def test_keys(facts, keys):
    df = facts.selectExpr(
        "*",
        "struct(k, if(k = 1, null, 1) as one) st",
        "if(k = 0, double('NaN'), if(k = 1, -0.0D, if(k = 2, 0.0D, double(k)))) f",
        "if(v % 2 = 0, 5, null) a",
        "if(v % 2 = 1, 5, null) b",
    )
    df = df.where("s < '2'") if keys == "composite" else df
    check(df, KEYS[keys](), ["v"], {"rn": F.row_number(), **ranks(), **sums()})


@pytest.mark.connect
@pytest.mark.parametrize("x", ["v", "i", "d", "e"])
def test_whole_partitions(facts, x):
    check(facts, ["k"], [], sums(x) if x != "e" else {"total": F.sum(x), "n": F.count(x), "least": F.min(x)})
    check(facts, ["k"], ["tied"], {"total": F.sum(x), "most": F.max(x)}, ("rowsBetween", *UNB))


@pytest.mark.connect
@pytest.mark.parametrize("kind", ["rowsBetween", "rangeBetween"])
@pytest.mark.parametrize("bounds", [(UNB[0], NOW), (NOW, UNB[1]), UNB], ids=["running", "backwards", "whole"])
def test_infinite_frames(facts, kind, bounds):
    order = ["v"] if kind == "rowsBetween" else ["tied"]
    check(facts, ["k"], order, {**sums(), "decimals": F.sum("e"), "ints": F.sum("i")}, (kind, *bounds))
