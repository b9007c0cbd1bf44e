"""`skew_groupby` against its enemies: colliding and fickle keys, stars, overflow, odd functions and wrong hints."""

import datetime as dt
import decimal
import os
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from pyspark.errors import ArithmeticException, PySparkException
from pyspark.sql import Row
from pyspark.sql import functions as F

from skewkit import KeyProfile, SkewkitError, explain, skew_groupby, skew_profile
from skewkit.api.group import aggregates_api as groupagg
from skewkit.errors import SchemaError
from skewkit.testing import assert_same_rows
from tests.helpers import conf

ROOT = Path(__file__).parents[2]
HOT = "CASE WHEN id % 10 < 6 THEN 0 WHEN id % 10 = 9 THEN NULL ELSE id % 50 END"


@pytest.fixture(scope="module")
def facts(spark):
    return spark.range(0, 300, 1, 3).selectExpr(
        f"{HOT} AS k", "id AS v", "cast(id % 7 AS string) AS s", "id % 3 = 0 AS b", "timestamp_micros(id) AS t"
    )


def values():
    return F.collect_list("v").alias("vs")


def check(df, keys, *aggregates, strategy="wrap", **options):
    """Compare with plain Spark; lists and sets in any order."""
    plain = df.groupBy(*keys).agg(*aggregates)
    ours = skew_groupby(df, *keys, strategy=strategy, partitions=3, **options).agg(*aggregates)
    arrays = tuple(name for name, type_ in plain.dtypes if type_.startswith("array") and name not in df.columns)
    return assert_same_rows(ours, plain, unordered=arrays)


STRATEGIES = [
    ("auto", 1),
    ("auto", 100),
    ("d_choices", 2),
    ("w_choices", 7),
    ("round_robin", 100),
    ("dkg", 3),
    ("key", 3),
]


@pytest.mark.every(7)
@pytest.mark.parametrize(("strategy", "partitions"), STRATEGIES)
def test_strategies_and_partitions(facts, strategy, partitions):
    ours = skew_groupby(facts, "k", strategy=strategy, partitions=partitions).agg(values(), F.avg("v"))
    assert_same_rows(ours, facts.groupBy("k").agg(values(), F.avg("v")), unordered=("vs",))


KEYS = {
    "partly null": ["if(v % 2 = 0, NULL, 1) a", "if(v % 2 = 1, NULL, 1) b"],
    "five partly null columns": [f"if(v % {i} = 0, NULL, 1) k{i}" for i in (2, 3, 5, 7, 11)],
    "struct": ["named_struct('a', if(v % 2 = 0, NULL, 1), 'b', if(v % 2 = 1, NULL, 1)) k"],
    "array": ["CASE v % 3 WHEN 0 THEN array(1, NULL) WHEN 1 THEN array(NULL, 1) ELSE array(1) END k"],
    "empty array or null": ["CASE v % 3 WHEN 0 THEN array() WHEN 1 THEN NULL ELSE array(NULL) END k"],
    "struct with odd names": ["named_struct('a b', if(v % 2 = 0, 1, 2), 'c,d:e', 's', 'x-y', 1) k"],
    "month interval": ["make_ym_interval(0, int(v % 2)) k"],
    "date after 9999": ["date_add(DATE'9999-12-31', int(v % 2) * 1000 + 1) k"],
    "timestamp after 9999": ["timestamp_micros(9000000000000000000 - v % 2) k"],
    "NaN and zeros": ["CASE v % 4 WHEN 0 THEN double('NaN') WHEN 1 THEN -0.0D WHEN 2 THEN 0D END k"],
    "null type": ["NULL k"],
}


@pytest.mark.every(7)
@pytest.mark.parametrize("keys", KEYS)
def test_keys(facts, keys):
    df = facts.selectExpr(*KEYS[keys], "v")
    check(df, df.columns[:-1], values(), F.count("v"))


COLUMNS = {
    "expression": lambda: (F.col("v") % 3,),
    "alias": lambda: ((F.col("v") % 3).alias("kk"), F.col("s").alias("k2")),
    "twice": lambda: ("k", "k"),
    "other case": lambda: ("K",),
    "literal": lambda: (F.lit("a"), "k"),
}


