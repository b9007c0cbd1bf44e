"""Order columns of a window: found, typed, sampled for the cuts of hot keys, and compared with a cut."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, SupportsIndex

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from skewkit.errors import ArgumentError, ArgumentTypeError, shown
from skewkit.plan.window.window_plan import Cut, Order
from skewkit.spark.expressions.columns import read_name, read_sorting
from skewkit.spark.expressions.keys import find_keys, quoted
from skewkit.spark.session.compat import is_column

LONGEST = 1024
"""Characters or bytes of an order value that are read to cut near it; they become part of the plan."""
_CUTTABLE = (
    ("tinyint", "smallint", "int", "bigint", "float", "double", "boolean", "date", "timestamp", "timestamp_ntz"),
    ("decimal(", "string"),
)

_WHOLE_NUMBERS = (("tinyint", 8), ("smallint", 16), ("int", 32), ("bigint", 64))
_EXTREMES = {
    **{type_: (str(-(1 << bits - 1)), str((1 << bits - 1) - 1)) for type_, bits in _WHOLE_NUMBERS},
    **dict.fromkeys(("float", "double"), ("-Infinity", "NaN")),
    "date": ("-719162", "2932896"),
    "timestamp": ("-62135596800000000", "253402214400000000"),
    "timestamp_ntz": ("0001-01-01 00:00:00", "9999-12-31 00:00:00"),
}
"""Least and greatest values of the types that are sorted by radix, as `cut_value` takes them, or nearly so."""


@dataclass(frozen=True)
class OrderBy:
    """The order columns of a frame, without their directions, and what is known of each.

    `bare` are the names of those that only name a column of the frame.
    """

    columns: tuple[Column, ...]
    orders: tuple[Order, ...]
    collated: bool = False
    bare: tuple[str, ...] = ()

    @property
    def cuttable(self) -> int:
        """How many leading columns have a type that cuts can be written for."""
        kinds = [o.type == "binary" or o.type in _CUTTABLE[0] or o.type.startswith(_CUTTABLE[1]) for o in self.orders]
        return kinds.index(False) if False in kinds else len(kinds)

    @property
    def sorting(self) -> list[Column]:
        """The columns as `Window.orderBy` takes them."""
        return [directed(column, order) for column, order in zip(self.columns, self.orders, strict=True)]

    def renamed(self, names: Sequence[str]) -> OrderBy:
        """Return the same order found under other names."""
        return replace(self, columns=tuple(F.col(quoted(name)) for name in names))


def find_order(df: DataFrame, order_by: Sequence[str | Column]) -> OrderBy:
    """Return the order columns of a frame, checked before any job.

    Raises:
        ArgumentTypeError: an order column is neither a name nor a Column.
        ArgumentError: the direction of a Column cannot be read.
        ColumnNotFoundError: a column is not in the frame, or is there more than once.
    """
    columns: list[str | Column] = []
    directions = []
    for given in order_by:
        if isinstance(given, str):
            columns.append(given)
            directions.append((False, True))
        elif is_column(given):
            found = read_sorting(given)
            if found is None:
                raise ArgumentError(
                    f"the direction of the order column {given} cannot be read; "
                    "use a column name, F.asc(name), F.desc(name) or their forms with nulls first or last"
                )
            columns.append(found.column)
            directions.append((found.descending, found.nulls_first))
        else:
            raise ArgumentTypeError(
                f"an order column is a name or a Column, not {type(given).__name__} {shown(given)}; for several pass "
                "a list"
            )
    if not columns:
        return OrderBy((), ())
    keys = find_keys(df, columns, what="order")
    orders = (Order(n, t, *d) for n, t, d in zip(keys.names, keys.types, directions, strict=True))
    return OrderBy(keys.columns, tuple(orders), "collation" in (keys.native_because or ""), keys.bare)


def as_numbers(by: OrderBy, *bounds: Any, what: str) -> tuple[OrderBy, list[Any]]:
    """Return an order along one time or date as numbers, in microseconds or days, and durations as such numbers.

    A `timedelta` is a duration: its days have 24 hours, whatever clocks do. Along a date a whole number counts days.
    Bounds that need no arithmetic leave the order as it is.

    Raises:
        ArgumentTypeError: a duration along an order that is no time, a number along a time, or a part of a day along a
            date.
    """
    durations = [bound for bound in bounds if isinstance(bound, timedelta)]
    type_ = by.orders[0].type if len(by.orders) == 1 else ""
    far = any(not isinstance(bound, timedelta) and 0 < abs(bound) < _FAR for bound in bounds if _is_number(bound))
    if not durations and (type_ not in _EPOCH or not far):
        return by, list(bounds)
    if type_ not in _EPOCH:
        order = ", ".join(map(str, by.orders)) or "no order"
        raise ArgumentTypeError(
            f"{what} got {durations[0]!r}, and the window is ordered by {order}{f' of type {type_}' if type_ else ''}; "
            "durations go with one order column of type timestamp, timestamp_ntz or date"
        )
    if type_ != "date" and far:
        raise ArgumentTypeError(
            f"{what} got {', '.join(map(repr, bounds))} along {by.orders[0].name}, a {type_}; give durations, such as "
            "datetime.timedelta(hours=-1)"
        )
    unit = timedelta(days=1) if type_ == "date" else timedelta(microseconds=1)
    if any(duration % unit for duration in durations):
        raise ArgumentTypeError(f"{what} got a part of a day along {by.orders[0].name}, a date; give whole days")
    numbers = [bound // unit if isinstance(bound, timedelta) else bound for bound in bounds]
    numbered = replace(by.orders[0], type="int" if type_ == "date" else "bigint")
    return replace(by, columns=(_EPOCH[type_](by.columns[0]),), orders=(numbered,)), numbers


def _is_number(bound: object) -> bool:
    return isinstance(bound, SupportsIndex) and not isinstance(bound, bool) and not hasattr(bound, "__len__")


_AS_TEXT = frozenset(
    ["tinyint", "smallint", "int", "bigint", "float", "double", "decimal", "string", "boolean", "timestamp_ntz"]
)
"""Types to which texts are cast, all of an array at once."""
_FAR = (1 << 63) - 1
"""Bounds from here on are infinite."""
_EPOCH: dict[str, Callable[[Column], Column]] = {
    "date": F.unix_date,
    "timestamp": F.unix_micros,
    "timestamp_ntz": lambda c: F.timestamp_diff("MICROSECOND", F.lit("1970-01-01").cast("timestamp_ntz"), c),
}


def as_epoch(column: Column, type_: str) -> Column:
    """Return a time as microseconds and a date as days since 1970; anything else as it is."""
    return _EPOCH[type_](column) if type_ in _EPOCH else column


def directed(column: Column, order: Order) -> Column:
    """Return a column with the direction of an order."""
    if order.descending:
        return column.desc_nulls_first() if order.nulls_first else column.desc_nulls_last()
    return column.asc_nulls_first() if order.nulls_first else column.asc_nulls_last()


def first_order(by: OrderBy, whole: Column) -> Column:
    """Return the first order column, with its direction, for a sort by radix. Rows that are `whole` come first.

    Spark's radix sort keeps the order of rows that tie, unless there are nulls: they stand as extreme values.
    """
    column, order = by.columns[0], by.orders[0]
    least, most = (cut_value(text, order.type) for text in _EXTREMES[order.type])
    first, last = (most, least) if order.descending else (least, most)
    known = F.coalesce(column, first if order.nulls_first else last)
    return directed(F.when(whole, first).otherwise(known), order)


def plain_name(df: DataFrame, column: Column) -> str | None:
    """Return the frame's name for a Column that is one of its columns by name, else None."""
    name = read_name(column)
    found = [known for known in df.columns if name is not None and known.lower() == name.lower()]
    return found[0] if len(found) == 1 else None


