"""What a group function returned, beside the schema that it was declared with, inside Spark's Python workers.

Like the functions of `whole_groups`, these are sent by value. What is wrong is a `SchemaError` of the task. It names
columns and types, and shows no value.
"""

from __future__ import annotations

import datetime as dt
import decimal
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pyspark import cloudpickle
from pyspark.sql.types import DataType, StructType

import skewkit.errors
from skewkit.errors import SchemaError
from skewkit.spark.group.worker.whole_groups import Frame, GroupFunction, is_arrow, takes_key

cloudpickle.register_pickle_by_value(sys.modules[__name__])
cloudpickle.register_pickle_by_value(skewkit.errors)

Series = Any  # pandas.Series

_INTEGERS = {"byte": "Int8Dtype", "short": "Int16Dtype", "integer": "Int32Dtype", "long": "Int64Dtype"}
_WIDTHS = {"byte": 1, "short": 2, "integer": 4, "long": 8}
_KINDS = {"float": "fiu", "double": "fiu", "boolean": "b", "timestamp": "M", "timestamp_ntz": "M", "date": "M"}
_OF_FLOATS = ("float", "double", "boolean", *_INTEGERS)
"""Types of which pyarrow makes a column of floats that are all null."""
_HOLDS = {"array": (list, tuple), "map": (dict, list), "struct": (dict, tuple)}
_SCALARS = (str, bytes, bool, int, float, decimal.Decimal, dt.date, dt.timedelta)
_LEFT_TO_SPARK = ("varchar", "char", "variant", "void", "udt", "geometry", "geography")
"""Types into which Spark turns whatever it is given, or which only Spark knows."""


@dataclass(frozen=True)
class Declared:
    """The schema that a group function was declared with, and how Spark reads what it returns.

    * `by_name`: columns are found by their names, where they have names.
    * `safe`: Spark refuses values that lose something in a conversion.
    * `whole_decimals`: Spark takes whole numbers for decimals.
    """

    schema: StructType
    arrow: bool = False
    by_name: bool = True
    safe: bool = False
    whole_decimals: bool = False

    @property
    def frame(self) -> str:
        """What kind of frame it returns."""
        return f"{'pyarrow.Table' if self.arrow else 'pandas DataFrame'} with the columns {self.schema.names}"


def checked(func: GroupFunction, declared: Declared, what: str, frames: int = 1) -> GroupFunction:
    """Return a function of (key, *frames) that calls `func`, and checks what it returns."""
    with_key = takes_key(func, frames)

    def check_one(key: tuple[Any, ...], frame: Frame) -> Frame:
        return fitted(func(key, frame) if with_key else func(frame), declared, what)

    def check_pair(key: tuple[Any, ...], left: Frame, right: Frame) -> Frame:
        return fitted(func(key, left, right) if with_key else func(left, right), declared, what)

    named: GroupFunction = check_one if frames == 1 else check_pair
    named.__name__ = getattr(func, "__name__", "group_function")  # as the plan of plain Spark shows it
    return named


def fitted(result: Any, declared: Declared, what: str) -> Frame:
    """Return what a group function returned, if Spark can take it for the declared schema.

    Raises:
        SchemaError: it is no frame of its kind, has other columns, or one that does not fit its declared type.
    """
    frame = is_arrow(result) if declared.arrow else hasattr(result, "iloc") and hasattr(result, "columns")
    if not frame:
        raise SchemaError(f"{what} returned {type(result).__name__}; expected a {declared.frame}")
    names = list(result.column_names if declared.arrow else result.columns)
    if not names:
        return result
    positions, wanted = _positions(names, declared), declared.schema.names
    if positions is None:
        missing, extra = [n for n in wanted if n not in names], [n for n in names if n not in wanted]
        raise SchemaError(
            f"{what} returned the columns {names}; expected {wanted}, as its schema says (missing {missing}, not in "
            f"the schema {extra}); change the function or the schema"
        )
    misfit = _misfit_in_arrow if declared.arrow else _misfit
    for position, field in zip(positions, declared.schema.fields, strict=True):
        found = misfit(_column(result, position), field.dataType, declared)
        if found is not None:
            raise SchemaError(
                f"{what} returned the column {field.name!r} as {found}; expected {field.dataType.simpleString()}, as "
                "its schema says; change the function or the schema"
            )
    return result


