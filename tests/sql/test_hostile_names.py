"""Names and texts that would break out of a query if they were spliced unquoted."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import functions as F

import skewkit
from skewkit.hints.query_arguments import text_literal
from skewkit.spark.expressions.keys import quoted
from skewkit.testing import assert_same_rows

pytestmark = pytest.mark.connect

HOSTILE = [
    "a`b",
    "it's",
    '"x"',
    "p -- q",
    "r /* s",
    "t */ u",
    "v; DROP VIEW w",
    "ü 漢 🙂",
    "{z}",
    "a.b",
    "x\\y",
    "t1_",
    " ",
]


@pytest.mark.parametrize("star", [True, False])
def test_hostile_columns_and_aliases(spark, star):
    key = "CASE WHEN id < {} THEN 'it''s' ELSE string(id) END AS `k``ey`"
    texts = [F.concat(F.lit(name), F.col("id").cast("string")).alias(name) for name in HOSTILE]
    left = spark.range(200).select(F.expr(key.format(120)), *texts)
    right = spark.range(300).select(F.expr(key.format(1)), F.col("id").alias("it's"))
    alias = quoted("l ` x")
    listed = ", ".join(f"{alias}.{quoted(name)}" for name in HOSTILE).replace("{", "{{").replace("}", "}}")
    query = (
        f"SELECT %s {'*' if star else listed} FROM {{left}} AS {alias} JOIN {{right}} AS `r``--` "
        f"ON {alias}.`k``ey` = `r``--`.`k``ey`"
    )
    found = skewkit.sql(spark, query % "/*+ SKEW('l ` x', 'k`ey', ('it\\'s')) */", left=left, right=right)
    expected = spark.sql(query % "", left=left, right=right)
    assert "salt" in skewkit.explain(found)
    assert found.columns == expected.columns
    assert_same_rows(found, expected)


def test_hostile_texts_in_conditions(tables):
    where = r"""a.s <> 'x -- y' AND a.s <> "/* */" AND a.s <> 'it\'s; DROP VIEW a' AND a.s <> r'\' AND a.s <> '{b}'"""
    comment = "/* ' ` \" /* nested */ SELECT SKEW('z') */ -- ' and `\n"
    query = (
        f"SELECT {{hint}} {comment} a.v, '/*+ SKEW(1) */' AS t, b.w FROM a {comment} JOIN b ON a.k = b.k WHERE {where}"
    )
    found = skewkit.sql(tables, query.replace("{hint}", "/*+ SKEW('a', 'k', 0) */"))
    assert "salt" in skewkit.explain(found)
    assert_same_rows(found, tables.sql(query.replace("{hint}", "")))
    assert tables.catalog.tableExists("a")


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=12))
def test_what_is_quoted_comes_back(spark, text):
    found = spark.sql(f"SELECT {text_literal(text)} AS {quoted(text)}")
    assert found.columns == [text]
    assert found.first()[0] == text


@pytest.mark.parametrize("value", ["' OR 1=1 --", "\\' OR 1=1 --", "'); DROP VIEW a; --", "🙂`"])
def test_values_given_as_texts(tables, value):
    query = "SELECT /*+ SKEW('a', 'k', 0) */ count(*) AS n, max({x}) AS x FROM a JOIN b USING (k) WHERE a.s <> {x}"
    found = skewkit.sql(tables, query, x=value)
    assert found.first().x == value
    assert found.first().n == tables.sql("SELECT * FROM a JOIN b USING (k)").count()


@pytest.mark.parametrize("value", ["x'), BROADCAST(b", "x') */ 1 AS one, (SELECT '", "x\\'"])
def test_hints_cannot_break_out(tables, value):
    query = f"SELECT /*+ SKEW('a', 's', ('{text_literal(value)[1:-1]}')) */ a.v FROM a JOIN b ON a.s = b.s"
    found = skewkit.sql(tables, query)
    assert_same_rows(found, tables.sql("SELECT a.v FROM a JOIN b ON a.s = b.s"))
    assert found.columns == ["v"]
