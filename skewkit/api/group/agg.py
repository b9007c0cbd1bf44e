"""`SkewGroupedData.agg`: which aggregate calls it was asked for, how each splits, and whether that pays."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DataType

from skewkit.api.arguments import analysed, check_frame, first_line
from skewkit.api.group.grouping import Grouping, noted
from skewkit.errors import ArgumentError, ArgumentTypeError, shown
from skewkit.plan.group.value_cuts import value_cuts
from skewkit.spark.explained.plan_facts import made_of
from skewkit.spark.expressions.aggregate_calls import AggregateCall, Reading, read_aggregates
from skewkit.spark.expressions.udf_columns import AGGREGATING
from skewkit.spark.group.aggregate_plan import AggregatePlan, inputs_of
from skewkit.spark.group.aggregates import aggregate
from skewkit.spark.group.merged_udfs import split_of_udf
from skewkit.spark.group.split_table import SPLITS, split_of
from skewkit.spark.session.compat import is_column, is_on, lateral_alias_reason
from skewkit.spark.session.jobs import counted
from skewkit.spark.session.remembered import remember

Merges = Mapping[Any, Callable[..., Any]]
_MOST_DISTINCT = 0.5
"""Distinct values per sampled row from which on counting each value first makes nothing smaller."""
_ALL_KEYS = "spark.sql.requireAllClusterKeysForDistribution"
_OLD_DISC = "spark.sql.legacy.percentileDiscCalculation"
_MOST_APART = 8
"""Readings of the hot rows, each to cut them by other values, before `auto` leaves that."""
_DICT_NAMES = {"average": "avg", "mean": "avg", "size": "count", "std": "stddev"}


@counted()
def grouped_aggregates(group: Grouping, exprs: Sequence[Any], merges: Merges | None = None) -> DataFrame:
    """Return one row per key with the aggregates. `merges` says how partial results of Python aggregates merge."""
    check_frame(group.df, "skew_groupby")
    check_aggregates(exprs)
    check_merges(merges)
    native = analysed(lambda: group.df.groupBy(*group.keys.columns).agg(*exprs), SPLITS)
    if group.strategy == "native":
        return remember(native, group.native())
    small = group.small() if not merges else None
    if small is not None:
        made_of(native, [group.df])
        return remember(native, group.native(small))
    if isinstance(exprs[0], dict) and not exprs[0]:
        return remember(native, group.native("without an aggregate Spark combines rows of a key before the shuffle"))
    columns = _in_order(group, exprs[0], native) if isinstance(exprs[0], dict) else exprs
    if not columns:
        return remember(native, group.native("Spark names a result of this dict in its own way; pass Columns instead"))
    if len(native.columns) != len(group.keys.names) + len(columns):
        return remember(native, group.native("the result has not one column per key and aggregate"))
    plan = read_plan(group.df, columns, merges or {}, group.settings.group_rows)
    if isinstance(plan, str):
        return remember(native, group.native(plan))
    group = replace(group, read=plan.inputs.types)
    if group.strategy == "auto" and not plan.pays:
        return remember(native, group.native(plan.why_not))
    if group.strategy == "auto" and plan.apart > _MOST_APART:
        why = f"the rows of hot keys would be read {plan.apart} times, each time to cut the values of other aggregates"
        return remember(native, group.native(why))
    unread = group.unread(plan.most_rows or float("inf"))
    if unread is not None:
        made_of(native, [group.df])
        return remember(native, group.native(unread))
    differs = group.facts.stability(plan.cut_by, rerun=True).reason if plan.cut_by else None
    if differs is not None:
        why = f"parts are cut by values, which may differ when a task runs again: the frame {differs}"
        return remember(native, group.native(why))
    drawn = group.drawn_twice(plan.inputs.columns)
    if drawn is not None:
        return remember(native, group.native(drawn))
    if plan.most_rows is not None and is_on(group.df.sparkSession, _ALL_KEYS):
        why = f"{_ALL_KEYS} is on, which shuffles pieces of groups, and a task that runs again would cut others"
        return remember(native, group.native(why))
    order = plan.ordered_values
    found = group.asked(values=tuple(plan.values), order=order)
    most_distinct = _MOST_DISTINCT / max(1, plan.listed)
    all_ranged = found.order_values is not None and len(plan.rangeable) == plan.listed
    most = most_distinct if plan.lists_values and not all_ranged else float("inf")
    choice = group.decide(found, most_rows=plan.most_rows or float("inf"), most_distinct=most)
    if choice.strategy == "native" or choice.plan is None:
        return remember(native, choice)
    plan = replace(plan, salt=found.most_distinct)
    if order is not None and found.distinct is not None and found.distinct > most_distinct:
        hashes = [heavy.hash for heavy in choice.plan.heavy]
        cuts = [value_cuts(choice.plan, each, found.cuts(hashes, only=i)) for i, each in enumerate(order.orders)]
        cut = {reads: each for reads, each in zip(plan.rangeable, cuts, strict=True) if each.blocks}
        plan = replace(plan, ranges=cut)
    row_hash = plan.values[plan.salt] if plan.salted_by else group.salt(plan.inputs.columns)
    try:
        frame = aggregate(group.df, group.keys, choice.plan, plan, row_hash, native.schema)
    except PySparkException as error:
        lateral = lateral_alias_reason(error)
        if lateral is None and not isinstance(error, AnalysisException):
            raise
        reason = lateral or f"Spark does not take the split form: {first_line(error)}"
        return remember(native, group.native(reason))
    return remember(frame, noted(choice, plan.how))


def check_aggregates(exprs: Sequence[Any]) -> None:
    """Check that aggregates are given as `GroupedData.agg` takes them.

    Raises:
        ArgumentError: none is given.
        ArgumentTypeError: they are neither Columns nor one dict of names.
    """
    if not exprs:
        raise ArgumentError("agg() got no aggregate; pass Columns such as F.collect_set('x'), or a dict")
    if isinstance(exprs[0], dict) and len(exprs) == 1:
        wrong = [item for item in exprs[0].items() if not all(isinstance(name, str) for name in item)]
        if wrong:
            raise ArgumentTypeError(
                f"agg() takes a dict of column name to function name, and this holds {shown(wrong[0])}"
            )
    elif not all(is_column(expr) for expr in exprs):
        raise ArgumentTypeError("agg() takes Columns, such as F.collect_set('x'), or one dict of name to function")


def check_merges(merges: Merges | None) -> None:
    """Check that merges are given as functions by aggregate UDF.

    Raises:
        ArgumentTypeError: `merge` is no dict, or holds something else than aggregate UDFs and functions.
    """
    if merges is None:
        return
    if not isinstance(merges, Mapping):
        raise ArgumentTypeError(
            f"merge is {type(merges).__name__}; agg() takes a dict from pandas UDF to the function that merges its "
            "partial results, such as merge={spread: lambda parts: parts.max()}"
        )
    for udf, merge in merges.items():
        if getattr(udf, "evalType", None) not in AGGREGATING or not hasattr(udf, "_unwrapped"):
            raise ArgumentTypeError(
                f"merge has the key {shown(udf)}; expected a grouped aggregate pandas or Arrow UDF, which takes series "
                "and returns one value"
            )
        if not callable(merge):
            raise ArgumentTypeError(
                f"the merge of {udf.__name__} is {shown(merge)}; expected a function that takes the "
                f"series of partial results and returns one of {udf.__name__}"
            )


def read_plan(
    df: DataFrame, columns: Sequence[Column], merges: Merges | None = None, most_rows: int | None = None
) -> AggregatePlan | str:
    """Return how the aggregates split, or the reason why the call is native."""
    merges = merges or {}
    readings: list[Reading] = []
    for column in columns:
        reading = read_aggregates(column, SPLITS, tuple(merges))
        if isinstance(reading, str):
            return reading
        readings.append(reading)
    calls = [call for reading in readings for call in reading.calls]
    if not calls:
        return "it asks for no aggregate"
    try:
        inputs = inputs_of(df, calls)
    except AnalysisException as error:
        return f"Spark does not take what the aggregates read by itself: {first_line(error)}"
    if any(call.name == "percentile_disc" for call in calls) and is_on(df.sparkSession, _OLD_DISC):
        return f"{_OLD_DISC} is on"
    udfs = [call.udf for call in calls if call.udf is not None]
    if not udfs:
        pairs = zip(calls, inputs.names, _fixed_types(df, calls), strict=True)
        splits = [split_of(call, inputs.types_of(names), fixed) for call, names, fixed in pairs]
        return AggregatePlan(tuple(readings), inputs, tuple(splits))
    if len(udfs) < len(calls):
        return "Spark computes Python aggregates and its own in no common call"
    merged = tuple(split_of_udf(call, merges[call.udf]) for call in calls)
    return AggregatePlan(tuple(readings), inputs, merged, most_rows)


def _fixed_types(df: DataFrame, calls: Sequence[AggregateCall]) -> list[list[DataType]]:
    """Return the types of what percentiles are given besides what they read; of other calls none."""
    given = [
        [a for a, fixed in zip(call.arguments, call.fixed, strict=True) if fixed] if SPLITS[call.name].each else []
        for call in calls
    ]
    named = [column.alias(f"fixed{i}") for i, column in enumerate(chain(*given))]
    types = iter([field.dataType for field in df.select(*named).schema.fields] if named else [])
    return [[next(types) for _ in each] for each in given]


def _in_order(group: Grouping, names: dict[str, str], native: DataFrame) -> list[Column]:
    """Return the aggregates of a dict in the order of Spark's result, which need not be that of the dict."""
    made = _of_dict(names)
    width = len(group.keys.names)
    found = analysed(lambda: group.df.groupBy(*group.keys.columns).agg(*made), SPLITS).columns[-len(made) :]
    wanted = native.columns[width:]
    if len(set(found)) < len(found) or set(found) != set(wanted):
        return []
    return [made[found.index(name)] for name in wanted]


def _of_dict(names: dict[str, str]) -> list[Column]:
    """Return the aggregates of a dict from column to function, as `GroupedData.agg` takes it."""
    made = []
    for column, function in names.items():
        name = _DICT_NAMES.get(function.lower(), function)
        made.append(F.count("*") if column == "*" and name.lower() == "count" else F.call_function(name, F.col(column)))
    return made
