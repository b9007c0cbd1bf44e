"""What a Column says: an order, a window, a name, a constant; of classic and of Connect Columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import Column

from skewkit.spark.expressions.nodes import items, java_column, java_expression, java_kind, java_node
from skewkit.spark.session.compat import VERSION, is_connect


@dataclass(frozen=True)
class Sorting:
    """What a Column says of an order: the sorted expression, its direction, and where nulls go."""

    column: Column
    descending: bool
    nulls_first: bool


def read_sorting(column: Column) -> Sorting | None:
    """Return the order that a Column stands for (ascending, nulls first, unless it says more). None if unreadable."""
    try:
        return _connect_sorting(column) if is_connect(column) else _classic_sorting(column)
    except Exception:
        return None


@dataclass(frozen=True)
class Over:
    """A function OVER a window: partition and order columns, and the frame's kind (`rows` or `range`) and bounds."""

    function: Column
    partition: tuple[Column, ...]
    order: tuple[Column, ...]
    frame: tuple[str, int, int] | None


def read_over(column: Column) -> Over | None:
    """Return the window that a Column's function stands over, or None where it stands over none."""
    try:
        found = _connect_over(column._expr) if is_connect(column) else _classic_over(java_node(column))
    except Exception:
        return None
    if found is None:
        return None
    function, partition, order, frame = found
    make: Any = type(column)
    ready = make if is_connect(column) else lambda node: make(java_column(node))
    return Over(ready(function), tuple(map(ready, partition)), tuple(map(ready, order)), frame)


def read_name(column: Column) -> str | None:
    """Return the name if a Column is a name of one part and no more, else None."""
    try:
        if is_connect(column):
            expression = column._expr
            if type(expression).__name__ != "ColumnReference" or expression._plan_id is not None:
                return None
            name = str(expression._unparsed_identifier)
            return None if "." in name or "`" in name else name
        node = java_node(column)
        if java_kind(node) != "UnresolvedAttribute" or node.planId().isDefined():
            return None
        return str(node.nameParts().apply(0)) if node.nameParts().size() == 1 else None
    except Exception:
        return None


def read_literal(column: Column) -> tuple[Any] | None:
    """Return the value of a literal Column as a 1-tuple, or None where the Column is anything else."""
    try:
        if is_connect(column):
            expression = column._expr
            return _connect_value(expression) if type(expression).__name__ == "LiteralExpression" else None
        node = java_node(column)
        return (node.value(),) if java_kind(node) == "Literal" else None
    except Exception:
        return None


def _connect_value(literal: Any) -> tuple[Any]:
    """Return the value of a literal of Connect, which has dates and the like as numbers."""
    type_, value = literal._dataType, literal._value
    return (type_.fromInternal(value) if value is not None and type_.needConversion() else value,)


def same_column(a: Column, b: Column) -> bool:
    """Return whether two Columns say the same, of columns of the same frames. False where that cannot be seen.

    >>> same_column(F.upper("a.k"), F.upper("a.k")), same_column(F.col("a.k"), F.col("b.k"))
    (True, False)
    """
    try:
        return _connect_key(a._expr) == _connect_key(b._expr) if is_connect(a) else _same_java(a, b)
    except Exception:
        return False


def _connect_key(expression: Any) -> tuple[Any, ...]:
    kind, children = type(expression).__name__, expression.children
    if kind not in _PLAIN_ON_CONNECT:
        return (object(),)  # like nothing else
    type_ = str(getattr(expression, "_dataType", None))  # of literals, whose repr is the same for 1 and '1'
    return kind, repr(expression), type_, getattr(expression, "_plan_id", None), *map(_connect_key, children)


_PLAIN_ON_CONNECT = ("ColumnReference", "LiteralExpression", "UnresolvedFunction", "CastExpression", "SQLExpression")


def _connect_sorting(column: Any) -> Sorting | None:
    expression = column._expr
    if type(expression).__name__ != "SortOrder":
        return Sorting(column, False, True)
    return Sorting(type(column)(expression._child), not expression._ascending, bool(expression._nullsFirst))


def _classic_sorting(column: Any) -> Sorting | None:
    bare = VERSION < (4, 0)
    node = java_expression(column) if bare else java_node(column)
    if java_kind(node) != "SortOrder":
        return Sorting(column, False, True)
    child = type(column)(java_column(node.child()))
    direction = node.direction() if bare else node.sortDirection()
    return Sorting(child, "Descending" in direction.toString(), "First" in node.nullOrdering().toString())


_Window = tuple[Any, Sequence[Any], Sequence[Any], tuple[str, int, int] | None]
"""A function, the partition and order columns of its window, and the frame: its kind and bounds, as in PySpark."""


def _connect_over(expression: Any) -> _Window | None:
    """Return the function and the window of an expression of Connect, or None where it has none."""
    if type(expression).__name__ != "WindowExpression":
        return None
    spec = expression._windowSpec
    frame = spec._frame and ("rows" if spec._frame._isRowFrame else "range", spec._frame._start, spec._frame._end)
    return expression._windowFunction, spec._partitionSpec, spec._orderSpec, frame or None


def _classic_over(node: Any) -> _Window | None:
    """Return the function and the window of a node of a classic Column, or None where it has none."""
    if java_kind(node) != "Window":
        return None
    spec = node.windowSpec()
    frame = None
    if spec.frame().isDefined():
        found = spec.frame().get()
        kind = "rows" if "$Row$" in found.frameType().toString() else "range"
        frame = kind, _bound(found.lower()), _bound(found.upper())
    return node.windowFunction(), items(spec.partitionColumns()), items(spec.sortColumns()), frame


def _bound(boundary: Any) -> int:
    text = boundary.toString()
    if "Unbounded" in text:
        return -(1 << 63) if "Preceding" in text else (1 << 63) - 1
    return 0 if "CurrentRow" in text else int(boundary.value().value())


def _same_java(a: Any, b: Any) -> bool:
    """Return whether two classic Columns say the same, wherever in the user's code they stand."""
    if VERSION < (4, 0):
        return bool(java_expression(a).equals(java_expression(b)))
    return bool(java_node(a).normalized().equals(java_node(b).normalized()))
