"""`skew_groupby`: aggregates and Python group functions whose hot keys are computed in parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import NumericType, StructType

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
from skewkit.api.groupagg import check_aggregates, read_plan
from skewkit.api.groupfunction import check_arguments, check_function, is_plain
from skewkit.errors import ArgumentError, UnsupportedError
from skewkit.options import Settings
from skewkit.plan.choice import Choice, cold_reason, hot_reason
from skewkit.plan.keyplan import KeyPlan, key_plan
from skewkit.plan.load import group_load
from skewkit.plan.profile import KeyProfile
from skewkit.plan.rehash import rehashed
from skewkit.plan.schemes import SCHEMES
from skewkit.spark.aggregates import aggregate
from skewkit.spark.compat import conf_reader
from skewkit.spark.frames import remember
from skewkit.spark.grouping import apply, placed
from skewkit.spark.keys import Keys, find_keys, quoted
from skewkit.spark.route import salt
from skewkit.spark.seen import Seen
from skewkit.spark.splits import SPLITS

_BY_NAME = "spark.sql.legacy.execution.pandas.groupedMap.assignColumnsByName"
AQE_NOTE = "adaptive execution never splits a group-by, so it would not help"


def skew_groupby(
    df: DataFrame,
    *keys: str | Column,
    strategy: str = "auto",
    partitions: int | None = None,
    profile: KeyProfile | None = None,
    heavy: Sequence[Any] | None = None,
) -> SkewGroupedData:
    """Group a frame by keys of which some may be hot; use the result as you would `df.groupBy(*keys)`.

    * The rows are those of `df.groupBy(*keys)` with the same call, whatever the profile says.
    * Keys that are not heavy are computed as plain Spark computes them.
    * Where the skew does not pay for another plan, the native plan is returned (`strategy="auto"`).

    Args:
        df: the frame, classic or Connect.
        *keys: key columns, names or Columns.
        strategy: `auto`, `native`, or how to place the keys: `wrap` (skewkit's own, taken by `auto`), `d_choices`,
            `w_choices`, `round_robin`, `dkg` or `key`.
        partitions: number of partitions n; the session's shuffle partitions if None.
        profile: a `KeyProfile` of these keys; without it one query profiles the frame, when the result is asked for.
        heavy: hot keys that you know, as a list of values (tuples for composite keys); then nothing is profiled.

    Raises:
        ColumnNotFoundError: a key is not in the frame.
        KeyTypeError: a key is, or holds, a map or a variant.
        ArgumentError: unknown strategy, partitions below 1, or both `profile` and `heavy`.
        ProfileError: the profile is of other keys.
        UnsupportedError: the frame is a stream.

    >>> df = spark.range(90).selectExpr("if(id < 60, 'hot', string(id)) AS k", "id AS v")
    >>> grouped = skew_groupby(df, "k", strategy="wrap", partitions=4)
    >>> hot = grouped.agg(F.collect_set("v").alias("vs")).where("k = 'hot'").first()
    >>> sorted(hot.vs) == list(range(60))
    True
    """
    check_frame(df, "skew_groupby")
    check_batch(df, "skew_groupby")
    settings = settings_of(df)
    check_strategy(strategy, ("auto", "native", *SCHEMES))
    n = check_partitions(df, partitions)
    if len(keys) == 1 and isinstance(keys[0], list | tuple):
        keys = tuple(keys[0])
    found = find_keys(df, keys)
    why = found.native_because
    if why and strategy not in ("auto", "native"):
        raise UnsupportedError(f"strategy {strategy!r} is not possible here: {why}; use 'auto' or 'native'")
    if why:
        return SkewGroupedData(df, found, "native", n, settings, None, why)
    known = given_profile(profile, heavy, found)
    return SkewGroupedData(df, found, strategy, n, settings, rehashed(known, found.types) if known else None)


class SkewGroupedData:
    """What `skew_groupby` returns: the methods of `pyspark.sql.GroupedData` over hot keys."""

    def __init__(
        self,
        df: DataFrame,
        keys: Keys,
        strategy: str,
        partitions: int,
        settings: Settings,
        profile: KeyProfile | None = None,
        native_because: str = "asked for",
    ) -> None:
        self._df = df
        self._seen = Seen(df)
        self._keys = keys
        self._strategy = strategy
        self._partitions = partitions
        self._settings = settings
        self._profile = profile
        self._native_because = native_because

    def __repr__(self) -> str:
        return f"SkewGroupedData(keys={list(self._keys.names)}, strategy={self._strategy!r})"

    def agg(self, *exprs: Any) -> DataFrame:
        """Return one row per key with the aggregates, given as `GroupedData.agg` takes them.

        * The rows, names and types are those of plain Spark. Where its order is not fixed (`collect_list`), ours
          is not either.
        * `collect_list`, `collect_set`, `listagg` and `mode` are computed in parts for hot keys; every other aggregate
          of Spark beside them is computed as Spark does it (`skewkit.spark.splits` says how, function by function),
          inside expressions and with DISTINCT or FILTER, too.
        * A Column that holds something else, such as a UDF or a window, sends the whole call the native way, and
          `explain` names it.

        Raises:
            ColumnNotFoundError: an aggregate names a column that is not in the frame.
        """
        native = self._native_agg(exprs)
        if self._strategy == "native":
            return remember(native, self._choice("native", self._native_because))
        if len(native.columns) != len(self._keys.names) + len(exprs[0] if isinstance(exprs[0], dict) else exprs):
            return remember(native, self._choice("native", "the result has not one column per key and aggregate"))
        plan = read_plan(self._df, exprs)
        if isinstance(plan, str):
            return remember(native, self._choice("native", plan))
        if self._strategy == "auto" and not plan.pays:
            return remember(native, self._choice("native", plan.why_not))
        choice = self._decide(values=plan.values)
        if choice.strategy == "native" or choice.plan is None:
            return remember(native, choice)
        if plan.salted_by:
            row_hash = plan.values[0]
        else:
            row_hash = self._salt(plan.inputs.columns)
        try:
            frame = aggregate(self._df, self._keys, choice.plan, plan, row_hash, native.schema)
        except AnalysisException as error:
            return remember(native, self._choice("native", f"Spark does not take the split form: {first_line(error)}"))
        return remember(frame, choice)

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
    ) -> DataFrame:
        """Run a pandas function on every group; with `merge`, hot groups in parts.

        * Without `merge`, a group is never cut: `func` sees what it sees under `GroupedData.applyInPandas`.
          Groups are placed so that the hot ones are apart.
        * With `merge`, `func` runs on sub-groups of a hot key (at most about `spark.skewkit.groupRows` rows each)
          and `merge` once per hot key, on one frame that holds what `func` returned for its sub-groups, in no
          fixed order. It must return what `func` on the whole group would have returned. Groups that are not
          hot go through `func` alone, just as under plain Spark.
        * `func` and `merge` take (frame) or (key, frame), as in PySpark.

        Args:
            func: function of a pandas frame that returns a pandas frame.
            schema: what it returns, a `StructType` or a DDL string.
            merge: function that makes one result of the results of a hot key's sub-groups.

        Raises:
            SchemaError: `func` was tried on two made-up rows, before any job, and returned something else than a
                frame with the columns of `schema` (`spark.skewkit.checkFunctions=false` leaves the trial out).
            ArgumentTypeError: `func` or `merge` is not a function of one or two arguments.
        """
        for what, function in (("func", func), ("merge", merge)):
            if function is not None or what == "func":
                check_arguments(what, function)
        native = analysed(lambda: self._df.groupBy(*self._keys.columns).applyInPandas(func, schema))
        if self._strategy == "native":
            return remember(native, self._choice("native", self._native_because))
        if self._settings.check_functions:
            self._check(func, merge, native.schema)
        if not is_plain(func) or (merge is not None and not is_plain(merge)):
            return remember(
                native, self._choice("native", "functions of iterators see their group as plain Spark has it")
            )
        choice = self._decide(divisible=merge is not None)
        if choice.strategy == "native" or choice.plan is None:
            return remember(native, choice)
        at = placed(self._df, self._keys, choice.plan, self._salt())
        frame = apply(at, choice.plan, func, native.schema, merge, self._settings.group_rows)
        return remember(frame, choice)

    def _salt(self, first: Sequence[Column] = ()) -> Column:
        return salt(self._df, self._keys, stored=self._seen.stored, first=first)

    def _check(self, func: Callable[..., Any], merge: Callable[..., Any] | None, schema: StructType) -> None:
        """Try the functions, unless Spark takes their columns by position, whatever they are called."""
        if conf_reader(self._df.sparkSession)(_BY_NAME) != "false":
            check_function(func, merge, self._df.schema, schema, self._keys.names)

    def _decide(self, *, divisible: bool = True, values: Sequence[Column] = ()) -> Choice:
        """Profile if need be, plan, and say whether the plan pays; `values` are what sets would be cut by."""
        known, distinct = self._profile, None
        if known is None:
            found = measured([(self._seen, self._keys)], self._partitions, self._settings, values)[0]
            known, distinct = found.profile, found.distinct
        scheme = self._scheme(divisible, known.named)
        theta = 0.0 if known.named else None
        plan = key_plan(group_load(known, divisible=divisible), self._partitions, scheme, theta=theta)
        if self._strategy != "auto":
            return self._choice(scheme, "asked for; " + hot_reason(plan), known, plan)
        if known.named:
            return self._choice(scheme, "these keys were named as hot", known, plan)
        cold = cold_reason(plan, known, self._settings)
        if cold is None and distinct is not None and distinct < self._settings.min_distinct:
            cold = (
                f"the values repeat ({distinct:.2%} of the rows have a new one), so Spark's own partial sets are small"
            )
        if cold is not None:
            return self._choice("native", cold, known, plan)
        return self._choice(scheme, hot_reason(plan), known, plan)

    def _scheme(self, divisible: bool, named: bool) -> str:
        if self._strategy != "auto":
            return self._strategy
        if not divisible:
            return "dkg"
        return "w_choices" if named else "wrap"

    def _choice(
        self, strategy: str, reason: str, profile: KeyProfile | None = None, plan: KeyPlan | None = None
    ) -> Choice:
        title = f"group by {', '.join(self._keys.names)}, {self._partitions} partitions"
        notes = [] if strategy == "native" else [AQE_NOTE]
        if profile is not None:
            notes += stale_note(profile, self._partitions)
        return Choice(title, strategy, reason, profile, plan, notes=tuple(notes))

    def _native_agg(self, exprs: Sequence[Any]) -> DataFrame:
        check_aggregates(exprs)
        return analysed(lambda: self._df.groupBy(*self._keys.columns).agg(*exprs), SPLITS)

    def _shorthand(self, function: Callable[[Any], Column], name: str, columns: Sequence[str]) -> DataFrame:
        # Spark checks that the columns are numeric.
        native = analysed(lambda: getattr(self._df.groupBy(*self._keys.columns), name)(*columns))
        numeric = [f.name for f in self._df.schema.fields if isinstance(f.dataType, NumericType)]
        if not columns and not numeric:
            raise ArgumentError(f"{name}() found no numeric column; name the columns")
        named = native.columns[len(self._keys.names) :]
        arguments = columns or [quoted(column) for column in numeric]
        return self.agg(*(function(x).alias(n) for x, n in zip(arguments, named, strict=True)))
