"""Checks of Python group functions before a job starts."""

from __future__ import annotations

import datetime as dt
import decimal
import inspect
import io
import pickle
from collections.abc import Callable, Sequence
from typing import Any, get_type_hints

from pyspark import cloudpickle
from pyspark.accumulators import Accumulator
from pyspark.sql.types import StructType

from skewkit.errors import ArgumentTypeError, SchemaError
from skewkit.spark.group.worker.functions import takes_key


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
        raise ArgumentTypeError(f"{what} is {type(func).__name__} {func!r}; expected a function")
    count = len(inspect.getfullargspec(func).args)
    if count not in (frames, frames + 1):
        shown = "frame" if frames == 1 else "left, right"
        raise ArgumentTypeError(f"{what} {_name(func)} takes {count} arguments; expected ({shown}) or (key, {shown})")


def check_function(
    func: Callable[..., Any],
    merge: Callable[..., Any] | None,
    rows: StructType,
    schema: StructType,
    keys: Sequence[str],
    *,
    arrow: bool = False,
) -> None:
    """Try a group function, and its merge, on made-up rows, two and one; compare what they return with the schema.

    A function that raises on made-up rows is not judged, nor one that returns an empty frame without columns: on
    the real rows they may do something else.

    Raises:
        SchemaError: it returned no frame, or columns or values that are not those of the schema, both times.
    """
    if not is_plain(func):
        return
    func, merge = _copied(func), None if merge is None else _copied(merge)
    trial = _arrow_trial if arrow else _trial
    trials = [trial(func, fake_rows(rows, size), schema, keys) for size in (2, 1)]
    what, wrong = f"group function {_name(func)}", [mismatch for _, mismatch in trials]
    if merge is not None and is_plain(merge) and not any(wrong):
        what = f"merge {_name(merge)}"
        wrong = [trial(merge, result, schema, keys)[1] if _has_rows(result) else None for result, _ in trials]
    if all(wrong):
        raise SchemaError(
            f"{what} returned {wrong[0]}; change the function or the schema. It was tried on made-up rows; if what "
            "it returns depends on the data, set spark.skewkit.checkFunctions to false"
        )


def _copied(func: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function as a worker would get it, so that what a trial leaves in its globals is not sent to workers."""
    packed = io.BytesIO()
    pickler = _Pickler(packed)
    try:
        pickler.dump(func)
        packed.seek(0)
        copy: Callable[..., Any] = _Unpickler(packed, pickler.broadcasts).load()
    except Exception:  # Spark will say so itself
        return func
    return copy


_CloudPickler: Any = cloudpickle.CloudPickler


class _Pickler(_CloudPickler):  # type: ignore[misc]
    """Pickles functions; what counts for the whole application counts nothing in the copy.

    Broadcasts stay what they are: pickled, they would be sent with whatever function the thread pickles next.
    """

    def __init__(self, file: io.BytesIO) -> None:
        super().__init__(file)
        self.broadcasts: list[Any] = []

    def persistent_id(self, obj: Any) -> int | None:
        if not (type(obj).__name__ == "Broadcast" and type(obj).__module__.startswith("pyspark.")):
            return None
        self.broadcasts.append(obj)
        return len(self.broadcasts) - 1

    def reducer_override(self, obj: Any) -> Any:
        return (_Uncounted, ()) if isinstance(obj, Accumulator) else super().reducer_override(obj)


class _Unpickler(pickle.Unpickler):
    """Makes the copy of what `_Pickler` wrote."""

    def __init__(self, file: io.BytesIO, broadcasts: Sequence[Any]) -> None:
        super().__init__(file)
        self._broadcasts = broadcasts

    def persistent_load(self, pid: Any) -> Any:
        return self._broadcasts[pid]


class _Uncounted:
    """Stands for an accumulator that a function adds to."""

    def add(self, term: Any) -> None:
        """Add nothing."""

    def __iadd__(self, term: Any) -> _Uncounted:
        return self


def _has_rows(result: Any) -> bool:
    """Return whether a trial's result would reach the merge."""
    return result is not None and len(result) > 0


def _trial(func: Callable[..., Any], frame: Any, schema: StructType, keys: Sequence[str]) -> tuple[Any, str | None]:
    """Return the function's result, None where it raised, and what is wrong with it, None where nothing is."""
    try:
        key = tuple(frame[name].iloc[0] if name in frame.columns else None for name in keys)
        result = func(key, frame) if takes_key(func) else func(frame)
    except Exception:  # whatever the user's function raises on made-up rows says nothing of the real ones
        return None, None
    return result, _mismatch(result, schema)


def _arrow_trial(
    func: Callable[..., Any], frame: Any, schema: StructType, keys: Sequence[str]
) -> tuple[Any, str | None]:
    """Do as `_trial` does, with an Arrow table in place of a pandas frame."""
    import pyarrow as pa

    try:
        table = frame if isinstance(frame, pa.Table) else pa.Table.from_pandas(frame, preserve_index=False)
        key = tuple(table.column(name)[0] if name in table.column_names else pa.scalar(None) for name in keys)
        result = func(key, table) if takes_key(func) else func(table)
    except Exception:  # as above
        return None, None
    if not isinstance(result, pa.Table):
        return result, f"{type(result).__name__}, not a pyarrow.Table with the columns {schema.names}"
    return result, _other_columns(result.column_names, schema.names)


def _mismatch(result: Any, schema: StructType) -> str | None:
    wanted = schema.names
    if not hasattr(result, "columns") or not hasattr(result, "iloc"):
        return f"{type(result).__name__}, not a pandas DataFrame with the columns {wanted}"
    found = list(result.columns)
    by_name = any(isinstance(name, str) for name in found)
    if (by_name or len(found) != len(wanted)) and (other := _other_columns(found, wanted)):
        return other
    for position, field in enumerate(schema.fields):
        if found and field.dataType.typeName() in _NUMBERS:
            column = result[field.name] if by_name else result.iloc[:, position]
            if (text := _not_a_number(column)) is not None:
                return (
                    f"{text!r} in the column {field.name!r}, which its schema says is {field.dataType.simpleString()}"
                )
    return None


def _other_columns(found: list[Any], wanted: list[str]) -> str | None:
    """Return how columns differ from those of a schema; a frame without any is taken for an empty one."""
    if not found or sorted(map(str, found)) == sorted(wanted):
        return None
    missing, extra = [n for n in wanted if n not in found], [n for n in found if n not in wanted]
    return f"the columns {found} and its schema has {wanted} (missing {missing}, not in the schema {extra})"


_NUMBERS = {"byte", "short", "integer", "long", "float", "double"}


def _not_a_number(column: Any) -> str | None:
    """Return the first text of a column that is no number."""
    for value in column if column.dtype == object else ():
        if isinstance(value, str):
            try:
                float(value)
            except ValueError:
                return value
    return None


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
