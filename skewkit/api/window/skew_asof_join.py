"""`skew_asof_join`: beside every row the nearest one of another frame along an order, by a window over both frames."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from numbers import Real
from typing import Any

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from skewkit.api.arguments import check_batch
from skewkit.api.strategy_names import WINDOW_STRATEGIES, check_strategy
from skewkit.api.window.skew_window import skew_window
from skewkit.errors import ArgumentError, ArgumentTypeError, KeyTypeError, shown
from skewkit.plan.choice import Choice
from skewkit.spark.expressions.keys import Keys, find_keys, sql_type
from skewkit.spark.session.compat import tells_case
from skewkit.spark.session.remembered import choice_of, remember
from skewkit.spark.window.ordering import as_epoch

DIRECTIONS = ("backward", "forward", "nearest")
_WHOLE = ("tinyint", "smallint", "int", "bigint")
_FLOATS = ("float", "double")
_TIMES = ("timestamp", "timestamp_ntz", "date")


def skew_asof_join(
    left: DataFrame,
    right: DataFrame,
    on: str,
    by: str | Sequence[str] | None = None,
    *,
    direction: str = "backward",
    tolerance: Real | timedelta | None = None,
    strategy: str = "auto",
) -> DataFrame:
    """Return the rows of `left`, each with the columns of the nearest row of `right`, as `pandas.merge_asof` does.

    * It is a left join: every row of `left` comes once, with nulls where no row of `right` is near.
    * `backward` takes the last row of `right` whose `on` is at most that of the row, `forward` the first that is at
      least that. `nearest` takes the nearer one of both, and of two equally near the one before.
    * Null keys of `by` meet one another, as in pandas. A null or a NaN in `on`, which pandas refuses, meets nothing.
    * Of rows of `right` that are equal in `by` and `on` any one is taken. pandas takes the last one of a frame, or the
      first one if the join is `forward`, and frames of Spark have no order.
    * Columns of one name, beside `on` and `by`, get the endings `_x` and `_y`.

    Both frames go through one shuffle, as a union with a window over it; `nearest` has a second window, of the opposite
    order. Hot keys are cut along `on`, as by `skew_window`.

    Args:
        left: the frame whose rows are kept, classic or Connect.
        right: the frame that is looked up.
        on: name of the order column of both: a number, a date or a timestamp.
        by: name or names of columns that have to be equal.
        direction: `backward`, `forward` or `nearest`.
        tolerance: how far `on` may be away at most: a number, or a `timedelta` along dates and timestamps.
        strategy: `auto`, `native` (a plain window) or `split`.

    Raises:
        ColumnNotFoundError: a column is not in both frames.
        KeyTypeError: `on` is no number and no time, or a column has another type in the other frame.
        ArgumentError: unknown direction or strategy, or a negative tolerance.
        ArgumentTypeError: a tolerance that does not go with the type of `on`.

    >>> trades = spark.createDataFrame([("a", 5), ("a", 9)], "k string, t int")
    >>> quotes = spark.createDataFrame([("a", 4, 1.5), ("a", 8, 2.5)], "k string, t int, price double")
    >>> skew_asof_join(trades, quotes, "t", "k").sort("t").collect()
    [Row(k='a', t=5, price=1.5), Row(k='a', t=9, price=2.5)]
    """
    check_batch(left, "skew_asof_join")
    check_batch(right, "skew_asof_join", place="second")
    check_strategy(strategy, WINDOW_STRATEGIES)
    if not isinstance(direction, str) or direction not in DIRECTIONS:
        raise ArgumentError(f"unknown direction {shown(direction)}; expected one of {', '.join(DIRECTIONS)}")
    names: list[Any] = list(by) if isinstance(by, list | tuple) else [] if by is None else [by]
    if not isinstance(on, str) or not all(isinstance(name, str) for name in names):
        raise ArgumentTypeError(f"on and by are names of columns of both frames, not on={shown(on)}, by={shown(by)}")
    sides = [find_keys(frame, [on, *names], what="as-of") for frame in (left, right)]
    type_ = _common_types(sides)[0]
    most = _tolerance(tolerance, type_)
    both = _union(left, right, sides, _common_types(sides), last=direction != "forward")
    nearest, choice = _nearest(both, len(names), direction, strategy, type_)
    at, found = F.col("t"), F.col("nearest")
    near = at.isNotNull() & found.isNotNull()
    if most is not None:
        near = near & (F.abs(_distance(at, found["t"], type_)) <= most)
    rows = nearest.where(F.col("of_left")).select("l", F.when(near, found).alias("r"))
    fold = str if tells_case(left.sparkSession) else str.lower
    shared = {fold(on), *map(fold, names)}
    columns = [*_fields("l", left, right, shared, "_x", fold), *_fields("r", right, left, shared, "_y", fold)]
    result = rows.select(*columns)
    by_names = f" by {', '.join(names)}" if names else ""
    partitions = choice.operator.rpartition(", ")[2]
    return remember(result, replace(choice, operator=f"as-of join {direction} on {on}{by_names}, {partitions}"))


def _common_types(sides: Sequence[Keys]) -> list[str]:
    """Return the types in which both frames' columns are compared.

    Raises:
        KeyTypeError: two types are not compared without a loss, or the first one is no number and no time.
    """
    types = []
    for i, (name, a, b) in enumerate(zip(sides[0].names, sides[0].types, sides[1].types, strict=True)):
        kind = next((kind for kind in (_WHOLE, _FLOATS) if a in kind and b in kind), None)
        if a != b and kind is None:
            raise KeyTypeError(f"{name!r} is of type {a} in the left frame and {b} in the right one; cast one of them")
        common = max(a, b, key=kind.index) if kind else a
        if i == 0 and not (kind or common in _TIMES or common.startswith("decimal")):
            raise KeyTypeError(f"on={name!r} is of type {common}; expected a number, a date or a timestamp")
        types.append(common)
    return types


def _tolerance(tolerance: Any, type_: str) -> Any:
    """Return the tolerance in the unit of `_distance`: microseconds along timestamps, days along dates."""
    if tolerance is None:
        return None
    wanted = "a datetime.timedelta" if type_ in _TIMES else "a number"
    if isinstance(tolerance, bool) or not isinstance(tolerance, timedelta if type_ in _TIMES else Real | Decimal):
        raise ArgumentTypeError(f"tolerance is {shown(tolerance)}; along a {type_} it is {wanted}")
    zero: Any = timedelta(0) if type_ in _TIMES else 0
    if not tolerance >= zero:
        raise ArgumentError(f"tolerance is {shown(tolerance)}; expected {wanted} that is not negative")
    if isinstance(tolerance, timedelta):
        return tolerance // timedelta(days=1) if type_ == "date" else tolerance // timedelta(microseconds=1)
    return tolerance


def _distance(a: Column, b: Column, type_: str) -> Column:
    """Return a - b; of whole numbers as decimals, as the difference of two longs may be none."""
    if type_ in _WHOLE:
        return a.cast("decimal(20,0)") - b.cast("decimal(20,0)")
    return as_epoch(a, type_) - as_epoch(b, type_)


def _union(left: DataFrame, right: DataFrame, sides: Sequence[Keys], types: Sequence[str], *, last: bool) -> DataFrame:
    """Return the rows of both frames, as `l` or `r`, with `t`, `b0` and so on, and `of_left`.

    The columns of the left frame are the fields of `l`, by position, those of the right frame and `t` those of `r`.
    Of rows that are equal in `t` those that are not `second` come first: those of the right frame if the left ones are
    to be `last`.
    """
    own, other = (_packed(*each, types) for each in ((left, sides[0]), (right, sides[1])))
    keys = own.columns[:-1]
    other = other.where(F.col("t").isNotNull()).withColumnRenamed("l", "r")
    no_l, no_r = (F.lit(None).cast(frame.schema.fields[-1].dataType) for frame in (own, other))
    own = own.select(*keys, F.lit(last).alias("second"), "l", no_r.alias("r"), F.lit(True).alias("of_left"))
    return own.unionAll(
        other.select(*keys, F.lit(not last).alias("second"), no_l.alias("l"), "r", F.lit(False).alias("of_left"))
    )


def _packed(frame: DataFrame, keys: Keys, types: Sequence[str]) -> DataFrame:
    """Return `b0` and so on, `t`, null where it is NaN, and the row with `t` as a struct `l`."""
    at, *by = (column.cast(sql_type(type_)) for column, type_ in zip(keys.columns, types, strict=True))
    at = F.when(~F.isnan(at), at) if types[0] in _FLOATS else at
    named = [at.alias("t"), *(column.alias(f"b{i}") for i, column in enumerate(by))]
    positions = [f"c{i}" for i in range(len(frame.columns))]
    roles = [column.alias(f"key{i}") for i, column in enumerate(named)]
    renamed = frame.select("*", *roles).toDF(*positions, *(f"key{i}" for i in range(len(roles))))
    shown = [F.col(f"key{i}").alias("t" if i == 0 else f"b{i - 1}") for i in range(len(roles))]
    return renamed.select(*shown, F.struct(F.col("key0").alias("t"), *positions).alias("l"))


def _nearest(both: DataFrame, keys: int, direction: str, strategy: str, type_: str) -> tuple[DataFrame, Choice]:
    """Return the rows of both frames with the row of the right one that is `nearest`, and how it was found."""
    by = [f"b{i}" for i in range(keys)]
    # What comes after a row is what comes before it in the opposite order: Spark's window to the end is quadratic.
    orders: dict[str, list[Any]] = {"before": ["t", "second"], "after": [F.desc("t"), F.desc("second")]}

    def looked_up(frame: DataFrame, which: str, name: str) -> DataFrame:
        window = skew_window(frame, by, orders[which], strategy=strategy)
        return window.rowsBetween(Window.unboundedPreceding, 0).select(**{name: F.last("r", ignorenulls=True)})

    if direction != "nearest":
        found = looked_up(both, "before" if direction == "backward" else "after", "nearest")
        return found, choice_of(found)
    first = looked_up(both, "before", "before")
    found = looked_up(first, "after", "after")
    gaps = [_distance(F.col("t"), F.col(name)["t"], type_) for name in ("before", "after")]
    is_after = F.col("before").isNull() | (gaps[0] > -gaps[1])
    nearest = F.when(is_after & F.col("after").isNotNull(), F.col("after")).otherwise(F.col("before"))
    return found.select("*", nearest.alias("nearest")), choice_of(first)


def _fields(
    struct: str, frame: DataFrame, others: DataFrame, shared: set[str], ending: str, fold: Callable[[str], str]
) -> list[Column]:
    """Return the columns of a frame out of its struct, with an ending where the other frame has one of the name."""
    taken = {fold(name) for name in others.columns} - shared
    return [
        F.col(struct)[f"c{i}"].alias(f"{name}{ending}" if fold(name) in taken else name)
        for i, name in enumerate(frame.columns)
        if struct == "l" or fold(name) not in shared
    ]
