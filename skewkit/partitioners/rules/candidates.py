"""The hash functions F_1, F_2, ... of a key: its candidate workers, in a fixed order.

Nasir et al., "When Two Choices Are not Enough", Section III-B: independent, uniform, and with replacement,
so two functions may name the same worker. Here F_i(key) is the i-th number of the SplitMix64 sequence that
starts at the key's hash.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from skewkit.hashing.mix import GOLDEN, Hashes, mix, mix_many, to_range, to_range_many


def candidate(hashed: int, index: int, workers: int) -> int:
    """Return F_index(key), index from 1, as a worker in 0..workers-1.

    >>> candidate(7, 1, 10) == int(candidate_many(np.array([7], dtype=np.uint64), 1, 10)[0])
    True
    """
    return to_range(mix(hashed + index * GOLDEN), workers)


def candidate_many(hashes: Hashes, index: int, workers: int) -> npt.NDArray[np.int64]:
    """Return F_index of every key, as an array (keys,)."""
    return to_range_many(mix_many(hashes + np.uint64((index * GOLDEN) % 2**64)), workers)


def first_candidates(hashed: int, count: int, workers: int) -> list[int]:
    """Return F_1(key), ..., F_count(key), each worker once, in the order of its first appearance."""
    steps = np.arange(1, count + 1, dtype=np.uint64) * np.uint64(GOLDEN)
    found = to_range_many(mix_many(np.uint64(hashed) + steps), workers)
    return list(dict.fromkeys(found.tolist()))
