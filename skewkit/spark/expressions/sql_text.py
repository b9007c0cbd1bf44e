"""Aggregate calls in a SQL expression, found by its tokens. What is not plainly understood is left to Spark.

Parts of a text are handed back to Spark as they were written. A parser that writes them anew was tried over the 773
texts of the suite. sqlglot 30 reads all that are whole, and writes 61 of 100 as they were, most others as good as that.
But `percentile_cont(0.3) WITHIN GROUP (ORDER BY v)` comes back as `PERCENTILE_APPROX(v, 0.3)`, `parse_json('1')` as
`'1'`, a `TIME` as a timestamp. Its trees do not say where in the text a part stands.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass

from skewkit.spark.expressions.keys import quoted

_TOKEN = re.compile(
    r"""(?P<space>\s+|--[^\n]*|/\*.*?\*/)|(?P<text>'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.|"")*")|(?P<quoted>`(?:[^`]|``)*`)
    |(?P<number>\d+(?:\.\d*)?(?:[eE][+-]?\d+)?[A-Za-z]*|\.\d+)|(?P<word>[A-Za-z_]\w*)|(?P<sign>->|=>|::|.)""",
    re.VERBOSE | re.DOTALL,
)
_LITERALS = frozenset(("true", "false", "null"))
_TYPED = frozenset(("date", "timestamp", "interval"))
"""Words that make a text after them a literal, and may be names of columns without."""
_KEYWORDS = ("as", "case", "when", "then", "else", "end", "and", "or", "not", "in", "is", "between", "like", "div")
_TYPES = ("tinyint", "smallint", "int", "integer", "bigint", "long", "float", "double", "decimal", "string", "boolean")
_WORDS = _LITERALS | _TYPED | {*_KEYWORDS, *_TYPES, "distinct", "binary"}
_NOT_HERE = frozenset(("select", "over", "ignore", "respect", "from", "struct", "arrays_zip", "->", "=>", "?", ":"))
_LEFT_TO_SPARK = "is left to Spark"


class NotUnderstood(Exception):
    """A Column that is not taken apart, with the reason. It does not leave this layer."""


@dataclass(frozen=True)
class SqlCall:
    """An aggregate call in SQL, its parts as text. `order` pairs an expression with how it is sorted."""

    name: str
    arguments: tuple[str, ...]
    fixed: tuple[bool, ...]
    distinct: bool
    order: tuple[tuple[str, str], ...] = ()
    filter: str | None = None

    def over(self, names: Sequence[str]) -> str:
        """Return the call over columns of these names in place of what it reads.

        >>> read_sql("max(a + 1) FILTER (WHERE b > 2)", {"max"}).calls[0].over(["x", "y"])
        'max(`x`) FILTER (WHERE `y`)'
        """
        left = iter(map(quoted, names))
        arguments = [text if fixed else next(left) for text, fixed in zip(self.arguments, self.fixed, strict=True)]
        if not self.arguments and self.name == "count":
            arguments = ["*"]
        sql = f"{self.name}({'DISTINCT ' if self.distinct else ''}{', '.join(arguments)})"
        if self.order:
            sql += f" WITHIN GROUP (ORDER BY {', '.join(f'{next(left)} {how}'.strip() for _, how in self.order)})"
        return sql if self.filter is None else f"{sql} FILTER (WHERE {next(left)})"


@dataclass(frozen=True)
class SqlReading:
    """The aggregate calls of an expression, and its text over columns of these names that hold their results."""

    calls: tuple[SqlCall, ...]
    finish: Callable[[Sequence[str]], str]


@dataclass(frozen=True)
class SqlToken:
    """A word, number, text, name in backticks or sign of a SQL text, in lower case, and where it stands."""

    kind: str
    word: str
    start: int
    end: int


SqlTokens = Sequence[SqlToken]


def read_sql(source: str, known: Container[str]) -> SqlReading:
    """Return the calls of functions in `known` in a SQL expression.

    Raises:
        NotUnderstood: the expression reads columns outside of aggregates, or holds a query, a window or a lambda.

    >>> reading = read_sql("sum(a) / count(DISTINCT b, c) + 1 AS x", {"sum", "count"})
    >>> [(call.name, call.arguments, call.distinct) for call in reading.calls]
    [('sum', ('a',), False), ('count', ('b', 'c'), True)]
    >>> reading.finish(["r0", "r1"])
    '`r0` / `r1` + 1 AS x'
    """
    tokens = tokens_of(source)
    calls: list[SqlCall] = []
    pieces: list[str] = []
    at, done = 0, 0
    while at < len(tokens):
        token = tokens[at]
        # LIKE ANY (...) is no call of any.
        quantified = at > 0 and tokens[at - 1].word in ("like", "ilike") and token.word in ("any", "some", "all")
        if token.kind == "word" and token.word in known and _is(tokens, at + 1, "(") and not quantified:
            call, at = _call(source, tokens, at)
            pieces.append(source[done : token.start])
            calls.append(call)
            done = tokens[at - 1].end
        else:
            _check_outside(tokens, at)
            at += 1
    if not calls:
        raise NotUnderstood(f"{source} is not in the split table")
    pieces.append(source[done:])

    def finish(names: Sequence[str]) -> str:
        return "".join(text + quoted(name) for text, name in zip(pieces[:-1], names, strict=True)) + pieces[-1]

    return SqlReading(tuple(calls), finish)


def tokens_of(source: str) -> list[SqlToken]:
    """Return the tokens of a SQL text, without spaces and comments.

    >>> [token.word for token in tokens_of("A.k = 'X' -- why")]
    ['a', '.', 'k', '=', "'x'"]
    """
    found = [m for m in _TOKEN.finditer(source) if m.lastgroup != "space"]
    return [SqlToken(m.lastgroup or "", m.group().lower(), m.start(), m.end()) for m in found]


def _is(tokens: SqlTokens, at: int, *words: str) -> bool:
    """Return whether these words begin at a token."""
    return [token.word for token in tokens[at : at + len(words)]] == list(words)


def _check_outside(tokens: SqlTokens, at: int) -> None:
    """Refuse a token outside of aggregates that may be the name of a column, or makes another kind of expression."""
    token = tokens[at]
    if token.word in _NOT_HERE or (token.word == "*" and at == 0):
        raise NotUnderstood(f"{token.word} in a SQL expression {_LEFT_TO_SPARK}")
    if token.word == "," and _in_a_row(tokens, at):
        raise NotUnderstood("a row in brackets names its fields after the aggregates in it; give them an alias")
    _check_quotes([token])
    known = token.word in _WORDS or _is(tokens, at + 1, "(")
    alias = at == len(tokens) - 1 and at > 0 and tokens[at - 1].word in ("as", ")")
    if not alias and (token.kind == "quoted" or (token.kind == "word" and not known)):
        raise NotUnderstood(f"{token.word} is read outside of an aggregate")


def _in_a_row(tokens: SqlTokens, at: int) -> bool:
    """Return whether a comma is in brackets that no function, nor IN, stands before.

    >>> _in_a_row(tokens_of("f((a, b))"), 4), _in_a_row(tokens_of("f(a, b)"), 3), _in_a_row(tokens_of("a IN (b, c)"), 4)
    (True, False, False)
    """
    depth = 0
    for i in range(at, -1, -1):
        depth -= deeper(tokens[i])
        if depth < 0:
            before = tokens[i - 1] if i else tokens[i]
            called = before.kind in ("word", "quoted") and (before.word == "in" or before.word not in _KEYWORDS)
            return tokens[i].word == "(" and not called
    return False


def _call(source: str, tokens: SqlTokens, at: int) -> tuple[SqlCall, int]:
    """Return the call whose name is at `at`, and the token that follows it."""
    name, end = tokens[at].word, closing(tokens, at + 1)
    inside = tokens[at + 2 : end]
    if {"select", "ignore", "respect", "=>"} & {token.word for token in inside}:
        raise NotUnderstood(f"this form of {name} {_LEFT_TO_SPARK}")
    distinct = _is(inside, 0, "distinct")
    items = _items(inside[1:] if distinct or _is(inside, 0, "all") else inside)
    if name == "count" and not distinct and _is(inside, 0, "*") and len(inside) == 1:
        items = []
    if any(item[-1].word == "*" for item in items):
        raise NotUnderstood(f"{name} of a star is several columns")
    at = end + 1
    order: list[tuple[str, str]] = []
    condition = None
    if _is(tokens, at, "within", "group", "(", "order", "by"):
        end = closing(tokens, at + 2)
        order = [_sorted(source, item) for item in _items(tokens[at + 5 : end])]
        at = end + 1
    if _is(tokens, at, "filter", "(", "where"):
        end = closing(tokens, at + 1)
        condition = text_of(source, tokens[at + 3 : end])
        at = end + 1
    arguments, fixed = tuple(text_of(source, item) for item in items), tuple(map(_is_constant, items))
    for item, constant in zip(items, fixed, strict=True):
        _check_quotes(item if constant else [])
    return SqlCall(name, arguments, fixed, distinct, tuple(order), condition), at


def _check_quotes(tokens: SqlTokens) -> None:
    """Refuse a text in double quotes, which is the name of a column where the session says so."""
    doubtful = next((token.word for token in tokens if token.word.startswith('"')), None)
    if doubtful is not None:
        raise NotUnderstood(f"{doubtful} may be a name; write texts in single quotes")


def closing(tokens: SqlTokens, at: int) -> int:
    """Return where the bracket that opens at `at` is closed."""
    depth = 0
    for i in range(at, len(tokens)):
        depth += deeper(tokens[i])
        if depth == 0:
            return i
    raise NotUnderstood("a bracket in a SQL expression is not closed")


def deeper(token: SqlToken) -> int:
    """Return 1 for a bracket that opens, -1 for one that closes, else 0."""
    return (token.word in ("(", "[")) - (token.word in (")", "]"))


def _items(tokens: SqlTokens) -> list[SqlTokens]:
    """Return the items of a list, cut at the commas outside of brackets."""
    items: list[list[SqlToken]] = [[]]
    depth = 0
    for token in tokens:
        depth += deeper(token)
        if token.word == "," and depth == 0:
            items.append([])
        else:
            items[-1].append(token)
    return [item for item in items if item]


def _sorted(source: str, item: SqlTokens) -> tuple[str, str]:
    """Return an item of ORDER BY as its expression and how it is sorted.

    >>> _sorted("a desc", [SqlToken("word", "a", 0, 1), SqlToken("word", "desc", 2, 6)])
    ('a', 'desc')
    """
    end = len(item)
    while end > 1 and item[end - 1].word in ("asc", "desc", "nulls", "first", "last"):
        end -= 1
    return text_of(source, item[:end]), text_of(source, item[end:])


def _is_constant(tokens: SqlTokens) -> bool:
    """Return whether an argument reads no column.

    >>> _is_constant(tokens_of("date '2020-01-01'")), _is_constant(tokens_of("date"))
    (True, False)
    """
    return not any(_may_be_a_column(tokens, at) for at in range(len(tokens)))


def _may_be_a_column(tokens: SqlTokens, at: int) -> bool:
    token = tokens[at]
    if token.kind != "word" or token.word in _LITERALS or _is(tokens, at + 1, "("):
        return token.kind == "quoted"
    return not (token.word in _TYPED and at + 1 < len(tokens) and tokens[at + 1].kind == "text")


def text_of(source: str, tokens: SqlTokens) -> str:
    """Return the text from the first token to the last."""
    return source[tokens[0].start : tokens[-1].end] if tokens else ""