@pytest.mark.every(3)
@pytest.mark.parametrize("columns", COLUMNS)
def test_key_columns(facts, columns):
    check(facts, COLUMNS[columns](), values(), F.count("v"))


@pytest.mark.parametrize("strategy", ["wrap", "auto"])
def test_keys_that_follow_from_the_place_of_a_row(facts, strategy):
    check(facts, [F.spark_partition_id().alias("place")], F.min("v"), values(), strategy=strategy)


def test_random_keys_make_one_group_each(facts):
    key = F.floor(F.rand(5) * 3).alias("k")
    groups = skew_groupby(facts.drop("k"), key, strategy="wrap", partitions=3).agg(values()).select("k", F.size("vs"))
    rows = groups.collect()
    assert sorted(row["k"] for row in rows) == [0, 1, 2]
    assert sum(row[1] for row in rows) == 300


AGGREGATES = {
    "struct of all": lambda: [F.collect_list(F.struct("*")).alias("x")],
    "JSON of all": lambda: [F.collect_list(F.to_json(F.struct("*"))).alias("x")],
    "hash of all": lambda: [F.sum(F.hash("*")).alias("x"), values()],
    "count of all": lambda: [F.count("*"), values()],
    "by reference": lambda: [F.collect_list(F.col("v")), F.max("s"), F.mean("v"), F.array_agg("b")],
    "set beside others": lambda: [F.collect_set("s"), values(), F.count("v"), F.min("s"), F.max("v"), F.avg("v")],
    "two sets": lambda: [F.collect_set("v"), F.collect_set("s")],
    "names of keys": lambda: [F.sum("v").alias("k"), values()],
    "of the key": lambda: [F.collect_list("k"), F.max("k"), F.sum("k")],
    "around an aggregate": lambda: [(F.sum("v") + 1).alias("z"), values()],
    "distinct": lambda: [F.count_distinct("v"), F.sum_distinct("v"), values()],
    "SQL": lambda: [F.expr("sum(v) filter (where v > 5)"), values()],
    "dict": lambda: [{"v": "collect_list", "s": "max"}],
    "strings as numbers": lambda: [F.sum("s"), F.avg("s"), values()],
}


@pytest.mark.every(7)
@pytest.mark.parametrize("aggregates", AGGREGATES)
def test_aggregates(facts, aggregates):
    check(facts, ["k"], *AGGREGATES[aggregates]())


@pytest.mark.slow
def test_payloads_that_have_no_hash(spark):
    df = spark.range(0, 200, 1, 3).selectExpr("if(id % 3 = 0, id, 0) k", "map('a', id) m", "parse_json('1') j", "id v")
    check(df, ["k"], values(), F.count("*"))
    for aggregate in (F.collect_set("j"), F.collect_list("m")):
        ours = skew_groupby(df, "k", strategy="wrap", partitions=3).agg(aggregate.alias("x"))
        plain = df.groupBy("k").agg(aggregate.alias("x"))
        assert_same_rows(ours.select("k", F.size("x")), plain.select("k", F.size("x")))


@pytest.mark.every(3)
@pytest.mark.parametrize("function", ["collect_set", "collect_list"])
def test_values_with_nulls_nan_and_zeros(facts, function):
    double = "CASE v % 4 WHEN 0 THEN double('NaN') WHEN 1 THEN -0.0D WHEN 2 THEN 0D END"
    df = facts.selectExpr("k", f"{double} d", f"named_struct('x', {double}) st", f"array({double}) ar", "int(NULL) n")
    for name in ("d", "st", "ar", "n"):
        check(df, ["k"], F.call_function(function, F.col(name)).alias("x"), F.count(name), F.max(name))


