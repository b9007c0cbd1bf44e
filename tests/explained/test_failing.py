"""Predicates that may fail for some row are told from those that cannot; only these are computed for every row."""

import pytest
from pyspark.sql import functions as F

from skewkit.spark.explained.failing import never_fails
from skewkit.spark.session.compat import is_connect
from tests.helpers import conf


@pytest.fixture(scope="module")
def rows(spark):
    rows = spark.createDataFrame(
        [(1, 2, "x", [1], True, 0.5)], "age int, other int, name string, list array<int>, ok boolean, x double"
    )
    times = ("date '2024-02-29' AS day", "timestamp '2024-02-29 10:00:00' AS at", "interval '1' day AS gap")
    return rows.selectExpr("*", *times, "cast(1 AS decimal(10,2)) AS price")


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
    r"name LIKE 'a\\'",
    r"name LIKE 'x AND a\\b'",
    "name LIKE '1!%' ESCAPE '!'",
    "name LIKE 'x AND y!z' ESCAPE '!'",
    "name LIKE 'x,y!z' ESCAPE '!'",
    "name LIKE name",
    "CASE WHEN ok THEN age = 'null' END",
    "CASE WHEN ok THEN age = '\u0663' END",
    "CASE WHEN ok THEN cast(cast(2147483647 AS float) AS int) > 3 END",
    "name LIKE CASE WHEN true THEN name END",
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
    "age BETWEEN '1.5' AND 3",
    "age > '5.5'",
    "age > '17L'",
    "day BETWEEN '2024-02-01' AND '2024-02-31'",
    "day > at",
    "hour(day) = 3",
    "year(name) = 2024",
    "bigint(x) > 3",
    "x / other > 1",
    "x / 0 > 1",
    "price + 1 > 3",
    "cast(price AS decimal(3,1)) > 3",
    "abs(gap) > interval '1' day",
    "at > at - interval '1' day",
    "rand() + x > 1",
]
TYPED = [
    "x + age > 0.5 AND -x * 2 < 1",
    "abs(x) / 2 > 0.1 OR x % 0.3 = 0",
    "isnan(x) OR coalesce(x, 0) * 2 > 1",
    "name LIKE '1%' AND NOT name LIKE 'a%' OR ok",
    r"name LIKE 'a\\_b\\\\%'",
    "CASE WHEN name LIKE 'a%' THEN ok WHEN x - 1 > 0 THEN true END",
    "day >= current_date() - 7 AND at < current_timestamp()",
    "at > now() - interval '7' day",
    "datediff(current_date(), day) < 30",
    "day BETWEEN '2024-01-01' AND '2024-02-29' AND at BETWEEN '2024-01-01' AND '2024-02-01 10:00:00'",
    "age BETWEEN 1 AND 3 AND x BETWEEN 0.5 AND 3",
    "date(at) = day AND year(at) = 2024 AND hour(at) = 3",
    "string(age) = '1' AND string(day) <> string(at) AND string(price) > string(ok)",
    "price > 3 AND price >= age AND price <= 99.995 AND price IN (1, 2.5)",
    "double(price) > 3 AND int(ok) = 1 AND boolean(age)",
    "length(upper(name)) > 5L AND substring(name, 1, 2) = 'ab'",
    "try_cast(name AS int) > 3",
    f"age IN ({', '.join(map(str, range(40)))})",
]
WRAPS = [
    *("age + other > 0", "-age < 0", "abs(age - 1) * other > 3", "age % other = 0", "age div other > 3"),
    *("x / other > 1", "name > 3", "tinyint(age) > 3", "bigint(x) > 3", "cast(price AS decimal(3,1)) > 3"),
    "year(day) * 100 + month(day) >= 202401",
]
"""What fails in ANSI mode alone: else it wraps around, or is null."""


@pytest.mark.connect
def test_an_allow_list(rows):
    assert [text for text in (*SAFE, *TYPED) if not never_fails(rows, F.expr(text))] == []
    assert [text for text in (*UNSAFE, *WRAPS) if never_fails(rows, F.expr(text))] == []


@pytest.mark.connect
def test_frames_of_connect_may_be_resolved_in_ansi_mode(spark, rows):
    with conf(spark, "spark.sql.ansi.enabled", "false"):
        assert [never_fails(rows, F.expr(text)) for text in WRAPS] == [not is_connect(spark)] * len(WRAPS)


@pytest.mark.parametrize("name", ["length", "upper", "abs", "coalesce", "cast"])
def test_functions_of_users_may_have_any_name(rows, name):
    """What they return has a number in the plan."""
    function = lambda value: value  # noqa: E731
    function.__name__ = name
    assert not never_fails(rows, F.udf(function, "int")("age") == 1)


def test_what_wraps_around_without_ansi_mode(spark, rows):
    with conf(spark, "spark.sql.ansi.enabled", "false"):
        assert [text for text in (*SAFE, *TYPED, *WRAPS) if not never_fails(rows, F.expr(text))] == []
        for text in ("name LIKE name", "day > at", "abs(gap) > interval '1' day", "add_months(day, 1) > day"):
            assert not never_fails(rows, F.expr(text)), text


@pytest.mark.parametrize("ansi", ["true", "false"])
def test_what_is_allowed_is_computed_for_extreme_values(spark, ansi):
    least, most = "-2147483648", "2147483647"
    days = f"date_from_unix_date(if(id % 2 = 0, {least}, {most})) AS day"
    at = "timestamp_micros(if(id % 2 = 0, -9223372036854775808, 9223372036854775807)) AS at"
    x = "CASE WHEN id % 3 = 0 THEN double('NaN') WHEN id % 3 = 1 THEN double('-Infinity') ELSE -1.7e308D END AS x"
    price = "cast(if(id % 2 = 0, -99999999.99, 99999999.99) AS decimal(10,2)) AS price"
    name = "if(id % 2 = 0, 'a\\\\', '%') AS name"
    age = f"if(id % 2 = 0, {least}, {most}) AS age"
    rows = spark.range(6).selectExpr(days, at, x, price, name, age, "int(id % 2 - 1) AS other", "id = 3 AS ok")
    with conf(spark, "spark.sql.ansi.enabled", ansi):
        asked = [*SAFE, *TYPED, *(WRAPS if ansi == "false" else ())]
        assert rows.selectExpr(*(f"({text}) AS c{i}" for i, text in enumerate(asked))).toPandas().shape[0] == 6


def test_a_column_that_is_hidden_or_written_in_other_letters(spark):
    fractions, wholes = spark.range(3).selectExpr("double(id) AS id"), spark.range(3).selectExpr("int(id) AS id")
    joined = fractions.join(wholes, "id")
    assert never_fails(joined, fractions["id"] + 1 > 0)
    assert not never_fails(joined, wholes["id"] + 1 > 0)
    assert never_fails(fractions.select("ID"), F.expr("id + 1 > 0"))


def test_a_wide_frame(rows):
    wide = rows.select("*", *(F.lit(i).alias(f"c{i}") for i in range(60)))
    assert never_fails(wide, F.expr("x + c59 > 0 AND c3 = 4"))


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
