"""Parts of a condition that only look the same are told apart: names by case, literals by type."""

import pytest
from pyspark.sql import functions as F

import skewkit
from skewkit.testing import assert_same_rows
from tests.helpers import conf

pytestmark = pytest.mark.connect

CONDITIONS = {
    "(a.k = b.j AND a.v = 1) OR (a.K = b.j AND b.w = 2)": False,
    "a.k = b.j OR (a.K = b.j AND b.w = 2)": False,
    "a.K = b.j OR (a.k IS NULL AND b.j IS NULL)": False,
    "(a.k = b.j AND a.v = 1) OR (a.k = b.j AND b.w = 2)": True,
    "a.k = b.j OR (a.k IS NULL AND b.j IS NULL)": True,
}


@pytest.mark.parametrize("text", CONDITIONS)
def test_names_by_case(spark, text):
    with conf(spark, "spark.sql.caseSensitive", "true"):
        left = spark.range(0, 300, 1, 3).selectExpr("if(id % 3 = 0, null, id % 5) AS k", "id % 7 AS K", "id % 4 AS v")
        right = spark.range(0, 12).selectExpr("nullif(id % 6, 5) AS j", "id % 3 AS w")
        left, right = left.alias("a"), right.alias("b")
        ours = skewkit.skew_join(left, right, F.expr(text), "full")
        assert_same_rows(ours, left.join(right, F.expr(text), "full"))
        if CONDITIONS[text]:
            salted = skewkit.skew_join(left, right, F.expr(text), "left", strategy="salt")
            assert_same_rows(salted, left.join(right, F.expr(text), "left"))


def test_literals_by_type(spark):
    left = spark.range(0, 300, 1, 3).selectExpr("id % 5 AS k", "if(id % 2 = 0, '1', '01') AS s")
    right = spark.range(5).selectExpr("id AS j", "id AS w")
    key = left.k == right.j
    both = (key & (left.s == "1")) | (key & (left.s == 1))
    ours = skewkit.skew_join(left, right, both, strategy="salt", partitions=4)
    assert_same_rows(ours, left.join(right, both))
    assert ours.count() == 300


def test_a_constant_beside_an_equality_in_a_list(spark):
    left = spark.range(0, 300, 1, 3).selectExpr("if(id % 3 > 0, 0, id) AS k", "id AS v")
    right = spark.range(0, 50).selectExpr("id AS j", "id AS w")
    on = [F.lit(True), left.k == right.j]
    ours = skewkit.skew_join(left, right, on, "full", strategy="salt", partitions=4)
    assert_same_rows(ours, left.join(right, on, "full"))
