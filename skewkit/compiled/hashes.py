"""Compiled twin of `skewkit.hashing`: hashes of integers."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from skewkit.compiled.jit import compiled

_FIRST = np.uint64(0xBF58_476D_1CE4_E5B9)
_SECOND = np.uint64(0x94D0_49BB_1331_11EB)
_30, _27, _31 = np.uint64(30), np.uint64(27), np.uint64(31)


@compiled
def _mix(value: np.uint64) -> np.uint64:
    value = (value ^ (value >> _30)) * _FIRST
    value = (value ^ (value >> _27)) * _SECOND
    return value ^ (value >> _31)


@compiled
def hash_words(words: npt.NDArray[np.uint64], first: np.uint64, second: np.uint64) -> npt.NDArray[np.uint64]:
    """Return mix(mix(word ^ first) + second) of every word, as a new array."""
    hashes = np.empty(words.size, dtype=np.uint64)
    for i in range(words.size):
        hashes[i] = _mix(_mix(words[i] ^ first) + second)
    return hashes
