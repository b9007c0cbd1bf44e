"""Seeded 64-bit hashes of keys: one key, or many at once with the same results.

Integers, booleans and floats go through the mixer of `skewkit.hashing.mix`; text and bytes through
MurmurHash3 (128 bits, x64), of which 64 bits are kept and mixed.
"""

from __future__ import annotations

import datetime as dt
import decimal
import math
import struct
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, TypeAlias

import mmh3
import numpy as np
import numpy.typing as npt

from skewkit import compiled
from skewkit.errors import KeyTypeError
from skewkit.hashing.mix import GOLDEN, Hashes, mix, mix_many
from skewkit.hashing.plain_keys import is_null, key_list, plain_keys, resolution

Key: TypeAlias = int | str | bytes | float | bool | dt.date | decimal.Decimal | tuple[Any, ...] | None
Keys: TypeAlias = Sequence[Any] | npt.NDArray[Any]

# What a key is, so that "1", b"1", 1 and None do not meet by construction.
_INT, _FLOAT, _BIG, _TEXT, _BYTES, _NONE, _DATE, _NAIVE, _AWARE, _DECIMAL, _TUPLE = range(1, 12)
_NAN_BITS = 0x7FF8_0000_0000_0000
_LOW, _HIGH = -(2**63), 2**63 - 1
_EPOCH = dt.datetime(1970, 1, 1)
_MICROSECOND = dt.timedelta(microseconds=1)


@lru_cache(maxsize=1024)
def _salts(seed: int, kind: int) -> tuple[int, int]:
    """Return two 64-bit salts for this seed and this kind of key."""
    first = mix(mix(seed) + kind * GOLDEN)
    return first, mix(first + GOLDEN)


def _number(value: int, seed: int, kind: int) -> int:
    first, second = _salts(seed, kind)
    return mix(mix(value ^ first) + second)


def _numbers(values: Hashes, seed: int, kind: int) -> Hashes:
    first, second = _salts(seed, kind)
    if compiled.worth(values.size):
        from skewkit.compiled.hashes import hash_words

        return hash_words(compiled.plain(values), np.uint64(first), np.uint64(second))
    return mix_many(mix_many(values ^ np.uint64(first)) + np.uint64(second))


def _raw(value: bytes, seed: int, kind: int) -> int:
    first, second = _salts(seed, kind)
    return mix(mmh3.hash64(value, first & 0xFFFF_FFFF)[0] ^ second)


def hash_key(key: Key, seed: int = 0) -> int:
    """Return the 64-bit hash (0..2**64-1) of one key.

    * Equal keys have equal hashes: 1, 1.0, True and Decimal(1) are one key, as for a Python dict. -0.0 is
      0.0. Every NaN is the same key, as in Spark. An aware datetime is the same key in every time zone.
    * NA and NaT of pandas and the masked elements of NumPy are None.
    * "1", b"1", None and (1,) are keys of their own kind and do not meet 1.
    * The same in every process and on every platform (Python's own `hash` of text is not).

    Args:
        key: int, str, bytes, float, bool, None, date, datetime, Decimal, or a (nested) tuple of these.
            NumPy's scalars count as the Python values that they hold, bytearray as bytes.
        seed: any integer; it is taken modulo 2**64.

    Raises:
        KeyTypeError: the key has another type.

    >>> hash_key(1) == hash_key(1.0) == hash_key(True)
    True
    >>> hash_key("1") == hash_key(1)
    False
    >>> hash_key(("Rome", 7), seed=1) == hash_key(("Rome", 7), seed=2)
    False
    """
    hasher = _HASHERS.get(type(key))
    if hasher is None:
        hasher = next((_HASHERS[base] for base in type(key).__mro__[1:] if base in _HASHERS), None)
        if hasher is None:
            return _hash_other(key, seed)
    return hasher(key, seed)


