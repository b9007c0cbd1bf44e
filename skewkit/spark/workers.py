"""Functions that run inside Spark's Python workers.

They import nothing of skewkit and are sent by value, so the workers need no skewkit installed.
"""

from __future__ import annotations

import inspect
import pickle
import sys
from collections.abc import Callable
from typing import Any

from pyspark import cloudpickle

cloudpickle.register_pickle_by_value(sys.modules[__name__])

Frame = Any  # pandas.DataFrame
GroupFunction = Callable[..., Frame]


def takes_key(func: GroupFunction) -> bool:
    """Return whether a group function is called as func(key, frame) rather than func(frame), as PySpark decides it."""
    return len(inspect.getfullargspec(func).args) == 2


def on_whole_groups(func: GroupFunction, width: int, helpers: int) -> GroupFunction:
    """Return `func` for groups that carry `helpers` more grouping columns first and more columns than `width`."""
    with_key = takes_key(func)

    def whole(key: tuple[Any, ...], frame: Frame) -> Frame:
        frame = frame.iloc[:, :width]
        return func(key[helpers:], frame) if with_key else func(frame)

    return whole


def on_sub_groups(func: GroupFunction, width: int, helpers: int, group: str, out: tuple[str, str]) -> GroupFunction:
    """Return a function that runs `func` on a sub-group and packs what it returned, with its key, into one row.

    Packed frames are the very frames that `func` returned: they do not pass through a Spark type before the merge.
    """
    with_key = takes_key(func)

    def part(key: tuple[Any, ...], frame: Frame) -> Frame:
        import pandas as pd

        number = int(frame[group].iloc[0])
        frame = frame.iloc[:, :width]
        result = func(key[helpers:], frame) if with_key else func(frame)
        packed = pickle.dumps((key[helpers:], result), protocol=pickle.HIGHEST_PROTOCOL)
        return pd.DataFrame({out[0]: [number], out[1]: [packed]})

    return part


def on_parts(merge: GroupFunction, packed: str) -> GroupFunction:
    """Return a function that unpacks the partial results of one key (one hash) and merges them, once per key."""
    with_key = takes_key(merge)

    def same(value: Any) -> Any:
        """Make values dictionary keys that are equal where Spark's grouping is."""
        value = value.tolist() if hasattr(value, "tolist") else value
        if isinstance(value, float) and value != value:
            return "NaN"
        if isinstance(value, dict):
            return tuple((name, same(item)) for name, item in value.items())
        if isinstance(value, list | tuple):
            return tuple(same(item) for item in value)
        return value

    def merged(frame: Frame) -> Frame:
        import pandas as pd

        parts: dict[Any, tuple[Any, list[Frame]]] = {}
        for blob in frame[packed]:
            key, result = pickle.loads(blob)
            parts.setdefault(same(key), (key, []))[1].append(result)
        results = []
        for key, frames in parts.values():
            if len(frames) == 1:
                results.append(frames[0])
                continue
            whole = pd.concat(frames, ignore_index=True)
            results.append(merge(key, whole) if with_key else merge(whole))
        if len(results) == 1:
            return results[0]
        return pd.concat(results, ignore_index=True)

    return merged
