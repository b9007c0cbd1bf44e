"""Which of two frames a Column is of, where they have columns in common: a frame and what was made of it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from pyspark.sql import Column, DataFrame

from skewkit.spark.compat import is_connect, resolves

_NAMED = re.compile(r"Column<'[\w.`]+'>")


def has_some_of(other: DataFrame, column: Column, home: DataFrame) -> bool:
    """Return whether a Column that the frame `home` can compute refers to a column that `other` has, too.

    Spark takes that for the left frame's in a join of both, so that the Column is not of `home` alone.

    >>> base = spark.range(9).selectExpr("id AS a", "id AS b")
    >>> upper = base.select("b", (base["a"] + 1).alias("c"))
    >>> has_some_of(base, base["b"] < upper["c"], upper), has_some_of(base, upper["c"], upper)
    (True, False)
    """
    if _NAMED.fullmatch(str(column)):
        return False  # one column, of which the caller has asked already
    if is_connect(home):
        return any(resolves(other, each) for each in _of_frames(column))
    plans: list[Any] = [frame._jdf.queryExecution().analyzed() for frame in (home.select(column), other)]
    return bool(plans[0].references().intersect(plans[1].outputSet()).nonEmpty())


def is_ambiguous_later(left: DataFrame, right: DataFrame, condition: Column) -> bool:
    """Return whether both frames can resolve a column of a condition, and Spark could no more once they are changed.

    Connect takes `left["k"]` for the left frame's as long as that frame itself is joined, and not what is made of it.
    """
    if not is_connect(left):
        return False
    return any(resolves(left, each) and resolves(right, each) for each in _of_frames(condition))


def _of_frames(column: Column) -> Iterator[Column]:
    """Yield what a Column of Connect says of columns of certain frames, such as `df["k"]`."""
    make: Any = type(column)
    steps: list[Any] = [getattr(column, "_expr", None)]
    while steps:
        step = steps.pop()
        if getattr(step, "_plan_id", None) is not None:
            yield make(step)
        steps.extend(getattr(step, "children", ()))
