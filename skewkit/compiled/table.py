"""The arrays in which compiled loops keep a SpaceSaving sketch and lists of workers."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt


class Table(NamedTuple):
    """A SpaceSaving sketch of 64-bit hashes: `size` counters, of which the first `used[0]` are in use.

    Attributes:
        keys: uint64 (size,), hash of the key of every counter.
        high: (size,) upper bound of its weight.
        error: (size,) what the bound may be too high.
        turn: int64 (size,), number of the take-in: of the least counters the oldest gives way.
        slots: int32 (a power of two,), index by hash, open addressing; -1 is empty.
        seen: (size,) binary heap of (upper bound when the heap last looked, turn): the bound.
        owner: int32 (size,), counter of every entry of the heap.
        used: int64 (2,), counters in use, next turn.
        sums: (2,) all weight added, floor.
    """

    keys: npt.NDArray[np.uint64]
    high: npt.NDArray[np.float64]
    error: npt.NDArray[np.float64]
    turn: npt.NDArray[np.int64]
    slots: npt.NDArray[np.int32]
    seen: npt.NDArray[np.float64]
    owner: npt.NDArray[np.int32]
    used: npt.NDArray[np.int64]
    sums: npt.NDArray[np.float64]


class Lists(NamedTuple):
    """Lists of workers by 64-bit hash, rising: `size` lists, of which the first `state[0]` are in use.

    Attributes:
        keys: uint64 (size,), hash of every list.
        counts: (size,) weight of the key.
        starts: int64 (size,), first entry of the list.
        lengths: int64 (size,), its entries in use.
        rooms: int64 (size,), its entries.
        places: int32 (entries,), the workers.
        floors: (size,) what none of the list has less of.
        cursors: int64 (size,), where in the list the next worker with just that is looked for.
        slots: int32 (a power of two,), index by hash, open addressing; -1 is empty.
        state: int64 (3,), lists in use, entries in use, whether the slots are yet to be filled (-1).
    """

    keys: npt.NDArray[np.uint64]
    counts: npt.NDArray[np.float64]
    starts: npt.NDArray[np.int64]
    lengths: npt.NDArray[np.int64]
    rooms: npt.NDArray[np.int64]
    places: npt.NDArray[np.int32]
    floors: npt.NDArray[np.float64]
    cursors: npt.NDArray[np.int64]
    slots: npt.NDArray[np.int32]
    state: npt.NDArray[np.int64]
