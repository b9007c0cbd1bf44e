"""Whether a window that a Column names is one of the same partition keys and order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyspark.sql import Column, DataFrame

from skewkit.spark.expressions.columns import Over, same_column
from skewkit.spark.expressions.keys import Keys, find_keys
from skewkit.spark.window.ordering import OrderBy, find_order

_Named = tuple[Column, str | None]


def same_window(df: DataFrame, keys: Keys, by: OrderBy, over: Over) -> bool:
    """Return whether a window has these partition keys and this order. False where that cannot be seen."""
    mine, order = _named(keys.columns, keys.names, keys.bare), find_order(df, over.order)
    if over.partition:
        its = find_keys(df, over.partition, what="partition")
        found = _named(its.columns, its.names, its.bare)
        partitioned = all(any(map(_alike, [a] * len(mine), mine)) for a in found)
        partitioned = partitioned and all(any(map(_alike, [a] * len(found), found)) for a in mine)
    else:
        partitioned = keys.names == ("nothing",) and not keys.bare
    both = [
        [(*each, o.descending, o.nulls_first) for each, o in zip(_ordered(one), one.orders, strict=True)]
        for one in (by, order)
    ]
    same = len(both[0]) == len(both[1]) and all(a[2:] == b[2:] and _alike(a, b) for a, b in zip(*both, strict=True))
    return partitioned and same


def _named(columns: Sequence[Column], names: Sequence[str], bare: Sequence[str]) -> list[_Named]:
    """Return columns with the names of those that only name one of the frame."""
    return [(column, name if name in bare else None) for column, name in zip(columns, names, strict=True)]


def _ordered(by: OrderBy) -> list[_Named]:
    return _named(by.columns, [order.name for order in by.orders], by.bare)


def _alike(a: tuple[Any, ...], b: tuple[Any, ...]) -> bool:
    """Return whether two columns are one, each with its name if it is no more than that. Spark calls a cast alike."""
    return (a[1] is not None and a[1] == b[1]) or same_column(a[0], b[0])
