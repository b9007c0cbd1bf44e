"""`skew_groupby`: aggregates and Python group functions whose hot keys are computed in parts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pyspark.sql import Column, DataFrame, GroupedData
from pyspark.sql import functions as F
from pyspark.sql.types import NumericType, StructType

from skewkit.api.arguments import (
    analysed,
    check_batch,
    check_frame,
    check_partitions,
    given_profile,
    settings_of,
)
from skewkit.api.group.agg import grouped_aggregates
from skewkit.api.group.cogroups import apply_cogroup, cogrouped
from skewkit.api.group.group_functions import Functions, OrderLike, apply_function
from skewkit.api.group.grouping import Grouping
from skewkit.api.strategy_names import check_strategy
from skewkit.errors import ArgumentError, UnsupportedError
from skewkit.plan.placement.schemes import SCHEMES
from skewkit.plan.profile.key_profile import KeyProfile
from skewkit.plan.profile.rehash import rehashed
from skewkit.spark.expressions.keys import find_keys, quoted
from skewkit.spark.session.compat import is_off
from skewkit.spark.session.remembered import remember

_RETAIN = "spark.sql.retainGroupColumns"


def skew_groupby(
    df: DataFrame,
    *keys: str | int | Column,
    strategy: str = "auto",
    partitions: int | None = None,
    profile: KeyProfile | None = None,
    heavy: Sequence[Any] | None = None,
) -> SkewGroupedData:
    """Group a frame by keys of which some may be hot. Use the result as you would `df.groupBy(*keys)`.

    * The rows are those of `df.groupBy(*keys)` with the same call, whatever the profile says.
    * Keys that are not heavy are computed as plain Spark computes them.
    * Where the skew does not pay for another plan, the native plan is returned (`strategy="auto"`).

    Args:
        df: the frame, classic or Connect.
        *keys: key columns: names, Columns or numbers from 1 on.
        strategy: `auto`, `native`, or how to place the keys: `wrap` (skewkit's own, taken by `auto`), `d_choices`,
            `w_choices`, `round_robin`, `dkg` or `key`.
        partitions: number of partitions n; the session's shuffle partitions if None.
        profile: a `KeyProfile` of these keys. Without it one query profiles the frame, when the result is asked for.
        heavy: hot keys that you know, as a list of values (tuples for composite keys). Then nothing is profiled.
            Aggregates of frames so small that no plan could save `spark.skewkit.margin` seconds are left to Spark.

    Raises:
        ColumnNotFoundError: a key is not in the frame.
        KeyTypeError: a key is, or holds, a map, a variant or a geometry.
        ArgumentError: unknown strategy, partitions below 1, or both `profile` and `heavy`.
        ProfileError: the profile is of other keys.
        UnsupportedError: the frame is a stream; or a strategy is asked for that keys of this kind do not allow, such as
            texts with a collation, which `auto` leaves to plain Spark. With `spark.sql.retainGroupColumns` off every
            strategy is plain Spark.

    >>> df = spark.range(90).selectExpr("if(id < 60, 'hot', string(id)) AS k", "id AS v")
    >>> grouped = skew_groupby(df, "k", strategy="wrap", partitions=4)
    >>> hot = grouped.agg(F.collect_set("v").alias("vs")).where("k = 'hot'").first()
    >>> sorted(hot.vs) == list(range(60))
    True
    """
    check_batch(df, "skew_groupby", "; for groups that go on over micro-batches use df.groupBy with a watermark")
    settings = settings_of(df)
    check_strategy(strategy, ("auto", "native", *SCHEMES))
    n = check_partitions(df, partitions)
    if len(keys) == 1 and isinstance(keys[0], list | tuple):
        keys = tuple(keys[0])
    found = find_keys(df, [_numbered(df, key) if isinstance(key, int) else key for key in keys])
    if is_off(df.sparkSession, _RETAIN):
        lost = f"{_RETAIN} is off, and skewkit tells results of one key by their keys"
        return SkewGroupedData(Grouping(df, found, "native", n, settings, None, lost))
    why = found.native_because
    if why and strategy not in ("auto", "native"):
        raise UnsupportedError(f"strategy {strategy!r} is not possible here: {why}; use 'auto' or 'native'")
    if why:
        return SkewGroupedData(Grouping(df, found, "native", n, settings, None, why))
    known = given_profile(profile, heavy, found)
    known = rehashed(known, found.types) if known else None
    return SkewGroupedData(Grouping(df, found, strategy, n, settings, known))


def _numbered(df: DataFrame, number: int) -> Column:
    """Return the column of a number, from 1 on, as `DataFrame.groupBy` takes it."""
    if isinstance(number, bool) or not 1 <= number <= len(df.columns):
        raise ArgumentError(f"key column {number} is not in the frame; it has the columns 1 to {len(df.columns)}")
    return df[number - 1]


class SkewGroupedData:
    """What `skew_groupby` returns: the methods of `pyspark.sql.GroupedData` over hot keys."""

    def __init__(self, group: Grouping) -> None:
        self._group = group

    def __repr__(self) -> str:
        group = self._group
        frame = f"DataFrame[{', '.join(f'{f.name}: {f.dataType.simpleString()}' for f in group.df.schema.fields)}]"
        return f"SkewGroupedData(keys={list(group.keys.names)}, strategy={group.strategy!r}, {frame})"

    def agg(self, *exprs: Any, merge: Mapping[Any, Callable[..., Any]] | None = None) -> DataFrame:
        """Return one row per key with the aggregates, given as `GroupedData.agg` takes them.

        * The rows, names and types are those of plain Spark. Where its result is not fixed (the order of
          `collect_list`, which of several values that are as frequent `mode` takes), ours is not either.
        * `collect_set`, `mode`, `median` and `percentile` are computed in parts for hot keys. Every other aggregate of
          Spark beside them is computed as Spark does it, inside expressions and with DISTINCT or FILTER, too.
          `skewkit.spark.group.split_table` says how, one by one. Lists (`collect_list`, `listagg`) alone are cut only
          where a scheme is asked for: the whole result is in one task in any case.
        * Grouped aggregate UDFs, of pandas or Arrow, are computed in parts for hot keys if `merge` says how the results
          of parts become one. The UDF runs on parts of at most `spark.skewkit.groupRows` rows, in no fixed order,
          whether the hot keys were profiled or named. The merge runs once per hot key, on the series (for Arrow the
          array) of their results. It must return what the UDF would have returned for the whole key. Keys that are not
          hot see no merge.
        * A Column that holds something else, such as another UDF or a window, sends the whole call the native way,
          and `explain` names it.

        Args:
            *exprs: Columns, or one dict of column to function name.
            merge: for grouped aggregate UDFs, a dict from UDF to the function that merges its partial results.

        Raises:
            ColumnNotFoundError: an aggregate names a column that is not in the frame.
            ArgumentError: there is no argument; an empty dict gives the keys.
            ArgumentTypeError: `merge` is no dict from aggregate UDFs to functions.

        >>> import pandas as pd
        >>> @F.pandas_udf("bigint")
        ... def highest(values: pd.Series) -> int:
        ...     return values.max()
        >>> df = spark.range(90).selectExpr("if(id < 60, 'hot', string(id)) AS k", "id AS v")
        >>> grouped = skew_groupby(df, "k", strategy="wrap", partitions=4)
        >>> tops = grouped.agg(highest("v").alias("top"), merge={highest: lambda parts: parts.max()})
        >>> tops.where("k = 'hot'").first().top
        59
        """
        return grouped_aggregates(self._group, exprs, merge)

    def count(self) -> DataFrame:
        """Return the number of rows per key, in a column `count`."""
        return self.agg(F.count(F.lit(1)).alias("count"))

    def sum(self, *columns: str) -> DataFrame:
        """Return the sum per key of the named, or all, numeric columns."""
        return self._shorthand(F.sum, "sum", columns)

    def avg(self, *columns: str) -> DataFrame:
        """Return the mean per key of the named, or all, numeric columns."""
        return self._shorthand(F.avg, "avg", columns)

    mean = avg

    def min(self, *columns: str) -> DataFrame:
        """Return the least value per key of the named, or all, numeric columns."""
        return self._shorthand(F.min, "min", columns)

    def max(self, *columns: str) -> DataFrame:
        """Return the greatest value per key of the named, or all, numeric columns."""
        return self._shorthand(F.max, "max", columns)

    def applyInPandas(
        self,
        func: Callable[..., Any],
        schema: StructType | str,
        merge: Callable[..., Any] | None = None,
        *,
        order_by: OrderLike | None = None,
        allow_empty: bool = False,
        seconds_per_row: float | None = None,
    ) -> DataFrame:
        """Run a pandas function on every group; with `merge`, hot groups in parts.

        * Nothing of the user's runs before an action.
        * Without `merge`, a group is never cut: `func` sees what it sees under `GroupedData.applyInPandas`.
          Groups are placed so that the hot ones are apart, the largest first.
        * With `merge`, `func` runs on sub-groups of a hot key, and `merge` on one frame that holds what it returned for
          them, without those that were empty. It runs once per hot key, be there one sub-group or many. It must return
          what `func` on the whole group would have returned. Where no sub-group has a result, the key has none.
        * A sub-group has the dtypes that the whole group would have: a column of whole numbers is float64 in every
          sub-group if one row of the group has a null.
        * `merge` gets the dtypes that `schema` says, whatever single parts have: `int8` to `int64` and `bool`, where
          there are nulls `Int8` to `Int64` and `boolean`, so that long numbers keep their last digits; `float32` and
          `float64`; `datetime64[us, zone]` for timestamps, in the
          session's time zone; `datetime64[us]` for those without one; objects for texts, dates, decimals and bytes.
        * A null key is a key as any other. `parts.groupby("k").sum()` drops it; `dropna=False` keeps it.
        * A sub-group has at most `spark.skewkit.groupRows` rows and, but for a single row that is larger, at most
          `spark.skewkit.groupBytes` bytes (as Arrow data; pandas may take several times as many). They are cut from
          Spark's own batches, whose size `spark.sql.execution.arrow.*` bounds. Nothing holds a hot group as a whole. A
          group that may be hot, with 1/(5n) of the rows or more, is cut from `groupRows` rows on even where the load is
          balanced. With `order_by`, rows that tie are in one sub-group, which is larger where many do: order by what
          tells rows apart.
        * Groups that are not hot go through `func` alone, just as under plain Spark. Which keys are hot follows from
          the profile, and where a group is cut from the frame's partitions: the result must not depend on either.
        * The sub-groups of a key are any rows of it, in no fixed order. With `order_by`, they are consecutive ranges of
          that order, sorted, and rows that tie are in one of them. `merge` sees their results in that order.
        * Ranges along a `timestamp` are ranges of instants. `func` sees local times, as under plain Spark, and the hour
          in which clocks go back is there twice. Order by `unix_micros(t)` or a `timestamp_ntz`, and let `func` read
          that column.
        * `func` and `merge` take (frame) or (key, frame), as in PySpark.

        Args:
            func: function of a pandas frame that returns a pandas frame.
            schema: what it returns, a `StructType` or a DDL string.
            merge: function that makes one result of the results of a hot key's sub-groups.
            order_by: name, Column (`F.desc("t")`) or list of them, as in `Window.orderBy`, for functions that look
                at neighbours, such as sessions and gaps. It needs a `merge`. Groups that are not hot come unsorted.
            allow_empty: whether `merge` may leave a hot key without a row.
            seconds_per_row: what `func` takes for a row, in seconds, if you know it. `auto` counts with it.

        Raises:
            ArgumentTypeError: `func` or `merge` is not a function of one or two arguments, or `schema` is no schema.
            ArgumentError: Spark cannot read the schema, there is an `order_by` and no `merge`, or `seconds_per_row`
                is not positive.
            ColumnNotFoundError: an order column is not in the frame.
            SchemaError: in a task, within Spark's `PythonException`: `func` or `merge` returned other columns than
                `schema` has, or values that do not fit their types.
            MergeError: likewise: `merge` returned no row for partial results that had rows, or another key. Only
                where `schema` has the key.

        >>> import pandas as pd
        >>> df = spark.range(90).selectExpr("if(id < 60, null, string(id)) AS k", "id AS v")
        >>> def total(frame):
        ...     return pd.DataFrame({"k": frame["k"].iloc[:1], "total": [frame["v"].sum()]})
        >>> def add_up(parts):
        ...     return parts.groupby("k", as_index=False, dropna=False).sum()
        >>> grouped = skew_groupby(df, "k", strategy="wrap", partitions=4)
        >>> grouped.applyInPandas(total, "k string, total bigint", merge=add_up).where("k is null").first().total
        1770
        """
        return apply_function(
            self._group, Functions(func, schema, merge, order_by, False, allow_empty, seconds_per_row)
        )

    def applyInArrow(
        self,
        func: Callable[..., Any],
        schema: StructType | str,
        merge: Callable[..., Any] | None = None,
        *,
        order_by: OrderLike | None = None,
        allow_empty: bool = False,
        seconds_per_row: float | None = None,
    ) -> DataFrame:
        """Run a function of Arrow tables on every group; with `merge`, hot groups in parts.

        All is as under `applyInPandas`, with `pyarrow.Table` in place of pandas frames and Arrow scalars in the key.
        What `merge` gets has the Arrow types of `schema`.

        Raises:
            UnsupportedError: this Spark has no `applyInArrow` (it came with 4.0).
        """
        if not hasattr(GroupedData, "applyInArrow"):
            raise UnsupportedError("applyInArrow needs Spark 4.0 or later; use applyInPandas")
        given = Functions(func, schema, merge, order_by, True, allow_empty, seconds_per_row)
        return apply_function(self._group, given)

    def pivot(self, pivot_col: str, values: list[Any] | None = None) -> GroupedData:
        """Return plain Spark's groups with a pivot, whatever is hot in them. It combines sums and counts early.

        Raises:
            UnsupportedError: a strategy was asked for.
        """
        if self._group.strategy not in ("auto", "native"):
            raise UnsupportedError(f"strategy {self._group.strategy!r} is not possible with a pivot; use 'auto'")
        return self._group.df.groupBy(*self._group.keys.columns).pivot(pivot_col, values)

    def cogroup(self, other: SkewGroupedData) -> SkewCogroupedData:
        """Pair the groups of two frames by key, for `applyInPandas`. The keys pair by position, as in PySpark.

        Strategy and partitions are those of the left side. `native` on either side is plain Spark.
        """
        return SkewCogroupedData(*cogrouped(self._group, getattr(other, "_group", other)))

    def _shorthand(self, function: Callable[[Any], Column], name: str, columns: Sequence[str]) -> DataFrame:
        check_frame(self._group.df, "skew_groupby")
        # Spark checks that the columns are numeric.
        native = analysed(lambda: getattr(self._group.df.groupBy(*self._group.keys.columns), name)(*columns))
        numeric = [f.name for f in self._group.df.schema.fields if isinstance(f.dataType, NumericType)]
        if not columns and not numeric:
            return remember(native, self._group.native(f"{name}() finds no numeric column, so there are only keys"))
        arguments = columns or [quoted(column) for column in numeric]
        named = native.columns[-len(arguments) :]  # a session may leave out the keys
        return self.agg(*(function(x).alias(n) for x, n in zip(arguments, named, strict=True)))


class SkewCogroupedData:
    """What `SkewGroupedData.cogroup` returns: `pyspark.sql.PandasCogroupedOps` over hot keys."""

    def __init__(self, left: Grouping, right: Grouping) -> None:
        self._left, self._right = left, right

    def __repr__(self) -> str:
        return f"SkewCogroupedData(keys={list(self._left.keys.names)}, strategy={self._left.strategy!r})"

    def applyInPandas(self, func: Callable[..., Any], schema: StructType | str) -> DataFrame:
        """Run a function of two pandas frames on every pair of groups, as `PandasCogroupedOps` does.

        * A group is never cut: `func` sees what it sees under plain Spark, once per key of either side.
        * Pairs are placed so that the hot ones are apart, the largest first, by the rows of both sides.

        Args:
            func: function of (left, right) or (key, left, right) that returns a pandas frame.
            schema: what it returns, a `StructType` or a DDL string.

        Raises:
            ArgumentTypeError: `func` is not a function of two or three arguments.
            ArgumentError: Spark cannot read the schema.
        """
        return apply_cogroup(self._left, self._right, func, schema)

    def applyInArrow(self, func: Callable[..., Any], schema: StructType | str) -> DataFrame:
        """Run a function of two Arrow tables on every pair of groups. Plain Spark does it, hot groups are not placed.

        Raises:
            UnsupportedError: this Spark has no `applyInArrow` (it came with 4.0).
        """
        if not hasattr(GroupedData, "applyInArrow"):
            raise UnsupportedError("applyInArrow needs Spark 4.0 or later; use applyInPandas")
        left, right = (side.df.groupBy(*side.keys.columns) for side in (self._left, self._right))
        native = analysed(lambda: left.cogroup(right).applyInArrow(func, schema))
        return remember(native, self._left.native("pairs of Arrow groups are not placed; use applyInPandas"))
