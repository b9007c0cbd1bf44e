"""Texts cut by their tokens, without Spark: hints, clauses, relations and statements where it is easy to go wrong."""

from decimal import Decimal

import pytest

from skewkit.errors import ArgumentError
from skewkit.hints.text.from_clause import read_from
from skewkit.hints.text.hint_grammar import Hint, read_hint
from skewkit.hints.text.query_block import block_at, common_tables, in_context
from skewkit.hints.text.statement import read_statement
from skewkit.hints.text.tokens import NotCut, tokens_of, written


def clauses(query):
    """Return the clauses of the first hinted SELECT as texts."""
    at = next(i for i, token in enumerate(tokens_of(query)) if token.kind == "hint")
    block = block_at(query, at)
    return {name: written(query, block.clause(name)) for name in block.clauses}


def relations(query):
    """Return alias and names of a FROM's relations, and its joins' kinds."""
    tokens = tokens_of(query)
    found = read_from(tokens, range(len(tokens)))
    return [r.names or (r.alias,) for r in found.relations], [j.kind for c in found.chains for j in c.joins]


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("SKEW('orders')", Hint("orders")),
        ("skew_join('orders', 'cust')", Hint("orders", ("cust",))),
        ("SKEW('o', 'c', -1.5)", Hint("o", ("c",), ((Decimal("-1.5"),),))),
        ("SKEW('o', 'c', ('it\\'s', null, true))", Hint("o", ("c",), (("it's",), (None,), (True,)))),
        ("SKEW('o', ('c', 'd'), (1, 'a'))", Hint("o", ("c", "d"), ((1, "a"),))),
        ("SKEW('o', ('c', 'd'), ((1, 'a'), (2, 'b')))", Hint("o", ("c", "d"), ((1, "a"), (2, "b")))),
        ("SKEW(db.o(c)(1, 2))", Hint("db.o", ("c",), ((1,), (2,)))),
        ("SKEW(`o``x`)", Hint("o`x")),
    ],
)
def test_hints(text, hint):
    assert read_hint(f"/*+ MERGE(x), {text} */").hints == (hint,)


def test_hints_in_a_row_are_one():
    query = "SELECT /*+ BROADCAST(x) */ -- why\n /* and */ /*+ SKEW('o'), MERGE(y) */ a FROM o"
    hint = tokens_of(query)[1]
    read = read_hint(hint.name)
    assert (hint.kind, read.hints, [name for name, _ in read.others]) == ("hint", (Hint("o"),), ["broadcast", "merge"])
    assert len(read.rest) == len(hint.name)
    assert read.rest.split() == ["/*+", "BROADCAST(x)", "MERGE(y)", "*/"]
    assert clauses(query) == {"select": "a", "from": "FROM o"}


def test_a_from_before_its_select():
    def follows(query):
        at = next(i for i, token in enumerate(tokens_of(query)) if token.kind == "hint")
        return block_at(query, at).follows_from

    assert follows("FROM a JOIN (SELECT 1) b ON x SELECT /*+ SKEW('a') */ 1")
    assert not follows("WITH q AS (SELECT 1 FROM a) SELECT /*+ SKEW('a') */ 1")
    assert not follows("SELECT 1 FROM a UNION SELECT /*+ SKEW('a') */ 1")
    assert not follows("SELECT 1 FROM (SELECT /*+ SKEW('a') */ 1)")


@pytest.mark.parametrize("text", ["SKEW()", "SKEW(1)", "SKEW('a', 'b', (c))", "SKEW(a(b) c)", "SKEW('a','b','c','d')"])
def test_what_is_no_hint(text):
    with pytest.raises((ArgumentError, TypeError)):
        read_hint(f"/*+ {text} */")


