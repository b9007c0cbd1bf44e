"""The outermost step of a Column's expression, of Connect and of classic Columns, taken apart and made anew.

A classic Column is read in the JVM, one call at a time, and these calls are what reading it costs: hence few of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from functools import lru_cache
from typing import Any

Step = tuple[str, str, bool, Sequence[Any], Callable[..., Any]]
"""Kind, name, distinct, the parts, and what makes the step anew over other parts."""


def connect_step(expression: Any) -> Step | None:
    """Return the step of an expression of Connect, or None where it is a leaf or cannot be taken apart."""

    def changed(**attributes: Any) -> Any:
        new = copy(expression)
        new.__dict__.update(attributes)
        return new

    def case(*parts: Any) -> Any:
        last = parts[-1] if len(parts) % 2 else None
        return changed(_branches=list(zip(parts[::2], parts[1::2], strict=False)), _else_value=last)

    kind = type(expression).__name__
    if kind in ("UnresolvedFunction", "CallFunction"):
        distinct = bool(getattr(expression, "_is_distinct", False))
        return "call", expression._name, distinct, expression._args, lambda *parts: changed(_args=list(parts))
    if kind == "ColumnAlias" and len(expression._alias) == 1 and expression._metadata is None:
        return "alias", expression._alias[0], False, [expression._child], lambda child: changed(_child=child)
    if kind == "CastExpression":
        return "wrap", "cast", False, [expression._expr], lambda child: changed(_expr=child)
    if kind == "UnresolvedExtractValue":
        parts = [expression._child, expression._extraction]
        return "wrap", "extract", False, parts, lambda child, item: changed(_child=child, _extraction=item)
    if kind == "CaseWhen":
        return "wrap", "case", False, expression.children, case
    return None


Window = tuple[Any, Sequence[Any], Sequence[Any], tuple[str, int, int] | None]
"""A function, the partition and order columns of its window, and the frame: its kind and bounds, as in PySpark."""


def connect_over(expression: Any) -> Window | None:
    """Return the function and the window of an expression of Connect, or None where it has none."""
    if type(expression).__name__ != "WindowExpression":
        return None
    spec = expression._windowSpec
    frame = spec._frame and ("rows" if spec._frame._isRowFrame else "range", spec._frame._start, spec._frame._end)
    return expression._windowFunction, spec._partitionSpec, spec._orderSpec, frame or None


def classic_over(node: Any) -> Window | None:
    """Return the function and the window of a node of a classic Column, or None where it has none."""
    if java_kind(node) != "Window":
        return None
    spec = node.windowSpec()
    frame = None
    if spec.frame().isDefined():
        found = spec.frame().get()
        kind = "rows" if "$Row$" in found.frameType().toString() else "range"
        frame = kind, _bound(found.lower()), _bound(found.upper())
    return node.windowFunction(), _items(spec.partitionColumns()), _items(spec.sortColumns()), frame


def _bound(boundary: Any) -> int:
    text = boundary.toString()
    if "Unbounded" in text:
        return -(1 << 63) if "Preceding" in text else (1 << 63) - 1
    return 0 if "CurrentRow" in text else int(boundary.value().value())


def _items(sequence: Any) -> list[Any]:
    return [sequence.apply(i) for i in range(sequence.size())]


def _jvm() -> Any:
    """Return the JVM of classic sessions, which an installation for Connect alone does not have."""
    from pyspark import SparkContext

    return SparkContext._jvm


def java_node(column: Any) -> Any:
    """Return the JVM's node of a classic Column."""
    return column._jc.node()


def java_expression(column: Any) -> Any:
    """Return Spark's own expression of a classic Column, which has it before Spark 4."""
    return column._jc.expr()


def java_kind(node: Any) -> str:
    """Return the name of a node's class; all are case classes."""
    return str(node.productPrefix())


def same_java(a: Any, b: Any) -> bool:
    """Return whether two classic Columns say the same, wherever in the user's code they stand."""
    if not hasattr(a._jc, "node"):
        return bool(a._jc.expr().equals(b._jc.expr()))
    return bool(java_node(a).normalized().equals(java_node(b).normalized()))


def java_column(node: Any) -> Any:
    """Return the JVM's Column of a node."""
    return _column_class(_jvm())(node)


@lru_cache(maxsize=1)
def _column_class(jvm: Any) -> Any:
    """Return the class of the JVM's Columns; to look it up is a call for every dot."""
    return jvm.org.apache.spark.sql.Column


def classic_step(node: Any, kind: str) -> Step | None:
    """Return the step of a node of a classic Column, or None where it is a leaf or cannot be taken apart."""

    def made(*values: Any) -> Any:
        """Make a node of the same class, at the same place of the user's code."""
        return getattr(_jvm().org.apache.spark.sql.internal, kind)(*values, node.origin())

    def sequence_of(parts: Sequence[Any]) -> Any:
        return _jvm().PythonUtils.toSeq(list(parts))

    def call(*parts: Any) -> Any:
        flags = node.isDistinct(), node.isUserDefinedFunction(), node.isInternal()
        return made(node.functionName(), sequence_of(parts), *flags)

    def case(*parts: Any) -> Any:
        scala = _jvm().scala
        pairs = [scala.Tuple2(*pair) for pair in zip(parts[::2], parts[1::2], strict=False)]
        return made(sequence_of(pairs), scala.Option.apply(parts[-1] if len(parts) % 2 else None))

    if kind == "UnresolvedFunction":
        return "call", node.functionName(), bool(node.isDistinct()), _items(node.arguments()), call
    if kind == "Alias" and node.name().size() == 1 and node.metadata().isEmpty():
        name, metadata = node.name(), node.metadata()
        return "alias", name.apply(0), False, [node.child()], lambda part: made(part, name, metadata)
    if kind == "Cast":
        type_, mode = node.dataType(), node.evalMode()
        return "wrap", "cast", False, [node.child()], lambda part: made(part, type_, mode)
    if kind == "UnresolvedExtractValue":
        parts = [node.child(), node.extraction()]
        return "wrap", "extract", False, parts, made
    if kind == "CaseWhenOtherwise":
        pairs = [part for pair in _items(node.branches()) for part in (pair._1(), pair._2())]
        last = [] if node.otherwise().isEmpty() else [node.otherwise().get()]
        return "wrap", "case", False, [*pairs, *last], case
    return None
