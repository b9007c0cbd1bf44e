"""SQL whose words mean something else than they seem to: commands behind FROM, columns named as clauses, quotes."""

import pytest

import skewkit
from skewkit.hints.text.query_block import block_at
from skewkit.hints.text.statement import read_statement
from skewkit.hints.text.tokens import NotCut, written
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


@pytest.mark.parametrize(
    ("text", "clauses"),
    [
        ("a FROM t WHERE offset > 1 AND v > 0 LIMIT 5", {"where": "WHERE offset > 1 AND v > 0", "limit": "LIMIT 5"}),
        ("a FROM t WHERE x = 'order' LIMIT 5", {"where": "WHERE x = 'order'", "limit": "LIMIT 5"}),
        ("a FROM `order` LIMIT 5 OFFSET ?", {"limit": "LIMIT 5", "offset": "OFFSET ?"}),
        ("a FROM t WHERE v > offset LIMIT (1)", {"where": "WHERE v > offset", "limit": "LIMIT (1)"}),
        ("a FROM t GROUP BY a, offset ORDER BY offset LIMIT 5", {"group": "GROUP BY a, offset", "limit": "LIMIT 5"}),
        ("a FROM t GROUP BY ALL LIMIT ALL", {"group": "GROUP BY ALL", "limit": "LIMIT ALL"}),
        ("a limit FROM t ORDER BY a DESC LIMIT 5", {"select": "a limit", "limit": "LIMIT 5"}),
        ("offset - 1 AS lag FROM t", {"select": "offset - 1 AS lag"}),
        ("1 LIMIT 5", {"select": "1", "limit": "LIMIT 5"}),
        ("a FROM t QUALIFY rn = 1", {"qualify": "QUALIFY rn = 1"}),
        ("a FROM t WHERE v > 0 QUALIFY offset = max(offset) OVER (PARTITION BY k)", None),
        ("a FROM t WHERE v <> order LIMIT (5)", None),
        ("a FROM t offset LEFT JOIN u ON 1 = 1", None),
        ("a FROM t LIMIT 5 OFFSET offset", None),
    ],
)
def test_words_that_are_columns_or_clauses(text, clauses):
    source = f"SELECT /*+ SKEW('t') */ {text}"
    if clauses is None:
        with pytest.raises(NotCut, match="a column or a clause"):
            block_at(source, 1)
        return
    block = block_at(source, 1)
    found = {name: written(source, block.clause(name)) for name in block.clauses}
    assert {name: found.get(name) for name in clauses} == clauses


@pytest.mark.parametrize(
    "text",
    [
        "FROM x INSERT INTO a SELECT k",
        "WITH y AS (SELECT 1), x (SELECT 1) UPDATE t SET n = n + 1",
        "WITH x (SELECT 1) DELETE FROM t",
        "WITH x AS (SELECT 1) MERGE INTO t USING x ON 1 = 1 WHEN MATCHED THEN DELETE",
    ],
)
def test_commands_that_begin_like_queries_are_left_to_spark(text):
    with pytest.raises(NotCut, match="left to plain Spark"):
        read_statement(text)
    assert read_statement("SELECT k, v AS update, delete FROM t WHERE update > 1").command == ""