def test_an_overflown_decimal_sum_is_null(spark):
    """Without ANSI, the sum of a group is null as soon as it overflows, whatever the parts of the group give."""
    df = spark.range(0, 4, 1, 3).selectExpr("0 AS k", "id AS v", "cast('5e37' AS decimal(38,0)) AS d")
    with conf(spark, "spark.sql.ansi.enabled", "false"):
        for partitions in (2, 3):
            grouped = skew_groupby(df, "k", strategy="w_choices", partitions=partitions)
            assert grouped.agg(values(), F.sum("d").alias("d")).select("d").collect() == [Row(d=None)]


@pytest.mark.parametrize("ansi", ["true", pytest.param("false", marks=pytest.mark.slow)])
def test_sums_and_means_of_every_number(spark, ansi):
    df = spark.range(0, 60, 1, 3).selectExpr(
        "if(id < 40, 0, id) k",
        "id v",
        "cast('9999999999.99' AS decimal(12,2)) e",
        "float(id) f",
        "int(id) i",
        "make_dt_interval(0, 0, int(id), 0) iv",
    )
    with conf(spark, "spark.sql.ansi.enabled", ansi):
        check(df, ["k"], F.sum("e"), F.avg("i"), F.avg("f"), F.sum("iv"), F.max("iv"), values())
        check(df, ["k"], F.avg("e"), values())


@pytest.mark.every(7)
@pytest.mark.parametrize("shorthand", ["sum", "avg", "mean", "min", "max"])
def test_shorthands(spark, facts, shorthand):
    for columns in ((), ("v",)):
        ours, plain = (getattr(g, shorthand)(*columns) for g in (skew_groupby(facts, "k"), facts.groupBy("k")))
        assert_same_rows(ours, plain)
    odd = spark.range(30).selectExpr("id % 3 AS `a.b`", "id AS `x y`")
    ours, plain = (getattr(g, shorthand)("`x y`") for g in (skew_groupby(odd, "`a.b`"), odd.groupBy("`a.b`")))
    assert_same_rows(ours, plain)


FRAMES = {
    "empty": lambda df: df.where("false"),
    "one row": lambda df: df.limit(1),
    "no keys": lambda df: df.withColumn("k", F.lit(None).cast("int")),
    "one key": lambda df: df.withColumn("k", F.lit(1)),
    "many empty partitions": lambda df: df.repartition(40),
    "helper names": lambda df: df.toDF("k", "v", "_skew_hash", "_SKEW_heavy", "c0"),
    "doubled columns": lambda df: df.select("k", "v", "s", F.col("v").alias("s")),
    "wide": lambda df: df.select("*", *((F.col("v") + i).alias(f"c{i}") for i in range(200))),
}


@pytest.mark.every(5)
@pytest.mark.parametrize("frame", FRAMES)
def test_frames(facts, frame):
    check(FRAMES[frame](facts), ["k"], values(), F.count("v"))


HEAVY = {
    "NaN twice": ("if(v % 2 = 0, double('NaN'), -0.0D)", [float("nan"), float("nan"), 0.0, -0.0]),
    "array as PySpark returns it": ("array(v % 2)", [[0]]),
    "datetime for a date": ("if(v % 2 = 0, DATE'2020-01-01', DATE'2020-01-02')", [dt.datetime(2020, 1, 1)]),
    "absent": ("k", [12345, None]),
    "none": ("k", []),
}


@pytest.mark.every(5)
@pytest.mark.parametrize("heavy", HEAVY)
def test_named_keys_are_only_a_hint(facts, heavy):
    key, named = HEAVY[heavy]
    check(facts.selectExpr(f"{key} AS k", "v"), ["k"], values(), heavy=named)


WRONG = {
    "list": ("bigint", [[1]]),
    "dict": ("bigint", [{"a": 1}]),
    "date": ("bigint", [dt.date(2020, 1, 1)]),
    "object": ("bigint", [object()]),
    "int for a date": ("date", [5]),
    "string for a date": ("date", ["2020-01-01"]),
    "string for bytes": ("binary", ["a"]),
    "NaN for a decimal": ("decimal(5,2)", [decimal.Decimal("NaN")]),
}


