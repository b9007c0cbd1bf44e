"""The SKEW hint as it is written: relation, columns and values; in Databricks' quoted form, or `t(c)(v)`."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from skewkit.errors import ArgumentError, ArgumentTypeError
from skewkit.hints.text.tokens import BETWEEN_HINTS, Token, Tokens, closing, items_of, tokens_of, written

NAMES = ("skew", "skew_join")
_OPENS, _CLOSES = "/*+", "*/"
_BETWEEN = re.compile(rf"\*/{BETWEEN_HINTS}")
_FORMS = "SKEW('orders'), SKEW('orders', 'cust') or SKEW('orders', 'cust', (1, 2))"
_CONSTANTS = {"null": None, "true": True, "false": False}
_TYPED: dict[str, Callable[[str], Any]] = {
    "date": datetime.date.fromisoformat,
    "timestamp": datetime.datetime.fromisoformat,
    "timestamp_ntz": datetime.datetime.fromisoformat,
    "timestamp_ltz": datetime.datetime.fromisoformat,
}
_SUFFIXES: dict[str, Callable[[str], Any]] = {"bd": Decimal, "d": float, "f": float, "l": int, "s": int, "y": int}


@dataclass(frozen=True)
class Hint:
    """One SKEW hint: which relation, which of its columns are the key, and which keys are hot.

    `columns` is empty where any key may be. `values` is None where none are named, else one tuple per key.
    """

    relation: str
    columns: tuple[str, ...] = ()
    values: tuple[tuple[Any, ...], ...] | None = None

    def __str__(self) -> str:
        parts = [repr(self.relation)]
        if self.columns:
            parts.append(repr(self.columns[0] if len(self.columns) == 1 else self.columns))
        if self.values is not None:
            parts.append(f"{len(self.values)} value{'s' * (len(self.values) != 1)}")
        return f"SKEW({', '.join(parts)})"


@dataclass(frozen=True)
class HintToken:
    """A hint token of a query: its SKEW hints, what else it asks as (name, names), and its text without them."""

    hints: tuple[Hint, ...]
    others: tuple[tuple[str, tuple[str, ...]], ...]
    rest: str

    def __str__(self) -> str:
        return ", ".join(map(str, self.hints))


def read_hint(text: str) -> HintToken:
    """Return what stands in a hint token. Its SKEW hints are blanked in `rest`, so that all else keeps its place.

    Of several hints in a row `rest` makes one.

    Raises:
        ArgumentError: a SKEW hint is not of a known form.

    >>> read_hint("/*+ SKEW('t', 'c', (1, null)), BROADCAST(b) */").hints
    (Hint(relation='t', columns=('c',), values=((1,), (None,))),)
    >>> read_hint("/*+ SKEW_JOIN(t(c1, c2)((1, 'a'))) */").hints
    (Hint(relation='t', columns=('c1', 'c2'), values=((1, 'a'),)),)
    >>> read_hint("/*+ BROADCAST(b), SKEW('t') */").rest, read_hint("/*+ SKEW('t') */").rest.isspace()
    ('/*+ BROADCAST(b)            */', True)
    """
    inner = _BETWEEN.sub(lambda found: " " * len(found.group()), text[len(_OPENS) : -len(_CLOSES)])
    tokens = tokens_of(inner)
    hints: list[Hint] = []
    others: list[tuple[str, tuple[str, ...]]] = []
    cuts: list[tuple[int, int]] = []
    at = 0
    while at < len(tokens):
        token = tokens[at]
        if token.name == "," and token.kind == "sign":
            cuts.append((token.start, token.end))  # between hints, Spark needs none
            at += 1
            continue
        end = closing(tokens, at + 1) if at + 1 < len(tokens) and tokens[at + 1].name == "(" else at
        arguments = tokens[at + 2 : end]
        if token.kind == "word" and token.name in NAMES:
            hints.append(_hint(inner, arguments, inner[token.start : tokens[end].end]))
            cuts.append((token.start, tokens[end].end))
        else:
            others.append((token.name, tuple(t.name.lower() for t in arguments if t.is_name or t.kind == "text")))
        at = end + 1
    rest = inner
    for start, end in cuts:
        rest = rest[:start] + " " * (end - start) + rest[end:]
    return HintToken(tuple(hints), tuple(others), f"{_OPENS}{rest}{_CLOSES}" if rest.strip() else " " * len(text))


def _hint(source: str, arguments: Tokens, shown: str) -> Hint:
    items = items_of(arguments)
    if not 1 <= len(items) <= 3:
        raise ArgumentError(f"{shown} is no SKEW hint; write {_FORMS}")
    if len(items) == 1 and not _is_bracket(items[0]):
        return _unquoted(source, items[0], shown)
    relation = _name(items[0], shown)
    columns = tuple(_name(item, shown) for item in _listed(items[1])) if len(items) > 1 else ()
    values = _keys(items[2], len(columns), shown) if len(items) > 2 else None
    return _checked(Hint(relation, columns, values), shown)


def _unquoted(source: str, tokens: Tokens, shown: str) -> Hint:
    """Return the hint of `t`, `'t'`, `db.t`, `t(c)` or `t(c1, c2)(v, ...)`."""
    at = next((i for i, token in enumerate(tokens) if token.name == "(" and token.kind == "sign"), len(tokens))
    relation = ".".join(token.name for token in tokens[:at] if token.name != ".")
    if not relation or not all(token.is_name or token.kind == "text" or token.name == "." for token in tokens[:at]):
        raise ArgumentError(f"{shown} names no relation; write {_FORMS}")
    if at == len(tokens):
        return Hint(relation)
    end = closing(tokens, at)
    columns = tuple(_name(item, shown) for item in items_of(tokens[at + 1 : end]))
    rest = tokens[end + 1 :]
    if rest and not (rest[0].name == "(" and closing(rest, 0) == len(rest) - 1):
        raise ArgumentError(f"{shown} has {written(source, rest)} after its columns; write {_FORMS}")
    return _checked(Hint(relation, columns, _keys(rest, len(columns), shown) if rest else None), shown)


def _checked(hint: Hint, shown: str) -> Hint:
    if len({column.lower() for column in hint.columns}) < len(hint.columns):
        raise ArgumentError(f"{shown} names a column twice")
    return hint


def _name(item: Tokens, shown: str) -> str:
    names = [token for token in item if token.name != "." or token.kind != "sign"]
    if not names or not all(token.is_name or token.kind == "text" for token in names):
        raise ArgumentError(f"{shown}: relations and columns are names in quotes; write {_FORMS}")
    return ".".join(token.name for token in names)


def _is_bracket(item: Tokens) -> bool:
    return item[0].name == "(" and item[0].kind == "sign" and closing(item, 0) == len(item) - 1


def _listed(item: Tokens) -> list[Tokens]:
    return items_of(item[1:-1]) if _is_bracket(item) else [item]


def _keys(item: Tokens, width: int, shown: str) -> tuple[tuple[Any, ...], ...]:
    """Return one tuple per hot key. A key of several columns may stand alone, `(1, 'a')`, or in a list."""
    listed = _listed(item)
    if width > 1 and not any(_is_bracket(each) for each in listed):
        listed = [item]
    keys = []
    for each in listed:
        values = tuple(_value(part, shown) for part in _listed(each))
        if len(values) != width:
            raise ArgumentError(f"{shown}: a key has {width} column(s) and a value of the hint {len(values)}")
        keys.append(values)
    return tuple(keys)


def _value(tokens: Tokens, shown: str) -> Any:
    """Return a literal as a Python value."""
    sign = -1 if tokens[0].name == "-" else 1
    rest = tokens[1:] if tokens[0].kind == "sign" and tokens[0].name in "+-" else tokens
    if len(rest) == 1 and rest[0].kind == "number":
        return sign * _number(rest[0].name)
    if len(tokens) == 1 and tokens[0].kind == "text":
        return tokens[0].name
    if len(tokens) == 1 and tokens[0].kind == "word" and tokens[0].name in _CONSTANTS:
        return _CONSTANTS[tokens[0].name]
    if len(tokens) == 2 and tokens[0].name in _TYPED and tokens[1].kind == "text":
        try:
            return _TYPED[tokens[0].name](tokens[1].name)
        except ValueError as error:
            raise ArgumentError(f"{shown}: {tokens[1].name!r} is no {tokens[0].name}") from error
    raise ArgumentTypeError(f"{shown}: a value is a number, a text, a date, a timestamp, true, false or null")


def _number(text: str) -> int | float | Decimal:
    """Return a number as Spark reads it: with a point a decimal, with an exponent a double.

    >>> _number("12"), _number("1.50"), _number("2e3"), _number("7L"), _number("1.5BD")
    (12, Decimal('1.50'), 2000.0, 7, Decimal('1.5'))
    """
    text = text.lower()
    digits = text.rstrip("bdflsy")
    if digits != text:
        return _SUFFIXES[text[len(digits) :]](digits)  # type: ignore[no-any-return]
    if "e" in text:
        return float(text)
    return Decimal(text) if "." in text else int(text)


def integer(token: Token) -> int | None:
    """Return the whole number that a token is, None where it is anything else."""
    return int(token.name) if token.kind == "number" and token.name.isdigit() else None
