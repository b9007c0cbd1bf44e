"""The packed key of a salted join: one int that holds a row's partition and the group of keys that it is of."""

from __future__ import annotations

from functools import reduce
from operator import and_

from pyspark.sql import Column
from pyspark.sql import functions as F

from skewkit.plan.join.join_plan import JoinPlan
from skewkit.spark.expressions.keys import Keys, Names
from skewkit.spark.routing.route import element, listed

_INT = (1 << 31) - 1
_TAG_FROM = 33
"""Tags are cut from the upper half of a hash, as tail buckets are from its lowest bits."""
_WHOLE = ("tinyint", "smallint", "int", "bigint")


def packed_key(plan: JoinPlan, keys: Keys, names: Names, marked: str | None, apart: str | None = None) -> Column | str:
    """Return the packed key of a row with its `hash`, `heavy` and `partition`.

    `marked` and `apart` are SQL. `marked` rows, whose key the look-up of a semi join found, meet a made-up right row.
    Rows that are `apart` are grouped by their salt, the column `row`.
    """
    n, partition, heavy = plan.keys.partitions, names("partition"), names("heavy")
    group = group_of(names("hash"), n)
    if apart is not None:
        group = f"if({apart}, {group_of(names('row'), n)}, {group})"
    checked = [matrix.checked for matrix in plan.matrices]
    packed = f"{partition} - {n} - {group}"
    if marked is not None:
        packed = f"if({marked}, {partition} - {n}, {packed})"
    elif any(checked):
        packed = f"if({listed(checked, heavy)}, {partition} + {heavy_group(heavy, n)}, {packed})"
    # Never null, and Spark shall know it: else it infers `packed is not null` and computes all of this twice.
    packed = f"coalesce({packed}, 0)"
    named = _named(plan, keys, names)
    return packed if named is None else F.coalesce(F.expr(f"{partition} - {n}") - named, F.expr(packed))


def equal_by_group(plan: JoinPlan, keys: Keys, packed: Column) -> Column | None:
    """Return whether rows of one packed key have the same key for certain. None where nothing is certain.

    Rows of a hot key that each meet many others compare their key with the plan's once, and get a group that no hash
    gives. So it is not compared with every row they meet: a text takes longer to compare than two rows to join.
    """
    return packed >= plan.keys.partitions * _tags(plan.keys.partitions) if any(_compared_before(plan, keys)) else None


def _compared_before(plan: JoinPlan, keys: Keys) -> list[bool]:
    texts = "string" in keys.types and all(type_ in ("string", *_WHOLE) for type_ in keys.types)
    if not texts or not plan.rules.kind.pairs:
        return [False] * len(plan.matrices)
    n = plan.keys.partitions
    room = (_INT + 1) // n - _tags(n)
    named = [all(isinstance(value, str | int) for value in heavy.key) for heavy in plan.keys.heavy]
    return [matrix.repeated and named[i] and i < room for i, matrix in enumerate(plan.matrices)]


def _named(plan: JoinPlan, keys: Keys, names: Names) -> Column | None:
    """Return the group of a row whose key is a hot one by value, null for others. None where there are none."""
    wanted = _compared_before(plan, keys)
    if not any(wanted):
        return None
    n, heavy = plan.keys.partitions, F.col(names("heavy"))
    values = [h.key if use else (None,) * len(keys.types) for h, use in zip(plan.keys.heavy, wanted, strict=True)]
    columns = zip(keys.columns, keys.types, zip(*values, strict=True), strict=True)
    same = [column == element(found, type_, heavy) for column, type_, found in columns]
    group = -n * (heavy + F.lit(_tags(n) + 1))
    return F.when(F.expr(listed(wanted, names("heavy"))) & reduce(and_, same), group)


def heavy_group(heavy: str, partitions: int) -> str:
    """Return a negative multiple of `partitions` that no other heavy key has, as SQL. See `heavy_group_number`."""
    return f"{-partitions} * ({heavy} + 1)"


def heavy_group_number(heavy: int, partitions: int) -> int:
    """Return the group of a heavy key by its index: with a partition added it is an int that no other key has.

    >>> heavy_group_number(0, 32), heavy_group_number(2, 32)
    (-32, -96)
    """
    return -partitions * (heavy + 1)


def group_of(key_hash: str, partitions: int) -> str:
    """Return a negative multiple of `partitions` that follows from the hash in a column, as SQL.

    With a partition added it is an int, and its negative is, too. Keys may share it.
    """
    return f"{-partitions} * (cast(shiftright({key_hash}, {_TAG_FROM}) & {_tags(partitions) - 1}L AS int) + 1)"


def _tags(partitions: int) -> int:
    """Return how many tags an int has room for beside a partition, a power of two."""
    return 1 << (_INT // partitions).bit_length() - 1
