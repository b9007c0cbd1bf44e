"""`skew_window`: window functions whose hot partitions are computed in blocks, with exactly plain Spark's rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from skewkit.api.common import (
    analysed,
    check_batch,
    check_frame,
    check_partitions,
    check_strategy,
    first_line,
    given_profile,
    measured,
    settings_of,
    stale_note,
)
from skewkit.api.cutting import cut_along
from skewkit.api.looks import looked
from skewkit.errors import ArgumentError, ArgumentTypeError, UnsupportedError
from skewkit.options import Settings
from skewkit.plan.choice import Choice, cold_reason, hot_reason
from skewkit.plan.frame import RUNNING, WHOLE, Frame, make_frame
from skewkit.plan.keyplan import key_plan
from skewkit.plan.load import group_load
from skewkit.plan.profile import KeyProfile, key_text
from skewkit.plan.rehash import rehashed
from skewkit.plan.windowplan import WindowPlan, spaced
from skewkit.plan.windowsplit import LIMITED, MOST_LISTED, WindowSplit, listed, split_of
from skewkit.spark.compat import is_column, places_by_id
from skewkit.spark.frames import remember
from skewkit.spark.keys import Keys, Names, find_keys
from skewkit.spark.ordering import LONGEST, OrderBy, find_order, is_text
from skewkit.spark.seen import Seen
from skewkit.spark.windowcalls import Function, read_function
from skewkit.spark.windowing import native, split

STRATEGIES = ("auto", "native", "split")
AQE_NOTE = "adaptive execution never splits a window, so it would not help"
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
    return SkewWindow(df, keys, by, strategy, n, settings, known)


class SkewWindow:
    """What `skew_window` returns: a window with an optional frame, and `select`."""

    def __init__(
        self,
        df: DataFrame,
        keys: Keys,
        by: OrderBy,
        strategy: str,
        partitions: int,
        settings: Settings,
        profile: KeyProfile | None = None,
        frame: Frame | None = None,
    ) -> None:
        self._df = df
        self._seen = Seen(df)
        self._keys = keys
        self._by = by
        self._strategy = strategy
        self._partitions = partitions
        self._settings = settings
        self._profile = profile
        self._frame = frame

    def __repr__(self) -> str:
        return f"SkewWindow({self._title()!r}, strategy={self._strategy!r})"

    def rowsBetween(self, start: int, end: int) -> SkewWindow:
        """Return the window with a frame of rows, as `Window.rowsBetween`.

        Raises:
            ArgumentTypeError: a bound is no whole number.
            ArgumentError: the frame ends before it starts.
        """
        return self._framed(make_frame("rows", start, end))

    def rangeBetween(self, start: int, end: int) -> SkewWindow:
        """Return the window with a frame of order values, as `Window.rangeBetween`.

        Raises:
            ArgumentTypeError: a bound is no whole number.
            ArgumentError: the frame ends before it starts.
        """
        return self._framed(make_frame("range", start, end))

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
        known = {name.lower() for name in self._df.columns}
        if known.isdisjoint(name.lower() for name in functions):
            return remember(*self._selected(functions))
        names = Names(self._df)
        apart = {name: names(f"column{i}") for i, name in enumerate(functions)}
        frame, choice = self._selected({apart[name]: function for name, function in functions.items()})
        for name, helper in apart.items():
            choice = replace(choice, reason=choice.reason.replace(helper, name))
        frame = frame.withColumns({name: F.col(helper) for name, helper in apart.items()}).drop(*apart.values())
        return remember(frame, choice)

    def _selected(self, functions: dict[str, Column]) -> tuple[DataFrame, Choice]:
        """Return the frame with functions under names that it has not, and how they are computed."""
        try:
            plain = analysed(lambda: native(self._df, self._keys, self._by, functions, self._frame))
        except AnalysisException as error:
            said = str(error).splitlines()[0]
            raise ArgumentError(f"Spark refuses these functions over {self._title()}: {said}") from error
        if self._strategy == "native":
            return plain, self._choice("native", "asked for")
        if self._keys.native_because:
            return plain, self._choice("native", self._keys.native_because)
        read = self._splits(functions)
        if isinstance(read, str):
            return plain, self._choice("native", read)
        if self._seen.unsafe_again is not None:
            why = f"blocks read the frame more than once, and it {self._seen.unsafe_again}: cache() it to have it cut"
            return plain, self._choice("native", why)
        moving = self._seen.moving(self._by.columns)
        moving = moving or self._seen.drawn_twice([*self._keys.columns, *self._by.columns, *functions.values()])
        if moving is not None:
            why = f"rows may be in other blocks when a task runs again, as the order or a function {moving}"
            return plain, self._choice("native", why)
        choice, plan = self._decide()
        if plan is None:
            return plain, choice
        try:
            frame = split(self._df, self._keys, self._by, plan, read, self._frame, plain.schema)
        except AnalysisException as error:
            return plain, self._choice("native", f"Spark does not take the split form: {first_line(error)}")
        if all(function.call.name.lower() in LIMITED for function, _ in read):
            choice = replace(choice, notes=(*choice.notes, _FIRST_ROWS))
        return frame, choice

    def _framed(self, frame: Frame) -> SkewWindow:
        return SkewWindow(
            self._df, self._keys, self._by, self._strategy, self._partitions, self._settings, self._profile, frame
        )

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

    def _splits(self, functions: dict[str, Column]) -> list[tuple[Function, WindowSplit | None]] | str:
        """Return every function with how it splits, or the reason why the call is native."""
        frame = self._frame or (RUNNING if self._by.columns else WHOLE)
        if self._by.columns and not self._by.cuttable:
            return f"partitions cannot be cut along {self._by.orders[0].name} of type {self._by.orders[0].type}"
        if not self._by.columns and not frame.whole:
            return "without an order the rows of a frame are any rows"
        bordered = frame.kind == "rows" and any(frame.reach)
        if bordered and not places_by_id():
            return f"the frame {frame} needs rows of other blocks, and those need Spark 4.1 or later"
        found: list[tuple[Function, WindowSplit | None]] = []
        for name, column in functions.items():
            function = read_function(self._df, name, column)
            if isinstance(function, str):
                return function
            if frame.finite:
                found.append((function, None))
                continue
            how = split_of(function.call, frame, ordered=bool(self._by.columns))
            if isinstance(how, str):
                return how
            if self._too_long([carried.near for carried in how.carried], function.arguments):
                return f"{name} would send too many rows between {self._partitions} blocks"
            found.append((function, how))
        handed = [*self._by.columns, *(each for function, _ in found for each in function.arguments)]
        if bordered and self._too_long(frame.reach, handed):
            return f"the frame {frame} would send too many rows between {self._partitions} blocks"
        return found

    def _too_long(self, near: Sequence[int], columns: Sequence[Column]) -> bool:
        """Return whether lists of so many rows of these columns are too long to hand from block to block."""
        if not any(near):
            return False
        width = Seen(self._df.select(*columns)).row_bytes if columns else 0.0
        return listed(near, self._partitions, width) > MOST_LISTED

    def _decide(self) -> tuple[Choice, WindowPlan | None]:
        """Profile if need be, plan, and say whether the plan pays; without a plan the call is native."""
        known, n = self._profile, self._partitions
        if known is None:
            known = looked(self._seen, self._keys, n, self._settings)
        if known is None:
            known = measured([(self._seen, self._keys)], n, self._settings)[0].profile
        keys = key_plan(group_load(known), n, "wrap")
        cold = cold_reason(keys, known, self._settings) if self._strategy == "auto" else None
        if cold is not None:
            return self._choice("native", cold, known), None
        if not any(len(h.parts) > 1 for h in keys.heavy):
            return self._choice("native", "no partition is so hot that it had to be cut", known), None
        plan, sampled = cut_along(
            self._seen, self._keys, self._by, keys, self._settings, profiled=self._profile is None
        )
        if plan.blocks and self._frame is not None and self._frame.kind == "range" and any(self._frame.reach):
            plan = spaced(plan, sampled, self._frame)
            if not plan.blocks:
                reason = f"the frame {self._frame} reaches over most of a hot partition, so blocks would hold it all"
                return self._choice("native", reason, known), None
        if not plan.blocks:
            reason = "no row of a hot partition was found"
            if any(sampled.values()):
                reason = "the hot partitions have one value of the order, so there is nowhere to cut them"
                if any(is_text(order.type) for order in self._by.orders):
                    reason += f" (of long values the first {LONGEST:,} characters or bytes count)"
            if not self._by.orders:
                reason = "what is to be cut off the hot partitions is too small"
            return self._choice("native", reason, known), None
        blocks = [f"{key_text(h.key)} into {last - first + 1} blocks" for h, first, last in _cut_keys(plan)]
        along = ", ".join(map(str, plan.orders[: plan.depth]))
        notes = (f"hot partitions are cut along {along}: {', '.join(blocks[:8])}", AQE_NOTE)
        choice = self._choice("split", hot_reason(keys), known)
        return replace(choice, plan=keys, notes=(*notes, *stale_note(known, n))), plan

    def _choice(self, strategy: str, reason: str, profile: KeyProfile | None = None) -> Choice:
        return Choice(f"{self._title()}, {self._partitions} partitions", strategy, reason, profile)

    def _title(self) -> str:
        order = f" ordered by {', '.join(map(str, self._by.orders))}" if self._by.orders else ""
        frame = f", {self._frame}" if self._frame is not None else ""
        return f"window partitioned by {', '.join(self._keys.names)}{order}{frame}"


def _listed(columns: Any) -> list[Any]:
    return list(columns) if isinstance(columns, list | tuple) else [columns]


def _cut_keys(plan: WindowPlan) -> list[tuple[Any, int, int]]:
    return [(plan.keys.heavy[i], first, last) for i, (first, last) in plan.spans.items()]
