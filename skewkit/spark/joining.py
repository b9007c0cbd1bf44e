"""Joins over a plan: salted on one packed key, or the hot keys by broadcast."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from skewkit.plan.joinplan import JoinPlan
from skewkit.plan.keyplan import KeyPlan
from skewkit.spark.compat import place
from skewkit.spark.keys import Keys, Names, quoted
from skewkit.spark.route import copies, salt, with_heavy_index, with_partition

_INT = (1 << 31) - 1
INTEGERS = ("tinyint", "smallint", "int", "bigint")
"""Key types that may differ between the sides, the narrower first."""


@dataclass(frozen=True)
class JoinKeys:
    """The key columns of both sides, of equal types; `using` are their names where the join is by name."""

    left: Keys
    right: Keys
    using: tuple[str, ...] | None
    on: object
    """What `DataFrame.join` takes as `on`."""


def salted(left: DataFrame, right: DataFrame, keys: JoinKeys, plan: JoinPlan, *, shuffle_hash: bool) -> DataFrame:
    """Return the join with the rows of hot keys spread over the partitions of the plan.

    Both sides are placed by one int, `packed = partition + n * (hash mod (2^31 - 1) / n)`, and joined on it, so
    that Spark sorts or hashes a single int and adds no exchange. The keys themselves are compared as a residual
    condition, written so that Spark does not take it for a second join key: equal hashes cost a comparison only.
    """
    names = Names(left, right)
    l_names, r_names = names.of("l"), names.of("r")
    l_frame, r_frame, l_keys, r_keys = _with_keys(left, right, keys, l_names, r_names)
    no_null = ~r_keys.any_null
    free = None
    if plan.how == "left":
        free = l_keys.any_null
    else:
        l_frame = l_frame.where(~l_keys.any_null)
    l_side = _packed(l_frame, l_keys, plan, l_names, "left", free)
    r_side = _packed(r_frame.where(no_null), r_keys, plan, r_names, "right", None)
    if shuffle_hash:
        r_side = r_side.hint("shuffle_hash")
    pairs = zip(l_keys.columns, r_keys.columns, strict=True)
    equal = reduce(Column.__and__, [(a >= b) & (a <= b) for a, b in pairs])
    joined = l_side.join(r_side, (F.col(l_names("packed")) == F.col(r_names("packed"))) & equal, plan.how)
    helpers = [n("packed") for n in (l_names, r_names)]
    helpers += [n(f"key{i}") for n in (l_names, r_names) for i in range(len(l_keys.columns))]
    return joined.drop(*helpers)


def broadcast_head(left: DataFrame, right: DataFrame, keys: JoinKeys, head: KeyPlan, how: str) -> DataFrame:
    """Return the join in two branches: hot left rows to a broadcast of the right side's hot rows, the rest natively.

    Left rows with a null key match nothing, so an outer join sends them with the hot ones, past the shuffle.
    """
    names = Names(left, right)
    l_frame = with_heavy_index(left, keys.left, head, names)
    r_frame = with_heavy_index(right, keys.right, head, names)
    hot = F.col(names("heavy")) >= 0
    l_hot = hot | keys.left.any_null
    helpers = (names("hash"), names("heavy"))

    def join(l_rows: DataFrame, r_rows: DataFrame) -> DataFrame:
        return l_rows.join(r_rows, keys.on, how)  # type: ignore[arg-type]

    hot_rows = join(l_frame.where(l_hot).drop(*helpers), F.broadcast(r_frame.where(hot).drop(*helpers)))
    rest = join(l_frame.where(~l_hot).drop(*helpers), r_frame.where(~hot).drop(*helpers))
    return hot_rows.unionAll(rest)


def _packed(df: DataFrame, keys: Keys, plan: JoinPlan, names: Names, side: str, free: Column | None) -> DataFrame:
    """Return the frame, placed, with its packed key; rows of keys that the other side splits are copied."""
    n = plan.keys.partitions
    split_here = [split == side for split in plan.split]
    salted_here = any(split_here) or free is not None
    found = with_heavy_index(df, keys, plan.keys, names)
    target = with_partition(found, plan.keys, names, salt(df, keys) if salted_here else None, free=free)
    if not all(split_here):
        every = F.explode(copies(plan.keys, names, split_here)).alias(names("copy"))
        target = target.select("*", every).drop(names("partition")).withColumnRenamed(names("copy"), names("partition"))
    tag = F.pmod(F.col(names("hash")), F.lit(_INT // n)).cast("int")
    # Never null, and Spark shall know it: else it infers `packed is not null` and computes all of this twice.
    packed = F.coalesce(F.col(names("partition")) + F.lit(n) * tag, F.lit(0)).alias(names("packed"))
    helpers = [names(role) for role in ("hash", "heavy", "row", "partition")]
    return place(target.select("*", packed).drop(*helpers), n, F.col(names("packed")))


def _with_keys(
    left: DataFrame, right: DataFrame, keys: JoinKeys, l_names: Names, r_names: Names
) -> tuple[DataFrame, DataFrame, Keys, Keys]:
    """Return both frames with keys that can be told apart by name after the join.

    By name (USING), the result has each key once, first, from the left: the left frame is put in that order and
    the right frame's keys are renamed. By condition, both keep their columns and get copies of the keys.
    All other columns stay the very same ones, so that `left["x"]` and aliases work on the result.
    """
    width = range(len(keys.left.columns))
    if keys.using is None:
        l_copies, r_copies = ([n(f"key{i}") for i in width] for n in (l_names, r_names))
        l_frame = left.select("*", *(c.alias(k) for c, k in zip(keys.left.columns, l_copies, strict=True)))
        r_frame = right.select("*", *(c.alias(k) for c, k in zip(keys.right.columns, r_copies, strict=True)))
        return l_frame, r_frame, keys.left.renamed(l_copies), keys.right.renamed(r_copies)
    r_frame = right
    for i, name in enumerate(keys.using):
        r_frame = r_frame.withColumnRenamed(_actual(right, name), r_names(f"key{i}"))
    r_keys = keys.right.renamed([r_names(f"key{i}") for i in width])
    # Both sides hash and compare their keys in the common type.
    return _keys_first(left, keys.using, l_names), r_frame, keys.left, _cast(r_keys)


def _cast(keys: Keys) -> Keys:
    columns = tuple(c.cast(t) if t in INTEGERS else c for c, t in zip(keys.columns, keys.types, strict=True))
    return replace(keys, columns=columns)


def _actual(df: DataFrame, name: str) -> str:
    return next((c for c in df.columns if c == name), next(c for c in df.columns if c.lower() == name.lower()))


def _keys_first(df: DataFrame, using: Sequence[str], names: Names) -> DataFrame:
    actual = [_actual(df, name) for name in using]
    if df.columns[: len(actual)] == actual:
        return df
    if len({name.lower() for name in df.columns}) == len(df.columns):
        rest = [name for name in df.columns if name not in actual]
        return df.select(*(F.col(quoted(name)) for name in (*actual, *rest)))
    # Some other columns share a name and cannot be selected by it: move the keys alone.
    moved = [names(f"moved{i}") for i in range(len(actual))]
    for name, helper in zip(actual, moved, strict=True):
        df = df.withColumnRenamed(name, helper)
    keys = [F.col(helper).alias(name) for name, helper in zip(actual, moved, strict=True)]
    return df.select(*keys, "*").drop(*moved)
