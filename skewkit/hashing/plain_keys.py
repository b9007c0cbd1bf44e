"""Keys as they come, from NumPy, pandas, Arrow or Python, as one array or one list, with nulls that stay nulls."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from skewkit.errors import ArgumentError, ArgumentTypeError, shown

_NUMBERS = "biuf"  # NumPy's kinds of integers, booleans and floats


def plain_keys(keys: Any) -> list[Any] | npt.NDArray[Any]:
    """Return keys as a NumPy array of one dimension, or as a list of Python values.

    * What NumPy holds without loss stays an array. A column of pandas or Arrow is one where it holds numbers and no
      nulls. Else it is the list that `tolist` or `to_pylist` gives: NumPy would make floats of integers beside a null,
      and NaN of the null.
    * The list of a masked array has None for what is masked.

    Raises:
        ArgumentTypeError: `keys` is one value, or not a sequence at all.
        ArgumentError: `keys` is an array of more than one dimension.

    >>> plain_keys(np.ma.array([3, 4], mask=[False, True]))
    [3, None]
    """
    if isinstance(keys, list):
        return keys
    if isinstance(keys, (str, bytes, bytearray)):
        raise ArgumentTypeError(f"keys is one {type(keys).__name__}; expected a sequence, as [{shown(keys)}]")
    if not hasattr(keys, "__array__"):
        if not isinstance(keys, Sequence):
            raise ArgumentTypeError(f"keys is a {type(keys).__name__}; expected an array or a sequence of keys")
        return list(keys)
    column = _plain_column(keys)
    if isinstance(column, np.ndarray) and column.ndim != 1:
        if column.ndim == 0:
            raise ArgumentTypeError(f"keys is one value, {shown(keys)}; expected an array or a sequence of keys")
        raise ArgumentError(f"keys has shape {column.shape}; expected one dimension (or a list of tuples)")
    return column


def _plain_column(keys: Any) -> list[Any] | npt.NDArray[Any]:
    arrow = sys.modules.get("pyarrow")  # what is not loaded has made no keys
    if arrow is not None and isinstance(keys, (arrow.Array, arrow.ChunkedArray)):
        known, kind = arrow.types, keys.type
        numbers = known.is_integer(kind) or known.is_floating(kind) or known.is_boolean(kind)
        return np.asarray(keys) if numbers and not keys.null_count else list(keys.to_pylist())
    if hasattr(getattr(keys, "dtype", None), "na_value"):  # of the types that pandas adds to NumPy's
        return np.asarray(keys) if keys.dtype.kind in _NUMBERS and not keys.isna().any() else list(keys.tolist())
    if np.ma.is_masked(keys):
        return _listed(keys)
    return np.asarray(keys)


def key_list(keys: Sequence[Any] | npt.NDArray[Any]) -> list[Any]:
    """Return keys as a list of Python values.

    Raises:
        ArgumentTypeError: `keys` is one value, or not a sequence at all.
        ArgumentError: `keys` is an array of more than one dimension.

    >>> key_list(np.array(["2024-01-02", "NaT"], dtype="M8[D]"))
    [datetime.date(2024, 1, 2), None]
    """
    plain = plain_keys(keys)
    return plain if isinstance(plain, list) else _listed(plain)


def _listed(array: npt.NDArray[Any]) -> list[Any]:
    if array.dtype.kind == "M":
        array = array.astype(resolution(array.dtype))
    return list(array.tolist())


def resolution(dtype: np.dtype[Any]) -> str:
    """Return the resolution at which NumPy hands out dates, or datetimes, instead of integers.

    >>> resolution(np.dtype("M8[W]")), resolution(np.dtype("M8[ns]"))
    ('M8[D]', 'M8[us]')
    """
    return "M8[D]" if np.datetime_data(dtype)[0] in ("Y", "M", "W", "D") else "M8[us]"


def is_null(key: Any) -> bool:
    """Return whether a key is None by another name: NA or NaT of pandas, or a masked element of NumPy.

    >>> is_null(None), is_null(np.ma.masked), is_null(float("nan"))
    (True, True, False)
    """
    return key is None or type(key).__name__ in ("NAType", "NaTType") or key is np.ma.masked
