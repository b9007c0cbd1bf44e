"""`skew_window` returns the rows, columns and types of plain Spark's windows, for every function, key and order."""

import re

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import Window
from pyspark.sql import functions as F

import skewkit
from skewkit.errors import ArgumentError
from skewkit.testing import assert_same_rows
from tests.helpers import conf
from tests.spark.window.cases import check, ends_of, plain, ranks, sums


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


@pytest.mark.every(2)
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
def test_squares_that_overflow_are_infinite(spark):
    df = spark.range(0, 300, 1, 4).selectExpr(
        "if(id % 100 < 80, 0, id % 7) k", "id v", "if(id % 2 = 0, 1, -1) * 1e160D x"
    )
    moments = {"sd": F.stddev("x"), "var": F.var_pop("x")}
    for order, frame in ((["v"], None), ([], None), (["v"], ("rowsBetween", 0, Window.unboundedFollowing))):
        check(df, ["k"], order, moments, frame)


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


def test_the_fields_of_a_struct_are_no_star(facts):
    df = facts.selectExpr("k", "v", "named_struct('a', tied, 'b', d) AS st")
    functions = {"n": F.count("st.*")}
    ours = skewkit.skew_window(df, "k", "v", strategy="split", partitions=4).select(**functions)
    assert_same_rows(ours, plain(df, ["k"], ["v"], functions))


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
@pytest.mark.parametrize("type_", OF_DAYS)
def test_defaults_of_columns_that_cannot_be_null(spark, type_):
    rows = spark.range(2_000).selectExpr("if(id % 10 < 8, 0, id) AS k", "id AS v")
    seventh = re.sub(r"\bv\b", "7", OF_DAYS[type_])
    df, default = rows.selectExpr("*", f"coalesce({OF_DAYS[type_]}, {seventh}) AS x"), F.expr(seventh)
    check(df, ["k"], ["v"], {"p": F.call_function("lag", F.col("x"), F.lit(1), default), "q": F.lag("x")})


@pytest.mark.connect
def test_random_keys_are_drawn_once(spark):
    """Connect draws a seed for every place of a plan that holds `rand()`, so rows would be in other blocks."""
    df = spark.range(4000)
    key = F.expr("if(rand() < 0.6, 0, 1 + int(rand() * 50))")
    ours = skewkit.skew_window(df, key, "id", strategy="split", partitions=4).select(rn=F.row_number())
    assert ours.count() == ours.select("id").distinct().count() == 4000


def test_level_partitions_are_left_to_plain_spark(spark):
    df = spark.range(8_000).selectExpr("id % 1000 AS k", "id AS v")
    check(df, ["k"], ["v"], {"rn": F.row_number()}, strategy="auto", is_split=False)
    hot = df.selectExpr("if(v % 10 < 6, 0, k) AS k", "v")
    check(hot, ["k"], ["v"], {"rn": F.row_number()}, strategy="auto")
