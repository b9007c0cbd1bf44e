"""A strong 64-bit mixer, for one Python int and for whole arrays, with the same results.

The mixer is the finaliser of SplitMix64 (Steele, Lea and Flood, "Fast Splittable Pseudorandom Number
Generators", OOPSLA 2014). Carter-Wegman hashes of consecutive integers can be badly unbalanced in a single
draw. A mixer whose every input bit moves every output bit has no such inputs in practice.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Hashes = npt.NDArray[np.uint64]

MASK = 0xFFFF_FFFF_FFFF_FFFF
GOLDEN = 0x9E37_79B9_7F4A_7C15  # 2**64 / golden ratio, odd: the step of the SplitMix64 sequence
_FIRST = 0xBF58_476D_1CE4_E5B9
_SECOND = 0x94D0_49BB_1331_11EB


def mix(value: int) -> int:
    """Return `value` (taken modulo 2**64) mixed; a bijection on 0..2**64-1.

    >>> mix(GOLDEN) == 0xE220A8397B1DCDAF  # the first number of SplitMix64 with seed 0
    True
    """
    value &= MASK
    value = ((value ^ (value >> 30)) * _FIRST) & MASK
    value = ((value ^ (value >> 27)) * _SECOND) & MASK
    return value ^ (value >> 31)


def mix_many(values: Hashes) -> Hashes:
    """Return a new array with `mix` of every element.

    >>> int(mix_many(np.array([7], dtype=np.uint64))[0]) == mix(7)
    True
    """
    mixed = values ^ (values >> np.uint64(30))
    mixed *= np.uint64(_FIRST)
    mixed ^= mixed >> np.uint64(27)
    mixed *= np.uint64(_SECOND)
    mixed ^= mixed >> np.uint64(31)
    return mixed


def to_range(value: int, size: int) -> int:
    """Return the upper half of a 64-bit hash scaled to 0..size-1 (size below 2**32), without a bias to see.

    >>> to_range(MASK, 10), to_range(0, 10)
    (9, 0)
    """
    return ((value >> 32) * size) >> 32


def to_range_many(values: Hashes, size: int) -> npt.NDArray[np.int64]:
    """Return `to_range` of every element.

    >>> to_range_many(np.array([MASK, 0], dtype=np.uint64), 10).tolist()
    [9, 0]
    """
    return (((values >> np.uint64(32)) * np.uint64(size)) >> np.uint64(32)).astype(np.int64)
