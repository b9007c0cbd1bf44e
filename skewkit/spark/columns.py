"""What a Column says: its outermost step, a call, an order, a name, a constant; of classic and of Connect Columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any

from pyspark.sql import Column, SparkSession

from skewkit.spark.compat import VERSION, is_connect


@dataclass(frozen=True)
class Node:
    """The outermost step of a Column's expression, with what it is applied to.

    `kind` is `call` (a function by name), `wrap` (a cast, a CASE, a field or item of something), `alias`, `column`,
    `star`, `constant`, `sql` (a string given to `F.expr`) or `other`.
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
    node = node_of(column)
    if node.kind == "constant":
        return True
    return node.over is not None and all(map(is_constant, node.children))


def unread_because(column: Column) -> str | None:
    """Return why a Column cannot be looked into, where it is Spark's version and not the Column."""
    if is_connect(column) or VERSION >= (4, 0):
        return None
    return "Spark 3.5 does not show which functions a Column calls, which Spark 4.0 and later do"


def udf_arguments(column: Column, udf: Any) -> tuple[Column, ...] | None:
    """Return the arguments if a Column is a call of this very Python UDF, else None (before Spark 4, always)."""
    try:
        return _connect_udf_arguments(column, udf) if is_connect(column) else _classic_udf_arguments(column, udf)
    except Exception:
        return None


def udf_like(udf: Any, func: Callable[..., Any]) -> Callable[..., Column]:
    """Return a UDF of another function, of the same kind and return type as `udf`."""
    made: Any = type(udf._unwrapped)(func, udf.returnType, name=udf.__name__, evalType=udf.evalType)
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
    star = node.name.lower() == "count" and [node_of(child).kind for child in node.children] == ["star"]
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


def read_name(column: Column) -> str | None:
    """Return the name if a Column is a name of one part and no more, else None."""
    try:
        if is_connect(column):
            expression = column._expr
            if type(expression).__name__ != "ColumnReference" or expression._plan_id is not None:
                return None
            name = str(expression._unparsed_identifier)
            return None if "." in name or "`" in name else name
        node = column._jc.node()  # type: ignore[operator]
        if node.getClass().getSimpleName() != "UnresolvedAttribute" or node.planId().isDefined():
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
        node = column._jc.node()  # type: ignore[operator]
        return (node.value(),) if node.getClass().getSimpleName() == "Literal" else None
    except Exception:
        return None


def _connect_sorting(column: Any) -> Sorting | None:
    expression = column._expr
    if type(expression).__name__ != "SortOrder":
        return Sorting(column, False, True)
    return Sorting(type(column)(expression._child), not expression._ascending, bool(expression._nullsFirst))


def _classic_sorting(column: Any) -> Sorting | None:
    node = column._jc.node()
    if node.getClass().getSimpleName() != "SortOrder":
        return Sorting(column, False, True)
    jvm = SparkSession.active().sparkContext._jvm
    child = type(column)(jvm.org.apache.spark.sql.Column(node.child()))  # type: ignore[union-attr]
    return Sorting(child, "Descending" in node.sortDirection().toString(), "First" in node.nullOrdering().toString())


def _connect_udf_arguments(column: Any, udf: Any) -> tuple[Column, ...] | None:
    expression = column._expr
    if type(expression).__name__ != "CommonInlineUserDefinedFunction" or expression._function._func is not udf.func:
        return None
    return tuple(map(type(column), expression._arguments))


def _classic_udf_arguments(column: Any, udf: Any) -> tuple[Column, ...] | None:
    node, make = _java_node(column), SparkSession.active().sparkContext._jvm.org.apache.spark.sql.Column  # type: ignore[union-attr]
    if node.getClass().getSimpleName() != "ExpressionColumnNode":
        return None
    call = node.expression()
    if call.getClass().getSimpleName() == "AggregateExpression":
        call = call.aggregateFunction()
    if not call.func().equals(udf._unwrapped._judf.func()):
        return None
    children = call.children()
    nodes = (children.apply(i).productElement(0) for i in range(children.size()))
    return tuple(type(column)(make(node)) for node in nodes)


