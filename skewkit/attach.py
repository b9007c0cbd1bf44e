"""`install()`: the operators as DataFrame methods, on classic and Connect frames. `uninstall()` takes them off."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyspark.sql import DataFrame

from skewkit.api.group.skew_groupby import skew_groupby
from skewkit.api.join.skew_join import skew_join
from skewkit.api.profile import skew_profile
from skewkit.api.window.skew_asof_join import skew_asof_join
from skewkit.api.window.skew_window import skew_window
from skewkit.errors import AttachError

METHODS: dict[str, Callable[..., Any]] = {
    "skew_profile": skew_profile,
    "skew_groupby": skew_groupby,
    "skew_join": skew_join,
    "skew_window": skew_window,
    "skew_asof_join": skew_asof_join,
}


def install() -> None:
    """Attach `skew_profile`, `skew_groupby`, `skew_join` and their kind to every DataFrame, classic and Connect.

    All or none; calling it again changes nothing; `uninstall()` undoes it.

    Editors and type checkers do not see what is attached while a program runs. The functions are typed and do the same:
    `skew_join(df, other, "k")`, or in a chain `df.transform(skew_join, other, "k")`.

    Raises:
        AttachError: another package has given DataFrame a method of one of these names. Nothing is attached.

    >>> install()
    >>> spark.range(10).skew_profile("id", partitions=1).rows
    10
    >>> uninstall()
    """
    for frame_class in _frame_classes():
        for name, function in METHODS.items():
            present = getattr(frame_class, name, function)
            if present is not function:
                raise AttachError(
                    f"{frame_class.__module__}.DataFrame already has a method {name!r}, from {present.__module__}; "
                    f"call skewkit.{name}(df, ...) instead, or remove the other method before skewkit.install()"
                )
    for frame_class in _frame_classes():
        for name, function in METHODS.items():
            setattr(frame_class, name, function)


def uninstall() -> None:
    """Take the methods off again; without `install()` before, nothing happens."""
    for frame_class in _frame_classes():
        for name, function in METHODS.items():
            if vars(frame_class).get(name) is function:
                delattr(frame_class, name)


def _frame_classes() -> list[type]:
    """Return the classes that all frames come from: one since Spark 4.0, before that Connect has its own."""
    classes: list[type] = [DataFrame]
    try:
        from pyspark.sql.connect.dataframe import DataFrame as ConnectFrame
    except ImportError:  # the packages that Connect needs are not installed, so there are no such frames
        return classes
    if not issubclass(ConnectFrame, DataFrame):
        classes.append(ConnectFrame)
    return classes