def with_typed_nulls(frame: Any, declared: Declared) -> Any:
    """Return a pandas frame in which columns of nulls alone are floats only where the schema says so.

    pandas makes floats of null keys in `groupby(key, dropna=False).sum().reset_index()`, and pyarrow no dates of them.
    """
    if declared.arrow or not (hasattr(frame, "isetitem") and len(frame)):
        return frame
    found = frame
    for position, field in zip(_positions(list(frame.columns), declared) or (), declared.schema.fields, strict=False):
        dtype = frame.dtypes.iloc[position]
        nulls = _is_numpys(dtype) and dtype.kind == "f" and frame.iloc[:, position].isna().all()
        if nulls and field.dataType.typeName() not in _OF_FLOATS:
            found = frame.copy(deep=False) if found is frame else found
            found.isetitem(position, [None] * len(frame))
    return found


def _positions(names: Sequence[Any], declared: Declared) -> list[int] | None:
    """Return where the declared columns are among these names, as Spark finds them. None where others are there."""
    wanted = declared.schema.names
    if not (declared.by_name and any(isinstance(name, str) for name in names)):
        return list(range(len(wanted))) if len(names) == len(wanted) else None
    return [names.index(name) for name in wanted] if sorted(names, key=str) == sorted(wanted) else None


def in_schema(frames: Sequence[Frame], declared: Declared, zone: str) -> Frame:
    """Return results of a group function, one below the other, with the dtypes that the schema says.

    * Whole numbers are `int8` to `int64`, and booleans `bool`. Where there are nulls, `Int8` to `Int64` and `boolean`.
    * Floats are `float32` and `float64`; timestamps `datetime64[us, zone]`, those without a zone `datetime64[us]`.
    * Texts, dates, decimals and bytes are objects, as Spark shows them.
    * Arrow tables have the Arrow types of the schema.
    """
    if declared.arrow:
        import pyarrow as pa

        return pa.concat_tables([_table(frame, declared) for frame in frames])
    import pandas as pd

    columns = []
    for position, field in enumerate(declared.schema.fields):
        parts = [_declared_column(frame, position, declared) for frame in frames]
        columns.append(_series(parts, field.dataType, declared, zone))
    frame = pd.DataFrame(dict(enumerate(columns)), copy=False)
    frame.columns = declared.schema.names
    return frame


def _declared_column(frame: Frame, position: int, declared: Declared) -> Any:
    """Return the column of a checked result that the schema has at a position."""
    names = list(frame.column_names if declared.arrow else frame.columns)
    return _column(frame, (_positions(names, declared) or range(len(names)))[position])


def _column(frame: Frame, position: int) -> Any:
    return frame.column(position) if is_arrow(frame) else frame.iloc[:, position]


def _misfit(series: Series, type_: DataType, declared: Declared) -> str | None:
    """Return what a column is, if Spark does not take it for a column of this type."""
    kind, dtype = type_.typeName(), getattr(series, "dtype", None)
    if dtype is None or kind in _LEFT_TO_SPARK or len(series) == 0:
        return None  # a struct may be a frame of its fields
    if _is_numpys(dtype):
        if kind in _WIDTHS and dtype.kind == "i" and dtype.itemsize <= _WIDTHS[kind]:
            return None
        if dtype.kind in _KINDS.get(kind, ""):
            return None
    if kind in _HOLDS:
        return _no_holder(series, kind)
    if kind == "string" and dtype.kind == "O" and _all_texts(series):
        return None
    try:
        _array(series, type_, declared, "UTC")
    except Exception:  # whatever pandas and pyarrow have for it: Spark raises it as well
        return _described(series)
    return None


def _all_texts(series: Series) -> bool:
    from pandas.api.types import infer_dtype

    return infer_dtype(series, skipna=True) in ("string", "empty")


def _no_holder(series: Series, kind: str) -> str | None:
    """Return what the first value is, if it is a single one where several are declared."""
    first = next((value for value in series if value is not None), None)
    alone = isinstance(first, _SCALARS) and not isinstance(first, _HOLDS[kind])
    return _described(series) if alone else None


def _described(series: Series) -> str:
    """Return the dtype of a column, and of objects their types."""
    if series.dtype.kind != "O" or not _is_numpys(series.dtype):
        return f"{series.dtype}, with values that are none of it"
    kinds = dict.fromkeys(type(value).__name__ for value in series.head(1000) if value is not None)
    return f"objects ({', '.join(kinds) or 'None'})"


def _misfit_in_arrow(column: Any, type_: DataType, declared: Declared) -> str | None:
    """Return the Arrow type of a column, if it is of another kind than the declared one: Spark casts nothing here."""
    wanted, found = _arrow_type(type_), column.type
    if wanted is None or wanted.id == found.id or "large" in str(found) or "view" in str(found):
        return None
    return str(found)


