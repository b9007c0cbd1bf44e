"""Hinted windows: their functions become columns of a frame of `skew_window`, and the list reads them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import Column, Window
from pyspark.sql import functions as F

from skewkit.api.window.skew_window import skew_window
from skewkit.hints.asked import Ask, FollowedHint, ask_of, done, followed, strongest
from skewkit.hints.hinted_condition import plain
from skewkit.hints.hinted_join import Joins
from skewkit.hints.scope import Scope
from skewkit.hints.text.edits import Edit
from skewkit.hints.text.hint_grammar import integer
from skewkit.hints.text.query_block import QueryBlock
from skewkit.hints.text.tokens import NotCut, Token, Tokens, closing, is_word, items_of, written

_UNBOUNDED = 1 << 63
_CONSTANTS = {"null": None, "true": True, "false": False}


@dataclass(frozen=True)
class _Call:
    """A window function in a list: where it stands, its name and arguments, and its window's parts."""

    start: int
    end: int
    name: str
    arguments: Sequence[Tokens]
    partition: Sequence[Tokens]
    order: Sequence[Tokens]
    frame: tuple[str, int, int] | None


def windows(block: QueryBlock, scope: Scope, joins: Joins) -> tuple[list[Edit], Scope, list[FollowedHint]] | None:
    """Return the edits of hinted window functions, the scope with their columns, and what became of the hints.

    The scope has the rows that WHERE keeps. None where no hint is about a window's keys.

    Raises:
        NotCut: they are left to plain Spark, as the reason says.
    """
    groups: dict[tuple[object, ...], list[tuple[_Call, list[Ask]]]] = {}
    for call in _calls(block):
        keys = [plain(scope, written(block.source, item)) for item in call.partition]
        names = [key for key in keys if key is not None]
        if not names or len(names) < len(keys):
            continue
        asks = [ask_of(hint, joins.own(scope, i), names, [True] * len(names), scope) for hint, i in joins.hinted]
        found = [ask for ask in asks if ask is not None]
        if found:
            order = tuple(written(block.source, item) for item in call.order)
            groups.setdefault((tuple(names), order), []).append((call, found))
    if not groups:
        return None
    if joins.where:
        scope = scope.where(joins.where, joins.context)
    edits: list[Edit] = []
    became = []
    for group in groups.values():
        calls = {scope.runner.fresh("w"): call for call, _ in group}
        scope, told = _windowed(block, scope, joins, calls, [ask for _, asked in group for ask in asked])
        edits += [(call.start, call.end, name) for name, call in calls.items()]
        became.append(told)
    return edits, scope, became


def _windowed(
    block: QueryBlock, scope: Scope, joins: Joins, calls: Mapping[str, _Call], asked: Sequence[Ask]
) -> tuple[Scope, FollowedHint]:
    """Return the scope with the results of window functions of one key and order, by their columns' names."""
    ask = strongest(asked)
    texts: dict[str, str] = {}

    def column(tokens: Tokens) -> Column:
        text = written(block.source, tokens)
        known = plain(scope, text)
        if known is None:
            known = next((name for name, other in texts.items() if other == text), None) or scope.runner.fresh()
            texts[known] = text
        return F.col(known)

    order = [_sorted(item, column) for item in next(iter(calls.values())).order]
    functions = {name: _function(block.source, call, list(ask.keys), order, column) for name, call in calls.items()}
    before = scope.with_texts(texts, joins.context)
    with followed(ask):
        frame = skew_window(before.frame, list(ask.keys), order or None).select(**functions)
    told = done(asked, "window", frame, scope)
    return scope.shown_of(frame, *functions), told


def _function(
    source: str, call: _Call, keys: list[str], order: list[Column], column: Callable[[Tokens], Column]
) -> Column:
    """Return the function of a call, over its own window where that has a frame."""
    if call.name == "count" and [token.name for item in call.arguments for token in item] == ["*"]:
        function = F.count(F.lit(1))
    else:
        literals = [_literal(source, item) for item in call.arguments]
        arguments = [column(a) if b is None else b for a, b in zip(call.arguments, literals, strict=True)]
        function = F.call_function(call.name, *arguments)
    if call.frame is None:
        return function
    kind, start, end = call.frame
    window = Window.partitionBy(*keys).orderBy(*order) if order else Window.partitionBy(*keys)
    return function.over(window.rowsBetween(start, end) if kind == "rows" else window.rangeBetween(start, end))