@pytest.mark.parametrize("heavy", WRONG)
def test_named_keys_of_a_wrong_type_are_refused_as_a_skewkit_error(facts, heavy):
    type_, named = WRONG[heavy]
    df = facts.withColumn("k", F.lit(None).cast(type_))
    with pytest.raises(SkewkitError):
        skew_groupby(df, "k", heavy=named).agg(values())


def test_profiles_are_only_a_hint(facts):
    """Two hot doubles that are one bigint, weights that are not finite, and a profile of nothing."""
    doubles = skew_profile(facts.selectExpr("if(v % 2 = 0, 1.25D, 1.5D) AS k"), "k", partitions=3)
    infinite = skew_profile(facts.withColumn("i", F.lit(float("inf"))), "k", weight="i", partitions=3)
    for profile in (infinite, doubles, doubles.decay(0)):
        check(facts, ["k"], values(), profile=profile)


@pytest.mark.parametrize(
    "key", ["double('NaN')", "INTERVAL '1:02:03' HOUR TO SECOND", "array(double('NaN'))", "X'00FF'"]
)
def test_profiles_survive_json(spark, key):
    profile = skew_profile(spark.range(50).selectExpr(f"{key} AS k"), "k", partitions=2)
    read = KeyProfile.from_json(profile.to_json())
    assert read == profile
    assert read.share(*profile.heavy[0].key) == 1.0


def count_rows(key, frame):
    return pd.DataFrame({"k": [key[0]], "n": [len(frame)], "merged": [0]})


def add_up(key, frame):
    return pd.DataFrame({"k": [key[0]], "n": [frame["n"].sum()], "merged": [frame["merged"].max() + 1]})


def test_merge_runs_once_per_hot_key(facts):
    grouped = skew_groupby(facts, "k", strategy="wrap", partitions=7)
    rows = {row["k"]: row for row in grouped.applyInPandas(count_rows, "k long, n long, merged int", add_up).collect()}
    assert {k: row["n"] for k, row in rows.items()} == {
        r["k"]: r["count"] for r in facts.groupBy("k").count().collect()
    }
    assert rows[0]["merged"] == 1
    assert max(row["merged"] for row in rows.values()) == 1


FUNCTIONS = {
    "rows as they are": (lambda frame: frame[["v", "t", "s"]], "v long, t timestamp, s string"),
    "large integers": (lambda frame: pd.DataFrame({"x": frame["v"] + 9007199254740993}), "x long"),
    "some groups empty": (lambda frame: frame[["v"]][frame["v"] > 280], "v long"),
    "frame without columns": (lambda frame: frame[["v"]] if (frame["k"] % 2 == 0).any() else pd.DataFrame(), "v long"),
    "index and order": (lambda frame: frame.set_index("v")[["s", "b"]], "b boolean, s string"),
    "by position": (lambda frame: pd.DataFrame([[i, i] for i in frame["v"]]), "a long, b long"),
    "category": (lambda frame: pd.DataFrame({"s": frame["s"].astype("category")}), "s string"),
    "key": (lambda key, frame: frame[["v"]].assign(key=repr(key)), "v long, key string"),
}


@pytest.mark.every(7)
@pytest.mark.parametrize("merge", [None, lambda frame: frame], ids=["whole", "merged"])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_group_functions(facts, function, merge):
    func, schema = FUNCTIONS[function]
    ours = skew_groupby(facts, "k", strategy="wrap", partitions=3).applyInPandas(func, schema, merge)
    assert_same_rows(ours, facts.groupBy("k").applyInPandas(func, schema))


def test_columns_by_position_where_spark_is_told_so(spark, facts):
    with conf(spark, "spark.sql.legacy.execution.pandas.groupedMap.assignColumnsByName", "false"):
        ours, plain = (
            grouped.applyInPandas(lambda frame: pd.DataFrame({"other": [len(frame)]}), "n long")
            for grouped in (skew_groupby(facts, "k", strategy="wrap", partitions=3), facts.groupBy("k"))
        )
        assert_same_rows(ours, plain)


def test_a_schema_that_does_not_fit_is_told(facts):
    with pytest.raises(SchemaError):
        skew_groupby(facts, "k").applyInPandas(lambda frame: frame, "n long")


