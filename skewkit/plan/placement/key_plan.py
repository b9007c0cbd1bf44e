"""The plan of one list of keys: which partitions every heavy key and every tail bucket goes to."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np

from skewkit.checks import whole_number
from skewkit.errors import ArgumentError, ProfileError, nearest
from skewkit.partitioners.capacities import checked_capacities, relative_capacities
from skewkit.partitioners.rules.wrap_around import common_load
from skewkit.plan.placement.alias import SCALE, alias_table
from skewkit.plan.placement.load import KeyLoad
from skewkit.plan.placement.lookup import cuckoo_table, slots_of
from skewkit.plan.placement.plan_check import check_routes
from skewkit.plan.placement.schemes import BY_CAPACITY, SCHEMES
from skewkit.plan.profile.values import from_jsonable, to_jsonable

FORMAT = 1
EPSILON = 1e-4
_SHORTER = 0.8
"""A longest task that is shorter by less than a fifth may not be shorter: a sample tells its length no better."""


@dataclass(frozen=True)
class HeavyRoute:
    """A heavy key's partitions with the share of its rows that each gets. Shares sum to 1."""

    key: tuple[Any, ...]
    hash: int
    weight: float
    parts: tuple[tuple[int, float], ...]


@dataclass(frozen=True)
class KeyPlan:
    """Where the rows of every key go, as data.

    * A heavy key goes to the partitions of its `parts` only, with the shares stated there.
    * Every other key goes to partition `buckets[xxhash64(key) mod len(buckets)]`, always the same one.
    * `spread` are the partitions for rows that may go anywhere (null keys of a join), with their shares.
    * `loads` is the weight that each partition is expected to get. Partitions are numbered by falling load, because
      Spark starts tasks in the order of their numbers and the longest should start first.
    """

    scheme: str
    partitions: int
    keys: tuple[str, ...]
    types: tuple[str, ...]
    heavy: tuple[HeavyRoute, ...]
    buckets: tuple[int, ...]
    spread: tuple[tuple[int, float], ...]
    loads: tuple[float, ...]
    native_straggler: float
    choices: int

    @property
    def straggler(self) -> float:
        """Expected greatest load of a partition over the mean: 1.0 is balanced."""
        mean = sum(self.loads) / self.partitions
        return max(self.loads) / mean if mean else 1.0

    @property
    def is_more_balanced(self) -> bool:
        """Whether the longest task is shorter than plain Spark's by a fifth or more."""
        return self.straggler <= _SHORTER * self.native_straggler

    @cached_property
    def slots(self) -> list[tuple[int, int]]:
        """Cuckoo table from a key's hash to its index in `heavy`. `spread` has no slot."""
        return cuckoo_table([h.hash for h in self.heavy])

    @cached_property
    def draws(self) -> tuple[list[tuple[int, int]], list[tuple[int, int, int]]]:
        """(start, length) per heavy key, and last for `spread`, into one list of alias table entries.

        Keys with the same parts share their entries.
        """
        spans: list[tuple[int, int]] = []
        table: list[tuple[int, int, int]] = []
        known: dict[tuple[tuple[int, float], ...], tuple[int, int]] = {}
        for parts in (*(h.parts for h in self.heavy), *([self.spread] if self.spread else [])):
            if parts not in known:
                known[parts] = (len(table), len(parts))
                table.extend(alias_table(parts))
            spans.append(known[parts])
        return spans, table

    def heavy_index(self, key_hash: int) -> int:
        """Return the index in `heavy` of the key with this hash, or -1."""
        for slot in slots_of(key_hash, len(self.slots)):
            found, index = self.slots[slot]
            if index >= 0 and found == key_hash:
                return index
        return -1

    def partition(self, key_hash: int, row_hash: int) -> int:
        """Return the partition of a row, from the signed 64-bit hashes of its key and of its salt columns.

        The Spark column of this plan computes the same number.

        >>> from skewkit.hashing.spark import xxhash64
        >>> from skewkit.plan.placement.load import HeavyLoad, KeyLoad
        >>> plan = key_plan(KeyLoad(("k",), ("int",), (HeavyLoad((7,), 99, 6.0),), (1.0, 3.0)), 2)
        >>> rows = [xxhash64([i], ["int"]) for i in range(3000)]
        >>> sorted(round(sum(plan.partition(99, row) == p for row in rows) / 1000) for p in (0, 1))
        [1, 2]
        """
        index = self.heavy_index(key_hash)
        return self.buckets[key_hash % len(self.buckets)] if index < 0 else self.draw(index, row_hash)

    def draw(self, index: int, row_hash: int) -> int:
        """Return the partition of a row of heavy key `index`. `index == len(heavy)` is `spread`."""
        spans, table = self.draws
        start, length = spans[index]
        threshold, partition, alias = table[start + (row_hash & (SCALE - 1)) % length]
        return partition if (row_hash >> 33) + (SCALE >> 1) < threshold else alias

    def to_json(self) -> str:
        """Return the plan as JSON; `KeyPlan.from_json` gives an equal plan back.

        Each heavy key also carries its alias table (`draws`), for the SQL function `skew_route`.
        """
        data = asdict(self)
        for item in data["heavy"]:
            item["draws"] = [dict(zip("tpa", entry, strict=True)) for entry in alias_table(item["parts"])]
            item["key"] = to_jsonable(item["key"])
        return json.dumps({"skewkit_plan": FORMAT, **data})

    @classmethod
    def from_json(cls, text: str) -> KeyPlan:
        """Read what `to_json` wrote.

        Raises:
            ProfileError: the text is no plan, or of another format.
        """
        try:
            data = json.loads(text)
            if data.pop("skewkit_plan") != FORMAT:
                raise KeyError("skewkit_plan")
            types = tuple(data["types"])
            data["heavy"] = tuple(
                HeavyRoute(tuple(map(from_jsonable, h["key"], types)), h["hash"], h["weight"], _pairs(h["parts"]))
                for h in data["heavy"]
            )
            data["spread"] = _pairs(data["spread"])
            for name in ("keys", "types", "buckets", "loads"):
                data[name] = tuple(data[name])
            check_routes(data)
            return cls(**data)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise ProfileError("this text is no skewkit plan of this version; plan anew") from error


