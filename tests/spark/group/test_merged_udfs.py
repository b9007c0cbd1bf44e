"""Grouped aggregate UDFs with a merge: hot keys in parts, merged once; plain Spark's rows."""

import functools
from collections.abc import Iterator

import pandas as pd
import pyarrow as pa
import pytest
from pyspark.sql import functions as F

import skewkit
from skewkit.testing import assert_same_rows
from tests.helpers import VERSION, conf


@pytest.fixture(scope="module")
def facts(skewed):
    return skewed(2000, tail=60)


def udfs():
    """Return the UDFs of a session: classic and Connect have their own."""

    @F.pandas_udf("bigint")
    def squares(values: pd.Series) -> int:
        return int((values * values).sum())

    @F.pandas_udf("array<double>")
    def moments(values: pd.Series, texts: pd.Series) -> list:
        return [float(values.sum()), float(len(values)), float(texts.nunique() > 0)]

    return squares, moments


def add(parts):
    return int(parts.sum())


def add_moments(parts):
    sums, rows, known = zip(*parts, strict=True)
    return [sum(sums), sum(rows), max(known)]


@pytest.mark.every(2)
@pytest.mark.connect
@pytest.mark.parametrize("strategy", ["auto", "wrap"])
def test_the_rows_are_those_of_plain_spark(facts, strategy):
    squares, moments = udfs()
    exprs = [
        squares("v").alias("squares"),
        (moments(F.col("v") + 1, F.col("s"))[0] / moments(F.col("v") + 1, "s")[1]).alias("mean"),
        F.coalesce(squares("v").cast("string"), F.lit("none")),
    ]
    ours = skewkit.skew_groupby(facts, "k", strategy=strategy, partitions=4).agg(
        *exprs, merge={squares: add, moments: add_moments}
    )
    assert "strategy   wrap" in skewkit.explain(ours)
    plain = facts.groupBy("k").agg(*exprs)
    assert ours.schema == plain.schema
    assert assert_same_rows(ours, plain) > 50


def together(parts):
    rows, number, largest, merges = zip(*parts, strict=True)
    return [sum(rows), sum(number), max(largest), max(merges) + 1]


def arrow_together(parts):
    assert isinstance(parts, pa.Array)
    return together(parts.to_pylist())


@pytest.mark.every(3)
@pytest.mark.parametrize("hint", [{}, {"heavy": [0, None]}], ids=["profiled", "named"])
@pytest.mark.parametrize("kind", ["pandas", "arrow"])
def test_parts_are_bounded_and_merged_once_per_hot_key(spark, facts, kind, hint):
    if kind == "arrow" and VERSION < (4, 1):
        pytest.skip("Arrow UDFs came with Spark 4.1")

    def in_pandas(values: pd.Series) -> list:
        return [len(values), 1, len(values), 0]

    def in_arrow(values: pa.Array) -> list:
        return [len(values), 1, len(values), 0]

    part = F.arrow_udf(in_arrow, "array<bigint>") if kind == "arrow" else F.pandas_udf(in_pandas, "array<bigint>")
    merge = {part: arrow_together if kind == "arrow" else together}
    with conf(spark, "spark.skewkit.groupRows", "100"):
        grouped = skewkit.skew_groupby(facts, "k", strategy="wrap", partitions=4, **hint)
        found = {row.k: row.x for row in grouped.agg(part("v").alias("x"), merge=merge).collect()}
    truth = {row.k: row["count"] for row in facts.groupBy("k").count().collect()}
    assert {key: x[0] for key, x in found.items()} == truth
    assert truth[0] / 100 <= found[0][1] <= truth[0] / 25
    assert found[0][2] <= 100
    assert found[0][3] == found[None][3] == 1
    assert all(found[key][3] == 0 for key in truth if truth[key] < 20), "cold keys see no merge"


def test_beside_other_aggregates_or_without_a_merge_the_call_is_left_to_spark(facts):
    squares, moments = udfs()
    without = skewkit.skew_groupby(facts, "k", strategy="wrap").agg(squares("v"), merge={moments: add_moments})
    assert "nor one with a merge" in skewkit.explain(without)
    assert_same_rows(without, facts.groupBy("k").agg(squares("v")))
    mixed = skewkit.skew_groupby(facts, "k", strategy="wrap").agg(squares("v"), F.sum("v"), merge={squares: add})
    assert "in no common call" in skewkit.explain(mixed)


@pytest.mark.parametrize(
    ("merge", "said"),
    [
        (lambda f: [f], "agg.. takes a dict from pandas UDF"),
        (lambda f: {"v": add}, "expected a grouped aggregate"),
        (lambda f: {F.udf(lambda x: x): add}, "expected a grouped aggregate"),
        (lambda f: {f: "sum"}, "the merge of squares is 'sum'"),
    ],
)
def test_wrong_merges_are_told(facts, merge, said):
    squares, _ = udfs()
    with pytest.raises(skewkit.SkewkitError, match=said):
        skewkit.skew_groupby(facts, "k").agg(squares("v"), merge=merge(squares))


def test_a_merge_may_be_a_partial(facts):
    @F.pandas_udf("bigint")
    def top(values: pd.Series) -> int:
        return int(values.max())

    def combine(how, parts):
        return int(getattr(parts, how)())

    ours = skewkit.skew_groupby(facts, "k", strategy="wrap", partitions=4).agg(
        top("v").alias("top"), merge={top: functools.partial(combine, "max")}
    )
    assert_same_rows(ours, facts.groupBy("k").agg(F.max("v").alias("top")))


