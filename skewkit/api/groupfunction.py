"""Checks of Python group functions before a job starts."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from pyspark.sql.types import StructType

from skewkit.errors import ArgumentTypeError, SchemaError
from skewkit.spark.grouping import fake_rows
from skewkit.spark.workers import takes_key


def is_plain(func: Callable[..., Any]) -> bool:
    """Return whether a group function takes a frame, and not an iterator of frames (Spark 4.1 and later)."""
    return not any("Iterator" in str(hint) for hint in getattr(func, "__annotations__", {}).values())


def check_function(func: Callable[..., Any], rows: StructType, schema: StructType, keys: int) -> None:
    """Try a group function on two made-up rows and compare what it returns with its schema.

    A function that raises on made-up rows is not judged: the real ones may be different.

    Raises:
        SchemaError: it returned no frame, or a frame whose columns are not those of the schema.
        ArgumentTypeError: it takes neither one nor two arguments.
    """
    if not is_plain(func):
        return
    count = len(inspect.getfullargspec(func).args)
    if count not in (1, 2):
        raise ArgumentTypeError(
            f"group function {_name(func)} takes {count} arguments; expected (frame) or (key, frame)"
        )
    try:
        frame = fake_rows(rows)
        result = func((None,) * keys, frame) if takes_key(func) else func(frame)
    except Exception:
        return
    wanted = schema.names
    if not hasattr(result, "columns") or not hasattr(result, "iloc"):
        raise SchemaError(
            f"group function {_name(func)} returned {type(result).__name__}, not a pandas DataFrame; "
            f"return a frame with the columns {wanted}"
        )
    found = list(result.columns)
    by_name = any(isinstance(name, str) for name in found)
    if (sorted(map(str, found)) != sorted(wanted)) if by_name else len(found) != len(wanted):
        missing, extra = [n for n in wanted if n not in found], [n for n in found if n not in wanted]
        raise SchemaError(
            f"group function {_name(func)} returned the columns {found} and its schema has {wanted} "
            f"(missing {missing}, not in the schema {extra}); change the function or the schema. It was tried on two "
            "made-up rows; if its columns depend on the data, set spark.skewkit.checkFunctions to false"
        )


def _name(func: Callable[..., Any]) -> str:
    return getattr(func, "__name__", repr(func))
