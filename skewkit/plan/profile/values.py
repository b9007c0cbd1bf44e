"""Key values to JSON and back, guided by their Spark type; and key values as dictionary keys."""

from __future__ import annotations

import base64
import datetime as dt
import decimal
import math
from collections.abc import Sequence
from numbers import Number
from typing import Any

from skewkit.hashing.spark import struct_fields

BITS_OF = {"tinyint": 7, "smallint": 15, "int": 31, "bigint": 63}
"""Bits of whole numbers beside the sign."""


def is_value_of(value: Any, type_: str) -> bool:
    """Return whether a Python value is one of a column of a single type. Null is, and what is not checked is, too.

    >>> is_value_of("5", "bigint"), is_value_of(5, "string"), is_value_of(5.0, "bigint"), is_value_of(1 << 40, "int")
    (False, False, True, False)
    """
    if value is None:
        return True
    number = isinstance(value, Number) and not isinstance(value, bool)
    if type_ in BITS_OF:
        return number and value % 1 == 0 and -1 << BITS_OF[type_] <= value < 1 << BITS_OF[type_]
    if type_ in ("float", "double") or type_.startswith("decimal"):
        return number
    if type_ == "boolean":
        return isinstance(value, bool) or type(value).__name__ in ("bool", "bool_")  # numpy's own
    single: dict[str, Any] = {"string": str, "binary": (bytes, bytearray)}
    return type_ not in single or isinstance(value, single[type_])


def to_jsonable(value: Any) -> Any:
    """Return a value that `json.dumps` takes and `from_jsonable` turns back."""
    if isinstance(value, float) and not math.isfinite(value):
        return repr(value)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, bytes | bytearray):
        return base64.b64encode(bytes(value)).decode("ascii")
    if isinstance(value, dt.datetime | dt.date | dt.time):
        return value.isoformat()
    if isinstance(value, dt.timedelta):
        return value // dt.timedelta(microseconds=1)
    if isinstance(value, Sequence):
        return [to_jsonable(item) for item in value]
    return str(value)


def from_jsonable(value: Any, type_: str) -> Any:
    """Return the Python value that `to_jsonable` wrote for a column of this Spark type.

    >>> from_jsonable(to_jsonable((b"a", [1])), "struct<b:binary,l:array<int>>")
    (b'a', (1,))
    """
    if value is None:
        return None
    if type_ in ("float", "double"):
        number = float(value)
        return math.nan if math.isnan(number) else number  # one object, so that equal profiles are equal
    if type_ == "binary":
        return base64.b64decode(value)
    if type_ == "date":
        return dt.date.fromisoformat(value)
    if type_.startswith("timestamp"):
        return dt.datetime.fromisoformat(value)
    if type_.startswith("decimal("):
        return decimal.Decimal(value)
    if type_.startswith(("interval day", "interval hour", "interval minute", "interval second")):
        return dt.timedelta(microseconds=value)
    if type_.startswith("array<"):
        return tuple(from_jsonable(item, type_[6:-1]) for item in value)
    if type_.startswith("struct<"):
        fields = struct_fields(type_)
        return tuple(from_jsonable(item, kind) for item, (_, kind) in zip(value, fields, strict=True))
    return value


def hashable(value: Any) -> Any:
    """Return the value in a form that is a dictionary key and equal where Spark's grouping is equal.

    NaN equals NaN, -0.0 equals 0.0, arrays and structs are tuples, binary is bytes.
    """
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else value + 0.0
    if isinstance(value, bytearray):
        return bytes(value)
    if isinstance(value, list | tuple):
        return tuple(hashable(item) for item in value)
    return value
