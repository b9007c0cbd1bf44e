"""Both sides of a join with keys that can be told apart, and how the joined frame gets the columns Spark gives it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from skewkit.spark.keys import Keys, Names, quoted


@dataclass(frozen=True)
class JoinKeys:
    """The key columns of both sides, of equal types; `using` are their names where the join is by name.

    `on` is what `DataFrame.join` takes; `null_safe` says of each key whether null matches null; `residual` is what
    the condition asks beside the equality of the keys.
    """

    left: Keys
    right: Keys
    using: tuple[str, ...] | None
    on: object
    null_safe: tuple[bool, ...]
    residual: Column | None = None

    def unmatched(self, keys: Keys) -> Column | None:
        """Return whether a row of a side matches nothing because of a null; None where null matches null."""
        if all(self.null_safe):
            return None
        return keys.null_in([not safe for safe in self.null_safe])

    def equal(self, left: Keys, right: Keys) -> Column:
        """Return the equality of both keys, written so that Spark does not take it for a join key: `a IN (b)`."""
        tests = None
        for a, b, safe in zip(left.columns, right.columns, self.null_safe, strict=True):
            same = a.isin(b)
            test = same | (a.isNull() & b.isNull()) if safe else same
            tests = test if tests is None else tests & test
        if tests is None:
            raise ValueError("a join has at least one key")
        return tests if self.residual is None else tests & self.residual


@dataclass(frozen=True)
class Sides:
    """Both frames, the keys as they are found in them, and `finish`, which gives the joined frame its columns."""

    left: DataFrame
    right: DataFrame
    left_keys: Keys
    right_keys: Keys
    finish: Callable[[DataFrame], DataFrame]


def sides_of(left: DataFrame, right: DataFrame, keys: JoinKeys, how: str, names: Names) -> Sides:
    """Return both sides ready to be joined by condition.

    By condition, both frames stay as they are. By name (USING), the result has each key once, first: the left one,
    the right one in a right join, both coalesced in a full join. The keys that do not show are hidden, as Spark
    hides them, so that `right["k"]` and qualified names find them after the join.
    """
    if keys.using is None:
        return Sides(left, right, keys.left, keys.right, lambda joined: joined)
    l_helpers, r_helpers = ([names(f"{side}_key{i}") for i in range(len(keys.using))] for side in ("l", "r"))
    if how in ("right", "full"):
        l_frame = _hidden(left, keys.using, l_helpers)
        l_keys = keys.left.renamed(l_helpers)
    else:
        l_frame, l_keys = _keys_first(left, keys.using, names), keys.left
    # To hide a key makes its frame's columns nullable; an outer join does so anyway.
    nullable = all(field.nullable for field in right.schema.fields)
    may_hide = how in ("left", "full") or (how in ("inner", "right") and nullable)
    if how == "right" and not may_hide:
        r_frame, r_keys = right, keys.right
    else:
        hide = _hidden if may_hide else _renamed
        r_frame, r_keys = hide(right, keys.using, r_helpers), keys.right.renamed(r_helpers)

    def finish(joined: DataFrame) -> DataFrame:
        if how == "right" and not may_hide:
            return _keys_first(joined.drop(*l_helpers), keys.using or (), names)
        if how == "right":
            shown = [F.col(h).alias(_actual(right, name)) for h, name in zip(r_helpers, keys.using or (), strict=True)]
            return joined.select(*shown, "*").drop(*l_helpers, *r_helpers)
        if how == "full":
            triples = zip(l_helpers, r_helpers, keys.using or (), strict=True)
            shown = [F.coalesce(F.col(a), F.col(b)).alias(_actual(left, name)) for a, b, name in triples]
            return joined.select(*shown, "*").drop(*l_helpers, *r_helpers)
        return joined.drop(*r_helpers)

    return Sides(l_frame, r_frame, l_keys, r_keys, finish)


def _renamed(df: DataFrame, using: Sequence[str], helpers: Sequence[str]) -> DataFrame:
    for name, helper in zip(using, helpers, strict=True):
        df = df.withColumnRenamed(_actual(df, name), helper)
    return df


def _hidden(df: DataFrame, using: Sequence[str], helpers: Sequence[str]) -> DataFrame:
    """Return the frame with its keys under the names of `helpers`, first, and the original columns hidden.

    Only a join by name makes Spark hide columns: a full one with an empty frame, which the optimizer takes away.
    """
    nothing = df.select(*(F.col(quoted(name)) for name in using)).schema
    empty = df.sparkSession.range(1).where(F.lit(False))
    columns = [F.lit(None).cast(field.dataType).alias(name) for field, name in zip(nothing.fields, using, strict=True)]
    return _renamed(df.join(empty.select(*columns), list(using), "full"), using, helpers)


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
    df = _renamed(df, actual, moved)
    keys = [F.col(helper).alias(name) for name, helper in zip(actual, moved, strict=True)]
    return df.select(*keys, "*").drop(*moved)
