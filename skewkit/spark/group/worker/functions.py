"""Functions of whole groups, and of the partial results of a key, that run inside Spark's Python workers.

They import nothing of skewkit and are sent by value, so the workers need no skewkit installed. Frames are pandas
DataFrames or Arrow tables, as the group function takes them.
"""

from __future__ import annotations

import inspect
import pickle
import sys
from collections.abc import Callable
from typing import Any

from pyspark import cloudpickle

cloudpickle.register_pickle_by_value(sys.modules[__name__])

Frame = Any  # pandas.DataFrame or pyarrow.Table
GroupFunction = Callable[..., Frame]


def takes_key(func: GroupFunction, frames: int = 1) -> bool:
    """Return whether a function of so many frames gets the key before them, as PySpark decides it."""
    return len(inspect.getfullargspec(func).args) == frames + 1


def on_whole_groups(func: GroupFunction, width: int, helpers: int) -> GroupFunction:
    """Return `func` for groups that carry `helpers` more grouping columns first and more columns than `width`."""
    with_key = takes_key(func)

    def whole(key: tuple[Any, ...], frame: Frame) -> Frame:
        frame = first_columns(frame, width)
        return func(key[helpers:], frame) if with_key else func(frame)

    return whole


def on_whole_cogroups(func: GroupFunction, widths: tuple[int, int], helpers: int) -> GroupFunction:
    """Return `func` for pairs of groups that carry helper columns, as `on_whole_groups` does for groups."""
    with_key = takes_key(func, frames=2)

    def whole(key: tuple[Any, ...], left: Frame, right: Frame) -> Frame:
        left, right = first_columns(left, widths[0]), first_columns(right, widths[1])
        return func(key[helpers:], left, right) if with_key else func(left, right)

    return whole


def on_parts(merge: GroupFunction, order: tuple[str, ...], packed: str) -> GroupFunction:
    """Return a function that merges the packed partial results of one key (one hash), once per key.

    * The parts come in the order of the columns `order`.
    * Parts without rows are left out; where no part has rows, the key has no result and `merge` is not called.
    """
    with_key = takes_key(merge)

    def merged(frame: Frame) -> Frame:
        columns = [frame[name].to_pylist() if is_arrow(frame) else frame[name] for name in (*order, packed)]
        parts: dict[Any, tuple[Any, list[Frame]]] = {}
        empty = None
        for *_, blob in sorted(zip(*columns, strict=True), key=lambda row: row[:-1]):
            identity, key, result = pickle.loads(blob)
            if len(checked(result, arrow=is_arrow(frame))):
                parts.setdefault(identity, (key, []))[1].append(result)
            else:
                empty = result
        whole = [(_shown(key, frame), together(frames)) for key, frames in parts.values()]
        results = [merge(key, rows) if with_key else merge(rows) for key, rows in whole]
        return together(results) if results else empty

    return merged


def _shown(key: tuple[Any, ...], frame: Frame) -> tuple[Any, ...]:
    """Return a key as Spark's own group functions get it; that of Arrow is packed as arrays of one value."""
    return tuple(part[0] for part in key) if is_arrow(frame) else key


def checked(result: Any, *, arrow: bool) -> Frame:
    """Return what a group function returned if it is a frame of its kind, which Spark would say of a whole group.

    >>> checked(None, arrow=True)
    Traceback (most recent call last):
        ...
    TypeError: the group function returned NoneType; expected a pyarrow.Table
    """
    if is_arrow(result) if arrow else hasattr(result, "iloc") and hasattr(result, "columns"):
        return result
    wanted = "pyarrow.Table" if arrow else "pandas DataFrame"
    raise TypeError(f"the group function returned {type(result).__name__}; expected a {wanted}")


def same(value: Any) -> Any:
    """Make values dictionary keys that are equal where Spark's grouping is."""
    value = value.as_py() if hasattr(value, "as_py") else value
    value = value.tolist() if hasattr(value, "tolist") else value
    if isinstance(value, float) and value != value:
        return "NaN"
    if isinstance(value, dict):
        return tuple((name, same(item)) for name, item in value.items())
    if isinstance(value, list | tuple):
        return tuple(same(item) for item in value)
    return value


def together(frames: list[Frame]) -> Frame:
    """Return frames one below the other."""
    if len(frames) == 1:
        return frames[0]
    if is_arrow(frames[0]):
        import pyarrow as pa

        return pa.concat_tables(frames, promote_options="permissive")
    import pandas as pd

    return pd.concat(frames, ignore_index=True)


def is_arrow(frame: Frame) -> bool:
    """Return whether this is a table of Arrow, and not of pandas."""
    return type(frame).__module__.partition(".")[0] == "pyarrow"


def first_columns(frame: Frame, width: int) -> Frame:
    """Return the first columns of a frame."""
    return frame.select(list(range(width))) if is_arrow(frame) else frame.iloc[:, :width]
