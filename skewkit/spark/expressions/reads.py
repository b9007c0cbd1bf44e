"""What a Column reads: columns of certain frames, such as `df["k"]`, and columns by name, such as `F.col("k")`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pyspark.sql import Column
from pyspark.sql import functions as F

from skewkit.spark.expressions.nodes import java_column, java_expression, java_kind, java_node, node_of
from skewkit.spark.expressions.sql_names import names_in
from skewkit.spark.session.compat import VERSION, is_connect

_REFERENCE, _NAME, _ANY = "reference", "name", "any"
Read = tuple[str, Column]
"""A column of a certain frame, one by name, or whatever a star or a subquery reads."""
_ANY_NAMES = frozenset(("UnresolvedStar", "UnresolvedRegex", "SubqueryExpression"))
_CONNECT_LEAVES = frozenset(("LiteralExpression", "UnresolvedNamedLambdaVariable", "UnresolvedFunction"))
_CONNECT_CALLS = frozenset(("CallFunction", "CommonInlineUserDefinedFunction"))


def references(column: Column) -> list[Column] | None:
    """Return what a Column says of columns of certain frames, such as `df["k"]`. None where that cannot be seen.

    Names such as `F.col("k")` are left out: Spark itself refuses those that two joined frames have.
    """
    found = _reads(column)
    return None if found is None else [read for kind, read in found if kind == _REFERENCE]


def names_of(column: Column) -> list[Column] | None:
    """Return what a Column reads by name, in SQL text, too. None where that cannot be seen.

    >>> names_of(F.concat(F.col("a.tenant"), F.lit("x")) == F.upper("b")), names_of(F.expr("a.v < user"))
    ([Column<'a.tenant'>, Column<'b'>], [Column<'a.v'>, Column<'user'>])
    >>> names_of(F.struct("*"))
    """
    found = _reads(column)
    if found is None or any(kind == _ANY for kind, _ in found):
        return None
    return [read for kind, read in found if kind == _NAME]


def _reads(column: Column) -> list[Read] | None:
    try:
        return list(_connect_reads(column) if is_connect(column) else _classic_reads(column))
    except Exception:
        return None


def _of_text(column: Column, text: str) -> Iterator[Read]:
    """Yield what a text given to `F.expr` reads by name."""
    names = names_in(text)
    if names is None:
        yield _ANY, column
    else:
        yield from ((_NAME, F.col(name)) for name in names)


def _connect_reads(column: Any) -> Iterator[Read]:
    make, steps = type(column), [column._expr]
    while steps:
        step = steps.pop(0)
        kind, children = type(step).__name__, list(step.children)
        if getattr(step, "_plan_id", None) is not None and kind not in _ANY_NAMES:
            yield _REFERENCE, make(step)
        elif kind == "ColumnReference":
            yield _NAME, make(step)
        elif kind == "SQLExpression":
            yield from _of_text(make(step), step._expr)
        elif not children and kind not in _CONNECT_LEAVES | _CONNECT_CALLS:
            yield _ANY, make(step)
        steps[:0] = children


def _classic_reads(column: Any) -> Iterator[Read]:
    make: Any = type(column)
    if VERSION < (4, 0):
        yield from _expression_reads(java_expression(column), lambda expression: make(java_column(expression)))
        return
    node = java_node(column)
    kind, found = java_kind(node), node_of(column)
    if kind == "LambdaFunction":
        yield from _classic_reads(make(java_column(node.function())))
    elif kind == "ExpressionColumnNode":
        origin = node.origin()
        yield from _expression_reads(node.expression(), lambda part: make(java_column(node.copy(part, origin))))
    elif kind == "UnresolvedAttribute":
        yield (_NAME if node.planId().isEmpty() else _REFERENCE), column
    elif found.kind == "sql":
        yield from _of_text(column, found.name)
    elif found.kind == "star":
        yield _ANY, column
    elif found.kind == "other":
        raise ValueError(f"{column} cannot be looked into")
    else:
        for child in found.children:
            yield from _classic_reads(child)


def _expression_reads(expression: Any, column_of: Any) -> Iterator[Read]:
    """Yield what an expression of Spark's own reads. The arguments of a Python UDF may be Columns' nodes."""
    kind = java_kind(expression)
    if kind == "ColumnNodeExpression":
        node = column_of(expression)
        yield from _classic_reads(type(node)(java_column(expression.productElement(0))))
        return
    if kind in _ANY_NAMES:
        yield _ANY, column_of(expression)
        return
    children = [expression.children().apply(i) for i in range(expression.children().size())]
    for child in children:
        yield from _expression_reads(child, column_of)
    if kind == "UnresolvedAttribute":
        yield _NAME, column_of(expression)
    elif not children and expression.references().size():
        yield _REFERENCE, column_of(expression)
