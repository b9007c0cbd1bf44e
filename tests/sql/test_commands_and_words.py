"""SQL whose words mean something else than they seem to: commands behind FROM, columns named as clauses, quotes."""

import pytest

import skewkit
from skewkit.testing import assert_same_rows
from tests.helpers import VERSION, conf

pytestmark = pytest.mark.connect


@pytest.fixture
def log(spark):
    spark.range(0, 900, 1, 3).selectExpr(
        "if(id % 3 < 2, 'a', concat('t', id % 30)) AS topic", "id % 200 AS offset", "id % 50 AS v", "string(id) AS name"
    ).createOrReplaceTempView("log")
    spark.range(40).selectExpr("if(id = 0, 'a', concat('t', id)) AS topic", "id AS w").createOrReplaceTempView("topics")
    with conf(spark, "spark.skewkit.margin", "-1e9"):
        yield
    for view in ("log", "topics"):
        spark.catalog.dropTempView(view)


HINT = "/*+ SKEW('log', 'topic', ('a')) */"


@pytest.mark.parametrize(
    "text",
    [
        f"SELECT {HINT} topic, size(collect_set(v)) AS vs FROM log WHERE offset > 100 AND v > 0 GROUP BY topic",
        f"SELECT {HINT} topic, size(collect_set(v)) AS vs FROM log GROUP BY topic, offset ORDER BY topic",
        f"SELECT {HINT} topic, size(collect_set(v)) n FROM log GROUP BY topic ORDER BY topic DESC LIMIT 5 OFFSET 2",
        f"SELECT {HINT} log.topic, offset, w FROM log JOIN topics ON log.topic = topics.topic AND offset > w",
        f"SELECT {HINT} topic, count(*) OVER (PARTITION BY topic) AS n FROM log WHERE name <> 'order' AND topic = 'a' "
        "AND v >= 0 AND v <> offset LIMIT 5",
    ],
)
def test_columns_named_like_clauses(spark, log, text):
    assert_same_rows(skewkit.sql(spark, text), spark.sql(text))


def test_a_name_in_double_quotes_is_no_literal(spark, log):
    text = f'SELECT {HINT} topic, max("name") OVER (PARTITION BY topic) AS m FROM log'
    for quotes in ("true", "false"):
        with (
            conf(spark, "spark.sql.ansi.enabled", "true"),
            conf(spark, "spark.sql.ansi.doubleQuotedIdentifiers", quotes),
        ):
            assert_same_rows(skewkit.sql(spark, text), spark.sql(text))


def test_a_variable_may_hold_an_or(spark, log):
    spark.conf.set("cond", "log.v > 45 OR topics.w > 30")
    text = f"SELECT {HINT} * FROM log JOIN topics ON log.topic = topics.topic AND ${{cond}}"
    try:
        assert skewkit.sql(spark, text).count() == spark.sql(text).count()
    finally:
        spark.conf.unset("cond")


@pytest.mark.parametrize(
    ("text", "times"),
    [
        ("FROM (SELECT {hint} log.v FROM log JOIN topics USING (topic)) x INSERT INTO {into} SELECT x.v", 1),
        ("WITH x AS (SELECT {hint} log.v FROM log JOIN topics USING (topic)) FROM x INSERT INTO {into} SELECT v", 1),
        ("INSERT INTO {into} SELECT {hint} log.v FROM log JOIN topics USING (topic)", 1),
    ],
)
def test_a_command_runs_once(spark, log, text, times, tmp_path):
    table = "inserted_once"
    spark.sql(f"CREATE TABLE {table} (v BIGINT) USING parquet LOCATION '{tmp_path / table}'")
    try:
        skewkit.sql(spark, text.format(hint=HINT, into=table))
        rows = spark.sql("SELECT log.v FROM log JOIN topics USING (topic)").count()
        assert spark.table(table).count() == rows * times
    finally:
        spark.sql(f"DROP TABLE {table}")


def test_what_only_an_insert_may_select(spark, log, tmp_path):
    table = "with_default"
    spark.sql(f"CREATE TABLE {table} (v BIGINT, n BIGINT DEFAULT 7) USING parquet LOCATION '{tmp_path / table}'")
    try:
        skewkit.sql(spark, f"INSERT INTO {table} SELECT {HINT} log.v, DEFAULT FROM log JOIN topics USING (topic)")
        assert spark.table(table).where("n = 7").count() > 0
    finally:
        spark.sql(f"DROP TABLE {table}")


def test_char_columns_are_padded_as_in_plain_spark(spark, log, tmp_path):
    if VERSION < (4, 0):
        pytest.skip("a table of CHAR by its location needs no catalog since Spark 4")
    table = "coded_topics"
    spark.sql(f"CREATE TABLE {table} (topic STRING, code CHAR(5)) USING parquet LOCATION '{tmp_path / table}'")
    try:
        spark.sql(f"INSERT INTO {table} SELECT topic, 'AB' FROM topics")
        text = f"SELECT {HINT} log.v, c.code FROM log JOIN {table} c ON log.topic = c.topic WHERE c.code = 'AB'"
        assert assert_same_rows(skewkit.sql(spark, text), spark.sql(text)) > 0
    finally:
        spark.sql(f"DROP TABLE {table}")
