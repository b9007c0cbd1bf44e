"""`skew_window` returns the rows, columns and types of plain Spark's windows; hot partitions are computed in blocks."""

import re

import numpy as np
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import Window
from pyspark.sql import functions as F

import skewkit
from skewkit.errors import ArgumentError
from skewkit.spark.sampling import quantiles as cutting
from skewkit.spark.session.compat import VERSION
from skewkit.testing import assert_same_rows
from tests.helpers import conf

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


def ends_of(x):
    return {
        "first": F.first(x),
        "first_known": F.first(x, ignorenulls=True),
        "last": F.last(x),
        "last_known": F.last(x, True),
    }


@pytest.mark.connect
def test_a_hot_key_that_is_a_date_before_the_year_1000(spark):
    """As a placeholder of an unknown date mostly is; Python writes such a year with fewer than four digits."""
    df = spark.range(0, 900, 1, 3).selectExpr("if(id % 3 = 0, date'2020-01-01', date'0001-01-01') k", "id v")
    check(df, ["k"], ["v"], {"rn": F.row_number(), "total": F.sum("v")})


@pytest.mark.every(7)
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


@pytest.mark.every(15)
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


@pytest.mark.every(7)
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


@pytest.mark.every(7)
@pytest.mark.connect
@pytest.mark.parametrize("x", ["v", "i", "d", "e"])
def test_whole_partitions(facts, x):
    check(facts, ["k"], [], sums(x) if x != "e" else {"total": F.sum(x), "n": F.count(x), "least": F.min(x)})
    check(facts, ["k"], ["tied"], {"total": F.sum(x), "most": F.max(x)}, ("rowsBetween", *UNB))


@pytest.mark.every(7)
@pytest.mark.connect
@pytest.mark.parametrize("kind", ["rowsBetween", "rangeBetween"])
@pytest.mark.parametrize("bounds", [(UNB[0], NOW), (NOW, UNB[1]), UNB], ids=["running", "backwards", "whole"])
def test_infinite_frames(facts, kind, bounds):
    order = ["v"] if kind == "rowsBetween" else ["tied"]
    check(facts, ["k"], order, {**sums(), "decimals": F.sum("e"), "ints": F.sum("i")}, (kind, *bounds))


@pytest.mark.every(2)
@pytest.mark.connect
@pytest.mark.parametrize("order", ["v", "d"])
def test_values_of_other_rows(facts, order):
    """Under `d` only functions that rows of equal order cannot tell apart."""
    unique = {
        "before": F.lag("i"),
        "before2": F.lag("s", 2, "none"),
        "before_e": F.lag("e", 40),
        "ahead": F.lag("v", -1),
        "after": F.lead("i", 3, -1),
        "after_s": F.lead("s"),
        "self": F.lag("v", 0),
        **ends_of("e"),
        "third": F.nth_value("s", 3),
        "far": F.nth_value("v", 700),
    }
    ties = {"first": F.first("d"), "last": F.last("d"), "known": F.first("d", True), "sd": F.stddev("v")}
    check(facts, ["k"], [order], unique if order == "v" else {k: f for k, f in ties.items() if k != "sd"})


BEFORE, AFTER = (UNB[0], -1), (1, UNB[1])


@pytest.mark.every(2)
@pytest.mark.connect
@pytest.mark.parametrize("bounds", [BEFORE, AFTER], ids=["before", "after"])
def test_all_rows_before_or_after_this_one(facts, bounds):
    """What such a frame holds of the row's own block may be nothing, though it holds rows of other blocks."""
    functions = {**ends_of("e"), "decimals": F.sum("e"), **sums()}
    if bounds == BEFORE:
        functions |= {"third": F.nth_value("s", 3), "far": F.nth_value("v", 700)}
    check(facts, ["k"], ["v"], functions, ("rowsBetween", *bounds))
    deviations = {"sd": F.stddev("i"), "spread": F.var_pop("d")}
    window = skewkit.skew_window(facts, "k", "v", strategy="split", partitions=4).rowsBetween(*bounds)
    both = window.select(**deviations), plain(facts, ["k"], ["v"], deviations, ("rowsBetween", *bounds))
    assert_same_rows(*(frame.select("k", "v", F.round("sd", 6), F.round("spread", 6)) for frame in both))


