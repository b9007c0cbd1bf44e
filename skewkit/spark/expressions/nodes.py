"""The outermost step of a Column's expression: what it is, what it is applied to, and the same over other parts.

A classic Column is read in the JVM, one call at a time, and these calls are what reading it costs: hence few of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import Any

from pyspark.sql import Column

from skewkit.spark.session.compat import VERSION, is_connect

_Step = tuple[str, str, bool, Sequence[Any], Callable[..., Any]]
"""Kind, name, distinct, the parts, and what makes the step anew over other parts."""


@dataclass(frozen=True)
class Node:
    """The outermost step of a Column's expression, with what it is applied to.

    `kind` is `call` (a function by name), `wrap` (a cast, a CASE, a field or item of something), `alias`, `column`,
    `star` (named if it is that of a struct), `constant`, `sql` (a string given to `F.expr`) or `other`. A lambda that
    reads nothing but its own variables is a constant, else a column.
    """

    kind: str
    name: str = ""
    children: tuple[Column, ...] = ()
    distinct: bool = False
    over: Callable[[Sequence[Column]], Column] | None = None
    """The same step over other children."""


def node_of(column: Column) -> Node:
    """Return the outermost step of a Column. `other` is whatever cannot be looked into."""
    try:
        return _connect_node(column) if is_connect(column) else _classic_node(column)
    except Exception:
        return Node("other")


def is_constant(column: Column) -> bool:
    """Return whether a Column reads no column of a frame, as far as can be seen.

    >>> is_constant(F.array(F.lit(1), F.lit(2))), is_constant(F.lit(1) + F.col("v"))
    (True, False)
    """
    return holds_no_column(node_of(column))


def holds_no_column(node: Node) -> bool:
    """Return whether a Column of which this is the outermost step reads no column of a frame, as far as can be seen.

    A call without arguments may be of the row, as `input_file_name()` is.
    """
    if node.kind == "call" and not node.children:
        return False
    return node.kind == "constant" or (node.over is not None and all(map(is_constant, node.children)))


def unread_because(column: Column) -> str | None:
    """Return why a Column cannot be looked into, where it is Spark's version and not the Column."""
    if is_connect(column) or VERSION >= (4, 0):
        return None
    return "Spark 3.5 does not show which functions a Column calls, which Spark 4.0 and later do"


def text_of_sql(column: Column) -> str | None:
    """Return the text of a Column that was given to `F.expr`, else None.

    >>> text_of_sql(F.expr("a + 1")), text_of_sql(F.col("a") + 1)
    ('a + 1', None)
    """
    node = node_of(column)
    return node.name if node.kind == "sql" else None


_LEAVES = {
    "UnresolvedAttribute": "column",
    "ColumnReference": "column",
    "Literal": "constant",
    "LiteralExpression": "constant",
    "UnresolvedNamedLambdaVariable": "constant",
}


def _lambda(body: Column) -> Node:
    return Node("constant" if is_constant(body) else "column")


def _connect_node(column: Any) -> Node:
    expression = column._expr
    make: Any = type(column)
    step = _connect_step(expression)
    if step is not None:
        kind, name, distinct, parts, remake = step
        return Node(kind, name, tuple(map(make, parts)), distinct, lambda new: make(remake(*(c._expr for c in new))))
    kind = type(expression).__name__
    if kind == "SQLExpression":
        return Node("sql", expression._expr)
    if kind == "LambdaFunction":
        return _lambda(make(expression._function))
    if kind == "UnresolvedStar":
        return Node("star", expression._unparsed_target or "")
    plain = kind == "ColumnReference" and expression._plan_id is None
    return Node(_LEAVES.get(kind, "other"), str(expression._unparsed_identifier) if plain else "")


_CATALYST = {"And": "and", "Or": "or", "EqualTo": "=", "EqualNullSafe": "<=>"}
_CATALYST_OF_ONE = {"Not": "not", "IsNull": "isnull"}


def _catalyst_node(column: Any) -> Node:
    """Return the outermost step of a Column of Spark 3.5: what join conditions are read by, and no more."""
    expression, make = java_expression(column), type(column)
    kind = java_kind(expression)
    if kind in _CATALYST_OF_ONE:
        return Node("call", _CATALYST_OF_ONE[kind], (make(java_column(expression.child())),))
    name = _CATALYST.get(kind)
    if name is None:
        return Node("other")
    parts = (expression.left(), expression.right())
    return Node("call", name, tuple(make(java_column(part)) for part in parts))


def _classic_node(column: Any) -> Node:
    if VERSION < (4, 0):
        return _catalyst_node(column)
    node, python_column = java_node(column), type(column)
    kind = java_kind(node)
    step = _classic_step(node, kind)
    if step is not None:
        made, name, distinct, parts, remake = step
        children = tuple(python_column(java_column(part)) for part in parts)
        return Node(
            made, name, children, distinct, lambda new: python_column(java_column(remake(*map(java_node, new))))
        )
    if kind == "SqlExpression":
        return Node("sql", node.expression())
    if kind == "LambdaFunction":
        return _lambda(python_column(java_column(node.function())))
    if kind == "UnresolvedStar":
        return Node("star", node.unparsedTarget().get() if node.unparsedTarget().isDefined() else "")
    plain = kind == "UnresolvedAttribute" and node.planId().isEmpty()
    return Node(_LEAVES.get(kind, "other"), node.sql() if plain else "")


# --- a step taken apart and made anew


def _connect_step(expression: Any) -> _Step | None:
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
        held = "_child" if hasattr(expression, "_child") else "_parent"  # the latter in Spark 3.5
        return "alias", expression._alias[0], False, [getattr(expression, held)], lambda new: changed(**{held: new})
    if kind == "CastExpression":
        return "wrap", "cast", False, [expression._expr], lambda child: changed(_expr=child)
    if kind == "UnresolvedExtractValue":
        parts = [expression._child, expression._extraction]
        return "wrap", "extract", False, parts, lambda child, item: changed(_child=child, _extraction=item)
    if kind == "CaseWhen":
        last = [] if expression._else_value is None else [expression._else_value]
        return "wrap", "case", False, [*chain(*expression._branches), *last], case
    return None


def items(sequence: Any) -> list[Any]:
    """Return the items of a sequence of the JVM."""
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


def java_column(node: Any) -> Any:
    """Return the JVM's Column of a node."""
    return _column_class(_jvm())(node)


@lru_cache(maxsize=1)
def _column_class(jvm: Any) -> Any:
    """Return the class of the JVM's Columns. To look it up is a call for every dot."""
    return jvm.org.apache.spark.sql.Column


def _classic_step(node: Any, kind: str) -> _Step | None:
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
        return "call", node.functionName(), bool(node.isDistinct()), items(node.arguments()), call
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
        pairs = [part for pair in items(node.branches()) for part in (pair._1(), pair._2())]
        last = [] if node.otherwise().isEmpty() else [node.otherwise().get()]
        return "wrap", "case", False, [*pairs, *last], case
    return None
