"""What an operator instance does in POSG: measure, wait until the measurements are stable, send them.

Source: Rivetti et al., "Proactive Online Shuffle Grouping", Section III-B, Figure 2 and Equation (1).
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

import numpy as np

from skewkit.checks import Floats
from skewkit.partitioners.posg.execution_times import ExecutionTimes


class OperatorState(Enum):
    """The states of Figure 2."""

    START = "start"
    STABILIZING = "stabilizing"


class Operator:
    """An instance of the operator: a finite state machine that moves after every `window` messages executed.

    * START: takes a snapshot S = W / F and goes to STABILIZING (Figure 2.A).
    * STABILIZING: with eta = sum |S - W / F| / sum S above mu it takes a new snapshot (2.B); else it sends F and
      W, resets them and goes back to START (2.C). A cell with F = 0 at the snapshot has no S, and is in neither sum.

    With `early` it also sends a copy of its matrices after `early` messages, and again whenever their number has
    doubled, until 2.C happens for the first time. That is no rule of the paper; it cures the slow start.

    Args:
        shape: rows and columns of the matrices.
        window: messages between two checks (N).
        tolerance: greatest relative error of stable matrices (mu).
        early: messages before the first early copy; None sends none.

    >>> operator = Operator((1, 2), window=2, tolerance=0.05)
    >>> [operator.execute([0], time) is not None for time in (3.0, 3.0, 3.0, 3.0)]
    [False, False, False, True]
    """

    def __init__(self, shape: tuple[int, int], window: int, tolerance: float, early: int | None = None) -> None:
        self._shape = shape
        self._window = window
        self._tolerance = tolerance
        self._early = early
        self._snapshot: Floats = np.zeros(shape)
        self._counted = np.zeros(shape, dtype=bool)  # cells of which the snapshot knows a ratio
        self._left = window
        self.state = OperatorState.START
        self.table = ExecutionTimes(shape)
        self.executed = 0
        self.busy = 0.0  # time spent on messages

    def execute(self, cells: Sequence[int], time: float) -> ExecutionTimes | None:
        """Count a message that is done. Return the matrices if they are to be sent to the scheduler."""
        self.table.add(cells, time)
        self.executed += 1
        self.busy += time
        self._left -= 1
        sent = self._check() if self._left == 0 else None
        if self._early is not None:
            if sent is not None:
                self._early = None
            elif self.executed >= self._early:
                self._early = 2 * self.executed
                return self.table.copy()
        return sent

    def _check(self) -> ExecutionTimes | None:
        self._left = self._window
        ratios = self.table.ratios()
        if self.state is OperatorState.STABILIZING and self._error(ratios) <= self._tolerance:
            sent, self.table = self.table, ExecutionTimes(self._shape)
            self.state = OperatorState.START
            return sent
        self._snapshot, self._counted = ratios, self.table.counts > 0.0
        self.state = OperatorState.STABILIZING
        return None

    def _error(self, ratios: Floats) -> float:
        """Return eta of Equation (1) over the cells that have an S. 0 where no message took any time."""
        whole = float(self._snapshot.sum())
        change = float(np.abs(self._snapshot - ratios)[self._counted].sum())
        return change / whole if whole > 0.0 else (0.0 if change == 0.0 else np.inf)