def key_plan(
    load: KeyLoad,
    partitions: int,
    scheme: str = "wrap",
    *,
    theta: float | None = None,
    epsilon: float = EPSILON,
    capacities: Sequence[float] | None = None,
) -> KeyPlan:
    """Place a load on `partitions` partitions.

    Args:
        load: what to place.
        partitions: number of partitions n, 1 or more.
        scheme: a name in `skewkit.plan.placement.schemes.SCHEMES`.
        theta: least share of a heavy key. 1/(5n) as in the D-Choices paper, Section III-A, unless given.
        epsilon: tolerated imbalance in Eq. (3) of that paper; used by `d_choices`.
        capacities: (n,) how much each partition is to get, in any unit, for `wrap` and `dkg`. Partitions then keep
            their numbers; else they are numbered by falling load.

    Raises:
        ArgumentError: unknown scheme, a number of partitions below 1, capacities that are not n numbers above zero, or
            a scheme that knows of none.
    """
    n = whole_number("partitions", partitions)
    if scheme not in SCHEMES:
        raise ArgumentError(f"unknown scheme {scheme!r}: {nearest(scheme, SCHEMES)}")
    if capacities is not None and scheme not in BY_CAPACITY:
        raise ArgumentError(f"{scheme!r} knows of no capacities; expected one of {', '.join(map(repr, BY_CAPACITY))}")
    load = load.above(1 / (5 * n) if theta is None else theta)
    known = checked_capacities(capacities, n)
    relative = relative_capacities(known, n)
    place = SCHEMES[scheme](load, n, epsilon, *([] if known is None else [relative]))
    spread = [0.0] * n
    if load.spread:
        common = common_load(load.spread, place.loads, None if known is None else relative)
        spread = [float(w) for w in np.maximum(0.0, common * relative - place.loads)]
    loads = place.loads + np.asarray(spread)
    order = np.argsort(-loads if known is None else np.zeros(n), kind="stable")
    number = np.empty(n, dtype=int)
    number[order] = np.arange(n)

    def shares(parts: list[tuple[int, float]]) -> tuple[tuple[int, float], ...]:
        total = sum(w for _, w in parts)
        return tuple((int(number[p]), w / total if total else 1 / len(parts)) for p, w in parts)

    return KeyPlan(
        scheme,
        n,
        load.keys,
        load.types,
        tuple(HeavyRoute(h.key, h.hash, h.weight, shares(p)) for h, p in zip(load.heavy, place.heavy, strict=True)),
        tuple(int(number[p]) for p in place.buckets),
        shares([(p, w) for p, w in enumerate(spread) if w > 0]) if load.spread else (),
        tuple(float(w) for w in loads[order]),
        native_straggler(load, n),
        place.choices,
    )


def native_straggler(load: KeyLoad, partitions: int) -> float:
    """Return the greatest load over the mean that hash partitioning must expect.

    That is the heaviest key, never cut, on a partition with its even part of everything else. Null keys are one
    key to plain Spark.

    >>> from skewkit.plan.placement.load import HeavyLoad
    >>> round(native_straggler(KeyLoad(("k",), ("int",), (HeavyLoad((7,), 99, 6.0),), (1.0, 1.0)), 4), 2)
    3.25
    """
    total = load.total
    if not total:
        return 1.0
    heaviest = max([load.spread, *(h.weight for h in load.heavy)])
    return partitions * (heaviest + (total - heaviest) / partitions) / total


def _pairs(parts: list[list[Any]]) -> tuple[tuple[int, float], ...]:
    return tuple((int(p), float(s)) for p, s in parts)