@pytest.mark.parametrize(
    "frame",
    [("rowsBetween", UNB[0], -2), ("rowsBetween", 2, UNB[1]), ("rangeBetween", UNB[0], -1)],
    ids=str,
)
def test_frames_that_end_within_another_block_are_left_to_spark(facts, frame):
    check(facts, ["k"], ["v"], sums(), frame, is_split=False)


@pytest.mark.every(7)
@pytest.mark.parametrize("bounds", [(NOW, UNB[1]), UNB, (UNB[0], 3), (-3, UNB[1])], ids=str)
def test_values_under_infinite_frames(facts, bounds):
    functions = {**ends_of("e"), **sums()}
    if bounds[0] == UNB[0]:
        functions["third"] = F.nth_value("s", 3)
    check(facts, ["k"], ["v"], functions, ("rowsBetween", *bounds))


FRAMES = {
    "rows around": ("v", "rowsBetween", -5, 3),
    "rows before": ("v", "rowsBetween", -7, -2),
    "rows after": ("v", "rowsBetween", 1, 40),
    "more rows than blocks have": ("v", "rowsBetween", -900, 0),
    "this row": ("v", "rowsBetween", 0, 0),
    "values around": ("tied", "rangeBetween", -2, 1),
    "values before": ("tied", "rangeBetween", -4, -1),
    "values after": ("d", "rangeBetween", 1, 2),
    "doubles around": ("d", "rangeBetween", -1, 1),
    "this value": ("tied", "rangeBetween", 0, 0),
}


@pytest.mark.every(15)
@pytest.mark.connect
@pytest.mark.parametrize("descending", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["asc", "desc"])
@pytest.mark.parametrize("frame", FRAMES)
def test_finite_frames(facts, frame, descending):
    order, *bounds = FRAMES[frame]
    functions = {**sums(), "sd": F.stddev("i"), "sum_d": F.sum("d"), "decimals": F.avg("e")}
    if bounds[0] == "rowsBetween":
        functions |= {"list": F.collect_list("s"), "first": F.first("s"), "second": F.nth_value("s", 2)}
    by = [F.desc(order) if descending else order]
    check(facts, ["k"], by, functions, tuple(bounds))


@pytest.mark.every(3)
@pytest.mark.parametrize("bounds", [(UNB[0], 2), (-2, UNB[1])], ids=str)
def test_half_infinite_frames_of_values(facts, bounds):
    check(facts, ["k"], [F.desc("tied")], {**sums(), "first": F.min("s")}, ("rangeBetween", *bounds))


@pytest.mark.slow
def test_ranges_of_decimals(facts):
    check(facts, ["k"], [F.desc_nulls_first("e")], sums(), ("rangeBetween", -2, 1))


def test_a_frame_that_may_differ_the_second_time_is_left_to_spark(skewed):
    """Blocks and what they carry come from several readings of the frame."""
    fickle = skewed(600).withColumn("x", F.rand(1))
    window = skewkit.skew_window(fickle, "k", "v", strategy="split").select(total=F.sum("x"))
    assert "native: blocks read the frame more than once" in skewkit.explain(window)


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


@pytest.mark.slow
def test_literals_are_what_they_are(facts):
    check(facts, ["k"], ["tied"], {"top": F.max(F.lit("z")), "twos": F.sum(F.lit(2)), "n": F.count(F.lit(None))})


@pytest.mark.connect
@pytest.mark.parametrize("strategy", ["native", "split"])
def test_a_taken_name_takes_the_place_of_its_column(facts, strategy):
    named = {"V": F.sum("v"), "rn": F.row_number(), "s": F.lag("s")}
    spec = Window.partitionBy("k").orderBy("v")
    plain = facts.withColumns({name: function.over(spec) for name, function in named.items()})
    ours = skewkit.skew_window(facts, "k", "v", strategy=strategy, partitions=4).select(**named)
    assert f"strategy   {strategy}" in skewkit.explain(ours)
    assert ours.schema == plain.schema
    assert_same_rows(ours, plain)


def test_two_names_that_differ_in_case_are_refused(facts):
    with pytest.raises(ArgumentError, match="rename one"):
        skewkit.skew_window(facts, "k", "v").select(total=F.sum("v"), Total=F.max("v"))


@pytest.mark.every(5)
@pytest.mark.parametrize("order", [["v"], ["tied"], None])
def test_all_rows_as_one_partition(facts, order):
    functions = {**sums(), **(ranks() if order else {})}
    check(facts, [], order, functions)


