"""Aggregates of `skew_groupby` that overflow, have no hash, differ from run to run or hide in texts."""

import os
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from pyspark.errors import ArithmeticException, PySparkException
from pyspark.sql import Row
from pyspark.sql import functions as F

from skewkit import explain, skew_groupby
from skewkit.api.group import agg as groupagg
from skewkit.testing import assert_same_rows
from tests.helpers import conf
from tests.spark.group.cases import HOT, check, values

ROOT = Path(__file__).parents[3]
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


def test_sums_whose_parts_overflow_and_which_do_not(spark):
    df = spark.range(0, 200, 1, 2).selectExpr("0 AS k", "if(id % 2 = 0, 1, -1) * (9223372036854775807L - id) AS v")
    with conf(spark, "spark.sql.ansi.enabled", "true"):
        check(df, ["k"], F.sum("v"), F.sum(F.col("v") % 7), values())
        over = skew_groupby(df, "k", strategy="wrap").agg(F.sum(F.abs("v")), values())
        with pytest.raises(ArithmeticException):
            over.collect()
    with conf(spark, "spark.sql.ansi.enabled", "false"):
        check(df, ["k"], F.sum("v"), F.sum(F.abs("v")), values())


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


def test_texts_in_double_quotes_may_be_names(spark, facts):
    aggregates = F.collect_set("v").alias("vs"), F.expr('mode("s", true)').alias("m")
    with conf(spark, "spark.sql.ansi.doubleQuotedIdentifiers", "true"):
        check(facts, ["k"], *aggregates)


@pytest.mark.connect
def test_values_that_may_differ_are_not_cut_by_their_hash(facts):
    means = facts.groupBy("k", "s").agg(F.avg("v").alias("m"))
    check(means, ["k"], F.size(F.collect_set("m")).alias("n"))
    ours = skew_groupby(means, "k", strategy="wrap").agg(F.collect_set("m"))
    assert "may differ when a task runs again" in explain(ours)


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
    "names of a row's fields": lambda: F.expr("to_json((sum(v), count(v)))").alias("x"),
    "names of a row's fields from SQL": lambda: F.to_json(F.expr("(max(v), collect_set(k2))")).alias("x"),
    "the fields of a struct": lambda: F.count("st.*").alias("x"),
}


@pytest.mark.every(2)
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


def test_a_sketch_that_is_a_struct_is_never_null(facts):
    accumulate = F.expr("approx_top_k_accumulate(v, 50) AS s")
    try:
        plain = facts.groupBy("k").agg(F.collect_list("v").alias("vs"), accumulate)
    except PySparkException:
        pytest.skip("approx_top_k_accumulate came with Spark 4.1")
    ours = skew_groupby(facts, "k", strategy="wrap", partitions=3).agg(F.collect_list("v").alias("vs"), accumulate)
    assert ours.schema == plain.schema
