"""Spark's `xxhash64` in pure Python, so that a plan made without a JVM names the rows that Spark will see.

Every route of skewkit starts from `xxhash64(key columns)`. The planner needs the same number for the few heavy keys.
The layout per type is that of Spark's `XxHash64` expression. A null leaves the seed as it is. Columns and nested fields
are chained: the hash of one is the seed of the next. -0.0 hashes as 0.0, and all NaN alike.
"""

from __future__ import annotations

import datetime as dt
import decimal
import math
import struct
from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from skewkit.errors import KeyTypeError

_MASK = (1 << 64) - 1
_P1, _P2, _P3 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9
_P4, _P5 = 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5
SEED = 42
_Words = TypeVar("_Words", int, npt.NDArray[Any])
"""A 64-bit word, or an array of unsigned ones, whose arithmetic is modulo 2^64 by itself."""

_INT_TYPES = {"tinyint", "smallint", "int", "interval year", "interval month", "interval year to month"}
_EPOCH_DAY = dt.date(1970, 1, 1)
_EPOCH = dt.datetime(1970, 1, 1)
_EPOCH_UTC = dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc)
_MICROSECOND = dt.timedelta(microseconds=1)


def xxhash64(values: Sequence[Any], types: Sequence[str]) -> int:
    """Return what Spark's `xxhash64(*values)` returns for columns of these types, as a signed 64-bit int.

    `types` are Spark's simple type strings (`DataType.simpleString()`). A naive datetime of type `timestamp` is
    local time, as PySpark has it.

    Raises:
        KeyTypeError: for a type that Spark cannot hash (map, variant) or that has no fixed hash (collated string).

    >>> xxhash64([5], ["int"])
    504019808641096632
    >>> xxhash64(["a", 1], ["string", "bigint"])
    -1010403264180844141
    """
    seed = SEED
    for value, type_ in zip(values, types, strict=True):
        seed = _hash(value, type_.strip().lower() if "<" not in type_ else type_.strip(), seed)
    return seed - (1 << 64) if seed >= 1 << 63 else seed


