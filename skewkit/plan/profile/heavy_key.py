"""A heavy key with the bounds of its weight."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class HeavyKey:
    """A key that holds at least theta = 1/(5n) of the weight, with `low <= true weight <= high`.

    `key` has one Python value per key column. `hash` is Spark's `xxhash64` of the key columns. A key without nulls
    whose values nobody could take to the driver is known by its hash alone, and its values are None.
    """

    key: tuple[Any, ...]
    low: float
    estimate: float
    high: float
    hash: int


def key_text(key: tuple[object, ...]) -> str:
    """Return a key as it is read by people.

    >>> key_text(("a",)), key_text((None,)), key_text(("a", None))
    ("'a'", 'null', "('a', null)")
    """
    texts = ["null" if part is None else repr(part) for part in key]
    return texts[0] if len(texts) == 1 else f"({', '.join(texts)})"
