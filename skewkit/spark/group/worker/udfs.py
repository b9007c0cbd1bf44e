"""Aggregate UDFs of pandas on parts of a group, and the merge of their results, inside Spark's Python workers.

Like the functions of `whole_groups`, these are sent by value.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

from pyspark import cloudpickle

cloudpickle.register_pickle_by_value(sys.modules[__name__])

Series = Any  # pandas.Series
Udf = Callable[..., Any]


def as_of_the_group(func: Udf, answers: int, bits: Sequence[int | None], keywords: Sequence[str]) -> Udf:
    """Return `func` with `answers` more arguments before its own, which say what columns of the group have nulls.

    * `bits` has the bit of every argument, None where its dtype does not depend on nulls.
    * The last arguments have the names `keywords`.
    """

    def shown(*given: Series) -> Any:
        said = [int(answer.iloc[0]) for answer in given[:answers]]
        columns = [
            _with_nulls(column) if bit is not None and said[bit // 62] >> bit % 62 & 1 else column
            for column, bit in zip(given[answers:], bits, strict=True)
        ]
        first = len(columns) - len(keywords)
        return func(*columns[:first], **dict(zip(keywords, columns[first:], strict=True)))

    return shown


def _with_nulls(column: Series) -> Series:
    return column.astype({"i": "float64", "b": "object"}.get(getattr(column.dtype, "kind", ""), column.dtype))


def on_states(merge: Udf, kind: str) -> Udf:
    """Return a merge of values that come with a column that says which are null, and for timestamps the zone.

    It gets a series of the dtype that the type says: `int64` and its kind or `bool`, where there are nulls `Int64` or
    `boolean`; `datetime64[us, zone]`.
    """

    def merged(values: Series, missing: Series, *zone: Series) -> Any:
        import pandas as pd

        if zone:
            dtype: Any = pd.DatetimeTZDtype("us", zone[0].iloc[0])
            series = pd.Series(pd.to_datetime(values, unit="us", utc=True)).astype(dtype)
            series = series.mask(missing, pd.NaT)
        else:
            series = values.astype(kind).mask(missing, pd.NA) if missing.any() else values
        result = merge(series.reset_index(drop=True))
        return None if result is pd.NA or result is pd.NaT else result

    return merged
