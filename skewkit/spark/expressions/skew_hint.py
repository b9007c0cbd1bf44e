"""The skew hint of a frame, as `DataFrame.hint` leaves it in the plan. Spark itself ignores it with a warning."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from pyspark.sql import DataFrame

from skewkit.errors import ColumnNotFoundError, nearest
from skewkit.spark.expressions.columns import read_literal, read_name
from skewkit.spark.expressions.hint_values import fitted
from skewkit.spark.expressions.nodes import node_of
from skewkit.spark.session.compat import is_connect
from skewkit.spark.session.written_plan import written_plan

_READ: dict[str, Callable[[str], Any]] = {
    **dict.fromkeys(("tinyint", "smallint", "int", "bigint"), int),
    **dict.fromkeys(("float", "double"), float),
    "decimal": Decimal,
    "boolean": "true".__eq__,
    "void": lambda _: None,
}
"""How Java's texts of literals are read, by type; a text of any other type stays one."""


@dataclass(frozen=True)
class SkewHint:
    """What a hint names: a column, and those of its values that are hot."""

    column: str
    values: tuple[Any, ...]

    def __str__(self) -> str:
        return f"hint('skew', {self.column!r}, {len(self.values)} value{'s' * (len(self.values) != 1)})"

    def fitted(self, frame: DataFrame) -> list[Any]:
        """Return the values as those of the frame's column.

        Raises:
            ColumnNotFoundError: the frame has no such column.
            ArgumentError: a value does not fit its type.

        >>> SkewHint("id", (7, 8.0)).fitted(spark.range(1))
        [7, 8]
        >>> SkewHint("id", ("x",)).fitted(spark.range(1))
        Traceback (most recent call last):
        skewkit.errors.ArgumentError: hint('skew', 'id', 1 value): 'x' is no bigint, which is the key's type
        """
        types = {field.name.lower(): field.dataType for field in frame.schema.fields}
        type_ = types.get(self.column.lower())
        if type_ is None:
            raise ColumnNotFoundError(f"{self}: the frame has no such column: {nearest(self.column, frame.columns)}")
        return [fitted(value, type_, self) for value in self.values]


def skew_hint(frame: DataFrame) -> SkewHint | None:
    """Return the hint that a frame ends with, None where there is none that names a column and values.

    >>> skew_hint(spark.range(9).hint("skew", "id", 7)), skew_hint(spark.range(9).hint("SKEW", "id", ["a", "b"]))
    (SkewHint(column='id', values=(7,)), SkewHint(column='id', values=('a', 'b')))
    >>> skew_hint(spark.range(9).hint("skew", "id")), skew_hint(spark.range(9).hint("broadcast"))
    (None, None)
    """
    try:
        return _connect_hint(frame) if is_connect(frame) else _classic_hint(frame)
    except Exception:  # plans are not public: another version may show them in another way
        return None


def _connect_hint(frame: Any) -> SkewHint | None:
    plan = frame._plan
    if type(plan).__name__ != "Hint" or plan._name.lower() != "skew" or len(plan._parameters) != 2:
        return None
    column, values = plan._parameters
    named = read_literal(column)
    node = node_of(values)
    found = [read_literal(each) for each in (node.children if node.name == "array" else [values])]
    name = named[0] if named is not None else read_name(column)
    return SkewHint(name, tuple(each[0] for each in found if each is not None)) if name else None


def _classic_hint(frame: Any) -> SkewHint | None:
    plan = written_plan(frame)
    if plan.nodeName() != "UnresolvedHint" or plan.name().lower() != "skew" or plan.parameters().size() != 2:
        return None
    column, values = (plan.parameters().apply(i) for i in range(2))
    name = str(column.toString()).removeprefix("'")
    type_ = str(values.dataType().simpleString())
    texts = map(str, values.value().array()) if type_.startswith("array") else [str(values.toString())]
    read = _READ.get(type_.removeprefix("array<").rstrip(">").partition("(")[0], str)
    return SkewHint(name, tuple(map(read, texts)))