def test_clauses_end_where_they_do():
    query = (
        "WITH q AS (SELECT /*+ SKEW('a') */ extract(year FROM d) AS `from`, a.order, (SELECT 1 FROM x WHERE y) "
        "FROM a JOIN b ON a.x IS NOT DISTINCT FROM b.x -- ) WHERE\n WHERE a.`group by` > 1 GROUP BY a.order "
        "HAVING count(*) > 1 ORDER  BY 1 LIMIT 3) SELECT * FROM q UNION SELECT 1"
    )
    assert clauses(query) == {
        "select": "extract(year FROM d) AS `from`, a.order, (SELECT 1 FROM x WHERE y)",
        "from": "FROM a JOIN b ON a.x IS NOT DISTINCT FROM b.x",
        "where": "WHERE a.`group by` > 1",
        "group": "GROUP BY a.order",
        "having": "HAVING count(*) > 1",
        "order": "ORDER  BY 1".replace("  ", " "),
        "limit": "LIMIT 3",
    }
    assert list(clauses("SELECT /*+ SKEW('a') */ * EXCEPT (x) FROM a EXCEPT SELECT 1 FROM b")) == ["select", "from"]
    assert list(clauses("SELECT /*+ SKEW('a') */ 1 FROM a |> WHERE x")) == ["select", "from"]


def test_relations():
    assert relations("FROM a x, LATERAL_b AS y JOIN c USING (k) LEFT SEMI JOIN d ON left(d.x, 1) = right(c.y, 2)") == (
        [("x", "a"), ("y", "lateral_b"), ("c",), ("d",)],
        ["inner", "semi"],
    )
    assert relations("FROM VALUES (1, 2), (3, 4) AS v(a, b) CROSS JOIN range(3) r FULL OUTER JOIN s.t ON true") == (
        [("v",), ("r",), ("t", "s.t")],
        ["cross", "full"],
    )
    assert relations("FROM a TABLESAMPLE (10 ROWS) AS z ANTI JOIN `b c` ON z.k = `b c`.k")[0] == [("z", "a"), ("b c",)]


@pytest.mark.parametrize(
    "query",
    [
        "FROM a NATURAL JOIN b",
        "FROM a JOIN b ON x NATURAL LEFT JOIN c",
        "FROM a PIVOT (sum(x) FOR y IN (1))",
        "FROM a, LATERAL (SELECT 1) b",
        "FROM (a JOIN b ON x) JOIN c ON y",
        "FROM a VERSION AS OF 3 JOIN b ON x",
    ],
)
def test_what_is_not_cut(query):
    with pytest.raises(NotCut):
        relations(query)


def test_common_tables_that_are_seen():
    query = "WITH a AS (WITH i AS (SELECT 1) SELECT /*+ SKEW('i') */ * FROM i), b AS (SELECT 2) SELECT * FROM a, b"
    tokens = tokens_of(query)
    at = next(i for i, token in enumerate(tokens) if token.kind == "hint")
    assert in_context(query, tokens, at, "SELECT * FROM i") == "WITH i AS (SELECT 1) SELECT * FROM i"
    assert in_context(query, tokens, at, "SELECT * FROM a") == "SELECT * FROM a"
    assert in_context(query, tokens, len(tokens) - 1, "SELECT * FROM b").startswith("WITH a AS (WITH i")
    nested = "WITH a AS (SELECT 1) SELECT * FROM (WITH a AS (SELECT * FROM a) SELECT * FROM a)"
    tokens = tokens_of(nested)
    assert in_context(nested, tokens, len(tokens) - 2, "SELECT * FROM a") == (
        "WITH a AS (SELECT 1) SELECT * FROM (WITH a AS (SELECT * FROM a) SELECT * FROM a)"
    )
    assert [tables.recursive for tables in common_tables(tokens_of("WITH RECURSIVE r(n) AS (SELECT 1) SELECT 1"))] == [
        True
    ]
    assert common_tables(tokens_of("SELECT 1 FROM a GROUP BY x WITH ROLLUP")) == []


def test_statements():
    assert read_statement("SELECT 1 ; ").query == "SELECT 1"
    assert read_statement("INSERT OVERWRITE TABLE t PARTITION (a = 1) WITH q AS (SELECT 1) SELECT * FROM q").query == (
        "WITH q AS (SELECT 1) SELECT * FROM q"
    )
    assert read_statement("CREATE OR REPLACE TABLE t COMMENT 'as select' AS (SELECT 1)").query == "(SELECT 1)"
    for other in (
        "CREATE VIEW v AS SELECT 1",
        "MERGE INTO t USING s ON x WHEN MATCHED THEN DELETE",
        "SELECT 1; SELECT 2",
    ):
        with pytest.raises(NotCut):
            read_statement(other)
