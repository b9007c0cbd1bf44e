"""The split table, row by row: every aggregate function of Spark beside one that is split, against plain Spark."""

import inspect
import re

import pyspark.sql.functions
import pytest
from pyspark.sql import functions as F

from skewkit import explain, skew_groupby
from skewkit.spark.group.split_table import _LONG_SUM, COMBINED, DISTINCT, SPLITS, WHOLE
from skewkit.testing import assert_same_rows
from tests.helpers import VERSION, conf

pytestmark = pytest.mark.skipif(VERSION < (4, 2), reason="the functions of Spark 4.2")


@pytest.fixture(scope="module")
def facts(spark):
    """Return a hot key, nulls among keys and values, and groups whose values are all null."""
    return spark.range(0, 400, 1, 3).selectExpr(
        "CASE WHEN id % 10 < 6 THEN 0 WHEN id % 10 = 9 THEN NULL ELSE id % 50 END AS k",
        "if(id % 50 = 7, NULL, id) AS u",
        "if(id % 50 = 7 OR id % 11 = 0, NULL, id % 13) AS v",
        "if(id % 50 = 7, NULL, double(id % 7)) AS x",
        "cast(id % 17 AS decimal(20, 2)) AS d",
        "if(id % 50 = 7, NULL, string(id % 23)) AS s",
        "if(id % 50 = 7, NULL, id % 3 = 0) AS b",
        "cast(id % 8 AS int) AS i",
        "make_dt_interval(0, 0, int(id % 5), 0) AS t",
    )


def rounded(*names):
    """Return cases of functions of doubles; in which order doubles are added up is left to Spark."""
    return {name: [lambda name=name: F.round(getattr(F, name)("x"), 6)] for name in names}


def of_two(*names):
    return {name: [lambda name=name: F.round(getattr(F, name)("x", F.col("v").cast("double")), 6)] for name in names}


def estimate(read, made):
    """Return a case of a sketch, by what it says of a group that it holds exactly."""
    return [lambda: F.call_function(read, made())]


def sketch(kind, type_, column):
    return lambda: getattr(F, f"{kind}_sketch_agg_{type_}")(F.col(column), F.lit(400))


def rows_of(histogram):
    """Return how many rows a histogram counts; where its bars stand depends on the order of the rows."""
    return F.aggregate(histogram, F.lit(0.0), lambda total, bar: total + bar["y"])


def tuples(type_, column):
    return lambda: getattr(F, f"tuple_sketch_agg_{type_}")(F.col("u"), F.col(column))