def test_sums_whose_parts_overflow_and_which_do_not(spark):
    df = spark.range(0, 200, 1, 2).selectExpr("0 AS k", "if(id % 2 = 0, 1, -1) * (9223372036854775807L - id) AS v")
    with conf(spark, "spark.sql.ansi.enabled", "true"):
        check(df, ["k"], F.sum("v"), F.sum(F.col("v") % 7), values())
        over = skew_groupby(df, "k", strategy="wrap").agg(F.sum(F.abs("v")), values())
        with pytest.raises(ArithmeticException):
            over.collect()
    with conf(spark, "spark.sql.ansi.enabled", "false"):
        check(df, ["k"], F.sum("v"), F.sum(F.abs("v")), values())


def test_without_an_aggregate_the_call_is_left_to_spark(facts):
    ours = skew_groupby(facts, "k", strategy="wrap").agg(F.lit(1).alias("one"))
    assert "it asks for no aggregate" in explain(ours)
    assert_same_rows(ours, facts.groupBy("k").agg(F.lit(1).alias("one")))


def test_columns_that_are_called_like_types(facts):
    df = facts.selectExpr("k", "date(t) AS date", "t AS timestamp", "v AS interval")
    aggregates = ["collect_set(date)", "max(timestamp)", "sum(interval)", "max(date > date'2020-01-01')"]
    ours = skew_groupby(df, "k", strategy="wrap", partitions=3).agg(*map(F.expr, aggregates))
    assert "strategy   wrap" in explain(ours)
    check(df, ["k"], *map(F.expr, aggregates))


@pytest.mark.connect
def test_sessions_are_left_to_spark(facts):
    """Spark makes a session of rows while it groups them, so that they must not be apart."""
    session = F.expr("SESSION_WINDOW (timestamp_seconds(v % 90 * 20), '30 seconds')")
    check(facts, ["k", session], F.size(F.collect_set("v")).alias("n"), strategy="auto", heavy=[(0, None)])
    with pytest.raises(SkewkitError, match="sessions"):
        skew_groupby(facts, session, strategy="wrap")


@pytest.mark.every(2)
@pytest.mark.connect
@pytest.mark.parametrize("stored", [True, False], ids=["files", "computed"])
def test_sliding_windows_make_several_rows_of_one_once(spark, facts, tmp_path, stored):
    if stored:  # rows of files have a number, of which the windows of one row must not be told apart
        facts.write.parquet(str(tmp_path / "facts"))
        facts = spark.read.parquet(str(tmp_path / "facts"))

    def size(key, frame):
        return pd.DataFrame({"k": [str(key[0]["start"])], "n": [len(frame)]})

    def add(parts):
        return parts.groupby("k", as_index=False).sum()

    slides = F.window(F.timestamp_seconds(F.col("v") % 50), "20 seconds", "10 seconds")
    ours = skew_groupby(facts, slides, strategy="wrap", partitions=3)
    plain = facts.groupBy(slides).applyInPandas(size, "k string, n bigint")
    assert_same_rows(ours.applyInPandas(size, "k string, n bigint", merge=add), plain)


TEXTS = {
    "like any": "max(s) LIKE ANY ('6')",
    "like any of aggregates": "max(s) LIKE ANY (min(s), '6')",
    "a filter that guards": "sum(10 div (v % 4)) FILTER (WHERE v % 4 <> 0)",
    "a filter that guards a cast": "collect_set(cast(if(v % 4 = 0, 'a', s) AS int)) FILTER (WHERE v % 4 <> 0)",
    "a constant": "collect_set(5)",
    "a null": "median(NULL)",
}


RARE = ("like any of aggregates", "a filter that guards a cast", "a null")


@pytest.mark.connect
@pytest.mark.parametrize("text", [pytest.param(t, marks=[pytest.mark.slow] if t in RARE else []) for t in TEXTS])
def test_texts(facts, text):
    check(facts, ["k"], F.size(F.collect_set("v")).alias("n"), F.expr(TEXTS[text]).alias("x"))


