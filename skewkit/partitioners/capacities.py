"""What workers can do, compared with each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from skewkit.checks import Floats, non_negative
from skewkit.errors import ArgumentError

_SLOWEST = 1e-100  # of the mean capacity, so that a load divided by it is a number


def checked_capacities(capacities: Sequence[float] | npt.NDArray[Any] | None, workers: int) -> tuple[float, ...] | None:
    """Return checked capacities, one per worker, above zero; None stays None.

    Raises:
        ArgumentError: there are not as many as workers, or one is not above zero and finite.
        ArgumentTypeError: one is not a number.

    >>> checked_capacities([1, 2], workers=2)
    (1.0, 2.0)
    """
    if capacities is None:
        return None
    found = non_negative("capacities", capacities)
    if found.size != workers:
        raise ArgumentError(f"found {found.size} capacities; expected {workers}, one per worker")
    for worker in np.flatnonzero(found == 0.0).tolist():
        raise ArgumentError(f"capacities[{worker}] is 0; expected numbers above zero: a worker that is gone is removed")
    return tuple(found.tolist())


def relative_capacities(capacities: Sequence[float] | None, workers: int) -> Floats:
    """Return checked capacities divided by their mean, (workers,). All 1 where None are given.

    >>> relative_capacities((1.0, 3.0), workers=2).tolist()
    [0.5, 1.5]
    """
    shares = np.ones(workers) if capacities is None else np.array(capacities) / max(capacities)
    relative: Floats = np.maximum(shares * (workers / shares.sum()), _SLOWEST)
    return relative