# One list per function: it, in forms that differ in arguments, DISTINCT, FILTER, and in what is around it.
CASES = {
    "count": [
        lambda: F.count("*"),
        lambda: F.count("v"),
        lambda: F.count(F.lit(None)),
        lambda: F.expr("count(v, x)"),
        lambda: F.expr("count(*) FILTER (WHERE v > 5)"),
        lambda: F.count_distinct("v"),
        lambda: F.count_distinct("v", "s"),
        lambda: F.expr("count(DISTINCT i) FILTER (WHERE v > 5)"),
    ],
    "count_if": [lambda: F.count_if(F.col("b")), lambda: F.expr("count_if(v > 3) FILTER (WHERE b)")],
    "sum": [
        lambda: F.sum("v"),
        lambda: F.sum("x"),
        lambda: F.sum("d"),
        lambda: F.sum("t"),
        lambda: F.sum(F.lit(3)),
        lambda: F.sum("s"),
        lambda: F.sum_distinct("v"),
        lambda: F.sum("v") / F.count("u") + 1,
        lambda: F.expr("sum(v) FILTER (WHERE v > 100)"),
        lambda: F.expr("CASE WHEN sum(v) > 100 THEN 'a lot' ELSE concat(sum(v), ' of ', count(*)) END"),
    ],
    "avg": [lambda: F.avg("v"), lambda: F.avg("x"), lambda: F.avg("d"), lambda: F.avg("i"), lambda: F.avg(F.lit(4))],
    "mean": [lambda: F.mean("v"), lambda: F.expr("mean(DISTINCT v)"), lambda: F.round(F.mean("v"), 2).cast("string")],
    "min": [lambda: F.min("v"), lambda: F.min("s"), lambda: F.min("t"), lambda: F.min(F.struct("v", "s"))],
    "max": [lambda: F.max("d"), lambda: F.expr("max(DISTINCT v)"), lambda: -F.max("x"), lambda: F.max("s").isin("9")],
    **{
        name: [lambda name=name: F.expr(f"{name}(b)"), lambda name=name: F.expr(f"{name}(b) FILTER (WHERE v > 3)")]
        for name in ("bool_and", "every", "bool_or", "some", "any")
    },
    **{name: [lambda name=name: getattr(F, name)("v")] for name in ("bit_and", "bit_or", "bit_xor")},
    "collect_list": [
        lambda: F.array_sort(F.collect_list("v")),
        lambda: F.size(F.collect_list(F.struct("u", "s"))),
        lambda: F.array_sort(F.expr("collect_list(s) FILTER (WHERE b)")),
        lambda: F.array_sort(F.expr("collect_list(DISTINCT v)")),
        lambda: F.aggregate(F.collect_list("v"), F.lit(0).cast("bigint"), lambda total, x: total + x),
    ],
    "array_agg": [lambda: F.array_sort(F.array_agg("s"))],
    "collect_set": [
        lambda: F.array_sort(F.collect_set("u")),
        lambda: F.array_sort(F.collect_set("x")),
        lambda: F.array_sort(F.collect_set(F.struct("v", "s"))),
        lambda: F.size(F.collect_set("u")) + F.size(F.collect_set("v")),
        lambda: F.array_sort(F.expr("collect_set(s) FILTER (WHERE v > 3)")),
    ],
    "listagg": [
        lambda: F.array_sort(F.split(F.listagg("s", F.lit(",")), ",")),
        lambda: F.length(F.listagg("s")),
        lambda: F.array_sort(F.split(F.listagg_distinct("s", F.lit(",")), ",")),
        lambda: F.expr("listagg(s, ', ') WITHIN GROUP (ORDER BY s)"),
        lambda: F.expr("length(listagg(s, NULL) FILTER (WHERE b))"),
        lambda: F.length(F.listagg(F.col("s").cast("binary"))),
    ],
    "string_agg": [lambda: F.length(F.string_agg("s", F.lit("--")))],
    "mode": [
        lambda: F.mode("s", deterministic=True),
        lambda: F.mode("v", True),
        lambda: F.mode("x", True),
        lambda: F.expr("mode(v, true) FILTER (WHERE b)"),
        lambda: F.expr("mode() WITHIN GROUP (ORDER BY v DESC)"),
        lambda: F.mode(F.when(F.col("u") % 4 > 0, "often").otherwise("rarely")),
    ],
    "median": [
        lambda: F.median("v"),
        lambda: F.median("u"),
        lambda: F.median("s"),
        lambda: F.expr("median(x) FILTER (WHERE v > 2)"),
    ],
    "percentile": [
        lambda: F.percentile("u", 0.3),
        lambda: F.percentile("v", [0.1, 0.5, 0.99]),
        lambda: F.percentile("x", 0.5, F.lit(3)),
        lambda: F.percentile("d", F.lit(0.9)),
        lambda: F.expr("percentile(t, array(0.5D, 0.25D)) FILTER (WHERE b)"),
        lambda: F.percentile("v", 0.5, F.col("i")),
        lambda: F.expr("percentile(DISTINCT v, 0.25)"),
    ],
    "percentile_cont": [
        lambda: F.expr("percentile_cont(0.3) WITHIN GROUP (ORDER BY u)"),
        lambda: F.expr("percentile_cont(0.3) WITHIN GROUP (ORDER BY v DESC)"),
        lambda: F.expr("percentile_cont(array(0.3, 1.0)) WITHIN GROUP (ORDER BY d ASC) FILTER (WHERE b)"),
    ],
    "percentile_disc": [
        lambda: F.expr("percentile_disc(0.7) WITHIN GROUP (ORDER BY v)"),
        lambda: F.expr("percentile_disc(array(0.0, 0.5, 1.0)) WITHIN GROUP (ORDER BY u)"),
        lambda: F.expr("percentile_disc(0.5) WITHIN GROUP (ORDER BY x DESC)"),
        lambda: F.expr("percentile_disc(0.5) WITHIN GROUP (ORDER BY t)"),
    ],
    "try_sum": [lambda: F.try_sum("v"), lambda: F.try_sum("d")],
    "try_avg": [lambda: F.try_avg("v"), lambda: F.try_avg("d")],
    "product": [lambda: F.product(F.when(F.col("v") > 0, 2))],
    **rounded("std", "stddev", "stddev_samp", "stddev_pop", "variance", "var_samp", "var_pop", "skewness", "kurtosis"),
    **of_two("corr", "covar_pop", "covar_samp", "regr_avgx", "regr_avgy", "regr_intercept", "regr_r2", "regr_slope"),
    **of_two("regr_sxx", "regr_sxy", "regr_syy"),
    "regr_count": [lambda: F.regr_count("x", "v")],
    # Which row they take is Spark's choice: constants have only one, and max_by an order without ties.
    **{
        name: [lambda name=name: getattr(F, name)(F.lit("one")), lambda name=name: F.expr(f"{name}(k, true)")]
        for name in ("any_value", "first", "first_value", "last", "last_value")
    },
    "max_by": [lambda: F.max_by("s", "u"), lambda: F.expr("max_by(v, u) FILTER (WHERE b)")],
    "min_by": [lambda: F.min_by("s", "u")],
    "approx_count_distinct": [lambda: F.approx_count_distinct("v"), lambda: F.approx_count_distinct("v", 0.01)],
    "approx_percentile": [lambda: F.approx_percentile("v", 0.5, F.lit(10000))],
    "percentile_approx": [lambda: F.percentile_approx("u", [0.2, 0.5], 10000)],
    "approx_top_k": [lambda: F.expr("array_sort(approx_top_k(v, 20, 100))")],
    "approx_top_k_accumulate": [
        lambda: F.expr("array_sort(approx_top_k_estimate(approx_top_k_accumulate(v, 99), 20))")
    ],
    "bitmap_construct_agg": [lambda: F.hex(F.bitmap_construct_agg("i"))],
    "bitmap_and_agg": [lambda: F.hex(F.bitmap_and_agg(F.lit(bytearray(b"abc"))))],
    "bitmap_or_agg": [lambda: F.hex(F.bitmap_or_agg(F.lit(bytearray(b"abc"))))],
    "count_min_sketch": [lambda: F.hex(F.count_min_sketch("v", F.lit(0.1), F.lit(0.9), F.lit(1)))],
    "histogram_numeric": [lambda: rows_of(F.histogram_numeric("i", F.lit(20)))],
    "vector_avg": [
        lambda: F.transform(F.expr("vector_avg(array(float(v % 5), float(u % 3)))"), lambda x: F.round(x, 3))
    ],
    "vector_sum": [lambda: F.expr("vector_sum(array(float(v % 5), float(u % 3))) FILTER (WHERE b)")],
    "hll_sketch_agg": estimate("hll_sketch_estimate", lambda: F.hll_sketch_agg("v", F.lit(12))),
    "kll_sketch_agg_bigint": estimate("kll_sketch_get_n_bigint", sketch("kll", "bigint", "v")),
    "kll_sketch_agg_double": estimate("kll_sketch_get_n_double", sketch("kll", "double", "x")),
    "kll_sketch_agg_float": [lambda: F.expr("kll_sketch_get_n_float(kll_sketch_agg_float(cast(x AS float)))")],
    "schema_of_variant_agg": [lambda: F.schema_of_variant_agg(F.to_variant_object(F.struct("v", "s")))],
    "theta_sketch_agg": estimate("theta_sketch_estimate", lambda: F.theta_sketch_agg("u")),
    "tuple_sketch_agg_double": estimate("tuple_sketch_estimate_double", tuples("double", "x")),
    "tuple_sketch_agg_integer": estimate("tuple_sketch_estimate_integer", tuples("integer", "i")),
}
# Functions of sketches: the frame holds a sketch per row.
SKETCHES = {
    "hll_union_agg": ("hll_sketch_agg(v)", "hll_sketch_estimate(hll_union_agg(z))"),
    "theta_union_agg": ("theta_sketch_agg(v)", "theta_sketch_estimate(theta_union_agg(z))"),
    "theta_intersection_agg": ("theta_sketch_agg(v)", "theta_sketch_estimate(theta_intersection_agg(z))"),
    "approx_top_k_combine": (
        "approx_top_k_accumulate(v, 50)",
        "array_sort(approx_top_k_estimate(approx_top_k_combine(z, 50), 9))",
    ),
    **{
        f"kll_merge_agg_{t}": (
            f"kll_sketch_agg_{t}(cast(v AS {t}))",
            f"kll_sketch_get_n_{t}(kll_merge_agg_{t}(z))",
        )
        for t in ("bigint", "double", "float")
    },
    **{
        f"tuple_{how}_agg_{t}": (
            f"tuple_sketch_agg_{t}(v, cast(i AS {c}))",
            f"tuple_sketch_estimate_{t}(tuple_{how}_agg_{t}(z))",
        )
        for t, c in (("double", "double"), ("integer", "int"))
        for how in ("union", "intersection")
    },
}
ELSEWHERE = {"grouping", "grouping_id", "measure"}  # of grouping sets and metric views