@pytest.mark.every(3)
@pytest.mark.parametrize("order", [["v"], None])
def test_a_constant_has_no_deviation(facts, order):
    x = F.when(F.col("v") % 3 > 0, 0.1)
    spread = skewkit.skew_window(facts, "k", order, strategy="split", partitions=7)
    rows = spread.select(a=F.stddev_pop(x), b=F.var_samp(x), c=F.stddev(x * 1e150))
    assert {value for row in rows.select("a", "b", "c").distinct().collect() for value in row} == {0.0, None}


@pytest.mark.slow
@pytest.mark.connect
def test_squares_that_overflow_are_infinite(spark):
    df = spark.range(0, 300, 1, 4).selectExpr(
        "if(id % 100 < 80, 0, id % 7) k", "id v", "if(id % 2 = 0, 1, -1) * 1e160D x"
    )
    moments = {"sd": F.stddev("x"), "var": F.var_pop("x")}
    for order, frame in ((["v"], None), ([], None), (["v"], ("rowsBetween", 0, Window.unboundedFollowing))):
        check(df, ["k"], order, moments, frame)


@pytest.mark.slow
def test_functions_of_finite_frames_keep_their_constants(facts):
    functions = {
        "middle": F.percentile("v", 0.5),
        "shares": F.percentile_approx("v", [0.2, 0.5], 100),
        "mode": F.mode("s", deterministic=True),
        "distinct": F.approx_count_distinct("s", 0.1),
        "tail": F.max_by("s", "v"),
        "many": F.count_if(F.col("v") > 9),
    }
    check(facts, ["k"], ["v"], functions, ("rowsBetween", -3, 2))
    check(facts, ["k"], ["i"], functions, ("rangeBetween", -3, 2))


@pytest.mark.every(3)
@pytest.mark.connect
@pytest.mark.parametrize("value", ["if(v % 2 = 0, 0.0D, -0.0D)", "if(v % 2 = 0, 'a', 'A') COLLATE UTF8_LCASE"])
def test_of_equal_values_later_frames_take_the_first(facts, value):
    """Shown as text: Python takes -0.0 for 0.0."""
    if "COLLATE" in value and VERSION < (4, 0):
        pytest.skip("collations came with Spark 4.0")
    df = facts.selectExpr("*", f"{value} AS z")
    found = []
    for ours in (True, False):
        frame = (0, Window.unboundedFollowing)
        if ours:
            window = skewkit.skew_window(df, "k", ["v", "t"], strategy="split", partitions=3).rowsBetween(*frame)
            result = window.select(a=F.max("z"), b=F.min("z"))
        else:
            spec = Window.partitionBy("k").orderBy("v", "t").rowsBetween(*frame)
            result = df.select("*", F.max("z").over(spec).alias("a"), F.min("z").over(spec).alias("b"))
        found.append(sorted(map(repr, result.selectExpr("k", "v", "t", "string(a)", "string(b)").collect())))
    assert found[0] == found[1]


def test_hot_partitions_that_are_gone_are_said_to_be(facts):
    stale = skewkit.skew_profile(facts.selectExpr("k + 100000 AS k"), "k", partitions=4)
    window = skewkit.skew_window(facts, "k", "v", strategy="split", partitions=4, profile=stale)
    ours = window.select(n=F.row_number())
    assert "native: no row of a hot partition was found" in skewkit.explain(ours)
    assert_same_rows(ours, plain(facts, ["k"], ["v"], {"n": F.row_number()}))


@pytest.mark.connect
def test_a_view_that_is_replaced_by_one_of_other_types(facts, connect):
    """Numbers are cut into blocks in another order than texts; a frame on Connect is resolved when it runs."""
    facts.createOrReplaceTempView("retyped_window")
    df = facts.sparkSession.table("retyped_window")
    functions = {"rn": F.row_number()}
    ours = skewkit.skew_window(df, "k", "v", strategy="split", partitions=4).select(**functions)
    native = plain(df, ["k"], ["v"], functions)
    facts.withColumn("v", F.col("v").cast("string")).createOrReplaceTempView("retyped_window")
    if connect:
        # A server may still know what it resolved of the window, and then uses the view as it was.
        resolved_again = conf(facts.sparkSession, "spark.connect.session.planCache.enabled", "false")
        with resolved_again, pytest.raises(PySparkException, match=r"were .*, bigint when .* are .*, string now"):
            ours.collect()
    else:
        assert_same_rows(ours, native)


