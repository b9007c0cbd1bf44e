"""Compiled twin of `skewkit.hashing`: hashes of integers."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from skewkit.compiled.jit import compiled
from skewkit.compiled.mixing import mix


@compiled
def hash_words(words: npt.NDArray[np.uint64], first: np.uint64, second: np.uint64) -> npt.NDArray[np.uint64]:
    """Return mix(mix(word ^ first) + second) of every word, as a new array."""
    hashes = np.empty(words.size, dtype=np.uint64)
    for i in range(words.size):
        hashes[i] = mix(mix(words[i] ^ first) + second)
    return hashes