def aggregates_of_pyspark():
    """Return the names under the heading Aggregate Functions in pyspark.sql.functions."""
    source = inspect.getsource(pyspark.sql.functions)
    section = source.partition("# Aggregate Functions")[2].partition("    # ")[0]
    names = set(re.findall(r'"(\w+)"', section)) | {"schema_of_variant_agg"}
    return {re.sub("_distinct$", "", name) if name != "approx_count_distinct" else name for name in names}


def test_no_aggregate_of_pyspark_is_missing():
    names = aggregates_of_pyspark()
    assert len(names) > 80
    assert names <= set(SPLITS), f"not in the split table: {sorted(names - set(SPLITS))}"


def test_no_aggregate_of_spark_is_missing(spark, connect):
    if connect:
        pytest.skip("the registry is read from the JVM")
    registry = getattr(spark._jvm.org.apache.spark.sql.catalyst.analysis, "FunctionRegistry$")
    infos = getattr(registry, "MODULE$").expressions()
    names = {
        pair._1()
        for pair in (infos.toSeq().apply(i) for i in range(infos.size()))
        if pair._2()._1().getGroup() == "agg_funcs" or ".aggregate." in pair._2()._1().getClassName()
    }
    assert len(names) > 80
    assert names <= set(SPLITS), f"not in the split table: {sorted(names - set(SPLITS))}"


