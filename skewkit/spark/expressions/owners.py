"""Which of two frames a Column is of, where they have columns in common: a frame and what was made of it."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame

from skewkit.spark.expressions.reads import names_of, references
from skewkit.spark.session.compat import is_connect, resolves


def has_some_of(other: DataFrame, column: Column, *, referred: bool = True) -> bool:
    """Return whether a Column that another frame can compute reads a column that `other` has, too, or may do so.

    * By name: the other frame may take a name for a function (`user`), a variable or a field of a struct. In a join of
      both it may be a column's, and the column goes first.
    * By reference, where a column that is `referred` to counts: Spark takes what both have for the left frame's in a
      join of both, so that the Column is not of the right one alone.

    >>> base = spark.range(9).selectExpr("id AS a", "id AS b")
    >>> upper = base.select("b", (base["a"] + 1).alias("c"))
    >>> has_some_of(base, base["b"] < upper["c"]), has_some_of(base, upper["c"] + 1)
    (True, False)
    >>> users = spark.range(1).selectExpr("id AS user")
    >>> has_some_of(users, F.concat("a", "user")), has_some_of(users, F.expr("a > current_date"))
    (True, False)
    """
    names = names_of(column)
    if names is None or any(_is_of(other, each) for each in {str(each): each for each in names}.values()):
        return True
    found = references(column) if referred else []
    return found is None or any(resolves(other, each) for each in found)


def _is_of(other: DataFrame, name: Column) -> bool:
    """Return whether a frame has a column, or a field of one, by this name, and not just a function or a variable."""
    if not resolves(other, name):
        return False
    nothing = other.sparkSession.range(0).toDF("skewkit's own")
    bare = str(name)[len("Column<'") : -len("'>")].strip("`").lower()
    return "." in bare or not resolves(nothing, name) or bare in {column.lower() for column in other.columns}


def is_ambiguous_later(left: DataFrame, right: DataFrame, condition: Column) -> bool:
    """Return whether both frames can resolve a column of a condition, and Spark could no more once they are changed.

    Connect takes `left["k"]` for the left frame's as long as that frame itself is joined, and not what is made of it.
    """
    if not is_connect(left):
        return False
    return any(resolves(left, each) and resolves(right, each) for each in references(condition) or ())
