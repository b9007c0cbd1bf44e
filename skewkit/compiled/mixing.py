"""Compiled twin of `skewkit.hashing.mix` and `skewkit.partitioners.rules.candidates`: a number mixed, and a worker.

Loops of several files call these, so they never change (`skewkit.compiled` says why).
"""

from __future__ import annotations

import numpy as np

from skewkit.compiled.jit import compiled

GOLDEN = np.uint64(0x9E37_79B9_7F4A_7C15)
TWICE = np.uint64(2 * 0x9E37_79B9_7F4A_7C15 % 2**64)
_FIRST, _SECOND = np.uint64(0xBF58_476D_1CE4_E5B9), np.uint64(0x94D0_49BB_1331_11EB)
_30, _27, _31, _32 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(32)


@compiled
def mix(value: np.uint64) -> np.uint64:
    """Return the SplitMix64 hash of a number."""
    value = (value ^ (value >> _30)) * _FIRST
    value = (value ^ (value >> _27)) * _SECOND
    return value ^ (value >> _31)


@compiled
def candidate(at: np.uint64, workers: np.uint64) -> np.int64:
    """Return the worker for the number `hash + index * GOLDEN`."""
    return np.int64((mix(at) >> _32) * workers >> _32)