@pytest.mark.connect
def test_texts_in_double_quotes_may_be_names(spark, facts):
    aggregates = F.collect_set("v").alias("vs"), F.expr('mode("s", true)').alias("m")
    with conf(spark, "spark.sql.ansi.doubleQuotedIdentifiers", "true"):
        check(facts, ["k"], *aggregates)


def test_keys_stay_the_very_same_columns(facts):
    for keys in ([facts.k], ["s", "k"], [1]):
        ours = skew_groupby(facts, *keys, strategy="wrap", partitions=3).agg(F.collect_set("v"))
        plain = facts.groupBy(*keys).agg(F.collect_set("v"))
        assert_same_rows(ours.where(facts.k > 3).select(facts["k"]), plain.where(facts.k > 3).select(facts["k"]))
    with pytest.raises(SkewkitError, match="1 to 5"):
        skew_groupby(facts, 6)


@pytest.mark.every(5)
@pytest.mark.parametrize("name", ["value", "n", "x0", "salt", "place", "_id", "r0_0"])
def test_keys_of_any_name_stay_the_very_same_columns(facts, name):
    named = facts.withColumnRenamed("k", name).alias("a")
    for key in (name, named[name], F.col(f"a.{name}")):
        ours = skew_groupby(named, key, strategy="wrap", partitions=3).agg(F.collect_set("v").alias("vs"))
        plain = named.groupBy(key).agg(F.collect_set("v").alias("vs"))
        for found in (named[name], F.col(f"a.{name}")):
            assert_same_rows(ours.where(found > 3).select(found), plain.where(found > 3).select(found))


def test_a_key_of_two_frames_stays_the_one_that_was_named(facts, spark):
    other = spark.range(9).selectExpr("id AS k", "id AS w")
    both = facts.join(other, facts["k"] == other["k"])
    values = F.sort_array(F.collect_set("v")).alias("vs")
    ours = skew_groupby(both, other["k"], strategy="wrap", partitions=3).agg(values)
    plain = both.groupBy(other["k"]).agg(values)
    assert_same_rows(ours.select(other["k"], "vs"), plain.select(other["k"], "vs"))


@pytest.mark.connect
def test_values_that_may_differ_are_not_cut_by_their_hash(facts):
    means = facts.groupBy("k", "s").agg(F.avg("v").alias("m"))
    check(means, ["k"], F.size(F.collect_set("m")).alias("n"))
    ours = skew_groupby(means, "k", strategy="wrap").agg(F.collect_set("m"))
    assert "may differ when a task runs again" in explain(ours)


@pytest.mark.connect
@pytest.mark.parametrize("to", ["decimal(20,2)", "bigint"])
def test_a_view_that_is_replaced_by_one_of_other_types(facts, connect, to):
    """How an average is split follows from the type; a frame on Connect is resolved when it runs."""
    facts.createOrReplaceTempView("retyped")
    df = facts.sparkSession.table("retyped")
    ours = skew_groupby(df, "k", strategy="wrap", partitions=3).agg(F.avg("v").alias("mean"), F.max("s").alias("s"))
    plain = df.groupBy("k").agg(F.avg("v").alias("mean"), F.max("s").alias("s"))
    facts.withColumn("v", (F.col("v") % 97).cast(to)).createOrReplaceTempView("retyped")
    if connect and to != "bigint":
        with pytest.raises(PySparkException, match=r"were bigint, bigint, string .* are bigint, decimal\(20,2\), str"):
            ours.collect()
    else:
        assert_same_rows(ours, plain)


TRAPS = {
    "a constant of decimals": lambda: F.expr("sum(1.0) / count(v)").alias("x"),
    "a mean of a constant": lambda: F.expr("concat(avg(2.5), '')").alias("x"),
    "a key in a lambda": lambda: F.array_sort(F.transform(F.collect_set("v"), lambda x: x + F.col("k1"))).alias("x"),
    "names of zipped fields": lambda: F.to_json(F.arrays_zip(F.collect_set("k2"), F.array(F.lit(1)))).alias("x"),
    "names of zipped fields in SQL": lambda: F.expr("to_json(arrays_zip(collect_set(k2), array(1)))").alias("x"),
    "names of fields from SQL": lambda: F.to_json(F.struct(F.expr("collect_set(k2)"))).alias("x"),
    "names of zipped fields from SQL": lambda: F.to_json(
        F.arrays_zip(F.expr("collect_set(k2)"), F.array(F.lit(1)))
    ).alias("x"),
    "the fields of a struct": lambda: F.count("st.*").alias("x"),
}