def cut_of(texts: Sequence[str | None], orders: Sequence[Order]) -> Cut:
    """Return a cut. Behind the beginning of a long value the columns after it say nothing."""
    for i, (text, order) in enumerate(zip(texts, orders, strict=False)):
        if text is not None and is_text(order.type) and len(text) >= LONGEST * (1 + (order.type == "binary")):
            return (*texts[: i + 1], *[None] * (len(texts) - i - 1))
    return tuple(texts)


def is_text(type_: str) -> bool:
    """Return whether values of a type have any length, so that only their beginning is read.

    >>> is_text("string collate UNICODE"), is_text("binary"), is_text("date")
    (True, True, False)
    """
    return type_.startswith("string") or type_ == "binary"


def cut_value(text: str | None, type_: str) -> Column:
    """Return the literal of a cut, of the type of its order column."""
    return F.expr(cut_sql(text, type_))


def cut_sql(text: str | None, type_: str) -> str:
    """Return the literal of a cut as SQL. Texts are written by their bytes, so that no session quotes them otherwise.

    >>> cut_sql("7", "bigint"), cut_sql("a'", "string"), cut_sql("-1", "date")
    ("CAST('7' AS bigint)", "CAST(X'6127' AS string)", 'date_from_unix_date(-1)')
    """
    if text is None:
        return f"CAST(NULL AS {type_})"
    if type_ == "binary":
        return f"X'{text}'"
    if type_ == "timestamp":
        return f"timestamp_micros({int(text)}L)"
    if type_ == "date":
        return f"date_from_unix_date({int(text)})"
    literal = f"X'{text.encode().hex()}'" if is_text(type_) else f"'{text}'"
    return f"CAST({literal} AS {type_})"


def cut_array(texts: Sequence[str | None], type_: str) -> Column:
    """Return the literals of cuts as one array, which the optimizer makes once."""
    if type_.partition("(")[0] in _AS_TEXT:
        return F.from_json(F.lit(json.dumps(texts)), "array<string>").cast(f"array<{type_}>")
    return F.expr(f"array({', '.join(cut_sql(text, type_) for text in texts)})")


def at_or_after(columns: Sequence[Column], orders: Sequence[Order], cut: Sequence[Column]) -> Column:
    """Return whether a row is at or after a cut in the order. Never null, and false, then true, along the order."""
    column, order, value = columns[0], orders[0], cut[0]
    if len(cut) == 1:
        compared = column <= value if order.descending else column >= value
        at_null = F.lit(True) if order.nulls_first else column.isNull()
        return F.when(value.isNull(), at_null).otherwise(F.coalesce(compared, F.lit(not order.nulls_first)))
    compared = column < value if order.descending else column > value
    at_null = column.isNotNull() if order.nulls_first else F.lit(False)
    after = F.when(value.isNull(), at_null).otherwise(F.coalesce(compared, F.lit(not order.nulls_first)))
    return after | (column.eqNullSafe(value) & at_or_after(columns[1:], orders[1:], cut[1:]))


def as_text(column: Column, type_: str) -> Column:
    """Return a value as text that `cut_value` turns back to the very same value; the beginning of a long one."""
    if is_text(type_):
        beginning = F.substring(column, 1, LONGEST)
        return F.hex(beginning) if type_ == "binary" else beginning
    if type_ == "timestamp":  # its text is ambiguous where clocks are set back
        return F.unix_micros(column).cast("string")
    if type_ == "date":
        return F.unix_date(column).cast("string")
    return column.cast("string")
