"""How an aggregate UDF with a merge splits: it runs on parts of a group, and the merge on what it returned for them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import BooleanType, ByteType, DataType, IntegerType, LongType, ShortType, TimestampType

from skewkit.spark.expressions.aggregate_calls import AggregateCall, called
from skewkit.spark.expressions.udf_columns import IN_PANDAS, ITERATING, udf_like
from skewkit.spark.group.split_table import Split
from skewkit.spark.group.worker.udfs import as_of_the_group, on_states

_EXACT: dict[type[DataType], str] = {
    ByteType: "Int8",
    ShortType: "Int16",
    IntegerType: "Int32",
    LongType: "Int64",
    BooleanType: "boolean",
}


def split_of_udf(call: AggregateCall, merge: Callable[..., Any]) -> Split:
    """Return the split of a Python aggregate, whose partial results are merged by a function of a series of them."""
    udf: Any = call.udf
    plain = getattr(merge, "func", merge) if hasattr(merge, "evalType") else merge  # it may be a UDF itself
    given, kind = _states(udf), _EXACT.get(type(_returned(udf)), "")
    merging = udf_like(udf, on_states(plain, kind) if given is not _as_they_are else plain)
    return Split((called(udf, call.keywords),), (lambda state: merging(*given(state)),), pays=True)


def of_the_group(call: AggregateCall, answers: Sequence[Column], bits: Sequence[int | None]) -> Callable[..., Column]:
    """Return the UDF of a call over parts, whose series have the dtypes that those of the whole group would have.

    `answers` and `bits` are those of `with_null_flags`, one bit per argument.
    """
    udf: Any = call.udf
    if udf.evalType not in IN_PANDAS or udf.evalType in ITERATING or all(bit is None for bit in bits):
        return called(udf, call.keywords)
    shown = udf_like(udf, as_of_the_group(udf.func, len(answers), tuple(bits), call.keywords))
    return lambda *given: shown(*answers, *given)


def _returned(udf: Any) -> DataType:
    found: DataType = udf.returnType
    return found


def _states(udf: Any) -> Callable[[Column], list[Column]]:
    """Return what the merge is given of a column of partial results, so that pandas loses nothing.

    Spark shows pandas whole numbers beside a null as floats, and timestamps as local ones. So nulls come apart.
    """
    if udf.evalType not in IN_PANDAS:
        return _as_they_are
    returned = _returned(udf)
    if isinstance(returned, TimestampType):
        return lambda x: [F.coalesce(F.unix_micros(x), F.lit(0)), x.isNull(), F.current_timezone()]
    if type(returned) in _EXACT:
        return lambda x: [F.coalesce(x, F.lit(0).cast(returned)), x.isNull()]
    return _as_they_are


def _as_they_are(state: Column) -> list[Column]:
    return [state]