def _hash_int(key: int, seed: int) -> int:
    if _LOW <= key <= _HIGH:
        return _number(key & 0xFFFF_FFFF_FFFF_FFFF, seed, _INT)
    try:
        if int(float(key)) == key:  # 2.0**70 is the same key as 2**70
            return _number(_bits(float(key)), seed, _FLOAT)
    except OverflowError:
        pass
    return _raw(key.to_bytes(key.bit_length() // 8 + 1, "little", signed=True), seed, _BIG)


def _hash_bool(key: bool, seed: int) -> int:
    return _number(int(key), seed, _INT)


def _bits(value: float) -> int:
    return int(struct.unpack("<Q", struct.pack("<d", value))[0])


def _hash_float(key: float, seed: int) -> int:
    if key != key:
        return _number(_NAN_BITS, seed, _FLOAT)
    if -(2.0**63) <= key < 2.0**63 and key == math.floor(key):
        return _number(int(key) & 0xFFFF_FFFF_FFFF_FFFF, seed, _INT)
    return _number(_bits(key), seed, _FLOAT)


def _hash_decimal(key: decimal.Decimal, seed: int) -> int:
    if not key.is_finite():
        return _hash_float(math.nan if key.is_nan() else float(key), seed)
    if key.adjusted() < 309:
        if key.as_integer_ratio()[1] == 1:
            return _hash_int(int(key), seed)
        near = float(key)
        if decimal.Decimal(near) == key:  # Decimal("0.5") is the same key as 0.5
            return _hash_float(near, seed)
    sign, digits, exponent = key.as_tuple()
    text = "".join(map(str, digits)).rstrip("0")
    exponent = int(exponent) + len(digits) - len(text)
    return _raw(f"{'-' if sign else ''}{text}e{exponent}".encode(), seed, _DECIMAL)


def _hash_text(key: str, seed: int) -> int:
    return _raw(key.encode("utf-8", "surrogatepass"), seed, _TEXT)


def _hash_bytes(key: bytes, seed: int) -> int:
    return _raw(bytes(key), seed, _BYTES)


def _hash_none(key: None, seed: int) -> int:
    return _number(0, seed, _NONE)


def _hash_date(key: dt.date, seed: int) -> int:
    return _number(key.toordinal(), seed, _DATE)


def _hash_datetime(key: dt.datetime, seed: int) -> int:
    if key != key:  # the NaT of pandas is a datetime
        return _hash_none(None, seed)
    offset = key.replace(fold=0).utcoffset()  # as Python's own hash does: == looks at no fold
    naive = key.replace(tzinfo=None)
    if offset is None:
        return _number((naive - _EPOCH) // _MICROSECOND, seed, _NAIVE)
    return _number((naive - _EPOCH - offset) // _MICROSECOND, seed, _AWARE)


def _hash_tuple(key: tuple[Any, ...], seed: int) -> int:
    state = _number(len(key), seed, _TUPLE)
    for part in key:
        state = mix((state ^ hash_key(part, seed)) + GOLDEN)
    return state


def _hash_other(key: Any, seed: int) -> int:
    """Hash a NumPy scalar as the Python value that it holds, and what stands for a null as None."""
    if is_null(key):
        return _hash_none(None, seed)
    if isinstance(key, np.datetime64):
        return hash_key(key.astype(resolution(key.dtype)).item(), seed)  # NaT becomes None
    if isinstance(key, np.generic) and type(key.item()) in _HASHERS:
        return hash_key(key.item(), seed)
    raise KeyTypeError(
        f"a key of type {type(key).__module__}.{type(key).__qualname__} cannot be hashed; expected int, str, "
        "bytes, float, bool, None, date, datetime, Decimal or a tuple of these"
    )


_HASHERS: dict[type, Callable[[Any, int], int]] = {
    int: _hash_int,
    bool: _hash_bool,
    float: _hash_float,
    str: _hash_text,
    bytes: _hash_bytes,
    bytearray: _hash_bytes,
    type(None): _hash_none,
    dt.datetime: _hash_datetime,
    dt.date: _hash_date,
    decimal.Decimal: _hash_decimal,
    tuple: _hash_tuple,
}


def hash_keys(keys: Keys, seed: int = 0) -> Hashes:
    """Return the hashes of many keys, each the same as `hash_key` gives.

    Arrays of integers, booleans and floats, and lists of ints only or floats only, are hashed as a whole;
    other keys one after the other.

    Args:
        keys: one-dimensional array of any type of element that `hash_key` takes, or a sequence of keys. A column of
            pandas or Arrow counts as the list of its Python values: integers are exact beside nulls, too.
        seed: any integer; it is taken modulo 2**64.

    Returns:
        uint64 array (keys,).

    Raises:
        ArgumentTypeError: `keys` is one value, or not a sequence at all.
        ArgumentError: `keys` is an array of more than one dimension.
        KeyTypeError: a key has a type that cannot be hashed.

    >>> import numpy as np
    >>> int(hash_keys(np.array([3, 4]), seed=5)[1]) == hash_key(4, seed=5)
    True
    >>> hash_keys(["a", None, ("b", 2)]).dtype
    dtype('uint64')
    """
    plain = plain_keys(keys)
    return _hash_list(plain, seed) if isinstance(plain, list) else _hash_array(plain, seed)


def _hash_array(array: npt.NDArray[Any], seed: int) -> Hashes:
    if array.dtype.kind in "ib":
        return _numbers(array.astype(np.int64, copy=False).view(np.uint64), seed, _INT)
    if array.dtype.kind == "u":
        if array.size == 0 or int(array.max()) <= _HIGH:
            return _numbers(array.astype(np.uint64, copy=False), seed, _INT)
    elif array.dtype.kind == "f" and array.dtype.itemsize <= 8:
        return _hash_floats(array.astype(np.float64), seed)
    elif array.dtype.kind in "SU" and array.dtype.itemsize and compiled.worth(array.size):
        return _hash_fixed(array, seed)
    return _hash_list(key_list(array), seed)


def _hash_fixed(array: npt.NDArray[Any], seed: int) -> Hashes:
    """Hash an array of texts or bytes of fixed width in a compiled loop."""
    from skewkit.compiled.texts import hash_bytes, hash_texts

    text = array.dtype.kind == "U"
    cells = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("="))
    units: npt.NDArray[Any] = cells.view(np.uint32 if text else np.uint8).reshape(array.size, -1)
    first, second = _salts(seed, _TEXT if text else _BYTES)
    low = np.uint64(first & 0xFFFF_FFFF)
    found = hash_texts(compiled.plain(units), low) if text else hash_bytes(compiled.plain(units), low)
    return mix_many(found ^ np.uint64(second))


def _hash_floats(array: npt.NDArray[np.float64], seed: int) -> Hashes:
    whole = (array == np.floor(array)) & (array >= -(2.0**63)) & (array < 2.0**63)
    bits = np.where(np.isnan(array), np.uint64(_NAN_BITS), array.view(np.uint64))
    hashes = _numbers(bits, seed, _FLOAT)
    hashes[whole] = _numbers(array[whole].astype(np.int64).view(np.uint64), seed, _INT)
    return hashes


def _hash_texts(keys: list[Any], text: bool, seed: int) -> Hashes:
    """Hash a list of str only (`text`), or of bytes only; where keys come again and again, each key once."""
    distinct = dict.fromkeys(keys)
    few = len(distinct) <= len(keys) // 2
    first, second = _salts(seed, _TEXT if text else _BYTES)
    low, murmur = first & 0xFFFF_FFFF, mmh3.hash64
    source = distinct if few else keys
    if text:
        found = [murmur(key.encode("utf-8", "surrogatepass"), low)[0] for key in source]
    else:
        found = [murmur(key, low)[0] for key in source]
    hashes = mix_many(np.array(found, dtype=np.int64).view(np.uint64) ^ np.uint64(second))
    if not few:
        return hashes
    position = dict(zip(distinct, range(len(distinct)), strict=True))
    return hashes[np.fromiter(map(position.__getitem__, keys), np.intp, len(keys))]


def _hash_list(keys: list[Any], seed: int) -> Hashes:
    types = set(map(type, keys))
    if types <= {int, bool} and keys:
        try:
            return _hash_array(np.array(keys, dtype=np.int64), seed)
        except OverflowError:
            pass
    elif types == {float}:
        return _hash_floats(np.array(keys, dtype=np.float64), seed)
    elif types in ({str}, {bytes}):
        return _hash_texts(keys, types == {str}, seed)
    return np.fromiter((hash_key(key, seed) for key in keys), dtype=np.uint64, count=len(keys))
