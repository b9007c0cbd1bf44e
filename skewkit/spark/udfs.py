"""Python UDFs in Columns: which one a Column calls, with what, and a UDF like another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyspark.sql import Column, SparkSession

from skewkit.spark.compat import is_connect


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


def _connect_udf_arguments(column: Any, udf: Any) -> tuple[Column, ...] | None:
    expression = column._expr
    if type(expression).__name__ != "CommonInlineUserDefinedFunction" or expression._function._func is not udf.func:
        return None
    return tuple(map(type(column), expression._arguments))


def _classic_udf_arguments(column: Any, udf: Any) -> tuple[Column, ...] | None:
    node, make = column._jc.node(), SparkSession.active().sparkContext._jvm.org.apache.spark.sql.Column  # type: ignore[union-attr]
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