def test_every_row_of_the_table_is_tested():
    assert set(SPLITS) == {*CASES, *SKETCHES, *ELSEWHERE}


def check(df, exprs):
    """Compare with plain Spark, beside a list, so that there is something to split."""
    exprs = [expr.alias(f"c{i}") for i, expr in enumerate(exprs)]
    plain = df.groupBy("k").agg(*exprs)
    ours = skew_groupby(df, "k", strategy="wrap", partitions=3).agg(*exprs, F.collect_list("u").alias("us"))
    assert "strategy   wrap" in explain(ours), explain(ours)
    assert assert_same_rows(ours.drop("us"), plain) == 17


CUT = (
    "count(v)", "count_if(b)", "regr_count(v, v)", "sum(i)", "sum(v)", "avg(i)", "min(s)", "max(s)", "bool_and(b)",
    "bool_or(b)", "bit_xor(v)", "collect_list(v)", "collect_set(v)", "listagg(s, ',')", "mode(v, true)", "median(v)",
    "percentile(v, 0.3)", "percentile_cont(0.3) WITHIN GROUP (ORDER BY v)",
    "percentile_disc(0.3) WITHIN GROUP (ORDER BY v)",
)  # fmt: skip


def test_functions_that_have_partials_are_cut(spark):
    """A row of the table that has become plain Spark's would give the right rows, too."""
    df = spark.range(90).selectExpr("id % 2 AS k", "id AS v", "int(id) AS i", "string(id) AS s", "id > 9 AS b")
    for text in CUT:
        said = explain(skew_groupby(df, "k", strategy="wrap", partitions=3).agg(F.expr(text)))
        assert "strategy   wrap" in said, said
        assert "as plain Spark does it" not in said, said
        name = text.partition("(")[0]
        assert f"{name} in " in said or f"{name} of the hot keys from counts by ranges" in said, said


