"""Columns that call a Python UDF: which UDF it is, with which arguments, and one like it of another function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyspark.sql import Column

try:
    from pyspark.util import PythonEvalType
except ImportError:  # PySpark 3.5 has it there
    from pyspark.rdd import PythonEvalType  # type: ignore[import-not-found, no-redef, unused-ignore]

from skewkit.spark.expressions.nodes import java_column, java_kind, java_node
from skewkit.spark.session.compat import is_connect

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
