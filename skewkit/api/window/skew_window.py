"""`skew_window`: window functions whose hot partitions are computed in blocks, with exactly plain Spark's rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any

from pyspark.sql import Column, DataFrame, WindowSpec
from pyspark.sql import functions as F

from skewkit.api.arguments import check_batch, check_frame, check_partitions, given_profile, settings_of
from skewkit.api.strategy_names import WINDOW_STRATEGIES, check_strategy
from skewkit.api.window.window_decision import Asked, WindowDecision
from skewkit.errors import ArgumentError, ArgumentTypeError, UnsupportedError, shown
from skewkit.plan.choice import Choice
from skewkit.plan.profile.key_profile import KeyProfile
from skewkit.plan.profile.rehash import rehashed
from skewkit.plan.window.window_frame import Frame, make_frame
from skewkit.spark.expressions.columns import read_over
from skewkit.spark.expressions.keys import Names, find_keys
from skewkit.spark.session.compat import is_column
from skewkit.spark.session.jobs import Used, counted
from skewkit.spark.session.remembered import remember
from skewkit.spark.window.ordering import as_numbers, find_order
from skewkit.spark.window.sessions import session_expression, session_gap
from skewkit.spark.window.window_calls import Expression

ColumnsLike = str | Column | Sequence[str | Column]
_MOST_PARTITIONS = 1 << 14
"""Most partitions to plan for."""


def skew_window(
    df: DataFrame,
    partition_by: ColumnsLike | WindowSpec,
    order_by: ColumnsLike | None = None,
    *,
    strategy: str = "auto",
    partitions: int | None = None,
    profile: KeyProfile | None = None,
) -> SkewWindow:
    """Open a window over partitions of which some may be hot. `select` adds the columns.

    * The rows are those of plain Spark with the same window, whatever the profile says. Where Spark itself may
      choose, between rows that are equal in the order, we may choose otherwise.
    * A hot partition is cut into blocks at quantiles of its order. Every block is computed by itself and corrected by
      what the blocks before it hold. Partitions that are not hot are computed as plain Spark computes them.
    * Sums of floats, means (of whole numbers where their sum exceeds 2^53) and deviations are put together block by
      block, so their last bits may differ. They do in plain Spark, too, when the rows come in another order. All else
      is the same to the last bit.
    * Where the skew does not pay for another plan, the native plan is returned (`strategy="auto"`).

    Args:
        df: the frame, classic or Connect.
        partition_by: name, Column or list of them, as in `Window.partitionBy`. An empty list where all rows are one
            partition, which plain Spark computes in a single task. Or a `WindowSpec`, such as
            `Window.partitionBy("k").orderBy("t")`, and then nothing else.
        order_by: name, Column (`F.desc("t")`) or list of them, as in `Window.orderBy`. None where there is no order.
        strategy: `auto`, `native` (plain Spark) or `split`.
        partitions: number of partitions n; the session's shuffle partitions if None. If there are more than 200, and
            adaptive execution may coalesce them, `auto` takes fewer of frames that are only read, selected and
            filtered: one per MB, but 200 at least.
        profile: a `KeyProfile` of the partition columns; without it one query profiles the frame.

    Raises:
        ColumnNotFoundError: a column is not in the frame.
        KeyTypeError: a partition or order column is, or holds, a map, a variant or a geometry.
        ArgumentError: unknown strategy, or partitions below 1.
        ProfileError: the profile is of other keys.
        UnsupportedError: the frame is a stream, or `split` is not possible for these keys.

    >>> df = spark.range(90).selectExpr("if(id < 60, 'hot', string(id)) AS k", "id AS t")
    >>> window = skew_window(df, "k", "t", strategy="split", partitions=4)
    >>> rows = window.select(rn=F.row_number(), total=F.sum("t"))
    >>> rows.where("k = 'hot'").agg(F.max("rn"), F.max("total")).first()
    Row(max(rn)=60, max(total)=1770)
    """
    check_batch(df, "skew_window")
    settings = settings_of(df)
    check_strategy(strategy, WINDOW_STRATEGIES)
    partition_by, order_by, frame = _as_spec(partition_by, order_by)
    n = min(check_partitions(df, partitions, *([df] if strategy == "auto" else ())), _MOST_PARTITIONS)
    keys = find_keys(df, _listed(partition_by) or [F.lit("all rows").alias("nothing")], what="partition")
    by = find_order(df, _listed(order_by) if order_by is not None else [])
    if keys.native_because and strategy == "split":
        raise UnsupportedError(f"strategy 'split' is not possible here: {keys.native_because}; use 'auto' or 'native'")
    known = None
    if not keys.native_because:
        known = given_profile(profile, None, keys)
        known = rehashed(known, keys.types) if known else None
    return SkewWindow(Asked(df, keys, by, strategy, n, settings, known, frame))


class SkewWindow:
    """What `skew_window` returns: a window with an optional frame, and `select`."""

    def __init__(self, asked: Asked) -> None:
        self._asked = asked

    def __repr__(self) -> str:
        asked = self._asked
        return f"SkewWindow({asked.title}; {asked.partitions} partitions, strategy {asked.strategy!r})"

    def rowsBetween(self, start: int, end: int) -> SkewWindow:
        """Return the window with a frame of rows, as `Window.rowsBetween`.

        Raises:
            ArgumentTypeError: a bound is no whole number.
            ArgumentError: the frame ends before it starts.
        """
        return SkewWindow(replace(self._asked, frame=make_frame("rows", start, end)))

    def rangeBetween(self, start: int | timedelta, end: int | timedelta) -> SkewWindow:
        """Return the window with a frame of order values, as `Window.rangeBetween`.

        Along a time the bounds are durations, along a date durations of whole days, or numbers of days:
        `rangeBetween(timedelta(days=-7), 0)`. A day of a duration has 24 hours, whatever clocks do.

        Raises:
            ArgumentTypeError: a bound is no whole number, or no duration along a time, or one along something else.
            ArgumentError: the frame ends before it starts.
        """
        by, bounds = as_numbers(self._asked.by, start, end, what="rangeBetween")
        return SkewWindow(replace(self._asked, by=by, frame=make_frame("range", *bounds)))

    def select(self, /, *unnamed: Column, **functions: Column) -> DataFrame:
        """Return the frame with one more column per function, computed over the window.

        * Columns, names and types are those of `df.withColumns({name: function.over(window), ...})`: a name that the
          frame has takes the place of that column, which the functions still see.
        * A column may be an expression of several functions, such as `diff=F.col("v") - F.lag("v")`. All functions
          of a call share one shuffle.
        * Under a frame, functions that Spark computes over a frame of their own (`row_number`, `rank`, `lag` and their
          kind) do so. A function with `.over(w)`, where w has the same keys and order, has the frame of w.
        * Functions of `skewkit.plan.window.split_forms` are put together from blocks, and under two finite bounds any
          aggregate of Spark's. Any other function, or one under a frame that blocks cannot be corrected for, sends the
          whole call the native way, and `explain` names it.

        Args:
            *unnamed: none; every function has a name.
            **functions: name of the new column = function, without `.over`: `rn=F.row_number(), total=F.sum("x")`.

        Raises:
            ArgumentError: no function, one name in two cases, or a function that Spark refuses here.
            ArgumentTypeError: a function is no Column.
            ColumnNotFoundError: a function names a column that is not in the frame.
        """
        self._check(unnamed, functions)
        return self._added({name: partial(self._asked.expression, column=given) for name, given in functions.items()})

    def sessions(self, gap: float | timedelta, name: str = "session") -> DataFrame:
        """Return the frame with the number of each row's session: 1, 2 and so on along the order, in every partition.

        A session ends where the next row is more than `gap` away. It is what a `lag`, a flag and a running sum make, in
        one pass. Rows without a time are in no session.

        Args:
            gap: a number, or a `timedelta` along a date or a timestamp.
            name: name of the new column.

        Raises:
            ArgumentError: the window has not one ascending order column of numbers or times, or the gap is negative.
            ArgumentTypeError: the gap is no number, or along a time no `timedelta`.

        >>> df = spark.createDataFrame([("a", 1), ("a", 3), ("a", 50)], "user string, t int")
        >>> [row.session for row in skew_window(df, "user", "t").sessions(30).sort("t").collect()]
        [1, 1, 2]
        """
        by, found = self._asked.by, session_gap(self._asked.by, gap)
        return self._added({name: lambda shown: session_expression(shown, by, found)})

    def _added(self, columns: dict[str, Callable[[str], Expression]]) -> DataFrame:
        """Return the frame with more columns. A name that it has takes the place of that column."""
        check_frame(self._asked.df, "skew_window")
        known = {name.lower() for name in self._asked.df.columns}
        if known.isdisjoint(name.lower() for name in columns):
            return remember(*self._made(columns))
        names = Names(self._asked.df)
        apart = {name: names(f"column{i}") for i, name in enumerate(columns)}
        frame, choice, used = self._made({apart[name]: make for name, make in columns.items()})
        for name, helper in apart.items():
            choice = replace(choice, reason=choice.reason.replace(helper, name))
        frame = frame.withColumns({name: F.col(helper) for name, helper in apart.items()}).drop(*apart.values())
        return remember(frame, choice, used)

    def _made(self, columns: dict[str, Callable[[str], Expression]]) -> tuple[DataFrame, Choice, Used]:
        """Return the frame with columns that it has not, how they are computed, and what it took to decide."""
        with counted() as used:
            frame, choice = WindowDecision(self._asked, tuple(make(name) for name, make in columns.items())).made()
        return frame, choice, used

    def _check(self, unnamed: Sequence[Any], functions: dict[str, Column]) -> None:
        if unnamed:
            raise ArgumentTypeError(
                f"select() takes functions by name, and got {shown(unnamed[0])} without one; write "
                "select(total=F.sum('x'))"
            )
        if not functions:
            raise ArgumentError("select() got no function; write select(rn=F.row_number(), total=F.sum('x'))")
        known: set[str] = set()
        for name, function in functions.items():
            if not is_column(function):
                raise ArgumentTypeError(
                    f"{name}={shown(function)} is {type(function).__name__}; expected a Column such as F.row_number()"
                )
            if name.lower() in known:
                raise ArgumentError(f"select() got two functions of the name {name!r} but for its case; rename one")
            known.add(name.lower())


def _as_spec(partition_by: Any, order_by: Any) -> tuple[Any, Any, Frame | None]:
    """Return the keys, the order and the frame of a `WindowSpec`. What is none comes back as it is."""
    if type(partition_by).__name__ != "WindowSpec":
        return partition_by, order_by, None
    over = read_over(F.row_number().over(partition_by))
    if over is None or order_by is not None:
        why = (
            "Spark 3.5 does not show what it holds" if over is None else "it has its own order, and order_by was given"
        )
        raise ArgumentError(f"skew_window got a WindowSpec, and {why}; write skew_window(df, 'k', 't')")
    return list(over.partition), list(over.order), make_frame(*over.frame) if over.frame else None


def _listed(columns: Any) -> list[Any]:
    return list(columns) if isinstance(columns, list | tuple) else [columns]
