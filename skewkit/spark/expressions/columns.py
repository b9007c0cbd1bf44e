"""What a Column says: its outermost step, a call, an order, a name, a constant; of classic and of Connect Columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import Column

try:
    from pyspark.util import PythonEvalType
except ImportError:  # PySpark 3.5 has it there
    from pyspark.rdd import PythonEvalType  # type: ignore[import-not-found, no-redef, unused-ignore]

from skewkit.spark.expressions.steps import (
    classic_over,
    classic_step,
    connect_over,
    connect_step,
    java_column,
    java_kind,
    java_node,
    same_java,
)
from skewkit.spark.session.compat import VERSION, is_connect


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
    """Return the outermost step of a Column; `other` is whatever cannot be looked into."""
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


UdfArguments = tuple[tuple[Column, ...], tuple[str, ...]]
"""The arguments of a call, and the names of the last of them."""

ITERATING = tuple(getattr(PythonEvalType, f"SQL_GROUPED_AGG_{kind}_ITER_UDF", -1) for kind in ("PANDAS", "ARROW"))
"""Aggregate UDFs of iterators (Spark 4.2 and later)."""
IN_PANDAS = (PythonEvalType.SQL_GROUPED_AGG_PANDAS_UDF, ITERATING[0])
AGGREGATING = (*IN_PANDAS, getattr(PythonEvalType, "SQL_GROUPED_AGG_ARROW_UDF", -1), ITERATING[1])


def udf_arguments(column: Column, udf: Any) -> UdfArguments | None:
    """Return the arguments if a Column is a call of this very Python UDF, else None (before Spark 4, always).

    None, too, where arguments (but on Connect) are themselves Python UDFs.
    """
    try:
        return _connect_udf_arguments(column, udf) if is_connect(column) else _classic_udf_arguments(column, udf)
    except Exception:
        return None


def udf_like(udf: Any, func: Callable[..., Any]) -> Callable[..., Column]:
    """Return a UDF of another function, of the same kind and return type as `udf`; of series, not of iterators."""
    kind = dict(zip(ITERATING, (AGGREGATING[0], AGGREGATING[2]), strict=True)).get(udf.evalType, udf.evalType)
    made: Any = type(udf._unwrapped)(func, udf.returnType, name=udf.__name__, evalType=kind)
    return made._wrapped()  # type: ignore[no-any-return]


@dataclass(frozen=True)
class Call:
    """A function's call as it stands in a Column: `name(arguments)`, with its alias; `count(*)` has no arguments."""

    name: str
    arguments: tuple[Column, ...]
    distinct: bool
    alias: str | None


def read_call(column: Column) -> Call | None:
    """Return the function call that a Column holds, or None where it is anything else (the caller goes native)."""
    node, alias = node_of(column), None
    if node.kind == "alias":
        node, alias = node_of(node.children[0]), node.name
    if node.kind != "call":
        return None
    children = [node_of(child) for child in node.children] if node.name.lower() == "count" else []
    star = [(child.kind, child.name) for child in children] == [("star", "")]
    return Call(node.name, () if star else node.children, node.distinct, alias)


@dataclass(frozen=True)
class Sorting:
    """What a Column says of an order: the sorted expression, its direction, and where nulls go."""

    column: Column
    descending: bool
    nulls_first: bool


def read_sorting(column: Column) -> Sorting | None:
    """Return the order that a Column stands for (ascending, nulls first, unless it says more); None if unreadable."""
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
        found = connect_over(column._expr) if is_connect(column) else classic_over(java_node(column))
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
            return (expression._value,) if type(expression).__name__ == "LiteralExpression" else None
        node = java_node(column)
        return (node.value(),) if java_kind(node) == "Literal" else None
    except Exception:
        return None


def text_of_sql(column: Column) -> str | None:
    """Return the text of a Column that was given to `F.expr`, else None.

    >>> text_of_sql(F.expr("a + 1")), text_of_sql(F.col("a") + 1)
    ('a + 1', None)
    """
    node = node_of(column)
    return node.name if node.kind == "sql" else None


def same_column(a: Column, b: Column) -> bool:
    """Return whether two Columns say the same, of columns of the same frames; False where that cannot be seen.

    >>> same_column(F.upper("a.k"), F.upper("a.k")), same_column(F.col("a.k"), F.col("b.k"))
    (True, False)
    """
    try:
        return _connect_key(a._expr) == _connect_key(b._expr) if is_connect(a) else same_java(a, b)
    except Exception:
        return False


def _connect_key(expression: Any) -> tuple[Any, ...]:
    kind, children = type(expression).__name__, expression.children
    if kind not in _PLAIN_ON_CONNECT:
        return (object(),)  # like nothing else
    return kind, repr(expression), getattr(expression, "_plan_id", None), *map(_connect_key, children)


_PLAIN_ON_CONNECT = ("ColumnReference", "LiteralExpression", "UnresolvedFunction", "CastExpression", "SQLExpression")


def _connect_sorting(column: Any) -> Sorting | None:
    expression = column._expr
    if type(expression).__name__ != "SortOrder":
        return Sorting(column, False, True)
    return Sorting(type(column)(expression._child), not expression._ascending, bool(expression._nullsFirst))


def _classic_sorting(column: Any) -> Sorting | None:
    node = java_node(column)
    if java_kind(node) != "SortOrder":
        return Sorting(column, False, True)
    child = type(column)(java_column(node.child()))
    return Sorting(child, "Descending" in node.sortDirection().toString(), "First" in node.nullOrdering().toString())


def _connect_udf_arguments(column: Any, udf: Any) -> UdfArguments | None:
    expression = column._expr
    if type(expression).__name__ != "CommonInlineUserDefinedFunction":
        return None
    ours, theirs = udf._unwrapped._build_common_inline_user_defined_function()._function, expression._function
    if ours._func is not theirs._func or ours._eval_type != theirs._eval_type:
        return None
    if ours._output_type != theirs._output_type:
        return None
    given = list(expression._arguments)
    names = tuple(a._key for a in given if type(a).__name__ == "NamedArgumentExpression")
    values = [a._value if type(a).__name__ == "NamedArgumentExpression" else a for a in given]
    return tuple(map(type(column), values)), names


def _classic_udf_arguments(column: Any, udf: Any) -> UdfArguments | None:
    node = java_node(column)
    if java_kind(node) != "ExpressionColumnNode":
        return None
    call = node.expression()
    if java_kind(call) == "AggregateExpression":
        call = call.aggregateFunction()
    if not call.func().equals(udf._unwrapped._judf.func()):
        return None
    children = [call.children().apply(i) for i in range(call.children().size())]
    names = tuple(str(child.key()) for child in children if java_kind(child) == "NamedArgumentExpression")
    children = [child.value() if java_kind(child) == "NamedArgumentExpression" else child for child in children]
    if any(java_kind(child) != "ColumnNodeExpression" for child in children):
        return None
    return tuple(type(column)(java_column(child.productElement(0))) for child in children), names


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
    step = connect_step(expression)
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
    expression, make = column._jc.expr(), type(column)
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
    step = classic_step(node, kind)
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
