"""The keys of a join, read from its `on`: names, or equalities of a left and a right column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame

from skewkit.errors import ArgumentError, ArgumentTypeError, KeyTypeError
from skewkit.spark.compat import is_column, read_call
from skewkit.spark.joining import INTEGERS, JoinKeys
from skewkit.spark.keys import Keys, find_keys


def join_keys(left: DataFrame, right: DataFrame, on: Any) -> JoinKeys | str:
    """Return the keys of both sides in a common type, or the reason why only plain Spark can answer.

    Raises:
        ArgumentTypeError: `on` is neither names nor Columns.
        ColumnNotFoundError: a name is missing on a side.
        KeyTypeError: a key is, or holds, a map or a variant.
    """
    parts = [on] if isinstance(on, str) or is_column(on) else on
    if not isinstance(parts, Sequence) or not all(isinstance(p, str) or is_column(p) for p in parts):
        raise ArgumentTypeError(f"on is a name, a list of names, a Column or a list of Columns, not {on!r}")
    if not parts:
        raise ArgumentError("on is empty; name at least one key column")
    if all(isinstance(part, str) for part in parts):
        if len({part.lower() for part in parts}) < len(parts) and not set(parts) <= set(left.columns):
            return "a key is named twice"
        if len(set(parts)) < len(parts):
            return "a key is named twice"
        l_keys = find_keys(left, parts, what="left key", literal=True)
        r_keys = find_keys(right, parts, what="right key", literal=True)
        return _in_common_types(l_keys, r_keys, tuple(parts), list(parts))
    if any(isinstance(part, str) for part in parts):
        raise ArgumentTypeError("on mixes names and Columns; give either")
    pairs: list[tuple[Column, Column]] = []
    for part in parts:
        sided = [_sided(left, right, a, b) for a, b in _equalities(part)]
        if not sided or None in sided:
            return "the condition is not made of equalities of a left and a right column alone"
        pairs += [pair for pair in sided if pair is not None]
    l_keys = find_keys(left, [a for a, _ in pairs], what="left key")
    r_keys = find_keys(right, [b for _, b in pairs], what="right key")
    condition = parts[0]
    for part in parts[1:]:
        condition = condition & part
    return _in_common_types(l_keys, r_keys, None, condition)


def _in_common_types(left: Keys, right: Keys, using: tuple[str, ...] | None, on: object) -> JoinKeys | str:
    if left.native_because or right.native_because:
        return str(left.native_because or right.native_because)
    if left.padded != right.padded:
        return "Spark pads a CHAR key before it compares it with another type of string"
    types = []
    for a, b, name in zip(left.types, right.types, left.names, strict=True):
        if a == b:
            types.append(a)
        elif a in INTEGERS and b in INTEGERS:
            types.append(max(a, b, key=INTEGERS.index))
        else:
            return f"key {name} is {a} on the left and {b} on the right; cast one of them to have hot keys treated"
    return JoinKeys(_cast(left, types), _cast(right, types), using, on)


def _cast(keys: Keys, types: Sequence[str]) -> Keys:
    columns = tuple(
        column if old == new else column.cast(new)
        for column, old, new in zip(keys.columns, keys.types, types, strict=True)
    )
    return replace(keys, columns=columns, types=tuple(types))


def _equalities(condition: Column) -> list[tuple[Column, Column]]:
    """Return the (a, b) of a condition `a = b AND ...`, [] where it is anything else."""
    call = read_call(condition)
    if call is None or call.alias is not None or len(call.arguments) != 2:
        return []
    if call.name in ("==", "="):
        return [(call.arguments[0], call.arguments[1])]
    if call.name in ("and", "&&"):
        first, second = (_equalities(argument) for argument in call.arguments)
        return first + second if first and second else []
    return []


def _sided(left: DataFrame, right: DataFrame, a: Column, b: Column) -> tuple[Column, Column] | None:
    """Return (left column, right column), or None where a column is found on both sides or on none."""
    homes = [(_has(left, column), _has(right, column)) for column in (a, b)]
    if homes == [(True, False), (False, True)]:
        return a, b
    if homes == [(False, True), (True, False)]:
        return b, a
    return None


def _has(df: DataFrame, column: Column) -> bool:
    try:
        find_keys(df, [column])
    except KeyTypeError:
        raise
    except (AnalysisException, LookupError):
        return False
    return True