_LEAVES = {
    "UnresolvedAttribute": "column",
    "ColumnReference": "column",
    "UnresolvedStar": "star",
    "Literal": "constant",
    "LiteralExpression": "constant",
    "LambdaFunction": "constant",
}
Step = tuple[str, str, bool, Sequence[Any], Callable[..., Any]]
"""Kind, name, distinct, the parts, and what makes the step anew over other parts."""


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
    plain = kind == "ColumnReference" and expression._plan_id is None
    return Node(_LEAVES.get(kind, "other"), str(expression._unparsed_identifier) if plain else "")


def _connect_step(expression: Any) -> Step | None:
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


def _java_node(column: Any) -> Any:
    return column._jc.node()


_CATALYST = {"And": "and", "EqualTo": "=", "EqualNullSafe": "<=>"}


def _catalyst_node(column: Any) -> Node:
    """Return the outermost step of a Column of Spark 3.5: AND and equalities, as joins need them, and no more."""
    jvm: Any = SparkSession.active().sparkContext._jvm
    expression, make = column._jc.expr(), type(column)
    name = _CATALYST.get(expression.getClass().getSimpleName())
    if name is None:
        return Node("other")
    parts = (expression.left(), expression.right())
    return Node("call", name, tuple(make(jvm.org.apache.spark.sql.Column(part)) for part in parts))


def _classic_node(column: Any) -> Node:
    if VERSION < (4, 0):
        return _catalyst_node(column)
    jvm: Any = SparkSession.active().sparkContext._jvm
    node, python_column = _java_node(column), type(column)

    def make(part: Any) -> Any:
        return python_column(jvm.org.apache.spark.sql.Column(part))

    step = _classic_step(node, jvm)
    if step is not None:
        kind, name, distinct, parts, remake = step
        children = tuple(map(make, parts))
        return Node(kind, name, children, distinct, lambda new: make(remake(*map(_java_node, new))))
    kind = node.getClass().getSimpleName()
    if kind == "SqlExpression":
        return Node("sql", node.expression())
    plain = kind == "UnresolvedAttribute" and node.planId().isEmpty()
    return Node(_LEAVES.get(kind, "other"), node.sql() if plain else "")


def _classic_step(node: Any, jvm: Any) -> Step | None:
    nodes, origin = jvm.org.apache.spark.sql.internal, node.origin()

    def items(sequence: Any) -> list[Any]:
        return [sequence.apply(i) for i in range(sequence.size())]

    def to_seq(parts: Sequence[Any]) -> Any:
        return jvm.PythonUtils.toSeq(list(parts))

    def call(*parts: Any) -> Any:
        flags = node.isDistinct(), node.isUserDefinedFunction(), node.isInternal()
        return nodes.UnresolvedFunction(node.functionName(), to_seq(parts), *flags, origin)

    def case(*parts: Any) -> Any:
        pairs = [jvm.scala.Tuple2(*pair) for pair in zip(parts[::2], parts[1::2], strict=False)]
        last = jvm.scala.Option.apply(parts[-1] if len(parts) % 2 else None)
        return nodes.CaseWhenOtherwise(to_seq(pairs), last, origin)

    kind = node.getClass().getSimpleName()
    if kind == "UnresolvedFunction":
        return "call", node.functionName(), bool(node.isDistinct()), items(node.arguments()), call
    if kind == "Alias" and node.name().size() == 1 and node.metadata().isEmpty():
        name, metadata = node.name(), node.metadata()
        return "alias", name.apply(0), False, [node.child()], lambda part: nodes.Alias(part, name, metadata, origin)
    if kind == "Cast":
        type_, mode = node.dataType(), node.evalMode()
        return "wrap", "cast", False, [node.child()], lambda part: nodes.Cast(part, type_, mode, origin)
    if kind == "UnresolvedExtractValue":
        parts = [node.child(), node.extraction()]
        return "wrap", "extract", False, parts, lambda a, b: nodes.UnresolvedExtractValue(a, b, origin)
    if kind == "CaseWhenOtherwise":
        pairs = [part for pair in items(node.branches()) for part in (pair._1(), pair._2())]
        last = [] if node.otherwise().isEmpty() else [node.otherwise().get()]
        return "wrap", "case", False, [*pairs, *last], case
    return None
