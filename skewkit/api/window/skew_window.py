"""`skew_window`: window functions whose hot partitions are computed in blocks, with exactly plain Spark's rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from skewkit.api.arguments import (
    analysed,
    check_batch,
    check_frame,
    check_partitions,
    check_strategy,
    first_line,
    given_profile,
    settings_of,
)
from skewkit.api.window.window_decision import Windowing
from skewkit.errors import ArgumentError, ArgumentTypeError, UnsupportedError
from skewkit.plan.choice import Choice
from skewkit.plan.profile.key_profile import KeyProfile
from skewkit.plan.profile.rehash import rehashed
from skewkit.plan.window.split_forms import LIMITED
from skewkit.plan.window.window_frame import make_frame
from skewkit.spark.expressions.keys import Names, find_keys
from skewkit.spark.session.compat import is_column
from skewkit.spark.session.remembered import remember
from skewkit.spark.window.ordering import find_order
from skewkit.spark.window.windowing import native, split

STRATEGIES = ("auto", "native", "split")
ColumnsLike = str | Column | Sequence[str | Column]
_FIRST_ROWS = (
    "where only the first rows of each key are kept afterwards, as by rn <= 3, plain Spark keeps no more of them "
    "before its shuffle, and a hot key costs little: strategy='native' there"
)
_MOST_PARTITIONS = 1 << 14


def skew_window(
    df: DataFrame,
    partition_by: ColumnsLike,
    order_by: ColumnsLike | None = None,
    *,
    strategy: str = "auto",
    partitions: int | None = None,
    profile: KeyProfile | None = None,
) -> SkewWindow:
    """Open a window over partitions of which some may be hot; `select` adds the columns.

    * The rows are those of plain Spark with the same window, whatever the profile says. Where Spark itself may
      choose, between rows that are equal in the order, we may choose otherwise.
    * A hot partition is cut into blocks at quantiles of its order. Every block is computed by itself and corrected by
      what the blocks before it hold. Partitions that are not hot are computed as plain Spark computes them.
    * Sums of floats, means (of whole numbers where their sum exceeds 2^53) and deviations are put together block by
      block, so their last bits may differ, as they do in plain Spark when the rows come in another order; all else is
      the same to the last bit.
    * Where the skew does not pay for another plan, the native plan is returned (`strategy="auto"`).

    Args:
        df: the frame, classic or Connect.
        partition_by: name, Column or list of them, as in `Window.partitionBy`; an empty list where all rows are one
            partition, which plain Spark computes in a single task.
        order_by: name, Column (`F.desc("t")`) or list of them, as in `Window.orderBy`; None where there is no order.
        strategy: `auto`, `native` (plain Spark) or `split`.
        partitions: number of partitions n; the session's shuffle partitions if None. Where there are more than 200 and
            adaptive execution may coalesce them, `auto` takes one per MB, and 200 at least, of what is only read,
            selected and filtered.
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
    check_frame(df, "skew_window")
    check_batch(df, "skew_window")
    settings = settings_of(df)
    check_strategy(strategy, STRATEGIES)
    n = min(check_partitions(df, partitions, *([df] if strategy == "auto" else ())), _MOST_PARTITIONS)
    keys = find_keys(df, _listed(partition_by) or [F.lit(0).alias("nothing")], what="partition")
    by = find_order(df, _listed(order_by) if order_by is not None else [])
    if keys.native_because and strategy == "split":
        raise UnsupportedError(f"strategy 'split' is not possible here: {keys.native_because}; use 'auto' or 'native'")
    known = None
    if not keys.native_because:
        known = given_profile(profile, None, keys)
        known = rehashed(known, keys.types) if known else None
    return SkewWindow(Windowing(df, keys, by, strategy, n, settings, known))


