"""The query of a statement: the whole of a SELECT, what an INSERT or a CREATE TABLE ... AS selects."""

from __future__ import annotations

from dataclasses import dataclass

from skewkit.hints.text.query_block import common_tables
from skewkit.hints.text.tokens import NotCut, Tokens, deeper, is_word, tokens_of

_COMMANDS = ("merge", "update", "delete")
_QUERIES = ("select", "with", "from", "values", "table", "(")


@dataclass(frozen=True)
class Statement:
    """A statement's query, and the command before it, '' where there is none."""

    command: str
    query: str


def read_statement(source: str) -> Statement:
    """Return the query of a statement.

    Raises:
        NotCut: a command that is left to plain Spark, such as MERGE or CREATE VIEW, which keeps its text.

    >>> read_statement("INSERT INTO t (a) SELECT 1;")
    Statement(command='INSERT INTO t (a) ', query='SELECT 1')
    >>> read_statement("WITH x AS (SELECT 1) INSERT INTO t SELECT * FROM x")
    Statement(command='INSERT INTO t ', query='WITH x AS (SELECT 1) SELECT * FROM x')
    >>> read_statement("CREATE TABLE t USING parquet AS SELECT 1").command
    'CREATE TABLE t USING parquet AS '
    """
    tokens = tokens_of(source)
    while tokens and is_word(tokens, len(tokens) - 1, ";"):
        tokens = tokens[:-1]
    source = source[: tokens[-1].end] if tokens else source
    if any(token.kind == "sign" and token.name == ";" for token in tokens):
        raise NotCut("several statements are left to plain Spark")
    first = tokens[0].name if tokens else ""
    if first == "with":
        tables = next(iter(common_tables(tokens)), None)
        if tables is not None and tables.start == 0 and any(is_word(tokens, tables.body, each) for each in _COMMANDS):
            raise NotCut(f"{tokens[tables.body].name.upper()} is left to plain Spark")
        if tables is not None and tables.start == 0 and is_word(tokens, tables.body, "insert"):
            at = _query_at(tokens, tables.body + 1)
            return Statement(
                source[tokens[tables.body].start : tokens[at].start],
                source[: tokens[tables.body].start] + source[tokens[at].start :],
            )
    if first in _QUERIES:
        _check_query(tokens)
        return Statement("", source)
    is_table = first in ("create", "replace") and any(is_word(tokens, at, "table") for at in range(1, 4))
    if first == "insert" or is_table:
        at = _query_at(tokens, 1, after_as=is_table)
        return Statement(source[: tokens[at].start], source[tokens[at].start :])
    raise NotCut(f"{first.upper()} is left to plain Spark")


def _check_query(tokens: Tokens) -> None:
    """Refuse what begins like a query and runs at once, as `FROM t INSERT INTO u SELECT ...`, or UPDATE behind WITH."""
    depth = 0
    for at, token in enumerate(tokens):
        into = any(is_word(tokens, at + 1, word) for word in ("into", "overwrite", "with"))
        behind = is_word(tokens, 0, "with") and is_word(tokens, at - 1, ")")
        changes = behind and any(is_word(tokens, at, word) for word in _COMMANDS)
        if depth == 0 and (changes or (into and is_word(tokens, at, "insert"))):
            raise NotCut(f"{token.name.upper()} behind FROM or WITH is left to plain Spark")
        depth += deeper(token)


def _query_at(tokens: Tokens, at: int, *, after_as: bool = False) -> int:
    depth = 0
    for i in range(at, len(tokens)):
        begins = tokens[i].kind == "word" and tokens[i].name in ("select", "with", "from")
        if after_as:
            begins = tokens[i].name in _QUERIES and is_word(tokens, i - 1, "as")
        if depth == 0 and begins:
            return i
        depth += deeper(tokens[i])
    raise NotCut("a command without a query is left to plain Spark")
