"""Hints spliced at random into the queries of Spark's own SQL tests: no other rows, no crash where Spark answers.

The queries are Spark's, so they are not in this repository. `SKEWKIT_SPARK_SQL_TESTS` names a folder that holds them,
`sql/core/src/test/resources/sql-tests/inputs` of a checkout of Spark; `SKEWKIT_SPARK_SQL_QUERIES` says how many to try.
"""

import os
import random
import re
from pathlib import Path

import pytest
from pyspark.errors import PySparkException

import skewkit
from skewkit.errors import SkewkitError
from skewkit.hints.text.from_clause import read_from
from skewkit.hints.text.query_block import block_at
from skewkit.hints.text.tokens import NotCut, is_word, tokens_of
from skewkit.testing import assert_same_rows

FOLDER = os.environ.get("SKEWKIT_SPARK_SQL_TESTS", "")
MOST = int(os.environ.get("SKEWKIT_SPARK_SQL_QUERIES", "200"))
_RUN_FIRST = re.compile(r"create\s+(or\s+replace\s+)?(global\s+)?temp(orary)?\s+view", re.IGNORECASE)
_ASKS = re.compile(r"\s*(select|with|\()", re.IGNORECASE)
_CHANGING = re.compile(r"\b(rand|randn|uuid|now|current_\w+|monotonically_increasing_id|tablesample)\b", re.IGNORECASE)


def statements(text):
    """Return the statements of a file of Spark's tests, without its comments."""
    text = re.sub(r"^\s*--.*$", "", text, flags=re.MULTILINE)
    return [part.strip() for part in re.split(r";\s*\n", text) if part.strip()]


def hinted(query, chance):
    """Return a query with a hint behind each SELECT that has joins, or a GROUP BY, with a relation of its FROM."""
    tokens = tokens_of(query)
    edits = []
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
        named = [relation for relation in relations if relation.alias]
        if named and (len(relations) > 1 or "group" in block.clauses or "over" in query.lower()):
            alias = chance.choice(named).alias
            edits.append((start, f" /*+ SKEW('{alias}') */"))
    for start, text in reversed(edits):
        query = query[:start] + text + query[start:]
    return query if edits else None


@pytest.mark.slow
@pytest.mark.timeout(3000)
@pytest.mark.skipif(not FOLDER, reason="SKEWKIT_SPARK_SQL_TESTS names no folder with the SQL tests of Spark")
def test_queries_of_spark(spark):
    chance = random.Random(50)
    tried = treated = 0
    wrong = []
    files = sorted(Path(FOLDER).rglob("*.sql"))
    chance.shuffle(files)
    for file in files:
        for statement in statements(file.read_text(encoding="utf-8")):
            if tried >= MOST:
                break
            if _RUN_FIRST.match(statement):
                try:
                    spark.sql(statement)
                except PySparkException:
                    continue
                continue
            if not _ASKS.match(statement) or _CHANGING.search(statement):
                continue
            try:
                query = hinted(statement, chance)
                expected = spark.sql(statement) if query else None
                if expected is None or not expected.columns:
                    continue
                expected.collect()
            except (NotCut, PySparkException):
                continue
            except Exception as error:  # a job that fails in Java
                if "Py4J" not in type(error).__name__:
                    raise
                continue
            tried += 1
            try:
                found = skewkit.sql(spark, query)
                treated += "strategy   native" not in skewkit.explain(found)
                assert found.columns == expected.columns
                assert_same_rows(found, expected)
            except (SkewkitError, AssertionError, PySparkException) as error:
                wrong.append(f"{file.name}: {query}\n    {type(error).__name__}: {str(error)[:300]}")
    print(f"{tried} queries, {treated} of them treated, {len(wrong)} wrong")
    assert not wrong, "\n".join(wrong)
    assert tried
