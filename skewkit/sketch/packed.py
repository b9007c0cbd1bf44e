"""SpaceSaving to arrays and back, for compiled loops: the same counters, bounds and turns."""

from __future__ import annotations

import numpy as np

from skewkit.compiled.table import Table
from skewkit.sketch.spacesaving import SpaceSaving


def pack(sketch: SpaceSaving) -> Table:
    """Return a sketch of 64-bit hashes as arrays. The sketch itself stays as it is.

    >>> sketch = SpaceSaving(2)
    >>> sketch.add_many([5, 7, 5, 9])
    >>> list(unpack(pack(sketch))) == list(sketch)
    True
    """
    from skewkit.compiled.head_tail_loop import index

    size, used = sketch.counters, len(sketch)
    table = Table(
        keys=np.zeros(size, dtype=np.uint64),
        high=np.zeros(size),
        error=np.zeros(size),
        turn=np.arange(size, dtype=np.int64),
        slots=np.full(1 << (4 * size - 1).bit_length(), -1, dtype=np.int32),
        seen=np.zeros(size),
        owner=np.zeros(size, dtype=np.int32),
        used=np.array([used, used], dtype=np.int64),
        sums=np.array([sketch.total, sketch.floor]),
    )
    table.keys[:used] = np.fromiter(sketch._high, np.uint64, used)
    table.high[:used] = np.fromiter(sketch._high.values(), np.float64, used)
    table.error[:used] = np.fromiter((sketch._error[key] for key in sketch._high), np.float64, used)
    order = np.argsort(table.high[:used], kind="stable")  # what is sorted is a heap
    table.seen[:used], table.owner[:used] = table.high[order], order
    index(table)
    return table


def unpack(table: Table) -> SpaceSaving:
    """Return arrays as a sketch."""
    sketch = SpaceSaving(table.keys.size)
    sketch.total, sketch.floor = table.sums.tolist()
    order = np.argsort(table.turn[: table.used[0]])
    keys = table.keys[order].tolist()
    sketch._high = dict(zip(keys, table.high[order].tolist(), strict=True))
    sketch._error = dict(zip(keys, table.error[order].tolist(), strict=True))
    sketch._rebuild()
    return sketch


def scale(table: Table, factor: float) -> None:
    """Do what `SpaceSaving.scale` does, in place.

    >>> sketch, table = SpaceSaving(2), pack(SpaceSaving(2))
    >>> scale(table, 0.5)
    >>> list(unpack(table)) == list(sketch)
    True
    """
    used = 0 if factor == 0.0 else int(table.used[0])
    table.used[0] = used
    if used == 0:
        table.slots[:] = -1
    for values in (table.high, table.error, table.sums):
        values *= factor
    order = np.lexsort((table.turn[:used], table.high[:used]))  # what is sorted is a heap
    table.seen[:used], table.owner[:used] = table.high[order], order
