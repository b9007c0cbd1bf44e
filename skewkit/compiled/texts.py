"""Compiled twin of `skewkit.hashing`: hashes of NumPy arrays of text and bytes of fixed width.

MurmurHash3 by Austin Appleby (public domain), the 128 bits for x64, of which the first 64 are returned.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from skewkit.compiled.jit import compiled

Bytes = npt.NDArray[np.uint8]
Hashes = npt.NDArray[np.uint64]

_C1, _C2 = np.uint64(0x87C3_7B91_1142_53D5), np.uint64(0x4CF5_AD43_2745_937F)
_N1, _N2, _FIVE = np.uint64(0x52DC_E729), np.uint64(0x3849_5AB5), np.uint64(5)
_F1, _F2 = np.uint64(0xFF51_AFD7_ED55_8CCD), np.uint64(0xC4CE_B9FE_1A85_EC53)
_8, _33 = np.uint64(8), np.uint64(33)


@compiled
def _turned(value: np.uint64, bits: int) -> np.uint64:
    return (value << np.uint64(bits)) | (value >> np.uint64(64 - bits))


@compiled
def _final(value: np.uint64) -> np.uint64:
    value = (value ^ (value >> _33)) * _F1
    value = (value ^ (value >> _33)) * _F2
    return value ^ (value >> _33)


@compiled
def _word(text: Bytes, start: int, end: int) -> np.uint64:
    """Return the bytes start..end-1 (8 at most) as a number, lowest byte first."""
    word = np.uint64(0)
    for at in range(end - 1, start - 1, -1):
        word = (word << _8) | np.uint64(text[at])
    return word


@compiled
def _murmur(text: Bytes, length: int, seed: np.uint64) -> np.uint64:
    one, two = seed, seed
    whole = length - length % 16
    for start in range(0, whole, 16):
        one ^= _turned(_word(text, start, start + 8) * _C1, 31) * _C2
        one = (_turned(one, 27) + two) * _FIVE + _N1
        two ^= _turned(_word(text, start + 8, start + 16) * _C2, 33) * _C1
        two = (_turned(two, 31) + one) * _FIVE + _N2
    if length > whole + 8:
        two ^= _turned(_word(text, whole + 8, length) * _C2, 33) * _C1
    if length > whole:
        one ^= _turned(_word(text, whole, min(length, whole + 8)) * _C1, 31) * _C2
    one ^= np.uint64(length)
    two ^= np.uint64(length)
    one += two
    two += one
    one, two = _final(one), _final(two)
    return one + two


@compiled
def hash_bytes(cells: npt.NDArray[np.uint8], seed: np.uint64) -> Hashes:
    """Return the hash of every row (keys, width). Zeros at its end are not part of it."""
    count, width = cells.shape
    hashes = np.empty(count, dtype=np.uint64)
    for i in range(count):
        length = width
        while length > 0 and cells[i, length - 1] == 0:
            length -= 1
        hashes[i] = _murmur(cells[i], length, seed)
    return hashes


@compiled
def hash_texts(cells: npt.NDArray[np.uint32], seed: np.uint64) -> Hashes:
    """Return the hash of every row of code points (keys, width) in UTF-8. Zeros at its end are not part of it."""
    count, width = cells.shape
    hashes = np.empty(count, dtype=np.uint64)
    text = np.empty(4 * width, dtype=np.uint8)
    for i in range(count):
        end = width
        while end > 0 and cells[i, end - 1] == 0:
            end -= 1
        length = 0
        for j in range(end):
            point = np.int64(cells[i, j])
            if point < 0x80:
                text[length] = point
                length += 1
                continue
            more = 1 if point < 0x800 else 2 if point < 0x10000 else 3
            text[length] = (0xFF00 >> (more + 1) & 0xFF) | (point >> 6 * more)
            length += 1
            for part in range(more - 1, -1, -1):
                text[length] = 0x80 | (point >> 6 * part & 0x3F)
                length += 1
        hashes[i] = _murmur(text, length, seed)
    return hashes
