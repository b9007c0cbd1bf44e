"""Wrap-around: cut heavy keys so that all workers end balanced, with as few pieces as possible.

Source: R. McNaughton, "Scheduling with Deadlines and Loss Functions", Management Science 6, 1959 (the
wrap-around rule), here on top of loads that are there already.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from skewkit.checks import Floats, non_negative
from skewkit.errors import ArgumentError

_SLIVER = 1e-12  # a cut this close to the border of a key, as a share of all weight, is moved to the border


def common_load(volume: float, loads: Floats, capacities: Floats | None = None) -> float:
    """Return the load L per capacity with sum(max(0, L * capacities - loads)) == volume, which is zero or more.

    Without capacities every worker has 1.

    >>> import numpy as np
    >>> common_load(4.0, np.array([0.0, 1.0, 9.0]))
    2.5
    >>> common_load(4.0, np.array([0.0, 1.0, 9.0]), np.array([3.0, 1.0, 1.0]))
    1.25
    """
    if capacities is None:
        ground = np.sort(loads)
        width = np.arange(1, ground.size + 1)
        held = np.cumsum(ground - ground[0])
    else:
        ground = loads / capacities
        order = np.argsort(ground, kind="stable")
        ground, widths = ground[order], capacities[order]
        width = np.cumsum(widths)
        held = np.cumsum((ground - ground[0]) * widths)
    common = ground[0] + (volume + held) / width
    # If the k least loaded workers share the volume, they end with common[k-1]; take the first below the next worker.
    enough = np.flatnonzero(common[:-1] <= ground[1:])
    return float(common[enough[0] if enough.size else -1])


def wrap_around(
    weights: Sequence[float], loads: Floats, capacities: Floats | None = None
) -> list[list[tuple[int, float]]]:
    """Pour the keys one after another into the workers' room below the load that all end with.

    That load L is where sum(max(0, L - loads)) equals the sum of the weights. Workers are filled in the order
    of their indices, and a key is cut only where a worker is full. With capacities a worker is full at L times
    its capacity.

    * Parts of a key sum to its weight, and no worker ends above L (both up to rounding). A worker that
      starts above L gets nothing but keys of weight zero.
    * At most len(weights) + workers - 1 pairs in all, at least one per key, and no worker twice for a key.
    * Stable: while the order of the keys stays, a small change of weights or loads moves few pieces.
    * A key of weight zero gets one worker, each the next one, beginning with the least loaded.
    * `loads` is not changed.

    Args:
        weights: (keys,) weights of the heavy keys, heaviest first (any order is accepted and kept).
        loads: (workers,) load that each worker has already, in the same unit.
        capacities: (workers,) above zero; 1 each by default.

    Returns:
        For every key the list of (worker, part of the weight).

    Raises:
        ArgumentError: `loads` is empty, or a weight or load is negative or not finite.
        ArgumentTypeError: a weight or load is not a number.

    >>> import numpy as np
    >>> wrap_around([6.0, 2.0], np.array([0.0, 0.0, 1.0]))
    [[(0, 3.0), (1, 3.0)], [(2, 2.0)]]
    >>> wrap_around([5.0, 3.0], np.array([0.0, 10.0, 0.0]))
    [[(0, 4.0), (2, 1.0)], [(2, 3.0)]]
    >>> wrap_around([6.0, 2.0], np.array([0.0, 0.0]), np.array([3.0, 1.0]))
    [[(0, 6.0)], [(1, 2.0)]]
    """
    items = non_negative("weights", weights)
    ground = non_negative("loads", loads)
    if ground.size == 0:
        raise ArgumentError("loads is empty; expected the load of at least one worker")
    result: list[list[tuple[int, float]]] = [[] for _ in range(items.size)]
    positive = np.flatnonzero(items)
    if positive.size:
        if capacities is None:
            keys, workers, parts = _pour(items[positive], ground - ground.min(), None)
        else:
            floor = float((ground / capacities).min())
            keys, workers, parts = _pour(items[positive], np.maximum(0.0, ground - floor * capacities), capacities)
        for key, worker, part in zip(positive[keys].tolist(), workers.tolist(), parts.tolist(), strict=True):
            result[key].append((worker, part))
    emptiest = np.argsort(ground if capacities is None else ground / capacities, kind="stable")
    for turn, key in enumerate(np.flatnonzero(items == 0.0).tolist()):
        result[key].append((int(emptiest[turn % ground.size]), 0.0))
    return result


def _pour(
    weights: Floats, ground: Floats, capacities: Floats | None
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp], Floats]:
    """Return (key, worker, part) as three arrays: positive weights over loads of which the least is zero.

    Keys and workers both cut the line 0..total into intervals. Every interval between two neighbouring cuts
    of either kind is one pair.
    """
    ends = np.cumsum(weights)
    total = float(ends[-1])
    common = common_load(total, ground, capacities)
    room = np.maximum(0.0, (common if capacities is None else common * capacities) - ground)
    open_workers = np.flatnonzero(room > _SLIVER * total)
    if open_workers.size == 0:  # so little weight that a share of it rounds to zero
        open_workers, room = np.array([ground.argmin()]), np.full(ground.size, total)
    full = np.cumsum(room[open_workers])
    full *= total / full[-1]
    full[-1] = total
    # Snap: where a worker is full within rounding of the end of a key, it is full exactly there.
    near = np.searchsorted(ends, full)
    for candidate in (np.maximum(near - 1, 0), np.minimum(near, ends.size - 1)):
        close = np.abs(ends[candidate] - full) <= _SLIVER * total
        full[close] = ends[candidate[close]]
    cuts = np.union1d(ends, full)
    keys = np.searchsorted(ends, cuts)
    workers = np.minimum(np.searchsorted(full, cuts), full.size - 1)
    parts = np.diff(cuts, prepend=0.0)
    # A weight lost in the rounding of the running sum has no interval of its own: give it one worker.
    lost = np.setdiff1d(np.arange(weights.size), keys)
    if lost.size:
        keys = np.concatenate([keys, lost])
        workers = np.concatenate([workers, np.minimum(np.searchsorted(full, ends[lost]), full.size - 1)])
        parts = np.concatenate([parts, weights[lost]])
    poured = np.bincount(keys, weights=parts, minlength=weights.size)
    return keys, open_workers[workers], parts * (weights / poured)[keys]
