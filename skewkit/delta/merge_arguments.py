"""What a caller of `delta.merge` gives as SQL: columns to set, conditions and values, placeholders."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Sequence
from typing import Any

from skewkit.delta.merge_sql import sql_literal
from skewkit.errors import ArgumentError, ArgumentTypeError, ColumnNotFoundError, nearest, shown
from skewkit.spark.expressions.columns import read_literal
from skewkit.spark.expressions.keys import quoted
from skewkit.spark.session.compat import is_column

_PART = r"`(?:[^`]|``)+`|[^`.]+"
_ASSIGNED = re.compile(rf"(?:{_PART})(?:\.(?:{_PART}))*")


def assigned_column(name: str, alias: str, columns: Sequence[str], method: str, new: Sequence[str] = ()) -> str:
    """Return a column to set as SQL: one of `columns` by its bare name, or parts with dots between, as `t.s.field`.

    `new` are columns that the table may get, by a bare name.

    Raises:
        ColumnNotFoundError: there is none of this name.

    >>> assigned_column("a b", "t", ["a b"], "whenMatchedUpdate"), assigned_column("t.x y", "t", ["x y"], "...")
    ('`a b`', '`t`.`x y`')
    >>> assigned_column("a.b", "t", ["id", "a"], "whenMatchedUpdate", new=["a.b"])
    '`a`.`b`'
    """
    folded, others = {column.lower() for column in columns}, {column.lower() for column in new}
    if name.lower() in folded:
        return quoted(name)
    found = re.findall(_PART, name) if _ASSIGNED.fullmatch(name) else [name]
    parts = [part[1:-1].replace("``", "`") if part.startswith("`") else part for part in found]
    own = parts[1:] if len(parts) > 1 and parts[0].lower() == alias.lower() else parts
    for known in (folded, others):
        if own[0].lower() in known or parts[0].lower() in known:
            return ".".join(map(quoted, parts))
        if name.lower() in others:
            return quoted(name)
    every = list(dict.fromkeys([*columns, *new]))
    raise ColumnNotFoundError(f"{method} sets column {name!r}, which is not in the table: {nearest(own[-1], every)}")


def clause_sql(value: Any, what: str) -> str:
    """Return a condition or a value as SQL; of Columns only literals can be.

    Raises:
        ArgumentTypeError: it is no text, number or literal. `what` says which argument this is.

    >>> clause_sql("s.a > 1", "condition"), clause_sql(2, "set")
    ('s.a > 1', '2')
    """
    if isinstance(value, str):
        return value
    if is_column(value):
        literal = read_literal(value)
        if literal is not None and isinstance(literal[0], dt.datetime):
            raise ArgumentTypeError(
                f"{what} holds a moment; write it as text, such as \"TIMESTAMP '2024-01-31 12:00:00Z'\""
            )
        if literal is not None:
            return sql_literal(literal[0])
        raise ArgumentTypeError(
            f"{what} holds a Column, which has no SQL text; write it as text, such as 's.amount + 1'"
        )
    if isinstance(value, bool | int | float):
        return sql_literal(value)
    raise ArgumentTypeError(
        f"{what} holds {type(value).__name__} {shown(value)}; expected SQL text, such as 's.amount'"
    )


def placeholder_keys(given: Sequence[Any], width: int) -> tuple[tuple[Any, ...], ...]:
    """Return the placeholders of a key of so many columns, each as a tuple; one with a null matches nothing anyway.

    A key of 0 columns is one of a condition that is not read; it takes any.

    Raises:
        ArgumentError: one has another number of values.
        ArgumentTypeError: this is no list, or a value cannot be written as SQL.

    >>> placeholder_keys([-1, (None,)], 1)
    ((-1,),)
    """
    if isinstance(given, str | bytes) or not isinstance(given, Sequence):
        raise ArgumentTypeError(f"placeholders is a list of key values, not {shown(given)}")
    values = [each if isinstance(each, tuple) else (each,) for each in given]
    for value in values:
        if width and len(value) != width:
            raise ArgumentError(
                f"placeholder {shown(value)} has {len(value)} value(s) and the key has {width} column(s)"
            )
        for part in value:
            sql_literal(part)
    return tuple(value for value in values if None not in value)
