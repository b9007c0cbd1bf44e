"""`SkewGroupedData.agg`: which aggregate calls it was asked for, how each splits, and whether that pays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from skewkit.api.common import analysed, first_line
from skewkit.api.grouping import Grouping
from skewkit.errors import ArgumentError, ArgumentTypeError
from skewkit.spark.aggregates import AggregatePlan, aggregate, inputs_of
from skewkit.spark.calls import Reading, read_aggregates
from skewkit.spark.compat import is_column
from skewkit.spark.frames import remember
from skewkit.spark.splits import SPLITS, split_of

_DICT_NAMES = {"average": "avg", "size": "count"}


def grouped_aggregates(group: Grouping, exprs: Sequence[Any]) -> DataFrame:
    """Return one row per key with the aggregates."""
    check_aggregates(exprs)
    native = analysed(lambda: group.df.groupBy(*group.keys.columns).agg(*exprs), SPLITS)
    if group.strategy == "native":
        return remember(native, group.native())
    asked = len(exprs[0]) if isinstance(exprs[0], dict) else len(exprs)
    if len(native.columns) != len(group.keys.names) + asked:
        return remember(native, group.native("the result has not one column per key and aggregate"))
    plan = read_plan(group.df, exprs)
    if isinstance(plan, str):
        return remember(native, group.native(plan))
    if group.strategy == "auto" and not plan.pays:
        return remember(native, group.native(plan.why_not))
    choice = group.decide(group.measured(values=tuple(plan.values)))
    if choice.strategy == "native" or choice.plan is None:
        return remember(native, choice)
    row_hash = plan.values[0] if plan.salted_by else group.salt(plan.inputs.columns)
    try:
        frame = aggregate(group.df, group.keys, choice.plan, plan, row_hash, native.schema)
    except AnalysisException as error:
        return remember(native, group.native(f"Spark does not take the split form: {first_line(error)}"))
    return remember(frame, choice)


def check_aggregates(exprs: Sequence[Any]) -> None:
    """Check that aggregates are given as `GroupedData.agg` takes them.

    Raises:
        ArgumentError: none is given.
        ArgumentTypeError: they are neither Columns nor one dict of names.
    """
    if not exprs or (isinstance(exprs[0], dict) and not exprs[0]):
        raise ArgumentError("agg() got no aggregate; pass Columns such as F.collect_set('x'), or a dict")
    if isinstance(exprs[0], dict) and len(exprs) == 1:
        wrong = [item for item in exprs[0].items() if not all(isinstance(name, str) for name in item)]
        if wrong:
            raise ArgumentTypeError(f"agg() takes a dict of column name to function name, and this holds {wrong[0]!r}")
    elif not all(is_column(expr) for expr in exprs):
        raise ArgumentTypeError("agg() takes Columns, such as F.collect_set('x'), or one dict of name to function")


def read_plan(df: DataFrame, exprs: Sequence[Any]) -> AggregatePlan | str:
    """Return how the aggregates split, or the reason why the call is native."""
    columns = _of_dict(exprs[0]) if isinstance(exprs[0], dict) else exprs
    readings: list[Reading] = []
    for column in columns:
        reading = read_aggregates(column, SPLITS)
        if isinstance(reading, str):
            return reading
        readings.append(reading)
    calls = [call for reading in readings for call in reading.calls]
    inputs = inputs_of(df, calls)
    splits = [split_of(call, inputs.types_of(names)) for call, names in zip(calls, inputs.names, strict=True)]
    return AggregatePlan(tuple(readings), inputs, tuple(splits))


def _of_dict(names: dict[str, str]) -> list[Column]:
    """Return the aggregates of a dict from column to function, as `GroupedData.agg` takes it."""
    made = []
    for column, function in names.items():
        name = _DICT_NAMES.get(function.lower(), function)
        made.append(F.count("*") if column == "*" and name.lower() == "count" else F.call_function(name, F.col(column)))
    return made
