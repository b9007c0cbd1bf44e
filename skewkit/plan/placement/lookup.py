"""A cuckoo table of 64-bit hashes: every heavy key is in one of two slots, so a look-up costs two comparisons.

Source: R. Pagh and F. F. Rodler, "Cuckoo Hashing", Journal of Algorithms 51, 2004.
"""

from __future__ import annotations

from collections.abc import Sequence

from skewkit.errors import ArgumentError


def slots_of(key_hash: int, size: int) -> tuple[int, int]:
    """Return the two slots of a signed 64-bit hash: its value and its upper half, both modulo the odd table size."""
    return key_hash % size, (key_hash >> 32) % size


def cuckoo_table(hashes: Sequence[int]) -> list[tuple[int, int]]:
    """Return slots of (hash, index into `hashes`), (0, -1) where a slot is empty. The size is odd.

    >>> table = cuckoo_table([42, -7])
    >>> [next(i for s in slots_of(h, len(table)) for g, i in [table[s]] if g == h) for h in (42, -7)]
    [0, 1]
    """
    if len(set(hashes)) != len(hashes):
        raise ArgumentError("two heavy keys have one hash; give every key once")
    size = 2 * len(hashes) + 3
    while (table := _fill(hashes, size)) is None:
        size += 2 * (size // 8) + 2
    return table


def _fill(hashes: Sequence[int], size: int) -> list[tuple[int, int]] | None:
    table = [(0, -1)] * size
    for start, key_hash in enumerate(hashes):
        item, slot = (key_hash, start), slots_of(key_hash, size)[0]
        for _ in range(2 * len(hashes) + 8):
            item, table[slot] = table[slot], item
            if item[1] < 0:
                break
            first, second = slots_of(item[0], size)
            slot = second if slot == first else first
        else:
            return None
    return table
