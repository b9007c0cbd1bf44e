"""The lists of workers of `wrap` to arrays and back, for the compiled loop."""

from __future__ import annotations

from array import array

import numpy as np

from skewkit.compiled.table import Lists
from skewkit.partitioners.rules.least_loaded import LeastLoaded

_ROOM = 1024  # spare lists and entries, on top of as many again as are in use


def pack(own: dict[int, LeastLoaded], counts: dict[int, float], capacity: int) -> Lists:
    """Return lists by 64-bit hash as arrays, with room for `capacity` lists at most.

    >>> fills = array("d", [2.0, 1.0])
    >>> own, counts = unpack(pack({7: LeastLoaded(fills, [1, 0])}, {7: 3.0}, capacity=4), fills)
    >>> own[7].heap, counts
    ([(1.0, 1), (2.0, 0)], {7: 3.0})
    """
    used = len(own)
    size = min(capacity, 2 * used + _ROOM)
    keys = np.zeros(size, dtype=np.uint64)
    counted, starts, lengths = np.zeros(size), *np.zeros((2, size), dtype=np.int64)
    keys[:used] = np.fromiter(own, np.uint64, used)
    counted[:used] = np.fromiter(counts.values(), np.float64, used)
    lengths[:used] = np.fromiter(map(len, own.values()), np.int64, used)
    rooms = 2 * lengths
    starts[:used] = np.cumsum(rooms[:used]) - rooms[:used]
    end = int(rooms.sum())
    places = np.zeros(2 * end + _ROOM, dtype=np.int32)
    entries = [place for one in own.values() for place in sorted(place for _, place in one.heap)]
    free = starts[:used] - (np.cumsum(lengths[:used]) - lengths[:used])  # entries before a list that are not in use
    places[np.repeat(free, lengths[:used]) + np.arange(len(entries))] = entries
    slots = np.full(1 << (4 * size - 1).bit_length(), -1, dtype=np.int32)
    state = np.array([used, end, -1], dtype=np.int64)
    floors, cursors = np.full(size, -1.0), np.zeros(size, dtype=np.int64)
    return Lists(keys, counted, starts, lengths, rooms, places, floors, cursors, slots, state)


def unpack(lists: Lists, fills: array[float]) -> tuple[dict[int, LeastLoaded], dict[int, float]]:
    """Return arrays as lists by hash, which watch `fills`, and the weights of the keys."""
    used = int(lists.state[0])
    keys, starts, lengths = (part[:used].tolist() for part in (lists.keys, lists.starts, lists.lengths))
    places = lists.places.tolist()
    own = {
        key: LeastLoaded(fills, places[start : start + length])
        for key, start, length in zip(keys, starts, lengths, strict=True)
    }
    return own, dict(zip(keys, lists.counts[:used].tolist(), strict=True))
