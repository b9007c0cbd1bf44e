"""Aggregates over a planned placement: cold keys as plain Spark computes them, hot keys in parts that are merged.

All rows go through one exchange to the partitions of the plan, and every branch below reads that one exchange.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from skewkit.plan.placement.key_plan import KeyPlan
from skewkit.spark.expressions.keys import Keys, quoted, shared_names
from skewkit.spark.expressions.not_null import has_fewer_nulls, never_null, no_null_within
from skewkit.spark.expressions.selecting import without
from skewkit.spark.expressions.udf_columns import IN_PANDAS
from skewkit.spark.group.aggregate_plan import PREFIX, AggregatePlan, PlannedAggregate, input_name
from skewkit.spark.group.grouped_exchange import Placed, placed
from skewkit.spark.group.merged_udfs import of_the_group
from skewkit.spark.group.null_flags import changed_by_nulls, with_null_flags
from skewkit.spark.group.value_parts import by_range, by_value
from skewkit.spark.session.references import resolved_as
from skewkit.spark.session.view_guard import guarded
from skewkit.spark.window.blocks import kept_whole

_SALT, _WHOLE = f"{PREFIX}salt", f"{PREFIX}whole"
_ROW_BITS = (1 << 33) - 1
"""`monotonically_increasing_id` counts the rows of a partition in its lower 33 bits."""


def aggregate(
    df: DataFrame, keys: Keys, plan: KeyPlan, asked: AggregatePlan, row_hash: Column, schema: StructType
) -> DataFrame:
    """Return the aggregates, split for hot keys, with the names and types of the native result's `schema`.

    Only the keys and what the aggregates read are shuffled. `row_hash` is the salt of the hot keys.
    """
    key_names = _key_names(df, keys)
    narrow = df.select(
        *(
            c if name == own else c.alias(name)
            for c, name, own in zip(keys.columns, key_names, keys.names, strict=True)
        ),
        *(column.alias(input_name(i)) for i, column in enumerate(asked.inputs.columns)),
        row_hash.alias(_SALT),
    )
    by_name = [quoted(name) for name in key_names]
    types = dict(zip(key_names, keys.types, strict=True))
    types |= {input_name(i): type_.simpleString() for i, type_ in enumerate(asked.inputs.types)}
    narrow = guarded(narrow, types)
    parts = asked.parts
    at = replace(placed(narrow, keys.renamed(key_names), plan, F.col(_SALT)), reads=asked.inputs.read)
    flagged = _flagged(narrow, asked)
    if flagged:
        at = replace(at, frame=kept_whole(at.frame))
    target = F.col(at.names("partition"))
    cold = at.cold().groupBy(target, *by_name).agg(*(part.whole for part in parts))
    merges = [merge for part in parts for merge in part.merges]
    if not all(part.split.partials for part in parts):
        merges.append(F.first(_WHOLE, ignorenulls=True).alias(_WHOLE))
    branches = _hot(at, plan, by_name, parts, asked, flagged)
    merged = reduce(lambda a, b: a.unionByName(b, allowMissingColumns=True), branches).groupBy(*by_name).agg(*merges)
    results = [part.finish if part.split.partials else _of_whole(part.result, cold.schema) for part in parts]
    both = cold.select(*by_name, *(part.result for part in parts)).unionAll(merged.select(*by_name, *results))
    finished, left = [], [part.result for part in parts]
    for reading in asked.readings:
        finished.append(reading.finish(left[: len(reading.calls)]))
        left = left[len(reading.calls) :]
    named = [column.alias(f"{PREFIX}c{i}") for i, column in enumerate(finished)]
    return as_schema(resolved_as(df, both.select(*by_name, *named)), schema)


def _key_names(df: DataFrame, keys: Keys) -> list[str]:
    """Return names for the keys: their own, if they are columns of the frame, which stay the very same ones.

    So `df["k"]` and `a.k` find the key in the result, as after a plain group-by.
    """
    shared = shared_names(keys.names)

    def kept(column: Column, name: str) -> bool:
        named = re.fullmatch(rf"Column<'(\w+\.)*(`?){re.escape(name)}\2'>", str(column)) is not None
        helper = name.lower().startswith(PREFIX)
        return name.lower() not in shared and named and not helper

    pairs = zip(keys.columns, keys.names, strict=True)
    return [name if kept(column, name) else f"{PREFIX}k{i}" for i, (column, name) in enumerate(pairs)]


def _of_whole(name: str, schema: StructType) -> Column:
    """Return a result that was computed whole; as in `schema`, that of the cold keys, it may be one without nulls."""
    column, field = F.col(_WHOLE)[name], schema[name]
    return (column if field.nullable else never_null(column, field.dataType)).alias(name)


def _hot(
    at: Placed,
    plan: KeyPlan,
    keys: Sequence[str],
    parts: Sequence[PlannedAggregate],
    asked: AggregatePlan,
    flagged: Sequence[str],
) -> list[DataFrame]:
    """Return the frames of partial results of the hot keys, one per way to cut their rows."""
    salted_by = asked.salted_by
    frames: list[DataFrame] = []
    apart: dict[tuple[str, ...], list[PlannedAggregate]] = {}
    for part in parts:
        if part.split.by_value and (part.reads != salted_by or part.split.counted):
            apart.setdefault((*part.reads, str(part.split.counted), str(part.split.each)), []).append(part)
    together = [p for p in parts if p.split.partials and not any(p in group for group in apart.values())]
    if together:
        hot, by = at.hot(), [at.names("partition")]
        hot, answers = with_null_flags(hot, [hot.columns.index(name) for name in flagged], at.names)
        made = [column for p in together for column in _partials(p, answers, flagged)]
        if asked.most_rows is not None:
            hot, by = hot.select("*", _piece(at, asked.most_rows)), [*by, at.names("piece")]
        frames.append(without(hot.groupBy(*by, *keys).agg(*made), *by))
    for group in apart.values():
        ranges = asked.ranges.get(group[0].reads) if group[0].split.each else None
        frames.append(by_range(at, ranges, keys, group) if ranges else by_value(at, plan, keys, group, salted_by))
    whole = [part for part in parts if not part.split.partials]
    if whole:
        row = F.struct(*(part.result for part in whole)).alias(_WHOLE)
        frames.append(at.hot().groupBy(*keys).agg(*(part.whole for part in whole)).select(*keys, row))
    return frames


def _flagged(narrow: DataFrame, asked: AggregatePlan) -> tuple[str, ...]:
    """Return the inputs of UDFs of which a part must know whether the whole group has nulls."""
    if not any(getattr(call.udf, "evalType", None) in IN_PANDAS for call in asked.calls):
        return ()
    inputs = [input_name(i) for i in range(len(asked.inputs.columns))]
    return tuple(name for i in changed_by_nulls(narrow, ()) if (name := narrow.columns[i]) in inputs)


def _partials(part: PlannedAggregate, answers: Sequence[str], flagged: Sequence[str]) -> list[Column]:
    """Return the partials of a call. Those of a UDF are told which of its columns have nulls in the group."""
    given = part.call.given(part.reads)
    if part.call.udf is None or not flagged:
        return part.partials(*given)
    bits = [flagged.index(name) if name in flagged else None for name in part.reads]
    return [of_the_group(part.call, [F.col(name) for name in answers], bits)(*given).alias(part.states[0])]


def _piece(at: Placed, most_rows: int) -> Column:
    """Return the number of the piece that a row is in: `most_rows` rows of a partition after one another.

    Rows are counted where they arrive, and nothing is shuffled between there and the partials (Spark's
    `requireAllClusterKeysForDistribution`, which would, is off by default). So a task that runs again gives whole
    partials again, of pieces cut elsewhere.
    """
    number = F.monotonically_increasing_id().bitwiseAND(F.lit(_ROW_BITS))
    return F.floor(number / most_rows).alias(at.names("piece"))


def as_schema(df: DataFrame, schema: StructType) -> DataFrame:
    """Return the columns in order with the names and types of a schema."""
    columns = []
    for found, wanted in zip(df.schema.fields, schema.fields, strict=True):
        column, filled = F.col(quoted(found.name)), found.nullable and not wanted.nullable
        same = found.dataType.simpleString() == wanted.dataType.simpleString()
        if same and has_fewer_nulls(wanted.dataType, found.dataType):
            column, filled = no_null_within(column, found.dataType, wanted.dataType), not wanted.nullable
        elif found.dataType != wanted.dataType:
            column = column.cast(wanted.dataType)
        if filled:
            column = never_null(column, wanted.dataType)
        if wanted.metadata != found.metadata:
            column = column.alias(wanted.name, metadata=wanted.metadata)
        elif filled or found.name != wanted.name or found.dataType != wanted.dataType:
            column = column.alias(wanted.name)
        columns.append(column)
    return df.select(*columns)
