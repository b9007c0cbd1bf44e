"""Lists of workers that grow, in two forms."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import numpy as np

from skewkit.compiled.table import Lists


class GrownLists:
    """Lists of workers by the hash of their key: a dict for single messages, arrays for compiled loops.

    Of the two forms one is there at a time; the form changes when it is used in the other way, in time
    proportional to the lists.

    >>> lists = GrownLists()
    >>> lists.plain[7] = [2, 0]
    >>> arrays = lists.arrays(size=4, width=3)
    >>> arrays.rows[0, : arrays.lengths[0]].tolist(), arrays.rows.shape
    ([2, 0], (4, 3))
    >>> lists.plain
    {7: [2, 0]}
    """

    def __init__(self) -> None:
        self._plain: dict[int, list[int]] | None = {}
        self._arrays: Lists | None = None

    @property
    def plain(self) -> dict[int, list[int]]:
        """The lists for single messages."""
        if self._arrays is not None:
            keys, lengths, rows, _, used = self._arrays
            listed = zip(keys[: used[0]].tolist(), lengths.tolist(), rows, strict=False)
            self._plain, self._arrays = {key: row[:length].tolist() for key, length, row in listed}, None
        return cast(dict[int, list[int]], self._plain)

    def arrays(self, size: int, width: int) -> Lists:
        """Return the lists for compiled loops, with room for so many and so long ones at least."""
        if self._arrays is None or size > self._arrays.keys.size or width > self._arrays.rows.shape[1]:
            from skewkit.compiled.growing import index

            known = self.plain
            size, width = max(size, len(known)), max(width, *map(len, known.values()), 0)
            arrays = Lists(
                keys=np.zeros(size, dtype=np.uint64),
                lengths=np.zeros(size, dtype=np.int64),
                rows=np.zeros((size, width), dtype=np.int32),
                slots=np.full(1 << (4 * size - 1).bit_length(), -1, dtype=np.int32),
                used=np.array([len(known)], dtype=np.int64),
            )
            for row, (hashed, own) in enumerate(known.items()):
                arrays.keys[row], arrays.lengths[row] = hashed, len(own)
                arrays.rows[row, : len(own)] = own
            index(arrays)
            self._plain, self._arrays = None, arrays
        return self._arrays

    def keep(self, wanted: Callable[[int], bool]) -> None:
        """Forget the lists of all hashes that are not wanted."""
        self._plain = {hashed: own for hashed, own in self.plain.items() if wanted(hashed)}
