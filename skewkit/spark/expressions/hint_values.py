"""Values of a hint as values of the key's type."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from decimal import Decimal
from typing import Any, TypeVar

from pyspark.sql import types as T

from skewkit.errors import ArgumentError, shown

_WHOLE = (T.ByteType, T.ShortType, T.IntegerType, T.LongType)
_BITS = {T.ByteType: 7, T.ShortType: 15, T.IntegerType: 31, T.LongType: 63}
_MIDNIGHT = datetime.time()
Day = TypeVar("Day", bound=datetime.date)


def fitted(value: Any, type_: T.DataType, hint: object) -> Any:
    """Return a hint's value as a Python value of a key's type. Texts make dates, timestamps and nothing else.

    Raises:
        ArgumentError: it does not fit.

    >>> fitted(1, T.DoubleType(), ""), fitted("2024-01-31", T.DateType(), ""), fitted(None, T.LongType(), "")
    (1.0, datetime.date(2024, 1, 31), None)
    >>> fitted("x", T.LongType(), "SKEW('t', 'k', 1 value)")
    Traceback (most recent call last):
    skewkit.errors.ArgumentError: SKEW('t', 'k', 1 value): 'x' is no bigint, which is the key's type
    """
    found = _fitted(value, type_)
    if found is None and value is not None:
        raise ArgumentError(f"{hint}: {shown(value)} is no {type_.simpleString()}, which is the key's type")
    return found


def _fitted(value: Any, type_: T.DataType) -> Any:
    number = isinstance(value, int | float | Decimal) and not isinstance(value, bool)
    if isinstance(type_, _WHOLE):
        whole = number and value == value // 1 and -(1 << _BITS[type(type_)]) <= value < 1 << _BITS[type(type_)]
        return int(value) if whole else None
    if isinstance(type_, T.FloatType | T.DoubleType):
        return float(value) if number else None
    if isinstance(type_, T.DecimalType):
        return Decimal(str(value)) if number else None
    if isinstance(type_, T.StringType | T.CharType | T.VarcharType):
        return value if isinstance(value, str) else None
    if isinstance(type_, T.BooleanType):
        return value if isinstance(value, bool) else None
    if isinstance(type_, T.BinaryType):
        return value.encode() if isinstance(value, str) else None
    if isinstance(type_, T.DateType):
        return _date(value)
    if isinstance(type_, T.TimestampType | T.TimestampNTZType):
        return _timestamp(value)
    return None


def _date(value: Any) -> datetime.date | None:
    if isinstance(value, str):
        return _parsed(datetime.date.fromisoformat, value)
    return value if isinstance(value, datetime.date) and not isinstance(value, datetime.datetime) else None


def _timestamp(value: Any) -> datetime.datetime | None:
    if isinstance(value, str):
        return _parsed(datetime.datetime.fromisoformat, value)
    if isinstance(value, datetime.datetime):
        return value
    return datetime.datetime.combine(value, _MIDNIGHT) if isinstance(value, datetime.date) else None


def _parsed(read: Callable[[str], Day], text: str) -> Day | None:
    try:
        return read(text)
    except ValueError:
        return None
