"""Predicates that may fail for some row are told from those that cannot; only these are computed for every row."""

import pytest
from pyspark.sql import functions as F

from skewkit.spark.explained.failing import never_fails


@pytest.fixture(scope="module")
def rows(spark):
    return spark.createDataFrame(
        [(1, 2, "x", [1], True)], "age int, other int, name string, list array<int>, ok boolean"
    )


SAFE = [
    "ok",
    "NOT ok OR age IS NULL",
    "age > 17L AND name <> 'x'",
    "age % 3 = 0",
    "age = other",
    "name IN ('a', 'b')",
    "startswith(name, 'a')",
    "coalesce(ok, false)",
    "CASE WHEN age > 3 THEN NULL WHEN name = 'x' THEN ok ELSE age = 0 END",
    "if(ok, age > 3, other > 3)",
]
UNSAFE = [
    "age % other = 0",
    "age % 0 = 0",
    "7 % age = 1",
    "-age < 0",
    "age + other > 0",
    "abs(age) > 3",
    "name > 3",
    "tinyint(age) > 3",
    r"name LIKE 'a\\b'",
    "name LIKE '1%'",
    "name ILIKE 'a%'",
    "name RLIKE '('",
    "list[3] > 1",
    "assert_true(ok) IS NULL",
    "age > (SELECT 3)",
    "age IN (SELECT id FROM range(3))",
    "to_date(name) IS NULL",
    "CASE WHEN ok THEN 1 / age > 3 END",
    "coalesce(name, 3) > 2",
    "ifnull(name, 3) > 2",
    "age BETWEEN name AND 3",
]


@pytest.mark.connect
def test_an_allow_list(rows):
    assert [text for text in SAFE if not never_fails(rows, F.expr(text))] == []
    assert [text for text in UNSAFE if never_fails(rows, F.expr(text))] == []


@pytest.mark.parametrize("name", ["contains", "isnull", "cast", "In"])
def test_a_function_of_the_user_by_the_name_of_a_built_in_one(rows, name):
    def own(text):
        return text == "x"

    own.__name__ = name
    assert not never_fails(rows, F.udf(own, "boolean")("name"))


def test_the_type_of_one_of_two_columns_of_a_name_is_not_taken_for_the_others(spark):
    numbers, texts = spark.range(3).selectExpr("id", "1 AS a"), spark.range(3).selectExpr("id", "'x' AS a")
    both = numbers.join(texts, numbers["id"] == texts["id"])
    assert never_fails(numbers, numbers["a"] > 17 * 10**10)
    assert not never_fails(both, texts["a"] > 3)
    assert not never_fails(texts.join(numbers, "id"), texts["a"] > 3)
