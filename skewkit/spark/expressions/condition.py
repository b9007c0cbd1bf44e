"""A join condition, cut at its ANDs and equalities: what Spark's optimizer makes an equi-join of is read as one.

Leading constants are dropped, and so are wrappers that are true just where a condition is (`predicate`). What all sides
of an OR ask stands before it. Equalities are also `a IS NOT DISTINCT FROM b`, `equal_null(a, b)`, `NOT (a <> b)` and
`a = b OR (a IS NULL AND b IS NULL)`.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column
from pyspark.sql import functions as F

from skewkit.spark.expressions.columns import read_literal, same_column
from skewkit.spark.expressions.nodes import node_of, text_of_sql
from skewkit.spark.expressions.predicate import AND, EQUAL, NOT, NULL_SAFE, OR, asked
from skewkit.spark.expressions.sql_condition import conjuncts_of, equality_of

Compared = tuple[Column, Column, str]
"""Both sides of an equality and its sign, as `equality_of` has it for texts."""


def conjuncts(condition: Column, *, tells_case: bool = False) -> list[Column]:
    """Return the parts of a condition `a AND b AND ...`, without those that are always true, if there are others.

    `tells_case` says that names in texts differ by upper and lower case.

    >>> conjuncts(F.lit(True) & (F.col("a.k") == F.col("b.k")) & F.expr("1 = 1 AND a.x < b.x AND a.y < b.y"))
    [Column<'=(a.k, b.k)'>, Column<'a.x < b.x'>, Column<'a.y < b.y'>]
    """
    parts = asked(condition)
    if len(parts) == 1:
        return _of_one(parts[0], tells_case)
    wanted = [part for part in parts if not _is_true(part)] or parts[:1]
    return [each for part in wanted for each in _of_one(part, tells_case)]


def compared(condition: Column, *, tells_case: bool = False) -> Compared | None:
    """Return both sides of an equality and its sign; None where a condition is anything else.

    >>> compared(F.equal_null("a.k", "b.k")), compared(F.col("a.k").isin(F.col("b.k")))
    ((Column<'a.k'>, Column<'b.k'>, '<=>'), (Column<'a.k'>, Column<'b.k'>, 'in'))
    """
    text = text_of_sql(condition)
    if text is not None:
        found = equality_of(text, tells_case=tells_case)
        return None if found is None else (F.expr(found[0]), F.expr(found[1]), found[2])
    name, arguments = _call(condition)
    if name in NOT:
        return _unequal(arguments[0], tells_case)
    if len(arguments) != 2:
        return None
    if name in OR:
        return _or_both_null(*arguments) or _or_both_null(*reversed(arguments))
    if name in EQUAL or name == "in":
        return (*arguments, "in" if name == "in" else "=")
    return (*arguments, "<=>") if name in NULL_SAFE else None


def _of_one(part: Column, tells_case: bool) -> list[Column]:
    """Return the parts of what is no AND: of a text, or of an OR whose sides have some in common."""
    text = text_of_sql(part)
    if text is not None:
        texts = conjuncts_of(text, tells_case=tells_case)
        return [part] if texts == [text] else [F.expr(each) for each in texts]
    either = _parts(part, OR)
    if len(either) < 2:
        return [part]
    sides = [conjuncts(side, tells_case=tells_case) for side in either]
    common = [each for each in sides[0] if all(_among(each, side) for side in sides)]
    alone = any(all(_among(each, common) for each in side) for side in sides)
    return common if common and alone else [*common, part]


def _among(column: Column, others: Sequence[Column]) -> bool:
    return any(same_column(column, other) for other in others)


def _parts(condition: Column, names: Sequence[str]) -> list[Column]:
    """Return what these functions of two conditions are of, as often as they are of one another."""
    name, arguments = _call(condition)
    return [part for each in arguments for part in _parts(each, names)] if name in names else [condition]


def _call(condition: Column) -> tuple[str, tuple[Column, ...]]:
    """Return the name of the function that a condition calls, in lower case, and its arguments. '' if it is no call."""
    node = node_of(condition)
    return (node.name.lower(), node.children) if node.kind == "call" else ("", ())


def _is_true(part: Column) -> bool:
    if read_literal(part) == (True,):
        return True
    name, arguments = _call(part)
    values = [read_literal(argument) for argument in arguments]
    if name not in (*EQUAL, "<=>") or len(values) != 2 or None in values or values[0] == (None,):
        return False
    return values[0] == values[1] and type(values[0]) is type(values[1])


def _unequal(condition: Column, tells_case: bool) -> Compared | None:
    """Return both sides of `a <> b`, of which NOT makes an equality."""
    name, arguments = _call(condition)
    if name in NOT:
        inner = compared(arguments[0], tells_case=tells_case)
        return inner if inner is not None and inner[2] == "=" else None
    return (*arguments, "=") if name in ("!=", "<>") and len(arguments) == 2 else None


def _or_both_null(equal: Column, nulls: Column) -> Compared | None:
    """Return both sides of `a = b OR (a IS NULL AND b IS NULL)`."""
    name, sides = _call(equal)
    tested = [_call(part) for part in _parts(nulls, AND)]
    if name not in EQUAL or len(tested) != 2 or any(each[0] != "isnull" for each in tested):
        return None
    a, b = sides
    for first, second in ((tested[0], tested[1]), (tested[1], tested[0])):
        if same_column(first[1][0], a) and same_column(second[1][0], b):
            return a, b, "<=>"
    return None
