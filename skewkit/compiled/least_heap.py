"""Compiled twin of `skewkit.partitioners.rules.least_loaded`: the least loaded of all workers, the lower index first.

It is a heap of loads as they were when it last looked. Loads only grow. A loop makes the heap itself: arrays that a
call returns make the loop of `wrap` slower by 7 %. Loops of several files call these, so they never change
(`skewkit.compiled` says why).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from skewkit.compiled.jit import compiled

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]


@compiled
def lower(seen: Floats, owner: Ints, load: float, worker: np.int64, at: np.int64) -> None:
    """Put (load, worker) at place `at` of the heap or below, where it belongs.

    >>> seen, owner = np.array([1.0, 2.0, 3.0]), np.arange(3, dtype=np.int32)
    >>> lower(seen, owner, 5.0, np.int64(0), np.int64(0))
    >>> owner.tolist()
    [1, 0, 2]
    """
    while True:
        child = 2 * at + 1
        if child >= seen.size:
            break
        right = child + 1
        if right < seen.size and (
            seen[right] < seen[child] or (seen[right] == seen[child] and owner[right] < owner[child])
        ):
            child = right
        if seen[child] > load or (seen[child] == load and owner[child] > worker):
            break
        seen[at], owner[at] = seen[child], owner[child]
        at = child
    seen[at], owner[at] = load, worker


@compiled
def least_of_all(loads: Floats, seen: Floats, owner: Ints) -> np.int64:
    """Return the worker with the least load as it is now.

    >>> seen, owner = np.array([1.0, 2.0, 3.0]), np.arange(3, dtype=np.int32)
    >>> int(least_of_all(np.array([5.0, 2.0, 3.0]), seen, owner))
    1
    """
    while True:
        worker = np.int64(owner[0])
        if loads[worker] == seen[0]:
            return worker
        lower(seen, owner, loads[worker], worker, np.int64(0))