def _calls(block: QueryBlock) -> list[_Call]:
    """Return the window functions of the list that have a window of their own, outside of sub-queries."""
    tokens, clause = block.tokens, block.clauses["select"]
    if any(is_word(tokens, at, "select") for at in range(clause.start, clause.stop)):
        return []
    found = []
    for at in range(clause.start, clause.stop):
        if not is_word(tokens, at, "over", "(") or not is_word(tokens, at - 1, ")"):
            continue
        start = at - 1
        depth = 0
        while True:
            depth += is_word(tokens, start, ")") - is_word(tokens, start, "(")
            if depth == 0:
                break
            start -= 1
        if tokens[start - 1].kind != "word" or tokens[start - 1].name in ("filter", "group"):
            continue
        end = closing(tokens, at + 1)
        parts = _window(tokens[at + 2 : end])
        arguments = items_of(tokens[start + 1 : at - 1])
        if parts is not None and not any(is_word(item, 0, "distinct") for item in arguments):
            name: Token = tokens[start - 1]
            found.append(_Call(name.start, tokens[end].end, name.name, arguments, *parts))
    return found


def _window(tokens: Tokens) -> tuple[list[Tokens], list[Tokens], tuple[str, int, int] | None] | None:
    """Return partition, order and frame of a window, None where it is written in another way."""
    if not is_word(tokens, 0, "partition", "by"):
        return None
    places = [at for at in range(len(tokens)) if is_word(tokens, at, "order", "by")]
    frames = [at for at in range(len(tokens) - 1) if _begins_frame(tokens, at)]
    end = frames[0] if frames else len(tokens)
    cut = places[0] if places else end
    frame = _frame(tokens[end:]) if frames else None
    if frames and frame is None:
        return None
    return items_of(tokens[2:cut]), items_of(tokens[cut + 2 : end]), frame


def _begins_frame(tokens: Tokens, at: int) -> bool:
    """Return whether a frame begins at a token, and no column of that name stands there."""
    named = is_word(tokens, at, "rows") or is_word(tokens, at, "range")
    return named and (tokens[at + 1].kind == "number" or tokens[at + 1].name in ("between", "unbounded", "current"))


def _frame(tokens: Tokens) -> tuple[str, int, int] | None:
    if is_word(tokens, 1, "between"):
        at = next((i for i in range(len(tokens)) if is_word(tokens, i, "and")), 0)
        start, end = _bound(tokens[2:at]), _bound(tokens[at + 1 :])
    else:
        start, end = _bound(tokens[1:]), 0
    return None if start is None or end is None else (tokens[0].name, start, end)


def _bound(tokens: Tokens) -> int | None:
    if len(tokens) != 2:
        return None
    if is_word(tokens, 0, "current", "row"):
        return 0
    sign = {"preceding": -1, "following": 1}.get(tokens[1].name)
    far = _UNBOUNDED if tokens[0].name == "unbounded" else integer(tokens[0])
    return (
        None if sign is None or far is None else max(sign * far, -_UNBOUNDED) if sign < 0 else min(far, _UNBOUNDED - 1)
    )


def _literal(source: str, tokens: Tokens) -> Column | None:
    """Return a whole number, a text, a truth value or a null as a Column, None where it is anything else.

    Raises:
        NotCut: a text in double quotes, which some sessions take for a name.
    """
    minus = is_word(tokens, 0, "-")
    rest = tokens[1:] if minus else tokens
    if len(rest) != 1:
        return None
    number = integer(rest[0])
    if number is not None:
        return F.lit(-number if minus else number)
    if minus:
        return None
    if rest[0].kind == "text" and source[rest[0].start] == '"':
        raise NotCut("a text in double quotes may be a name; write it in single quotes")
    if rest[0].kind == "text":
        return F.lit(rest[0].name)
    return F.lit(_CONSTANTS[rest[0].name]) if rest[0].kind == "word" and rest[0].name in _CONSTANTS else None


def _sorted(tokens: Tokens, column: object) -> Column:
    end = len(tokens)
    while end > 1 and tokens[end - 1].name in ("asc", "desc", "nulls", "first", "last"):
        end -= 1
    how = [token.name for token in tokens[end:]]
    found: Column = column(tokens[:end])  # type: ignore[operator]
    last = how[-1:] == ["last"] or (how[-1:] != ["first"] and "desc" in how)
    if "desc" in how:
        return found.desc_nulls_last() if last else found.desc_nulls_first()
    return found.asc_nulls_last() if last else found.asc_nulls_first()


def check_windows(block: QueryBlock, stars: Sequence[Token]) -> None:
    """Leave a SELECT to Spark that groups or qualifies beside its windows, or has a star inside an expression.

    Raises:
        NotCut: it groups, qualifies, or has such a star.
    """
    if any(name in block.clauses for name in ("group", "having", "qualify", "window")):
        raise NotCut("windows over groups, with QUALIFY or by name are left to plain Spark")
    starts = {item[0].start for item in items_of(block.clause("select"))}
    if any(star.start not in starts for star in stars):
        raise NotCut("windows beside a star inside an expression are left to plain Spark")