@pytest.mark.every(2)
@pytest.mark.connect
@pytest.mark.parametrize("trap", TRAPS)
def test_expressions_that_mean_something_else_over_partial_results(spark, trap):
    df = spark.range(0, 300, 1, 3).selectExpr(
        "id % 3 AS k1",
        "100 + if(id % 10 < 7, 0, id % 7) AS k2",
        "id AS v",
        "named_struct('a', nullif(id % 3, 0), 'b', id) AS st",
    )
    check(df, ("k1", "k2"), TRAPS[trap](), F.collect_set("v").alias("vs"))


def test_a_struct_of_aggregates_with_names_of_their_own_is_split(facts):
    named = F.struct(F.max("v").alias("max"), F.expr("collect_set(v) AS vs")).alias("x")
    ours = skew_groupby(facts, "k", strategy="wrap", partitions=3).agg(named)
    assert "strategy   wrap" in explain(ours)
    picked = [frame.selectExpr("k", "x.max", "x.vs") for frame in (ours, facts.groupBy("k").agg(named))]
    assert_same_rows(*picked, unordered=("vs",))


def test_a_session_that_leaves_out_the_keys(spark, facts):
    with conf(spark, "spark.sql.retainGroupColumns", "false"):
        sums = skew_groupby(facts, "k").sum("v"), facts.groupBy("k").sum("v")
        most = skew_groupby(facts, "k").max(), facts.groupBy("k").max()
    for ours, plain in (sums, most):
        assert_same_rows(ours, plain)


@pytest.mark.connect
def test_a_pivot_is_plain_sparks(facts):
    assert_same_rows(skew_groupby(facts, "k").pivot("s").sum("v"), facts.groupBy("k").pivot("s").sum("v"))
    both = skew_groupby(facts, "k").pivot("s", ["1", "2"]).count()
    assert_same_rows(both, facts.groupBy("k").pivot("s", ["1", "2"]).count())
    with pytest.raises(SkewkitError, match="not possible with a pivot"):
        skew_groupby(facts, "k", strategy="wrap").pivot("s")


def test_pairs_of_arrow_groups_are_plain_sparks(facts):
    def left_rows(left, right):
        return left.select(["k", "v"]).slice(0, right.num_rows)

    ours = skew_groupby(facts, "k").cogroup(skew_groupby(facts, "k")).applyInArrow(left_rows, "k bigint, v bigint")
    assert "pairs of Arrow groups are not placed" in explain(ours)
    assert_same_rows(ours, facts.select("k", "v"))


ZONED = """
import pandas as pd
from pyspark.sql import functions as F
from skewkit import skew_groupby
from skewkit.testing import local_session

def latest(frame):
    return pd.DataFrame({"k": frame["k"].iloc[:1], "t": [frame["t"].max()]})

spark = local_session()
df = spark.range(900).selectExpr("if(id % 10 < 8, 0, id) k", "timestamp'2024-06-01 12:00:00' t")
grouped = skew_groupby(df, "k", strategy="wrap", partitions=3)
ours = grouped.applyInPandas(latest, "k bigint, t timestamp", merge=lambda parts: parts.iloc[[0]])
print(spark.conf.get("spark.sql.session.timeZone"), ours.select(F.col("t").cast("string")).distinct().collect())
"""


@pytest.mark.slow
def test_the_time_zone_of_a_session_that_sets_none(tmp_path):
    job = subprocess.run(
        [sys.executable, "-c", ZONED],
        capture_output=True,
        text=True,
        timeout=280,
        cwd=tmp_path,
        env={**os.environ, "TZ": "America/New_York", "PYSPARK_PYTHON": sys.executable, "PYTHONPATH": str(ROOT)},
        check=False,
    )
    assert "[Row(t='2024-06-01 12:00:00')]" in job.stdout, job.stderr[-2000:]
    assert job.stdout.startswith("America/New_York")


