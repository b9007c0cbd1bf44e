"""Rows brought to the driver by columns: Arrow where the types are simple, else the rows that PySpark makes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from pyspark.sql import DataFrame

from skewkit.spark.session.compat import collects_values


@dataclass(frozen=True, eq=False)
class Collected:
    """One column of collected rows: an Arrow array, or a list of Python values."""

    column: Any

    def numbers(self) -> npt.NDArray[Any]:
        """Return a column of numbers without nulls as an array (m,)."""
        return np.asarray(self.column) if len(self.column) else np.zeros(0, np.int64)

    def at(self, rows: npt.NDArray[np.intp]) -> Collected:
        """Return the column of some rows."""
        return Collected(
            [self.column[row] for row in rows] if isinstance(self.column, list) else self.column.take(rows)
        )

    def values(self, rows: npt.NDArray[np.intp]) -> list[Any]:
        """Return the Python values of some rows."""
        taken = self.at(rows).column
        return taken if isinstance(taken, list) else list(taken.to_pylist())


def collect(df: DataFrame, *, arrow: bool) -> Sequence[Collected]:
    """Run a frame and return its columns. `arrow` says that Arrow may bring them (Spark 4.0 and later)."""
    if arrow and collects_values():
        return [Collected(column) for column in df.toArrow().columns]
    rows, width = df.collect(), len(df.columns)
    return [Collected([row[i] for row in rows]) for i in range(width)]
