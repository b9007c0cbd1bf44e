"""What has to be placed: the weights of heavy keys and tail buckets, and whether a key may be cut."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from skewkit.partitioners.rules.buckets import expected_weights
from skewkit.plan.profile.heavy_key import HeavyKey
from skewkit.plan.profile.key_profile import KeyProfile


@dataclass(frozen=True)
class HeavyLoad:
    """A heavy key with the work that it brings. `divisible` says whether several partitions may share it.

    With `pieces`, the key comes in so many equal pieces, each for a partition of its own, and is not cut further.
    """

    key: tuple[Any, ...]
    hash: int
    weight: float
    divisible: bool = True
    pieces: int = 0


@dataclass(frozen=True)
class KeyLoad:
    """The work to place: heavy keys falling by weight, tail buckets, and `spread`, rows that may go anywhere."""

    keys: tuple[str, ...]
    types: tuple[str, ...]
    heavy: tuple[HeavyLoad, ...]
    tail: tuple[float, ...]
    spread: float = 0.0

    @property
    def total(self) -> float:
        """Weight of everything."""
        return sum(h.weight for h in self.heavy) + sum(self.tail) + self.spread

    def above(self, theta: float) -> KeyLoad:
        """Return the load with only keys of at least `theta` of the total as heavy, the others in their buckets."""
        least = theta * self.total
        tail = list(self.tail)
        for h in self.heavy:
            if h.weight < least:
                tail[h.hash % len(tail)] += h.weight
        return replace(self, heavy=tuple(h for h in self.heavy if h.weight >= least), tail=tuple(tail))


def group_load(profile: KeyProfile, *, divisible: bool = True) -> KeyLoad:
    """Return the load of a group-by: a null is a key like any other."""
    heavy: dict[int, HeavyLoad] = {}
    for h in _falling((*profile.heavy, *profile.null_heavy)):
        # Spark's hash passes over nulls: (1, null) and (null, 1) are one to a route, though never to a group.
        twin = heavy.get(h.hash)
        weight = h.estimate + (twin.weight if twin else 0.0)
        heavy[h.hash] = HeavyLoad(twin.key if twin else h.key, h.hash, weight, divisible)
    # Rows whose key has a null and is not listed are spread over the buckets as their keys are.
    rest = max(0.0, profile.nulls - sum(h.estimate for h in profile.null_heavy)) / len(profile.tail)
    tail = tuple(w + rest for w in expected_tail(profile))
    return KeyLoad(profile.keys, profile.types, tuple(sorted(heavy.values(), key=_by_weight)), tail)


def expected_tail(profile: KeyProfile) -> list[float]:
    """Return the weight to expect in every bucket: from a sample, empty buckets expect some, too."""
    unit = 0.0 if profile.named else profile.row_weight
    return [float(w) for w in expected_weights(np.asarray(profile.tail, dtype=np.float64), unit)]


def _by_weight(h: HeavyLoad) -> tuple[float, int]:
    return -h.weight, h.hash


def _falling(heavy: tuple[HeavyKey, ...]) -> list[HeavyKey]:
    return sorted(heavy, key=lambda h: (-h.estimate, h.hash))
