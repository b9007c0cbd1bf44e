"""Both sides of a join with keys that can be told apart, and how the joined frame gets the columns Spark gives it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from skewkit.spark.expressions.keys import Keys, Names, quoted
from skewkit.spark.expressions.selecting import with_columns, without
from skewkit.spark.session.compat import resolves


@dataclass(frozen=True)
class JoinKeys:
    """The key columns of both sides, of equal types. `using` are their names where the join is by name.

    `on` is what `DataFrame.join` takes. `null_safe` says of each key whether null matches null. `residual` is what
    the condition asks beside the equality of the keys.
    """

    left: Keys
    right: Keys
    using: tuple[str, ...] | None
    on: object
    null_safe: tuple[bool, ...]
    residual: Column | None = None

    def unmatched(self, keys: Keys) -> Column | None:
        """Return whether a row of a side matches nothing because of a null. None where null matches null."""
        if all(self.null_safe):
            return None
        return keys.null_in([not safe for safe in self.null_safe])

    def equal(self, left: Keys, right: Keys, known: Column | None = None) -> Column:
        """Return the equality of both keys, written so that Spark does not take it for a join key: `a IN (b)`.

        Where `known` is true the keys are equal and are not compared. The residual condition is computed for equal keys
        only, as plain Spark does it: for others it may fail. Spark's optimizer takes an AND, and a CASE without ELSE,
        apart, and computes what reads one side before the keys.
        """
        tests = None
        for a, b, safe in zip(left.columns, right.columns, self.null_safe, strict=True):
            same = a.isin(b)
            test = same | (a.isNull() & b.isNull()) if safe else same
            tests = test if tests is None else tests & test
        if tests is None:
            raise ValueError("a join has at least one key")
        tests = tests if known is None else known | tests
        return tests if self.residual is None else F.when(tests, self.residual).otherwise(tests)


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
        if how not in ("right", "full") or _found_after(left, right, keys.right):
            return Sides(left, right, keys.left, keys.right, lambda joined: joined)
        helpers = [names(f"r_key{i}") for i in range(len(keys.right.columns))]
        carried = with_columns(right, dict(zip(helpers, keys.right.columns, strict=True)))
        return Sides(left, carried, keys.left, keys.right.selected(helpers), lambda joined: without(joined, *helpers))
    l_helpers, r_helpers = ([names(f"{side}_key{i}") for i in range(len(keys.using))] for side in ("l", "r"))
    using = keys.using
    if how in ("right", "full"):
        l_frame, l_keys = _hidden(left, using, l_helpers), keys.left.renamed(l_helpers)
    else:
        l_frame, l_keys = _keys_first(left, using), keys.left
    if how == "right":
        return Sides(l_frame, right, l_keys, keys.right, lambda joined: _keys_first(without(joined, *l_helpers), using))
    may_hide = how in ("inner", "left", "full")
    r_frame, r_keys = (_hidden if may_hide else _renamed)(right, using, r_helpers), keys.right.renamed(r_helpers)

    def finish(joined: DataFrame) -> DataFrame:
        if how == "full":
            triples = zip(l_helpers, r_helpers, using, strict=True)
            shown = {actual_name(left, name): F.coalesce(F.col(a), F.col(b)) for a, b, name in triples}
            return without(joined, *l_helpers, *r_helpers, first=shown)
        return without(joined, *r_helpers)

    return Sides(l_frame, r_frame, l_keys, r_keys, finish)


def _found_after(left: DataFrame, right: DataFrame, keys: Keys) -> bool:
    """Return whether the right keys can be asked for after a join, which gives what both frames read new ids."""
    joined = left.join(right)
    return all(resolves(joined, column) for column in keys.columns)


def _renamed(df: DataFrame, using: Sequence[str], helpers: Sequence[str]) -> DataFrame:
    """Return the frame with its keys under the names of `helpers`, first."""
    actual = [actual_name(df, name) for name in using]
    return without(df, *actual, first={new: F.col(quoted(name)) for name, new in zip(actual, helpers, strict=True)})


def _hidden(df: DataFrame, using: Sequence[str], helpers: Sequence[str]) -> DataFrame:
    """Return the frame with its keys under the names of `helpers`, first, and the original columns hidden.

    Only a join by name makes Spark hide columns: a full one with an empty frame, which the optimizer takes away. By its
    schema each column may be null then, as after an outer join.
    """
    return _renamed(df.join(no_keys(df, using), list(using), "full"), using, helpers)


def actual_name(df: DataFrame, name: str) -> str:
    """Return how a frame spells a name, of which the session may not tell the case."""
    return next((c for c in df.columns if c == name), next(c for c in df.columns if c.lower() == name.lower()))


def _keys_first(df: DataFrame, using: Sequence[str]) -> DataFrame:
    """Return the frame with its keys first, and every column the very same one as before."""
    actual = [actual_name(df, name) for name in using]
    if df.columns[: len(actual)] == actual:
        return df
    if len({name.lower() for name in df.columns}) == len(df.columns):
        rest = [name for name in df.columns if name not in actual]
        return df.select(*(F.col(quoted(name)) for name in (*actual, *rest)))
    # Some other columns share a name and cannot be selected by it: a join by name puts the keys first, too.
    return no_keys(df, using).join(df, list(using), "right")


def no_keys(df: DataFrame, using: Sequence[str]) -> DataFrame:
    """Return a frame that has the keys of a frame, under the names in `using`, and no row."""
    types = [df.schema[actual_name(df, name)].dataType for name in using]
    columns = [F.lit(None).cast(type_).alias(name) for type_, name in zip(types, using, strict=True)]
    return df.sparkSession.range(1).where("false").select(*columns)
