"""Execution times of keys in two Count-Min matrices that share their cells: F counts, W adds up times.

Source: Rivetti et al., "Proactive Online Shuffle Grouping", Section III-A and Listings III.1 and III.2.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from skewkit.checks import Floats
from skewkit.partitioners.rules.candidates import candidate

_SALT = 0x3C6E_F372_FE94_F82B  # keeps the cells of a key apart from its candidate workers


def matrix_shape(epsilon: float, delta: float) -> tuple[int, int]:
    """Return rows and columns: r = log2(1 / delta), rounded up, and c = e / epsilon, rounded.

    The logarithm is to base 2 and c is rounded to the next number, as in the examples of the paper.

    >>> matrix_shape(0.05, 0.1), matrix_shape(0.70, 0.25)  # Section V-A and Figure 1
    ((4, 54), (2, 4))
    """
    return max(1, math.ceil(-math.log2(delta) - 1e-9)), max(1, round(math.e / epsilon))


def cells_of(hashed: int, shape: tuple[int, int]) -> list[int]:
    """Return the column of a key in every row: h_1(key), ..., h_r(key), the same at all instances."""
    rows, columns = shape
    return [candidate(hashed ^ _SALT, row + 1, columns) for row in range(rows)]


class ExecutionTimes:
    """The matrices F and W.

    * `counts` and `times` have shape (r, c). Every row of F adds up to the messages counted, every row of W to
      their times.

    Args:
        shape: rows and columns.

    >>> table = ExecutionTimes((2, 4))
    >>> table.add([0, 3], 5.0), table.add([0, 1], 1.0)
    (None, None)
    >>> table.estimate([0, 3])  # row 1 has the least count, 1
    5.0
    >>> table.estimate([2, 3])  # nothing there in row 0: the mean
    3.0
    """

    def __init__(self, shape: tuple[int, int]) -> None:
        self.counts: Floats = np.zeros(shape)  # F
        self.times: Floats = np.zeros(shape)  # W

    def add(self, cells: Sequence[int], time: float) -> None:
        """Count a message and its time (Listing III.1)."""
        for row, cell in enumerate(cells):
            self.counts[row, cell] += 1.0
            self.times[row, cell] += time

    def estimate(self, cells: Sequence[int]) -> float:
        """Return the time of a key: W / F in the row where F is least (Listing III.2).

        A key that was never seen may have a cell with F = 0, of which the paper says nothing: it gets the mean
        time of all messages. Without any message the estimate is 0.
        """
        counts = [float(self.counts[row, cell]) for row, cell in enumerate(cells)]
        row = counts.index(min(counts))
        if counts[row] > 0.0:
            return float(self.times[row, cells[row]]) / counts[row]
        return self.mean()

    def mean(self) -> float:
        """Return the mean time of all messages; 0 without any."""
        total = float(self.counts[0].sum())
        return float(self.times[0].sum()) / total if total > 0.0 else 0.0

    def ratios(self) -> Floats:
        """Return W / F cell by cell, 0 where nothing was counted: the snapshot S."""
        return np.divide(self.times, self.counts, out=np.zeros_like(self.times), where=self.counts > 0.0)

    def copy(self) -> ExecutionTimes:
        """Return a copy that does not change with this one."""
        twin = ExecutionTimes((0, 0))
        twin.counts, twin.times = self.counts.copy(), self.times.copy()
        return twin
