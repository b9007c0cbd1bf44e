"""Checks of Python group functions before a job starts."""

from __future__ import annotations

import datetime as dt
import decimal
import inspect
from collections.abc import Callable, Sequence
from typing import Any

from pyspark.sql.types import StructType

from skewkit.errors import ArgumentTypeError, SchemaError
from skewkit.spark.workers import takes_key


def is_plain(func: Callable[..., Any]) -> bool:
    """Return whether a group function takes a frame, and not an iterator of frames (Spark 4.1 and later)."""
    return not any("Iterator" in str(hint) for hint in getattr(func, "__annotations__", {}).values())


def check_arguments(what: str, func: object) -> None:
    """Check that a group function can be called as func(frame) or func(key, frame).

    Raises:
        ArgumentTypeError: it is no function, or takes neither one nor two arguments.
    """
    if not callable(func):
        raise ArgumentTypeError(f"{what} is {type(func).__name__} {func!r}; expected a function")
    count = len(inspect.getfullargspec(func).args)
    if count not in (1, 2):
        raise ArgumentTypeError(f"{what} {_name(func)} takes {count} arguments; expected (frame) or (key, frame)")


def check_function(func: Callable[..., Any], rows: StructType, schema: StructType, keys: Sequence[str]) -> None:
    """Try a group function on made-up rows, two and one, and compare what it returns with its schema.

    A function that raises on made-up rows is not judged, nor one that returns an empty frame without columns: on
    the real rows they may do something else.

    Raises:
        SchemaError: it returned no frame, or a frame whose columns are not those of the schema, both times.
    """
    if not is_plain(func):
        return
    wrong = [_mismatch(func, fake_rows(rows, size), schema.names, keys) for size in (2, 1)]
    if wrong[0] and wrong[1]:
        raise SchemaError(
            f"group function {_name(func)} returned {wrong[0]}; change the function or the schema. It was tried on "
            "made-up rows; if its columns depend on the data, set spark.skewkit.checkFunctions to false"
        )


def _mismatch(func: Callable[..., Any], frame: Any, wanted: Sequence[str], keys: Sequence[str]) -> str | None:
    """Return what is wrong with the function's result, or None."""
    key = tuple(frame[name].iloc[0] if name in frame.columns else None for name in keys)
    try:
        result = func(key, frame) if takes_key(func) else func(frame)
    except Exception:  # whatever the user's function raises on made-up rows says nothing of the real ones
        return None
    if not hasattr(result, "columns") or not hasattr(result, "iloc"):
        return f"{type(result).__name__}, not a pandas DataFrame with the columns {list(wanted)}"
    found = list(result.columns)
    by_name = any(isinstance(name, str) for name in found)
    fits = sorted(map(str, found)) == sorted(wanted) if by_name else len(found) == len(wanted)
    if fits or not found:
        return None
    missing, extra = [n for n in wanted if n not in found], [n for n in found if n not in wanted]
    return f"the columns {found} and its schema has {list(wanted)} (missing {missing}, not in the schema {extra})"


def _name(func: Callable[..., Any]) -> str:
    return getattr(func, "__name__", repr(func))


def fake_rows(schema: StructType, size: int) -> Any:
    """Return a pandas frame of a schema with `size` rows of made-up values, to try a group function on."""
    import pandas as pd

    columns = [[_fake(field.dataType.typeName(), i) for i in range(1, size + 1)] for field in schema.fields]
    return pd.DataFrame(dict(enumerate(columns))).set_axis(schema.names, axis=1)


def _fake(type_: str, i: int) -> Any:
    made = {
        "string": str(i),
        "boolean": i == 1,
        "date": dt.date(2020, 1, i),
        "timestamp": dt.datetime(2020, 1, i),
        "timestamp_ntz": dt.datetime(2020, 1, i),
        "decimal": decimal.Decimal(i),
        "float": float(i),
        "double": float(i),
        "binary": str(i).encode(),
    }
    return made.get(type_, i if type_ in ("byte", "short", "integer", "long") else None)
