"""What `SkewGroupedData.agg` was asked for: the aggregate calls, how each splits, and whether that pays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from skewkit.spark.aggregates import AggregatePlan, inputs_of
from skewkit.spark.calls import Reading, read_aggregates
from skewkit.spark.splits import SPLITS, split_of

_DICT_NAMES = {"average": "avg", "size": "count"}


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
