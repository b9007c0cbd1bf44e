"""Rows to a Python function of Arrow batches that returns few rows, in the way that costs Spark least."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

from pyspark import cloudpickle
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from skewkit.spark.expressions.selecting import columns_of
from skewkit.spark.session.compat import VERSION, in_force

cloudpickle.register_pickle_by_value(sys.modules[__name__])

WEIGHT = "spark.sql.execution.arrow.maxBytesPerBatch"
UNWEIGHED = str((1 << 31) - 1)

Batch = Any  # pyarrow.RecordBatch
Array = Any  # pyarrow.Array
OnBatches = Callable[[Iterator[Batch]], Iterator[Batch]]


def on_batches(rows: DataFrame, func: OnBatches, schema: str) -> DataFrame:
    """Return what `mapInArrow` returns.

    `mapInArrow` wraps the columns in a struct, and Spark 4.2 weighs what it has of a batch at every row: of a struct
    that takes longer than all the rest. There the columns are the arguments of a function of columns, whose value is
    null but for few rows, which hold all rows that `func` returned until then.

    * `func` returns nothing where there are no rows.
    """
    if VERSION < (4, 2) or in_force(rows.sparkSession, WEIGHT) == UNWEIGHED:
        return rows.mapInArrow(func, schema)
    arrow_udf: Any = getattr(F, "arrow_udf")  # noqa: B009 (PySpark before 4.1 has none)
    value = arrow_udf(_as_column(func, rows.columns), f"array<struct<{schema}>>")
    value = value.asNondeterministic()  # else Spark may compute it twice: for the filter, and for what passes it
    values = rows.select(value(*columns_of(rows)).alias("rows"))
    return values.where(F.col("rows").isNotNull()).select(F.inline("rows"))


def _as_column(func: OnBatches, names: list[str]) -> Callable[[Iterator[Any]], Iterator[Array]]:
    """Return a function of columns with as many values as rows, of which few are lists of what `func` returned."""
    import pyarrow as pa

    def column(arguments: Iterator[Any]) -> Iterator[Array]:
        unanswered = 0
        waiting: list[Batch] = []

        def read() -> Iterator[Batch]:
            nonlocal unanswered
            for given in arguments:
                batch = pa.RecordBatch.from_arrays(list(given) if isinstance(given, tuple) else [given], names)
                unanswered += batch.num_rows
                yield batch

        def answer(rows: int) -> Array:
            """Return so many values, the first of them with all that waits."""
            nonlocal unanswered
            found = pa.Table.from_batches(waiting).combine_chunks().to_struct_array()
            waiting.clear()
            unanswered -= rows
            values = pa.concat_arrays(found.chunks)
            first = pa.ListArray.from_arrays([0, len(values)], values)
            return pa.concat_arrays([first, pa.nulls(rows - 1, first.type)])

        for result in func(read()):
            waiting.append(result)
            if unanswered > 1:  # one row is left for what may come after the last
                yield answer(unanswered - 1)
        if waiting:
            yield answer(unanswered)
        elif unanswered:
            yield pa.nulls(unanswered)

    # By these PySpark knows what kind of function it is; as text they would need `pa` in this module.
    column.__annotations__ = {"arguments": Iterator[tuple[pa.Array, ...]], "return": Iterator[pa.Array]}
    return column
