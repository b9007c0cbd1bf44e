"""`skew_top_keys(TABLE(t), 'c')` in a query of `skewkit.sql`: spelled out as a query that Spark combines early."""

from __future__ import annotations

import re

from skewkit.errors import ArgumentError
from skewkit.hints.text.tokens import Token, Tokens, closing, is_word, items_of, tokens_of, written
from skewkit.spark.expressions.keys import quoted

CALLED = re.compile(r"skew_top_keys\s*\(\s*table\b", re.IGNORECASE)
_KEYS = 20
_GOES_ON = frozenset(
    ("where", "group", "order", "having", "limit", "join", "inner", "left", "right", "full", "cross", "semi", "anti",
     "natural", "on", "using", "union", "intersect", "except", "minus", "lateral", "sort", "cluster", "distribute",
     "window", "offset", "pivot", "unpivot", "tablesample", "qualify")
)  # fmt: skip
_FORM = "write skew_top_keys(TABLE(t), 'column'), or skew_top_keys(TABLE(t), 'column', 100) for more keys"


def with_top_keys(source: str) -> str:
    """Return the query with its calls of `skew_top_keys(TABLE ...)` spelled out.

    Raises:
        ArgumentError: a call has other arguments.

    >>> print(with_top_keys("SELECT * FROM skew_top_keys(TABLE(t), 'c') x"))
    SELECT * FROM (SELECT k.* FROM (SELECT approx_top_k(CAST(`c` AS STRING), 20) AS top, count(*) AS n FROM t) AS q,
        LATERAL skew_top_keys(q.top, q.n) AS k) x
    """
    tokens = tokens_of(source)
    for at in reversed(range(len(tokens))):
        if is_word(tokens, at, "skew_top_keys", "(", "table"):
            end = closing(tokens, at + 1)
            spelled = _spelled(source, tokens[at + 2 : end])
            if not _has_alias(tokens, end + 1):
                spelled += " AS skew_top_keys"
            source = source[: tokens[at].start] + spelled + source[tokens[end].end :]
    return source


def _spelled(source: str, arguments: Tokens) -> str:
    items = items_of(arguments)
    if not 2 <= len(items) <= 3 or len(items[1]) != 1 or items[1][0].kind != "text":
        raise ArgumentError(f"skew_top_keys({written(source, arguments)}) is not understood; {_FORM}")
    keys: str = str(_KEYS)
    if len(items) == 3:
        number: Token = items[2][0]
        if len(items[2]) != 1 or number.kind != "number" or not number.name.isdigit():
            raise ArgumentError(f"the third argument of skew_top_keys is a number of keys; {_FORM}")
        keys = number.name
    table = items[0][1:]
    if is_word(table, 0, "("):
        table = table[1:-1]
    relation = written(source, table)
    if table and table[0].name in ("select", "with", "values"):
        relation = f"({relation})"
    column = quoted(items[1][0].name)
    return (
        f"(SELECT k.* FROM (SELECT approx_top_k(CAST({column} AS STRING), {keys}) AS top, count(*) AS n "
        f"FROM {relation}) AS q, LATERAL skew_top_keys(q.top, q.n) AS k)"
    )


def _has_alias(tokens: Tokens, at: int) -> bool:
    """Return whether an alias stands there, or AS. What goes on with another word is no alias."""
    return at < len(tokens) and tokens[at].is_name and (tokens[at].kind == "quoted" or tokens[at].name not in _GOES_ON)
