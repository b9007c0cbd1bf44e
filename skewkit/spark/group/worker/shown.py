"""What a function sees of a sub-group, in the worker: keys and frames as Spark's own group functions get them.

Like the functions of `whole_groups`, these are sent by value.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Container
from typing import Any

from pyspark import cloudpickle

from skewkit.spark.group.worker.whole_groups import same

cloudpickle.register_pickle_by_value(sys.modules[__name__])

Table = Any  # pyarrow.Table


def identity_of(rows: Table, keys: tuple[int, ...]) -> tuple[Any, ...]:
    """Return what tells the key of these rows from others of its hash: in pandas a null may look like NaN."""
    return tuple(_values(rows.column(i).slice(0, 1))[0] for i in keys)


def _values(column: Any) -> list[Any]:
    """Return the values of a column as dictionary keys; dates and times as numbers, which Python may not have."""
    wanted = _with_numbers(column.type)
    return list(map(same, (column if wanted == column.type else column.cast(wanted)).to_pylist()))


def _with_numbers(type_: Any) -> Any:
    """Return a type with whole numbers for the dates and times in it."""
    import pyarrow as pa

    if pa.types.is_temporal(type_):
        return {32: pa.int32(), 64: pa.int64()}.get(type_.bit_width, type_)
    if pa.types.is_struct(type_):
        return pa.struct([field.with_type(_with_numbers(field.type)) for field in type_])
    if pa.types.is_list(type_):
        return pa.list_(type_.value_field.with_type(_with_numbers(type_.value_type)))
    return type_


def nullable(table: Table) -> Table:
    """Return a table whose fields may be null, as Spark's own group functions get them."""
    import pyarrow as pa

    return pa.Table.from_arrays(table.columns, schema=pa.schema([field.with_nullable(True) for field in table.schema]))


def one_key_each(table: Table, keys: tuple[int, ...]) -> list[Table]:
    """Return the rows as one table per key, where keys share their hash."""
    import pyarrow.compute as pc

    def uniform(column: Any) -> bool:
        if column.null_count:
            return bool(column.null_count == len(column))
        try:
            return bool(pc.all(pc.equal(column, column[0])).as_py())
        except NotImplementedError:
            return False

    if all(uniform(table.column(i)) for i in keys):
        return [table]
    rows: dict[Any, list[int]] = {}
    for at, key in enumerate(zip(*(_values(table.column(i)) for i in keys), strict=True)):
        rows.setdefault(key, []).append(at)
    return [table.take(places) if len(rows) > 1 else table for places in rows.values()]


def key_in_arrow(rows: Table, keys: tuple[int, ...]) -> tuple[Any, ...]:
    """Return a key as arrays of one value: scalars are pickled by way of Python, which has not all dates and times."""
    return tuple(rows.column(i).take([0]).combine_chunks() for i in keys)


def key_in_pandas(rows: Table, keys: tuple[int, ...], extension_ints: bool) -> tuple[Any, ...]:
    """Return a key as Spark's own group functions get it."""
    return tuple(series.iloc[0] for series in _series(rows.slice(0, 1).select(list(keys)), extension_ints))


def in_pandas(table: Table, extension_ints: bool, with_nulls: Container[int] = ()) -> Any:
    """Return columns as Spark's own group functions get them: arrays that may be written to.

    The columns at `with_nulls` come as those that have nulls do.

    Columns of one type make one block, as there. Of several types, each stays an array of its own: to copy the
    references of texts into a block took a fifth of a worker's time.
    """
    import pandas as pd

    series = [
        _as_with_nulls(each) if i in with_nulls else each for i, each in enumerate(_series(table, extension_ints))
    ]
    if len({each.dtype for each in series}) == 1:
        frame = pd.concat(series, axis=1)
    else:
        own = [each if each.dtype == object else each.copy() for each in series]
        frame = pd.DataFrame(dict(enumerate(own)), copy=False)
    frame.columns = table.column_names
    return frame


def _as_with_nulls(series: Any) -> Any:
    """Return whole numbers as floats and booleans as objects, which they are in pandas beside a null."""
    return series.astype({"i": "float64", "b": "object"}.get(getattr(series.dtype, "kind", ""), series.dtype))


def _series(table: Table, extension_ints: bool) -> list[Any]:
    """Convert columns with the converter of the worker's PySpark."""
    zone = _zone(table)
    try:
        from pyspark.sql.conversion import ArrowBatchTransformer
    except ImportError:  # before Spark 4.2
        from pyspark.sql.pandas.serializers import ArrowStreamPandasSerializer

        old: Any = ArrowStreamPandasSerializer
        # The third, of Spark 4.1 alone, is about conversions to Arrow.
        settings = (zone, True, False)[: len(inspect.signature(old).parameters)]
        convert = old(*settings).arrow_to_pandas
        numbered = "idx" in inspect.signature(convert).parameters
        return [convert(column, i) if numbered else convert(column) for i, column in enumerate(table.columns)]
    new: Any = ArrowBatchTransformer.to_pandas
    return list(new(table, timezone=zone, prefer_int_ext_dtype=extension_ints))


def _zone(table: Table) -> str:
    """Return the session's time zone in this run, which Spark gives to timestamps. Without any it does not matter."""
    found = re.search(r"timestamp\[us, tz=([^\]]+)\]", str(table.schema.types))
    return found.group(1) if found else "UTC"
