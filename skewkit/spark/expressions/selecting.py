"""More columns and fewer, by selects alone.

Not by `drop`, `withColumn` and their kind: a Connect server resolves such a frame at once and keeps what it found for a
while. So a query may have the rows of a view as it was then. A select is resolved whenever it runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from skewkit.spark.expressions.keys import Names, is_plain, quoted, reads_as_names
from skewkit.spark.session.compat import has_star_except, is_connect, is_off

_LATERAL = "spark.sql.lateralColumnAlias.enableImplicitResolution"


def with_columns(df: DataFrame, columns: Mapping[str, Column | str]) -> DataFrame:
    """Return the frame with more columns, by their names, of which each may use those before it. Texts are SQL.

    That is one select, by lateral aliases, unless the session does without them. On Connect it does: there Spark fails
    where a frame that has them is used twice in one query.
    """
    named = [
        F.expr(f"{column} AS {quoted(name)}") if isinstance(column, str) else column.alias(name)
        for name, column in columns.items()
    ]
    if is_connect(df) or is_off(df.sparkSession, _LATERAL):
        return reduce(lambda found, column: found.select("*", column), named, df)
    return df.select("*", *named)


def without(
    df: DataFrame, *names: str, first: Mapping[str, Column] | None = None, last: Mapping[str, Column] | None = None
) -> DataFrame:
    """Return a frame without some of its columns, which must be there, and with others before and after the rest.

    >>> without(spark.range(1).selectExpr("id", "id AS v"), "v", first={"one": F.lit(1)}).columns
    ['one', 'id']
    """
    first, last = first or {}, last or {}
    if has_star_except() and reads_as_names(df.sparkSession, names):
        rest = F.expr(f"* EXCEPT ({', '.join(map(quoted, names))})") if names else F.col("*")
        return df.select(*_named(first), rest, *_named(last))
    if not first and not last:
        return df.drop(*names)
    # The new ones may have the names of those that go.
    own = Names(df)
    apart = {own(f"new{i}"): column for i, column in enumerate((*first.values(), *last.values()))}
    found = df.select("*", *_named(apart)).drop(*names)
    shown = [F.col(new).alias(name) for new, name in zip(apart, (*first, *last), strict=True)]
    return found.select(*shown[: len(first)], "*", *shown[len(first) :]).drop(*apart)


def columns_of(df: DataFrame) -> list[Column]:
    """Return all columns of a frame. A name that a frame looks up is a call to Java or two, where `F.col` is some ten.

    >>> len(columns_of(spark.range(1).selectExpr("id", "id AS `a b`")))
    2
    """
    looked_up = not is_connect(df)
    return [df[name] if looked_up and is_plain(name) else F.col(quoted(name)) for name in df.columns]


def _named(columns: Mapping[str, Column]) -> list[Column]:
    return [column.alias(name) for name, column in columns.items()]
