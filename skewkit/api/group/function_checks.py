"""Checks of Python group functions before a job starts: how they are called, and what they are declared to return.

Nothing of the user's runs here. What a function returns is checked in the tasks (`skewkit.spark.group.worker.results`).
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any, get_type_hints

from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from skewkit.api.arguments import analysed
from skewkit.errors import ArgumentError, ArgumentTypeError, shown
from skewkit.spark.group.worker.results import Declared
from skewkit.spark.session.compat import in_force, is_off, is_on

_WHOLE = "spark.sql.execution.pythonUDF.pandas.intToDecimalCoercionEnabled"
_BY_NAME = "spark.sql.legacy.execution.pandas.groupedMap.assignColumnsByName"
_SAFE = "spark.sql.execution.pandas.convertToArrowArraySafely"
_OF_A_SCHEMA = re.compile(r"PARSE_|DECIMAL_|DATATYPE|return.?type|StructType|schema", re.IGNORECASE)


def is_plain(func: Callable[..., Any]) -> bool:
    """Return whether a group function takes a frame, and not an iterator of frames (Spark 4.1 and later)."""
    try:
        hints = get_type_hints(func)
    except Exception:  # names that are not there; Spark then takes the text of a hint, too
        hints = getattr(func, "__annotations__", {})
    return not any("Iterator" in str(hint) for hint in hints.values())


def check_arguments(what: str, func: object, *, frames: int = 1) -> None:
    """Check that a group function can be called with its frames, or with the key and its frames.

    Raises:
        ArgumentTypeError: it is no function, or takes another number of arguments.
    """
    if not callable(func):
        raise ArgumentTypeError(f"{what} is {type(func).__name__} {shown(func)}; expected a function")
    count = len(inspect.getfullargspec(func).args)
    if count not in (frames, frames + 1):
        given = "frame" if frames == 1 else "left, right"
        name = getattr(func, "__name__", type(func).__name__)
        raise ArgumentTypeError(f"{what} {name} takes {count} arguments; expected ({given}) or (key, {given})")


def with_schema(schema: object, build: Callable[[], DataFrame]) -> DataFrame:
    """Return a group function's frame, analysed.

    Raises:
        ArgumentTypeError: the schema is neither a `StructType` nor a text.
        ArgumentError: Spark cannot read it, or refuses the call for another reason.
    """
    if not isinstance(schema, str | StructType):
        raise ArgumentTypeError(
            f"the schema is {type(schema).__name__} {shown(schema)}; expected a StructType or a text such as "
            "'k string, n bigint'"
        )
    try:
        return analysed(build)
    except (ArgumentError, ArgumentTypeError) as error:
        if not _OF_A_SCHEMA.search(str(error)):
            raise
        raise ArgumentError(
            f"the schema {shown(schema)} is none that Spark reads; write names and types, such as "
            f"'k string, n bigint'. {error}"
        ) from error


def declared(df: DataFrame, schema: StructType, *, arrow: bool = False) -> Declared:
    """Return a function's schema with how Spark reads its results in this session."""
    spark = df.sparkSession
    by_name, safe, whole = not is_off(spark, _BY_NAME), in_force(spark, _SAFE) == "true", is_on(spark, _WHOLE)
    return Declared(schema, arrow=arrow, by_name=by_name, safe=safe, whole_decimals=whole)