def _arrow_type(type_: DataType) -> Any:
    """Return the Arrow type of a Spark type; of timestamps the unit and the zone do not matter here."""
    import pyarrow as pa
    from pyspark.sql.pandas.types import to_arrow_type

    if type_.typeName() == "timestamp":
        return pa.timestamp("us", "UTC")  # newer versions want to be given the zone
    try:
        return to_arrow_type(type_)
    except Exception:
        return None


def _table(table: Any, declared: Declared) -> Any:
    """Return a table of the schema's columns, in its order and with its types."""
    import pyarrow as pa

    names, columns = declared.schema.names, []
    for position, field in enumerate(declared.schema.fields):
        column = _declared_column(table, position, declared)
        wanted = _arrow_type(field.dataType) or _with_zone(field.dataType)
        nested = wanted is not None and pa.types.is_nested(wanted)
        same = wanted is None or (column.type == wanted if nested else column.type.id == wanted.id)
        columns.append(column if same else _cast(column, wanted, nested))
    return pa.table(columns, names=names)


def _with_zone(type_: DataType) -> Any:
    """Return the Arrow type of what holds timestamps, where PySpark wants to be given their zone."""
    from pyspark.sql.pandas.types import to_arrow_type

    try:
        return to_arrow_type(type_, timezone="UTC")
    except Exception:
        return None


def _cast(column: Any, wanted: Any, nested: bool) -> Any:
    """Return a column as another Arrow type. What holds others stays where pyarrow has no cast for it."""
    import pyarrow as pa

    try:
        return column.cast(wanted)
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid, pa.ArrowTypeError):
        if not nested:
            raise
        return column


def arrow_of(frame: Frame, position: int, declared: Declared, zone: str) -> Any:
    """Return a column of a result as an Arrow array of its declared type."""
    import pyarrow as pa

    if declared.arrow:
        column = _table(frame, declared).column(position)
    else:
        column = _array(_declared_column(frame, position, declared), declared.schema[position].dataType, declared, zone)
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def _array(series: Series, type_: DataType, declared: Declared, zone: str) -> Any:
    """Return a column in Arrow as Spark would make it. Timestamps of pandas without a zone are local ones."""
    import pyarrow as pa

    if hasattr(series.dtype, "categories"):
        series = series.astype(series.dtype.categories.dtype)
    if type_.typeName() == "timestamp" and _is_numpys(series.dtype) and series.dtype.kind == "M":
        series = series.dt.tz_localize(zone, ambiguous=False)  # of two such hours the second, as in PySpark
    if declared.whole_decimals and type_.typeName() == "decimal" and series.dtype.kind in "iuO":
        series = series.astype(object).map(lambda v: decimal.Decimal(v) if isinstance(v, int) else v)
    wanted = _arrow_type(type_)
    mask = None if hasattr(series.array, "__arrow_array__") else series.isnull()
    try:
        return pa.Array.from_pandas(series, mask=mask, type=wanted, safe=declared.safe)
    except pa.lib.ArrowInvalid:
        return pa.Array.from_pandas(series, mask=mask).cast(wanted, safe=declared.safe)


def _is_numpys(dtype: Any) -> bool:
    return type(dtype).__module__.startswith("numpy")


def _series(parts: Sequence[Series], type_: DataType, declared: Declared, zone: str) -> Series:
    """Return one column of many parts."""
    import pandas as pd
    import pyarrow as pa

    kind = type_.typeName()
    dtype = _dtype(kind, zone)
    if dtype is None and kind not in ("string", "binary", "date", "decimal"):
        objects = [part.astype(object) if hasattr(part.dtype, "pyarrow_dtype") else part for part in parts]
        return pd.concat(objects, ignore_index=True)
    chunks: list[Any] = []
    for part in parts:
        found = _array(part, type_, declared, zone)
        chunks += found.chunks if isinstance(found, pa.ChunkedArray) else [found]
    column = pa.chunked_array(chunks)
    if kind in _INTEGERS or kind == "boolean":
        # Without nulls plain ones: beside `shift()` or `diff()` an extension type has NA, which is in no group.
        return column.to_pandas(types_mapper=(lambda _: dtype) if column.null_count else None)
    series = column.to_pandas(date_as_object=True)
    return series if dtype is None else series.astype(dtype)


def _dtype(kind: str, zone: str) -> Any:
    """Return the pandas dtype of a Spark type, None where it is the one that Arrow makes."""
    import pandas as pd

    if kind in _INTEGERS:
        return getattr(pd, _INTEGERS[kind])()
    if kind == "timestamp":
        return pd.DatetimeTZDtype("us", zone)
    plain = {"float": "float32", "double": "float64", "timestamp_ntz": "M8[us]", "daytimeinterval": "m8[us]"}
    return pd.BooleanDtype() if kind == "boolean" else plain.get(kind)
