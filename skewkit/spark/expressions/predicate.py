"""What has to be true where a condition is: null counts as false there, so wrappers around a predicate may go.

Spark's optimizer takes off `x OR false`, `x = true`, `NOT (a OR b)` and `NOT (NOT x)`. CASE, `if`, `coalesce` and
`x <=> true` it takes off only where `x` is never null; elsewhere plain Spark joins by a nested loop. Here they go where
`x` is one equality. Of an AND a part might be computed, and fail, for rows for which plain Spark does not compute it.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column

from skewkit.spark.expressions.columns import read_literal
from skewkit.spark.expressions.nodes import Node, node_of

AND, OR, NOT = ("and",), ("or",), ("not", "!")
EQUAL, NULL_SAFE = ("==", "="), ("<=>", "equal_null")
_TESTS = ("!=", "<>", "<", "<=", ">", ">=", "in", "isnull", "isnotnull", "between")
_BOOLEAN = (*AND, *OR, *NOT, *EQUAL, *NULL_SAFE, *_TESTS)
"""Functions that return nothing but true, false and null. `k = true` may also ask what a text says."""


def asked(condition: Column) -> list[Column]:
    """Return the parts of a condition, all of which have to be true where it is.

    >>> a, b = F.col("a") == 1, F.col("b") == 2
    >>> asked(F.col("x") & ~(a | b))
    [Column<'x'>, Column<'!(=(a, 1))'>, Column<'!(=(b, 2))'>]
    >>> asked((a == F.lit(True)) | F.lit(False)), asked(F.when(a, True).otherwise(False).alias("one"))
    ([Column<'=(a, 1)'>], [Column<'=(a, 1)'>])
    """
    parts = _parts(node_of(condition))
    return [condition] if parts is None else [each for part in parts for each in asked(part)]


def is_call(node: Node, names: Sequence[str]) -> bool:
    """Return whether a step calls one of these functions."""
    return node.kind == "call" and node.name.lower() in names


def _parts(node: Node) -> Sequence[Column] | None:
    """Return what has to be true where the step is, or None where that is the step itself."""
    parts = node.children
    if node.kind == "alias" or is_call(node, AND):
        return parts
    if (node.kind, node.name) == ("wrap", "case") or is_call(node, ("if",)):
        yes_or_no = len(parts) in (2, 3) and _is(parts[1], True) and all(map(_is_no, parts[2:]))
        return parts[:1] if yes_or_no and _is_equality(parts[0]) else None
    if is_call(node, NOT):
        inner = node_of(parts[0])
        if is_call(inner, OR):
            return [~part for part in inner.children if not _is(part, False)] or None
        return inner.children if is_call(inner, NOT) else None
    if is_call(node, ("coalesce", "nvl", "ifnull")):
        return parts[:1] if len(parts) == 2 and _is(parts[1], False) and _is_equality(parts[0]) else None
    if is_call(node, OR):
        rest = [part for part in parts if not _is_no(part)]
        return rest if len(rest) == 1 else None
    if not is_call(node, (*EQUAL, *NULL_SAFE)):
        return None
    rest = [part for part in parts if not _is(part, True)]
    if len(rest) != 1:
        return None
    known = is_call(node_of(rest[0]), _BOOLEAN) if is_call(node, EQUAL) else _is_equality(rest[0])
    return rest if known else None


def _is_equality(part: Column) -> bool:
    """Return whether a part is an equality, of which no more is taken off."""
    node = node_of(part)
    return is_call(node, (*EQUAL, *NULL_SAFE)) and not any(_is(side, True) for side in node.children)


def _is(part: Column, value: bool | None) -> bool:
    found = read_literal(part)
    return found is not None and found[0] is value


def _is_no(part: Column) -> bool:
    node = node_of(part)
    null = node.children[0] if (node.kind, node.name) == ("wrap", "cast") else part
    return _is(part, False) or _is(null, None)
