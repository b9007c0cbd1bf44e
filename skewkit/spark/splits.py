"""The split table: how an aggregate function splits into a partial, a merge and a finish, or that it cannot.

Two phases give what one phase gives: `finish(merge(partial(sub-groups)))`. `pays` marks functions whose partial
state is large, so that a hot key hurts; the others Spark combines before the shuffle by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from skewkit.spark.compat import Call
from skewkit.spark.keys import has_fixed_hash

One = Callable[[Column], Column]


@dataclass(frozen=True)
class Split:
    """The function itself, its partials over the argument, one merge per partial, and the result of the merged.

    `by_value`: right only if equal values meet in one sub-group, so the salt must be the hash of the argument.
    """

    whole: One
    partials: tuple[One, ...]
    merges: tuple[One, ...]
    finish: Callable[..., Column] = lambda merged: merged
    pays: bool = False
    by_value: bool = False


def _joined(lists: Column) -> Column:
    return F.flatten(F.collect_list(lists))


def _as_double(x: Column) -> Column:
    return F.sum(x.cast("double"))


def _count(total: Column) -> Column:
    return F.coalesce(total, F.lit(0).cast("bigint"))


SPLITS: dict[str, Split] = {
    "count": Split(F.count, (F.count,), (F.sum,), _count),
    "sum": Split(F.sum, (F.sum,), (F.sum,)),
    "min": Split(F.min, (F.min,), (F.min,)),
    "max": Split(F.max, (F.max,), (F.max,)),
    "avg": Split(F.avg, (_as_double, F.count), (F.sum, F.sum), lambda total, n: total / F.nullif(n, F.lit(0))),
    "collect_list": Split(F.collect_list, (F.collect_list,), (_joined,), pays=True),
    "collect_set": Split(F.collect_set, (F.collect_set,), (_joined,), pays=True, by_value=True),
}
ALIASES = {"mean": "avg", "array_agg": "collect_list"}
# Spark adds up doubles for an avg of these; a sum or avg of decimals has its own precision and overflows to null.
_PLAIN_NUMBERS = {"tinyint", "smallint", "int", "bigint", "float", "double"}


def split_of(df: DataFrame, call: Call) -> Split | str:
    """Return how a call splits, or the reason why it does not."""
    name = ALIASES.get(call.name.lower(), call.name.lower())
    split = SPLITS.get(name)
    if split is None:
        return f"{call.name} is not in the split table"
    if call.distinct:
        return f"{call.name}(distinct) is spread by Spark itself"
    if name == "count" and not call.arguments:
        return split
    if len(call.arguments) != 1:
        return f"{call.name} has {len(call.arguments)} arguments"
    schema = df.select(call.arguments[0]).schema
    if len(schema.fields) != 1:
        return f"{call.name} of a star is several columns"
    type_ = schema[0].dataType.simpleString()
    if name in ("sum", "avg") and type_ not in _PLAIN_NUMBERS:
        return f"{call.name} of {type_} has its own precision and overflow"
    if split.by_value and "collate" in type_:
        return f"{call.name} of {type_} takes different strings for one"
    if split.by_value and not has_fixed_hash(schema[0].dataType):
        return f"{call.name} of {type_} cannot be cut by its values, which have no hash"
    return split


def values_to_salt_by(calls: Sequence[Call], splits: Sequence[Split]) -> list[Column] | None:
    """Return the columns that the salt must hash, [] where any salt will do, None where no salt suits all calls."""
    needed = [call.arguments[0] for call, split in zip(calls, splits, strict=True) if split.by_value]
    return None if len(needed) > 1 else needed
