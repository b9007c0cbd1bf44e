"""LPT (longest processing time first): place whole items on workers, heaviest first, each on the least loaded worker.

Source: R. L. Graham, "Bounds on Multiprocessing Timing Anomalies", SIAM J. Appl. Math. 17, 1969; used by
Rivetti et al., "Efficient Key Grouping for Near-Optimal Load Balancing in Stream Processing Systems",
DEBS 2015, Section 2 (the scheduling algorithm of DKG).
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from skewkit.checks import Floats, non_negative
from skewkit.errors import ArgumentError


def longest_first(
    weights: Sequence[float] | npt.NDArray[Any], loads: Floats, capacities: Floats | None = None
) -> npt.NDArray[np.int32]:
    """Return for every item the worker that takes it, on top of the loads that are there already.

    * Deterministic: items of equal weight in their given order, workers of equal load by lowest index.
    * Starting from zero loads, the greatest load is at most 4/3 - 1/(3n) times the least possible (Graham).
    * An item of weight zero changes no load, so a plain LPT would give all of them to one worker. Here they
      are dealt out like cards, beginning with the least loaded worker: every worker gets the same number of
      them, give or take one.
    * With capacities an item goes where (load + weight) / capacity is then least: to a slow worker only if it fits.
    * `loads` is not changed.

    Args:
        weights: (items,) finite, zero or more, in any unit.
        loads: (workers,) load that each worker has already, in the same unit.
        capacities: (workers,) above zero; all alike by default.

    Raises:
        ArgumentError: `loads` is empty, or a weight or load is negative or not finite.
        ArgumentTypeError: a weight or load is not a number.

    >>> import numpy as np
    >>> longest_first([3, 3, 2, 2, 2], np.zeros(2))
    array([0, 1, 0, 1, 0], dtype=int32)
    >>> longest_first([3, 0, 0, 0], np.array([0.0, 1.0]))
    array([0, 1, 0, 1], dtype=int32)
    >>> longest_first([3, 3, 2], np.zeros(2), np.array([1.0, 4.0]))
    array([1, 1, 0], dtype=int32)
    """
    items = non_negative("weights", weights)
    held = non_negative("loads", loads)
    if held.size == 0:
        raise ArgumentError("loads is empty; expected the load of at least one worker")
    target = np.zeros(items.size, dtype=np.int32)
    order = np.argsort(-items, kind="stable")
    filled = int(np.count_nonzero(items))
    placed = np.empty(filled, dtype=np.int32)
    heavy = items[order[:filled]].tolist()
    if capacities is not None:
        held = held.copy()
        for position, weight in enumerate(heavy):
            placed[position] = worker = int(np.argmin((held + weight) / capacities))
            held[worker] += weight
        held = held / capacities
    heap = [(load, worker) for worker, load in enumerate(held.tolist())]
    heapq.heapify(heap)
    for position, weight in enumerate(heavy if capacities is None else ()):
        load, worker = heap[0]
        heapq.heapreplace(heap, (load + weight, worker))
        placed[position] = worker
    target[order[:filled]] = placed
    by_load = np.array([worker for _, worker in sorted(heap)], dtype=np.int32)
    target[order[filled:]] = by_load[np.arange(items.size - filled) % held.size]
    return target
