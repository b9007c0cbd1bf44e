"""Hints spliced at random into the queries of Spark's own SQL tests: no other rows, no crash where Spark answers.

The queries are Spark's, so they are not in this repository. `SKEWKIT_SPARK_SQL_TESTS` names a folder that holds them,
`sql/core/src/test/resources/sql-tests/inputs` of a checkout of Spark; `SKEWKIT_SPARK_SQL_QUERIES` says how many to try,
and `--seed` which ones. `auto` is made to treat small tables, too.
"""

import os
import re
from collections import Counter
from pathlib import Path

import pytest
from pyspark.errors import PySparkException

import skewkit
from skewkit.errors import SkewkitError
from skewkit.hints.query_arguments import text_literal
from skewkit.hints.text.from_clause import read_from
from skewkit.hints.text.query_block import block_at, in_context
from skewkit.hints.text.tokens import NotCut, is_word, tokens_of, written
from skewkit.spark.expressions.keys import quoted
from skewkit.spark.session.compat import is_of_a_task
from skewkit.spark.session.query_log import quiet_query_log
from skewkit.testing import assert_same_rows
from tests.helpers import TREATED_BY_AUTO, conf
from tests.seeds import random_of, run_seed_of

FOLDER = os.environ.get("SKEWKIT_SPARK_SQL_TESTS", "")
MOST = int(os.environ.get("SKEWKIT_SPARK_SQL_QUERIES", "200"))
OF_A_FILE = 6
"""At most so many queries of one file are tried."""
_RUN_FIRST = re.compile(r"(create|insert|drop|cache|uncache)\b", re.IGNORECASE)
_ASKS = re.compile(r"\s*(select|with|\()", re.IGNORECASE)
_CHANGING = re.compile(r"\b(rand\w*|uuid|now|current_\w+|monotonically_increasing_id|tablesample)\b", re.IGNORECASE)
_TIES = re.compile(r"\bmode\s*\(\s*\w+\s*\)(?!\s*within)", re.IGNORECASE)
"""`mode(x)` takes any of several values that are as frequent, as Spark documents."""
SIMPLE = ("tinyint", "smallint", "int", "bigint", "string", "boolean")
OTHER_PLANS = {
    "spark.sql.shuffle.partitions": "3",
    "spark.sql.autoBroadcastJoinThreshold": "10MB",
    "spark.sql.adaptive.enabled": "false",
}
"""Settings under which Spark answers in another order; a query whose rows follow from the order has no promise."""


def statements(text):
    """Return the statements of a file of Spark's tests, without its comments."""
    text = re.sub(r"^\s*--.*$", "", text, flags=re.MULTILINE)
    return [part.strip() for part in re.split(r";\s*\n", text) if part.strip()]


def _may_be_tried(text):
    """Return whether a statement is a query whose rows follow from its tables alone, and can be cut."""
    return _ASKS.match(text) and not _CHANGING.search(text) and not _TIES.search(text) and cut(text)