def xxhash64_many(first: int, values: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return what Spark's `xxhash64(first, value)` returns for an int and each of these bigints, (m,) both.

    >>> xxhash64_many(7, np.array([1, -5])).tolist() == [xxhash64([7, value], ["int", "bigint"]) for value in (1, -5)]
    True
    """
    hashes: npt.NDArray[np.int64] = _hash_long(values.view(np.uint64), _hash_int(first, SEED)).view(np.int64)
    return hashes


def _hash(value: Any, type_: str, seed: int) -> int:
    if value is None:
        return seed
    if type_ in _INT_TYPES:
        return _hash_int(int(value), seed)
    if type_ == "boolean":
        return _hash_int(1 if value else 0, seed)
    if type_ == "bigint":
        return _hash_long(int(value), seed)
    if type_ == "date":
        day = value.date() if isinstance(value, dt.datetime) else value
        return _hash_int((day - _EPOCH_DAY).days, seed)
    if type_ in ("timestamp", "timestamp_ltz", "timestamp_ntz"):
        return _hash_long(_microseconds(value, type_), seed)
    if type_ == "double":
        return _hash_long(_bits(float(value), ">d", ">q", 0x7FF8000000000000), seed)
    if type_ == "float":
        return _hash_int(_bits(float(value), ">f", ">i", 0x7FC00000), seed)
    if type_ == "string" or type_.startswith(("varchar(", "char(")):
        return _hash_bytes(str(value).encode("utf-8", "surrogatepass"), seed)
    if type_ == "binary":
        return _hash_bytes(bytes(value), seed)
    if type_.startswith("decimal("):
        return _hash_decimal(decimal.Decimal(value), type_, seed)
    if type_.startswith("interval day") or type_.startswith(("interval hour", "interval minute", "interval second")):
        return _hash_long(int(value // _MICROSECOND), seed)
    if type_.startswith("array<"):
        for item in value:
            seed = _hash(item, type_[6:-1], seed)
        return seed
    if type_.startswith("struct<"):
        for item, (_, field_type) in zip(value, struct_fields(type_), strict=True):
            seed = _hash(item, field_type, seed)
        return seed
    raise KeyTypeError(f"no fixed hash for a key of type {type_}; group or join by its parts, or cast it to a string")


def struct_fields(type_: str) -> list[tuple[str, str]]:
    """Return the (name, type) pairs of a `struct<...>` simple string.

    >>> struct_fields("struct<a:int,b:array<struct<c:decimal(10,2)>>>")
    [('a', 'int'), ('b', 'array<struct<c:decimal(10,2)>>')]
    """
    fields, depth, start = [], 0, 0
    body = type_[len("struct<") : -1]
    for i, char in enumerate(body + ","):
        depth += (char in "<(") - (char in ">)")
        if char == "," and depth == 0 and start < i:
            name, _, field_type = body[start:i].partition(":")
            fields.append((name.strip(), field_type.strip()))
            start = i + 1
    return fields


def _microseconds(value: dt.datetime, type_: str) -> int:
    if type_ == "timestamp_ntz":
        return (value.replace(tzinfo=None) - _EPOCH) // _MICROSECOND
    return (value.astimezone(dt.timezone.utc) - _EPOCH_UTC) // _MICROSECOND


def _bits(value: float, pack: str, unpack: str, nan: int) -> int:
    if math.isnan(value):
        return nan
    return int(struct.unpack(unpack, struct.pack(pack, value + 0.0 if value else 0.0))[0])


def _hash_decimal(value: decimal.Decimal, type_: str, seed: int) -> int:
    precision, _, scale = type_[len("decimal(") : -1].partition(",")
    with decimal.localcontext() as context:
        context.prec = 60
        unscaled = int(value.scaleb(int(scale or 0)).to_integral_value(decimal.ROUND_HALF_UP))
    if int(precision) <= 18:
        return _hash_long(unscaled, seed)
    magnitude = unscaled if unscaled >= 0 else ~unscaled
    return _hash_bytes(unscaled.to_bytes(magnitude.bit_length() // 8 + 1, "big", signed=True), seed)


def _rotate(x: _Words, bits: int) -> _Words:
    x &= _MASK
    return ((x << bits) | (x >> (64 - bits))) & _MASK


def _finish(h: _Words) -> _Words:
    h = h ^ (h >> 33)
    h = h * _P2 & _MASK
    h = h ^ (h >> 29)
    h = h * _P3 & _MASK
    return h ^ (h >> 32)


def _hash_int(value: int, seed: int) -> int:
    h = (seed + _P5 + 4) & _MASK
    h ^= (value & 0xFFFFFFFF) * _P1 & _MASK
    return _finish((_rotate(h, 23) * _P2 + _P3) & _MASK)


def _hash_long(value: _Words, seed: int) -> _Words:
    h = _round(0, value & _MASK) ^ ((seed + _P5 + 8) & _MASK)
    return _finish((_rotate(h, 27) * _P1 + _P4) & _MASK)


def _round(lane: int, word: _Words) -> _Words:
    return _rotate(lane + word * _P2, 31) * _P1 & _MASK


def _hash_bytes(data: bytes, seed: int) -> int:
    length, offset = len(data), 0
    if length >= 32:
        lanes = [seed + _P1 + _P2, seed + _P2, seed, seed - _P1]
        while offset <= length - 32:
            words = struct.unpack_from("<4Q", data, offset)
            lanes = [_round(lane, word) for lane, word in zip(lanes, words, strict=True)]
            offset += 32
        h = sum(_rotate(lane, bits) for lane, bits in zip(lanes, (1, 7, 12, 18), strict=True)) & _MASK
        for lane in lanes:
            h = ((h ^ _round(0, lane)) * _P1 + _P4) & _MASK
    else:
        h = (seed + _P5) & _MASK
    h = (h + length) & _MASK
    while offset <= length - 8:
        h ^= _round(0, struct.unpack_from("<Q", data, offset)[0])
        h = (_rotate(h, 27) * _P1 + _P4) & _MASK
        offset += 8
    if offset <= length - 4:
        h ^= struct.unpack_from("<I", data, offset)[0] * _P1 & _MASK
        h = (_rotate(h, 23) * _P2 + _P3) & _MASK
        offset += 4
    for byte in data[offset:]:
        h = _rotate(h ^ (byte * _P5 & _MASK), 11) * _P1 & _MASK
    return _finish(h)