@pytest.mark.parametrize(
    ("value", "rows"),
    [(-1, 9), (1, 9), (-(1 << 31), 9), ((1 << 31) - 1, 9), (1 << 31, 9), (-(1 << 63), 1), ((1 << 63) - 1, 1)],
)
def test_halves_of_small_numbers_are_no_larger_than_their_sum(spark, value, rows):
    """Else 2^31 rows of -1 would exceed a bigint by their lower halves."""
    high, low = _LONG_SUM.partials
    halves = (
        spark.range(rows)
        .select(F.lit(value).cast("bigint").alias("v"))
        .agg(high(F.col("v")).alias("h"), low(F.col("v")).alias("l"))
    )
    row = halves.select("h", "l", _LONG_SUM.finish(F.col("h"), F.col("l")).alias("total")).first()
    assert row.total == row.h * (1 << 32) + row.l == rows * value
    assert abs(row.l) <= rows * min(abs(value), 1 << 31)


# On Connect a call is read in another way, but all functions alike, so every sixth row will do.
READ_ON_CONNECT = sorted(CASES)[::6]


@pytest.mark.every(33)
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.connect if name in READ_ON_CONNECT else ()) for name in CASES]
)
def test_row(facts, name):
    check(facts, [case() for case in CASES[name]])


@pytest.mark.every(5)
@pytest.mark.parametrize("name", SKETCHES)
def test_row_of_sketches(facts, name):
    made, read = SKETCHES[name]
    per_row = facts.groupBy("k", "u").agg(F.expr(f"{made} AS z")).where("z IS NOT NULL")
    check(per_row, [F.expr(read)])


@pytest.mark.slow
def test_all_at_once(facts):
    exprs = [case() for name, cases in CASES.items() if not name.startswith("theta") for case in cases[:1]]
    check(facts, exprs)


def test_rows_say_what_they_do():
    for name, split in SPLITS.items():
        assert len(split.partials) == len(split.merges)
        assert any(split is row for row in (COMBINED, DISTINCT, WHOLE)) or split.partials, name
        assert split.partials or not split.pays


def test_counts_of_what_is_cast(spark):
    """A text that is no number counts as none without ANSI mode, so that its partial is Spark's own."""
    df = spark.range(300).selectExpr("if(id % 4 = 0, id, 0) k", "if(id % 3 = 0, 'x', string(id % 2)) s", "id v")
    exprs = [F.expr(text) for text in ("regr_count(s, v)", "regr_count(v, s)", "collect_set(v) c")]
    with conf(spark, "spark.sql.ansi.enabled", "false"):
        ours = skew_groupby(df, "k", strategy="wrap", partitions=4).agg(*exprs)
        assert_same_rows(ours, df.groupBy("k").agg(*exprs), unordered=("c",))


def test_constants_as_arguments(spark):
    df = spark.range(300).selectExpr("if(id % 4 = 0, id, 0) k", "id % 3 = 0 b", "id % 5 = 0 c", "id v")
    texts = ("mode(1) FILTER (WHERE b)", "mode(2) FILTER (WHERE c)", "collect_set(3)", "count_if(true)", "sum(1)")
    exprs = [F.expr(text) for text in (*texts, "avg(98765432109876543210)", "collect_set(v) d")]
    ours = skew_groupby(df, "k", strategy="wrap", partitions=4).agg(*exprs)
    plain = df.groupBy("k").agg(*exprs)
    assert ours.schema == plain.schema
    assert_same_rows(ours, plain, unordered=("d",))