def literal(value):
    """Return a value as a hint's, None where hints have none of the kind."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int) else text_literal(value) if isinstance(value, str) else None


def places(query):
    """Return (place, hint token's number, relations) of the SELECTs with joins, a GROUP BY or a window."""
    tokens = tokens_of(query)
    for at in range(len(tokens)):
        if not is_word(tokens, at, "select") or (at + 1 < len(tokens) and tokens[at + 1].kind == "hint"):
            continue
        start = tokens[at].end
        spliced = f"{query[:start]} /*+ SKEW('none') */ {query[start:]}"
        try:
            block = block_at(spliced, at + 1)
            relations = read_from(block.tokens, block.clauses["from"]).relations
        except (NotCut, KeyError):
            continue
        named = [(r.alias, written(spliced, r.tokens)) for r in relations if r.alias]
        if named and (len(relations) > 1 or "group" in block.clauses or is_word(block.all, 0, "over")):
            yield start, at, named


def hinted(spark, query, chance):
    """Return a query with a hint after each such SELECT: a bare one, one with a column, or one with a value of it."""
    tokens = tokens_of(query)
    mentioned = {token.name.lower() for token in tokens if token.is_name}
    edits = []
    for start, at, named in places(query):
        alias, relation = chance.choice(named)
        hint = text_literal(alias)
        try:
            with quiet_query_log():
                frame = spark.sql(in_context(query, tokens, at, f"SELECT * FROM {relation}"))
            columns = [name for name in frame.columns if name.lower() in mentioned and frame.columns.count(name) == 1]
            if columns and chance.random() < 0.8:
                column = chance.choice(columns)
                hint += f", {text_literal(column)}"
                simple = frame.schema[column].dataType.simpleString() in SIMPLE and chance.random() < 0.7
                row = frame.select(quoted(column)).first() if simple else None
                value = literal(row[0]) if row is not None else None
                hint += f", ({value})" if value is not None else ""
        except (NotCut, PySparkException):
            pass  # a correlated sub-query, for one
        edits.append((start, f" /*+ SKEW({hint}) */"))
    for start, text in reversed(edits):
        query = query[:start] + text + query[start:]
    return query


def rows_of(frame):
    return Counter(map(repr, frame.collect()))


def answer(spark, statement):
    """Return Spark's frame and rows for a query, None where it fails or its rows follow from their order."""
    try:
        with quiet_query_log():
            frame = spark.sql(statement)
        rows = rows_of(frame)
    except Exception:  # a job that fails, a row that Python cannot have
        return None
    return frame, rows


def same_under_other_plans(spark, statement, rows):
    before = {name: spark.conf.get(name) for name in OTHER_PLANS}
    try:
        for name, value in OTHER_PLANS.items():
            spark.conf.set(name, value)
        again = answer(spark, statement)
        return again is not None and again[1] == rows
    finally:
        for name, value in before.items():
            spark.conf.set(name, value)


def difference(spark, query, statement, frame, rows):
    """Return what is wrong with skewkit's answer, None if nothing is, and whether it treated a hint."""
    try:
        found = skewkit.sql(spark, query)
        treated = "strategy   native" not in skewkit.explain(found)
        types = [[field.dataType for field in each.schema.fields] for each in (found, frame)]
        if found.columns != frame.columns or types[0] != types[1]:
            return f"{found.schema.simpleString()} is not {frame.schema.simpleString()}", treated
        if rows_of(found) != rows:
            assert_same_rows(found, frame)
    except (SkewkitError, AssertionError, PySparkException) as error:
        wrong = f"{type(error).__name__}: {str(error)[:600]}"
    except Exception as error:
        if not is_of_a_task(error):
            raise
        wrong = str(error)[:600]
    else:
        return None, treated
    return (wrong, True) if same_under_other_plans(spark, statement, rows) else (None, False)


@pytest.fixture
def own_schema(spark, tmp_path):
    """A schema for the tables of Spark's tests, dropped after each file with the temporary views."""

    def clean():
        spark.sql("USE default")
        spark.sql("DROP SCHEMA IF EXISTS of_spark CASCADE")
        for row in spark.sql("SHOW VIEWS").collect():
            if row.isTemporary and not row.namespace:
                spark.catalog.dropTempView(row.viewName)

    def fresh():
        clean()
        spark.sql(f"CREATE SCHEMA of_spark LOCATION '{tmp_path}/of_spark'")
        spark.sql("USE of_spark")

    yield fresh
    clean()


@pytest.mark.slow
@pytest.mark.connect
@pytest.mark.timeout(6000)
@pytest.mark.skipif(not FOLDER, reason="SKEWKIT_SPARK_SQL_TESTS names no folder with the SQL tests of Spark")
def test_queries_of_spark(spark, own_schema, pytestconfig):
    chance = random_of(run_seed_of(pytestconfig)[0], "queries of Spark")
    tried = treated = 0
    wrong = []
    files = sorted(Path(FOLDER).rglob("*.sql"))
    chance.shuffle(files)
    with conf(spark, *next(iter(TREATED_BY_AUTO.items()))):
        for file in files:
            if tried >= MOST:
                break
            asked = statements(file.read_text(encoding="utf-8"))
            able = [i for i, text in enumerate(asked) if _may_be_tried(text)]
            chosen = set(chance.sample(able, min(OF_A_FILE, len(able), MOST - tried)))
            if not chosen:
                continue
            own_schema()
            for number, statement in enumerate(asked[: max(chosen) + 1]):
                if _RUN_FIRST.match(statement):
                    answer(spark, statement)
                if number not in chosen:
                    continue
                expected = answer(spark, statement)
                if expected is None or not expected[0].columns:
                    continue
                query = hinted(spark, statement, chance)
                tried += 1
                unlike, took = difference(spark, query, statement, *expected)
                treated += took
                if unlike is not None:
                    wrong.append(f"{file.name}: {query}\n    {unlike}")
                    print(f"{tried}: {wrong[-1]}", flush=True)
    print(f"{tried} queries, {treated} of them treated, {len(wrong)} wrong")
    assert not wrong, "\n".join(wrong)
    assert treated


def cut(statement):
    """Return whether a statement has a place for a hint."""
    try:
        return any(True for _ in places(statement))
    except NotCut:
        return False