@pytest.mark.connect
def test_arguments_that_are_named_or_computed_in_python_are_what_they_are(spark):
    """A name, or the name of another function, was taken for a column: rows were wrong where there is one like it."""
    df = spark.range(600).selectExpr("if(id % 3 = 0, id, 0) k", "id a", "id * 2 b", "id * 3 plus_one")

    @F.pandas_udf("bigint")
    def last(a: pd.Series, b: pd.Series) -> int:
        return int((a - b).max())

    @F.pandas_udf("bigint")
    def plus_one(a: pd.Series) -> pd.Series:
        return a + 1

    def greatest(parts):
        return int(parts.max())

    for call in (last(a="b", b="a"), last("b", b="a"), last(plus_one("a"), plus_one("b") * 0)):
        expr = call.alias("last")
        ours = skewkit.skew_groupby(df.where("a > 300 or k = 0"), "k", strategy="wrap", partitions=4).agg(
            expr, merge={last: greatest}
        )
        assert_same_rows(ours, df.where("a > 300 or k = 0").groupBy("k").agg(expr))


def test_one_function_with_two_return_types_is_two(facts):
    def highest(values: pd.Series) -> float:
        return values.max() / 8

    as_double, as_float = F.pandas_udf("double")(highest), F.pandas_udf("float")(highest)
    exprs = [as_double("v").alias("d"), as_float("v").alias("f")]
    ours = skewkit.skew_groupby(facts, "k", strategy="wrap", partitions=4).agg(
        *exprs, merge={as_double: lambda parts: parts.max()}
    )
    assert "nor one with a merge" in skewkit.explain(ours)
    assert_same_rows(ours, facts.groupBy("k").agg(*exprs))


@pytest.mark.connect
def test_a_merge_gets_the_dtype_of_the_return_type(spark):
    """Whatever the parts' results are: one of them has none."""
    df = spark.range(0, 400, 1, 4).selectExpr(
        "if(id % 4 < 3, 0, id) AS k", "1790000000000000001 + id * 7 AS v", "id = 130 OR id % 4 = 3 AS kept"
    )
    kinds = {
        "bigint": (lambda v: v.max(), "Int64"),
        "int": (lambda v: v.max() % 1000, "Int32"),
        "boolean": (lambda v: None if len(v) == 0 else bool(v.max() > 0), "boolean"),
        "double": (lambda v: v.max() / 2, "float64"),
        "timestamp": (lambda v: pd.Timestamp(v.max(), unit="s") if len(v) else None, "datetime64[us, UTC]"),
    }

    def made(returned):
        largest = kinds[returned][0]

        def part(values: pd.Series, kept: pd.Series) -> int:
            return largest(values[kept] if returned != "timestamp" else values[kept] - 1790000000000000000)

        def merge(parts):
            assert str(parts.dtype) == kinds[returned][1], parts.dtype
            return parts.max()

        return F.pandas_udf(part, returned), merge

    with conf(spark, "spark.skewkit.groupRows", "40"):
        for returned in kinds:
            udf, merge = made(returned)
            expr = udf("v", "kept").alias("x")
            ours = skewkit.skew_groupby(df, "k", strategy="wrap", partitions=4).agg(expr, merge={udf: merge})
            assert "strategy   wrap" in skewkit.explain(ours)
            assert_same_rows(ours, df.groupBy("k").agg(expr))


@pytest.mark.connect
def test_a_part_has_the_dtypes_of_the_whole_group(spark):
    df = spark.range(0, 400, 1, 4).selectExpr("if(id % 4 < 3, 0, id) AS k", "nullif(id, 5) AS i", "nullif(id, 9) > 7 b")

    @F.pandas_udf("string")
    def dtypes(i: pd.Series, b: pd.Series) -> str:
        return f"{i.dtype} {b.dtype}"

    expr = dtypes("i", b="b").alias("seen")
    with conf(spark, "spark.skewkit.groupRows", "40"):
        ours = skewkit.skew_groupby(df, "k", strategy="wrap", partitions=4).agg(
            expr, merge={dtypes: lambda parts: " ".join(sorted(set(parts)))}
        )
        assert_same_rows(ours, df.groupBy("k").agg(expr))


@pytest.mark.skipif(VERSION < (4, 2), reason="aggregate UDFs of iterators came with Spark 4.2")
@pytest.mark.connect
@pytest.mark.parametrize("named", [False, True])
def test_udfs_of_iterators(facts, named):
    @F.pandas_udf("bigint")
    def top(values: Iterator[pd.Series]) -> int:
        return int(max(part.max() for part in values))

    expr = (top(values="v") if named else top("v")).alias("top")
    ours = skewkit.skew_groupby(facts, "k", strategy="wrap", partitions=4).agg(
        expr, merge={top: lambda parts: int(parts.max())}
    )
    assert "strategy   wrap" in skewkit.explain(ours)
    assert_same_rows(ours, facts.groupBy("k").agg(F.max("v").alias("top")))


def test_reasons_name_the_function(facts):
    squares, _ = udfs()
    twice = F.udf(lambda x: x, "bigint")
    for expr, said in ((squares("v"), "squares"), (twice(F.max("v")), "<lambda>")):
        text = skewkit.explain(skewkit.skew_groupby(facts, "k", strategy="wrap").agg(expr))
        assert "columnnodeexpression" not in text.lower(), text
        assert said in text
