"""A heavy key with the bounds of its weight."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class HeavyKey:
    """A key that holds at least theta = 1/(5n) of the weight, with `low <= true weight <= high`.

    `key` has one Python value per key column; `hash` is Spark's `xxhash64` of the key columns. A key without nulls
    whose values nobody could take to the driver is known by its hash alone, and its values are None.
    """

    key: tuple[Any, ...]
    low: float
    estimate: float
    high: float
    hash: int


def key_text(key: tuple[object, ...]) -> str:
    """Return a key as it is read by people: 'a', or ('a', 1) where it is composite."""
    return repr(key[0]) if len(key) == 1 else repr(tuple(key))
