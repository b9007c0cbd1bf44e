"""The session number of a row as an expression over a window, which needs the row before first."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import timedelta
from decimal import Decimal
from numbers import Integral, Real
from typing import Any

from pyspark.sql import Column
from pyspark.sql import functions as F

from skewkit.errors import ArgumentError, ArgumentTypeError, shown
from skewkit.plan.window.window_frame import Frame
from skewkit.spark.window.ordering import OrderBy, as_epoch
from skewkit.spark.window.window_calls import Called, Expression, Leaf

_NUMBERS = ("tinyint", "smallint", "int", "bigint", "float", "double", "decimal")
_TIMES = ("timestamp", "timestamp_ntz", "date")
RUNNING_ROWS = Frame("rows", None, 0)


def session_gap(by: OrderBy, gap: Any) -> str:
    """Return the gap as a SQL literal, in microseconds along times and in days along dates.

    Raises:
        ArgumentError: the window has not one ascending order column of a number or a time, or the gap is negative.
        ArgumentTypeError: the gap does not go with the type of the order.
    """
    order = by.orders[0] if len(by.orders) == 1 else None
    if order is None or order.descending or order.type.partition("(")[0] not in (*_NUMBERS, *_TIMES):
        raise ArgumentError(
            f"sessions go along one ascending order column of a number, a date or a timestamp, not along "
            f"{', '.join(f'{o} of type {o.type}' for o in by.orders) or 'no order'}"
        )
    timed = order.type in _TIMES
    if isinstance(gap, bool) or not isinstance(gap, timedelta if timed else Real | Decimal):
        raise ArgumentTypeError(
            f"gap is {shown(gap)}; along {order.name}, a {order.type}, it is "
            f"{'a datetime.timedelta, such as timedelta(minutes=30)' if timed else 'a number'}"
        )
    number: Any = gap
    zero = timedelta(0) if timed else 0
    if not (number >= zero and (timed or math.isfinite(number))):
        raise ArgumentError(f"gap is {shown(gap)}; expected one that is finite and not negative")
    if isinstance(gap, timedelta):
        return str(gap // (timedelta(days=1) if order.type == "date" else timedelta(microseconds=1)))
    if isinstance(gap, Integral):
        return str(int(gap))
    return f"{gap:f}BD" if isinstance(gap, Decimal) else f"{float(gap)!r}D"


def session_expression(name: str, by: OrderBy, gap: str) -> Expression:
    """Return the session number as a result column. Rows without a time have none."""
    at = as_epoch(by.columns[0], by.orders[0].type)

    def counted(before: Column) -> Column:
        # Numbers whose difference is none of their type are further apart than any gap.
        starts = F.coalesce(F.try_subtract(at, before) > F.expr(gap), F.lit(True))
        return F.sum(F.when(at.isNull(), 0).when(starts, 1).otherwise(0))

    leaf = Leaf(F.lag(at), Called("lag", (at,)), frame=RUNNING_ROWS, framed=True, after=counted, gap=gap)

    def finish(results: Sequence[Column]) -> Column:
        return F.when(at.isNotNull(), results[0])

    return Expression(name, (leaf,), finish)