class SkewWindow:
    """What `skew_window` returns: a window with an optional frame, and `select`."""

    def __init__(self, windowing: Windowing) -> None:
        self._windowing = windowing

    def __repr__(self) -> str:
        return f"SkewWindow({self._windowing.title!r}, strategy={self._windowing.strategy!r})"

    def rowsBetween(self, start: int, end: int) -> SkewWindow:
        """Return the window with a frame of rows, as `Window.rowsBetween`.

        Raises:
            ArgumentTypeError: a bound is no whole number.
            ArgumentError: the frame ends before it starts.
        """
        return SkewWindow(replace(self._windowing, frame=make_frame("rows", start, end)))

    def rangeBetween(self, start: int, end: int) -> SkewWindow:
        """Return the window with a frame of order values, as `Window.rangeBetween`.

        Raises:
            ArgumentTypeError: a bound is no whole number.
            ArgumentError: the frame ends before it starts.
        """
        return SkewWindow(replace(self._windowing, frame=make_frame("range", start, end)))

    def select(self, /, *unnamed: Column, **functions: Column) -> DataFrame:
        """Return the frame with one more column per function, computed over the window.

        * Columns, names and types are those of `df.withColumns({name: function.over(window), ...})`: a name that the
          frame has takes the place of that column, which the functions still see.
        * `row_number`, `rank`, `dense_rank`, `percent_rank`, `cume_dist`, `ntile`, `lag`, `lead`, `first`, `last`,
          `nth_value`, `sum`, `count`, `avg`, `min`, `max`, `stddev`, `variance` and their population forms are put
          together from blocks. Any other function, or one under a frame that blocks cannot be corrected for, sends
          the whole call the native way, and `explain` names it.

        Args:
            *unnamed: none; every function has a name.
            **functions: name of the new column = function, without `.over`: `rn=F.row_number(), total=F.sum("x")`.

        Raises:
            ArgumentError: no function, one name in two cases, or a function that Spark refuses here.
            ArgumentTypeError: a function is no Column.
            ColumnNotFoundError: a function names a column that is not in the frame.
        """
        self._check(unnamed, functions)
        known = {name.lower() for name in self._windowing.df.columns}
        if known.isdisjoint(name.lower() for name in functions):
            return remember(*self._selected(functions))
        names = Names(self._windowing.df)
        apart = {name: names(f"column{i}") for i, name in enumerate(functions)}
        frame, choice = self._selected({apart[name]: function for name, function in functions.items()})
        for name, helper in apart.items():
            choice = replace(choice, reason=choice.reason.replace(helper, name))
        frame = frame.withColumns({name: F.col(helper) for name, helper in apart.items()}).drop(*apart.values())
        return remember(frame, choice)

    def _selected(self, functions: dict[str, Column]) -> tuple[DataFrame, Choice]:
        """Return the frame with functions under names that it has not, and how they are computed."""
        window = self._windowing
        try:
            plain = analysed(lambda: native(window.df, window.keys, window.by, functions, window.frame))
        except AnalysisException as error:
            said = str(error).splitlines()[0]
            raise ArgumentError(f"Spark refuses these functions over {window.title}: {said}") from error
        if window.strategy == "native":
            return plain, window.choice("native", "asked for")
        if window.keys.native_because:
            return plain, window.choice("native", window.keys.native_because)
        read = window.splits(functions)
        if isinstance(read, str):
            return plain, window.choice("native", read)
        again = window.seen.stability()
        if not again.deterministic:
            why = f"blocks read the frame more than once, and it {again.reason}: cache() it to have it cut"
            return plain, window.choice("native", why)
        moving = window.seen.stability(window.by.columns, rerun=True).reason
        moving = moving or window.seen.drawn_per_place([*window.keys.columns, *window.by.columns, *functions.values()])
        if moving is not None:
            why = f"rows may be in other blocks when a task runs again, as the order or a function {moving}"
            return plain, window.choice("native", why)
        choice, plan = window.decide()
        if plan is None:
            return plain, choice
        try:
            frame = split(window.df, window.keys, window.by, plan, read, window.frame, plain.schema)
        except AnalysisException as error:
            return plain, window.choice("native", f"Spark does not take the split form: {first_line(error)}")
        if all(function.call.name.lower() in LIMITED for function, _ in read):
            choice = replace(choice, notes=(*choice.notes, _FIRST_ROWS))
        return frame, choice

    def _check(self, unnamed: Sequence[Any], functions: dict[str, Column]) -> None:
        if unnamed:
            raise ArgumentTypeError(
                f"select() takes functions by name, and got {unnamed[0]} without one; write select(total=F.sum('x'))"
            )
        if not functions:
            raise ArgumentError("select() got no function; write select(rn=F.row_number(), total=F.sum('x'))")
        known: set[str] = set()
        for name, function in functions.items():
            if not is_column(function):
                raise ArgumentTypeError(
                    f"{name}={function!r} is {type(function).__name__}; expected a Column such as F.row_number()"
                )
            if name.lower() in known:
                raise ArgumentError(f"select() got two functions of the name {name!r} but for its case; rename one")
            known.add(name.lower())


def _listed(columns: Any) -> list[Any]:
    return list(columns) if isinstance(columns, list | tuple) else [columns]
