"""The skew hint of a frame, as `DataFrame.hint` leaves it in the plan; Spark itself ignores it with a warning."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

from pyspark.sql import DataFrame

from skewkit.spark.expressions.columns import node_of, read_literal, read_name
from skewkit.spark.session.compat import is_connect

_READ: dict[str, Callable[[str], Any]] = {
    **dict.fromkeys(("tinyint", "smallint", "int", "bigint"), int),
    **dict.fromkeys(("float", "double"), float),
    "decimal": Decimal,
    "string": str,
}


@dataclass(frozen=True)
class SkewHint:
    """What a hint names: a column, and those of its values that are hot, as texts."""

    column: str
    values: tuple[str, ...]

    def typed(self, type_: str) -> list[Any]:
        """Return the values of a column of this type, those that it can have.

        >>> SkewHint("k", ("7", "x")).typed("bigint"), SkewHint("k", ("7",)).typed("date")
        ([7], [])
        """
        read = _READ.get(type_.partition("(")[0])
        found = []
        for text in self.values if read is not None else ():
            try:
                found.append(read(text))  # type: ignore[misc]
            except (ValueError, InvalidOperation):
                continue
        return found


def skew_hint(frame: DataFrame) -> SkewHint | None:
    """Return the hint that a frame ends with, None where there is none that names a column and values.

    >>> skew_hint(spark.range(9).hint("skew", "id", 7)), skew_hint(spark.range(9).hint("SKEW", "id", [1, 2]))
    (SkewHint(column='id', values=('7',)), SkewHint(column='id', values=('1', '2')))
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
    return SkewHint(name, tuple(str(each[0]) for each in found if each is not None)) if name else None


def _classic_hint(frame: Any) -> SkewHint | None:
    plan = frame._jdf.queryExecution().logical()
    if plan.nodeName() != "UnresolvedHint" or plan.name().lower() != "skew" or plan.parameters().size() != 2:
        return None
    column, values = (plan.parameters().apply(i) for i in range(2))
    name = str(column.toString()).removeprefix("'")
    several = str(values.dataType().simpleString()).startswith("array")
    found = [str(each) for each in values.value().array()] if several else [str(values.toString())]
    return SkewHint(name, tuple(found))
