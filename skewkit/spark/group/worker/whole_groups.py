"""Functions of whole groups that run inside Spark's Python workers.

They are sent by value, with all that they use of skewkit, so the workers need no skewkit installed. Frames are pandas
DataFrames or Arrow tables, as the group function takes them.
"""

from __future__ import annotations

import inspect
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

    return _named_as(whole, func)


def on_whole_cogroups(func: GroupFunction, widths: tuple[int, int], helpers: int) -> GroupFunction:
    """Return `func` for pairs of groups that carry helper columns, as `on_whole_groups` does for groups."""
    with_key = takes_key(func, frames=2)

    def whole(key: tuple[Any, ...], left: Frame, right: Frame) -> Frame:
        left, right = first_columns(left, widths[0]), first_columns(right, widths[1])
        return func(key[helpers:], left, right) if with_key else func(left, right)

    return _named_as(whole, func)


def _named_as(whole: Callable[..., Frame], func: GroupFunction) -> GroupFunction:
    """Give a wrapped function the name that messages tell."""
    whole.__name__ = getattr(func, "__name__", type(func).__name__)
    return whole


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


def is_arrow(frame: Frame) -> bool:
    """Return whether this is a table of Arrow, and not of pandas."""
    return type(frame).__module__.partition(".")[0] == "pyarrow"


def first_columns(frame: Frame, width: int) -> Frame:
    """Return the first columns of a frame."""
    return frame.select(list(range(width))) if is_arrow(frame) else frame.iloc[:, :width]
