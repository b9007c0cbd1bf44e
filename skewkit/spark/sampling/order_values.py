"""Order values of hot keys in a sample of rows: sorted as Spark sorts them, so that they can be cut at quantiles."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt

from skewkit.plan.window.window_plan import Cut, Order
from skewkit.spark.session.collecting import Collected

_WHOLE = ("tinyint", "smallint", "int", "bigint", "date", "timestamp")
_YEAR = re.compile(r"([+-]?\d+)(-.*)")


@dataclass(frozen=True, eq=False)
class OrderValues:
    """Order values of the rows of a sample: hashes (m,) of their keys, and one column (m,) of texts per order column.

    `cut` makes a cut of the texts of a row.
    """

    hashes: npt.NDArray[np.int64]
    columns: Sequence[Collected]
    orders: Sequence[Order]
    cut: Callable[[Sequence[str | None]], Cut]

    def only(self, column: int) -> OrderValues:
        """Return the values of one order column by itself."""
        return OrderValues(self.hashes, [self.columns[column]], [self.orders[column]], tuple)

    def of(self, hashes: Iterable[int]) -> dict[int, list[Cut]]:
        """Return the values of the keys of these hashes, in the order, by the key's hash. No key without a row.

        The values of a key are at even distances of its order, as far as a sample can tell.
        """
        wanted = np.fromiter(hashes, np.int64)
        rows = np.flatnonzero(np.isin(self.hashes, wanted))
        texts = list(zip(*(column.values(rows) for column in self.columns), strict=True))
        found: dict[int, list[tuple[str | None, ...]]] = {}
        for key, row in zip(self.hashes[rows].tolist(), texts, strict=True):
            found.setdefault(key, []).append(row)
        return {key: [self.cut(row) for row in in_order(values, self.orders)] for key, values in found.items()}


def in_order(rows: Sequence[tuple[str | None, ...]], orders: Sequence[Order]) -> list[tuple[str | None, ...]]:
    """Return rows of texts sorted as Spark sorts the values that they stand for.

    >>> in_order([("9",), (None,), ("10",), ("-1",)], [Order("t", "int", descending=True, nulls_first=False)])
    [('10',), ('9',), ('-1',), (None,)]
    """
    found = list(rows)
    for at in reversed(range(min(len(orders), len(found[0]) if found else 0))):
        order = orders[at]
        nulls = [row for row in found if row[at] is None]
        known = [row for row in found if row[at] is not None]
        rank = _rank(order.type)
        known.sort(key=lambda row, at=at, rank=rank: rank(row[at]), reverse=order.descending)  # type: ignore[misc]
        found = nulls + known if order.nulls_first else known + nulls
    return found


def _rank(type_: str) -> Callable[[str], Any]:
    """Return what the text of a value of a type is sorted by."""
    if type_ in _WHOLE:
        return int
    if type_.startswith("decimal"):
        return Decimal
    if type_ in ("float", "double"):
        return _of_float
    if type_ == "timestamp_ntz":
        return _of_local_time
    return lambda text: text.encode("utf-8", "surrogatepass")  # true is after false, too


def _of_float(text: str) -> tuple[bool, float]:
    value = float(text)
    return (True, 0.0) if math.isnan(value) else (False, value)


def _of_local_time(text: str) -> tuple[int, str]:
    found = _YEAR.fullmatch(text)
    return (int(found.group(1)), found.group(2)) if found else (0, text)