DEFAULTS = {
    "a double for a long": (9007199254740993, "bigint", 0.0),
    "a number for a text": ("a", "string", 0),
    "a double for a decimal": ("12345678901234567890.1", "decimal(38,6)", 0.0),
    "a null": ("7", "bigint", None),
}


@pytest.mark.every(4)
@pytest.mark.parametrize("default", DEFAULTS)
def test_a_default_of_another_type_is_made_one_of_the_column(facts, default):
    value, type_, other = DEFAULTS[default]
    df = facts.select("k", "v", F.lit(value).cast(type_).alias("x"))
    check(df, ["k"], ["v"], {"back": F.lag("x", 1, other), "on": F.lead("x", 2, other)})


@pytest.mark.every(2)
@pytest.mark.parametrize("frame", [("rangeBetween", -2, 2), ("rowsBetween", -3, 1)], ids=str)
def test_a_star_and_a_lambda_are_of_the_row_and_not_of_the_blocks(facts, frame):
    df = facts.select("k", "v", "i")
    functions = {"star": F.max(F.hash("*"))}
    check(df, ["k"], ["v"], functions, frame)
    functions = {"lambda": F.count_if(F.exists(F.array(F.lit(1), F.lit(5)), lambda e: e == F.col("i")))}
    ours = getattr(skewkit.skew_window(df, "k", "v", strategy="split", partitions=4), frame[0])(*frame[1:])
    assert_same_rows(ours.select(**functions), plain(df, ["k"], ["v"], functions, frame))


def test_the_fields_of_a_struct_are_no_star(facts):
    df = facts.selectExpr("k", "v", "named_struct('a', tied, 'b', d) AS st")
    functions = {"n": F.count("st.*")}
    ours = skewkit.skew_window(df, "k", "v", strategy="split", partitions=4).select(**functions)
    assert_same_rows(ours, plain(df, ["k"], ["v"], functions))


def test_what_is_too_small_to_be_cut_off_is_left_whole(spark):
    """There is no order, of which the reason could say that it has one value."""
    keys = "CASE WHEN id < 2503 THEN 0 WHEN id < 5002 THEN 1 WHEN id < 7501 THEN 2 ELSE 3 END AS k"
    df = spark.range(10_000).selectExpr(keys, "id AS v")
    ours = skewkit.skew_window(df, "k", strategy="split", partitions=2).select(s=F.sum("v"))
    assert "what is to be cut off the hot partitions is too small" in skewkit.explain(ours)
    assert_same_rows(ours, plain(df, ["k"], [], {"s": F.sum("v")}))


OF_DAYS = {
    "date": "date_from_unix_date(int(v))",
    "timestamp": "timestamp_seconds(v)",
    "timestamp_ntz": "cast(timestamp_seconds(v) AS timestamp_ntz)",
    "binary": "cast(string(v) AS binary)",
    "decimal": "cast(v AS decimal(9,2))",
    "struct": "named_struct('a', v, 'b', array(string(v)))",
    "seconds": "make_dt_interval(0, 0, 0, v)",
    "months": "make_ym_interval(0, int(v))",
}


@pytest.mark.every(4)
@pytest.mark.connect
@pytest.mark.parametrize("type_", OF_DAYS)
def test_defaults_of_columns_that_cannot_be_null(spark, type_):
    rows = spark.range(2_000).selectExpr("if(id % 10 < 8, 0, id) AS k", "id AS v")
    seventh = re.sub(r"\bv\b", "7", OF_DAYS[type_])
    df, default = rows.selectExpr("*", f"coalesce({OF_DAYS[type_]}, {seventh}) AS x"), F.expr(seventh)
    check(df, ["k"], ["v"], {"p": F.call_function("lag", F.col("x"), F.lit(1), default), "q": F.lag("x")})


def test_arguments_of_finite_frames_that_are_of_the_row_s_file(spark, tmp_path):
    """They are computed where the row is read."""
    df = spark.range(0, 2_000, 1, 3).selectExpr("if(id % 10 < 8, 0, id) AS k", "id AS v")
    df.write.parquet(str(tmp_path / "t"))
    files = spark.read.parquet(str(tmp_path / "t"))
    check(files, ["k"], ["v"], {"files": F.collect_list(F.input_file_name())}, ("rowsBetween", -2, 0))


