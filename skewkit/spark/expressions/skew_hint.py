"""The skew hint of a frame, as `DataFrame.hint` leaves it in the plan; Spark itself ignores it with a warning."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame

from skewkit.spark.expressions.columns import node_of, read_literal, read_name
from skewkit.spark.session.compat import is_connect, logical_plan

_NAME = "skew"


@dataclass(frozen=True)
class SkewHint:
    """What a hint names: a column, and those of its values that are hot."""

    column: str
    values: tuple[Any, ...]


def skew_hint(frame: DataFrame) -> SkewHint | None:
    """Return the hint that a frame ends with, None where there is none that names a column and values.

    >>> skew_hint(spark.range(9).hint("skew", "id", 7)), skew_hint(spark.range(9).hint("SKEW", "id", [1, 2]))
    (SkewHint(column='id', values=(7,)), SkewHint(column='id', values=(1, 2)))
    >>> skew_hint(spark.range(9).hint("skew", "id")), skew_hint(spark.range(9).hint("broadcast"))
    (None, None)
    """
    try:
        plan = logical_plan(frame)
        name, found = _connect_hint(plan) if is_connect(frame) else _classic_hint(plan)
    except Exception:  # plans are not public: another version may show them in another way
        return None
    if name.lower() != _NAME or len(found) != 2 or not isinstance(found[0], str) or found[1] is None:
        return None
    values = found[1] if isinstance(found[1], list) else [found[1]]
    return SkewHint(found[0], tuple(values))


def _connect_hint(plan: Any) -> tuple[str, list[Any]]:
    return str(plan._name), [_connect_value(each) for each in plan._parameters]


def _connect_value(column: Any) -> Any:
    literal = read_literal(column)
    if literal is not None:
        return literal[0]
    node = node_of(column)
    if node.name == "array":
        return [_connect_value(each) for each in node.children]
    return read_name(column)


def _classic_hint(plan: Any) -> tuple[str, list[Any]]:
    parameters = plan.parameters()
    return str(plan.name()), [_classic_value(parameters.apply(i)) for i in range(parameters.size())]


def _classic_value(expression: Any) -> Any:
    if expression.getClass().getSimpleName() == "UnresolvedAttribute":
        return str(expression.name())
    return _plain(expression.value())


def _plain(value: Any) -> Any:
    """Return a value of Spark's own as one of Python."""
    if not hasattr(value, "getClass"):
        return value
    if value.getClass().getSimpleName() == "UTF8String":
        return str(value.toString())
    return [_plain(each) for each in value.array()]