def test_rows_are_salted_by_the_values_of_which_there_are_most(spark, monkeypatch):
    """By three values the rows of a hot key would go to three tasks at the most."""
    salts = []

    def recorded(df, keys, plan, asked, *rest):
        salts.append([str(asked.inputs.columns[int(name.rpartition("x")[2])]) for name in asked.salted_by])
        return aggregate(df, keys, plan, asked, *rest)

    aggregate = groupagg.aggregate
    monkeypatch.setattr(groupagg, "aggregate", recorded)
    df = spark.range(6_000).selectExpr("if(id % 10 < 8, 0, id) AS k", "id % 3 AS few", "id % 1000 AS many")
    exprs = [F.mode("few", True).alias("f"), F.median("many").alias("m"), F.collect_set("few").alias("s")]
    for aggregates in (exprs, exprs[::-1]):
        check(df, ["k"], *aggregates)
    assert salts == [["Column<'many'>"]] * 2


@pytest.mark.connect
@pytest.mark.parametrize("by", ["column", "key"])
def test_random_keys_are_drawn_once(spark, by):
    """Connect draws a seed for every place of a plan that holds `rand()`; cold and hot rows are of two places."""
    drawn = "if(rand() < 0.6, 0, 1 + int(rand() * 50))"
    df = spark.range(4000).selectExpr("id AS v", *([f"{drawn} AS k"] if by == "column" else []))
    grouped = skew_groupby(df, "k" if by == "column" else F.expr(drawn).alias("k"), strategy="wrap", partitions=4)
    rows = grouped.agg(F.collect_list("v").alias("vs")).collect()
    assert sorted(v for row in rows for v in row.vs) == list(range(4000))
    found = grouped.applyInPandas(lambda f: f[["v"]], "v bigint", merge=lambda parts: parts)
    assert sorted(row.v for row in found.collect()) == list(range(4000))


def test_values_that_may_change_cut_nothing(spark):
    """Positions and draws behind a shuffle depend on the order in which its blocks arrive."""
    df = spark.range(300).selectExpr(f"{HOT} AS k", "id AS v").repartition(5)
    for value in (F.monotonically_increasing_id(), F.rand(3)):
        ours = skew_groupby(df.withColumn("x", value), "k", strategy="wrap", partitions=3)
        assert "native: parts are cut by values" in explain(ours.agg(F.size(F.collect_set("x"))))


def test_python_aggregates_stay_whole_where_pieces_would_be_shuffled(spark, facts):
    @F.pandas_udf("double")
    def spread(v: pd.Series) -> float:
        return float(v.max() - v.min())

    with conf(spark, "spark.sql.requireAllClusterKeysForDistribution", "true"):
        ours = skew_groupby(facts, "k", strategy="wrap", partitions=3).agg(
            spread("v"), merge={spread: lambda p: p.max()}
        )
    assert "native: spark.sql.requireAllClusterKeysForDistribution is on" in explain(ours), explain(ours)


@pytest.mark.connect
def test_sums_of_no_column_are_the_keys(facts):
    texts = facts.select("k", "s")
    for name in ("sum", "avg", "min", "max", "mean"):
        assert_same_rows(getattr(skew_groupby(texts, "k"), name)(), getattr(texts.groupBy("k"), name)())


def test_a_sketch_that_is_a_struct_is_never_null(facts):
    accumulate = F.expr("approx_top_k_accumulate(v, 50) AS s")
    try:
        plain = facts.groupBy("k").agg(F.collect_list("v").alias("vs"), accumulate)
    except PySparkException:
        pytest.skip("approx_top_k_accumulate came with Spark 4.1")
    ours = skew_groupby(facts, "k", strategy="wrap", partitions=3).agg(F.collect_list("v").alias("vs"), accumulate)
    assert ours.schema == plain.schema