@pytest.mark.connect
@pytest.mark.parametrize("order", ["t", "cast(t AS binary)"])
def test_long_order_values_are_cut_near(spark, order, monkeypatch):
    """Cuts become part of the plan, so that whole texts would be too much for the driver."""
    cuts, original = [], cutting.samples
    monkeypatch.setattr(cutting, "samples", lambda *args: cuts.append(original(*args)) or cuts[-1])
    long = "concat(lpad(string(id), 8, '0'), repeat('0', 100000))"
    df = spark.range(400).selectExpr("if(id % 10 < 8, 0, id) AS k", f"{long} AS t").selectExpr("k", f"{order} AS t")
    found = skewkit.skew_window(df, ["k"], ["t"], strategy="split", partitions=4).select(n=F.row_number())
    assert "into 4 blocks" in skewkit.explain(found)
    assert_same_rows(found, plain(df, ["k"], ["t"], {"n": F.row_number()}))
    assert cuts
    assert max(len(text) for found in cuts for parts in found.values() for (text,) in parts) <= 2048


@pytest.mark.slow
def test_lists_of_wide_values_are_not_handed_from_block_to_block(spark):
    df = spark.range(2_000).selectExpr("if(id % 10 < 9, 0, id) AS k", "id AS v", "repeat(string(id), 5000) AS x")
    for function, why in ((F.lag("x", 60), "b would send too many rows"), (F.lag("v", 60), None)):
        found = skewkit.skew_window(df, ["k"], ["v"], strategy="auto", partitions=100).select(b=function)
        assert (why is None) == ("would send too many" not in skewkit.explain(found))
    ten = skewkit.skew_window(df, ["k"], ["v"], partitions=100).rowsBetween(-60, 0)
    assert "would send too many rows" in skewkit.explain(ten.select(b=F.max("x")))
    assert "would send too many rows" not in skewkit.explain(ten.select(b=F.max("v")))
    along = skewkit.skew_window(df, ["k"], ["x", "v"], partitions=100).rowsBetween(-60, 0)
    assert "would send too many rows" in skewkit.explain(along.select(b=F.max("v")))


def test_texts_that_begin_alike_cannot_be_cut(spark):
    df = spark.range(2_000).selectExpr("if(id % 10 < 9, 0, id) AS k", "concat(repeat('x', 2000), id) AS t", "id AS v")
    for order in (["t"], ["t", "v"]):
        found = skewkit.skew_window(df, ["k"], order, strategy="split", partitions=4).select(n=F.row_number())
        assert "of long values the first 1,024 characters or bytes count" in skewkit.explain(found)
    found = skewkit.skew_window(df, ["k"], ["v", "t"], strategy="split", partitions=4).select(n=F.row_number())
    assert "into 4 blocks" in skewkit.explain(found)
    assert_same_rows(found, plain(df, ["k"], ["v", "t"], {"n": F.row_number()}))


@pytest.mark.slow
def test_bounds_may_be_numbers_of_numpy(facts):
    check(facts, ["k"], ["v"], {"three": F.sum("v")}, ("rowsBetween", np.int64(-3), np.int32(0)))


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
        assert "native: rows may be in other blocks when a task runs again" in skewkit.explain(ours)
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


@pytest.mark.connect
def test_random_keys_are_drawn_once(spark):
    """Connect draws a seed for every place of a plan that holds `rand()`, so rows would be in other blocks."""
    df = spark.range(4000)
    key = F.expr("if(rand() < 0.6, 0, 1 + int(rand() * 50))")
    ours = skewkit.skew_window(df, key, "id", strategy="split", partitions=4).select(rn=F.row_number())
    assert ours.count() == ours.select("id").distinct().count() == 4000


@pytest.mark.connect
def test_level_partitions_are_left_to_plain_spark(spark):
    df = spark.range(8_000).selectExpr("id % 1000 AS k", "id AS v")
    check(df, ["k"], ["v"], {"rn": F.row_number()}, strategy="auto", is_split=False)
    hot = df.selectExpr("if(v % 10 < 6, 0, k) AS k", "v")
    check(hot, ["k"], ["v"], {"rn": F.row_number()}, strategy="auto")
