"""Checks of numbers and arrays, shared by sketches, partitioners and simulator: found, expected, where."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from skewkit.errors import ArgumentError, ArgumentTypeError, nearest, shown
from skewkit.hashing.plain_keys import key_list

Floats = npt.NDArray[np.float64]

HEAVIEST = 1e300
"""The greatest weight of a message: sums of many of them are finite."""

MOST = 1 << 25
"""The most workers, counters, cells, buckets or places on a ring that something may have, 33,554,432.

As an array of floats they take 256 MiB, as a Python list of numbers more than a GiB, and a scheme has several. The ten
counters per worker of a million workers are fewer. With more a process dies of memory rather than says why, or asks
NumPy for sizes that no index has. From 2**31 workers on no route, an int32, could name them all.
"""


def whole_number(name: str, value: Any, least: int | None = 1, most: int | None = None) -> int:
    """Return `value` as an int from `least` to `most`, where they are not None.

    Raises:
        ArgumentTypeError: `value` is not an integer (a bool is not one either).
        ArgumentError: `value` is below `least` or above `most`.

    >>> whole_number("workers", 4, most=MOST)
    4
    """
    wrong_type = isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer))
    if wrong_type or (least is not None and value < least) or (most is not None and value > most):
        bounds = [f"at {word} {bound}" for word, bound in (("least", least), ("most", most)) if bound is not None]
        expected = ", ".join(["a whole number", *bounds])
        raise (ArgumentTypeError if wrong_type else ArgumentError)(f"{name} is {shown(value)}; expected {expected}")
    return int(value)


def real_number(
    name: str,
    value: Any,
    low: float = 0.0,
    high: float = math.inf,
    above: bool = False,
) -> float:
    """Return `value` as a finite float in `low..high` (`above=True` leaves `low` itself out).

    Raises:
        ArgumentTypeError: `value` is not a number.
        ArgumentError: `value` is not finite, or outside the range.

    >>> real_number("epsilon", 1e-4, high=1.0)
    0.0001
    """
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, float, np.integer, np.floating)):
        raise ArgumentTypeError(f"{name} is {shown(value)}; expected a number")
    number = _as_float(value)
    if not math.isfinite(number) or number < low or number > high or (above and number == low):
        bound = f"{'above' if above else 'at least'} {low:g}"
        if high < math.inf:
            bound += f" and at most {high:g}"
        raise ArgumentError(f"{name} is {shown(value)}; expected a finite number {bound}")
    return number


def _as_float(value: Any) -> float:
    """Return a number as a float; infinity for an integer beyond all floats.

    >>> _as_float(10**400), _as_float(-(10**400))
    (inf, -inf)
    """
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def one_of(name: str, value: Any, valid: Sequence[str]) -> str:
    """Return `value`, which must be one of the words in `valid`.

    Raises:
        ArgumentError: it is not.

    >>> one_of("assignment", "load", ("wait", "load"))
    'load'
    """
    if not isinstance(value, str) or value not in valid:
        raise ArgumentError(f"{name} is {shown(value)}; {nearest(str(value), valid)}")
    return value


def switch(name: str, value: Any) -> bool:
    """Return `value`, which must be True or False.

    Raises:
        ArgumentTypeError: it is neither.

    >>> switch("idle", True)
    True
    """
    if not isinstance(value, (bool, np.bool_)):
        raise ArgumentTypeError(f"{name} is {shown(value)}; expected True or False")
    return bool(value)


def non_negative(name: str, values: Sequence[float] | npt.NDArray[Any], high: float = math.inf) -> Floats:
    """Return `values` as a one-dimensional float array, checked to be finite, not negative and `high` at most.

    Raises:
        ArgumentTypeError: something in `values` is not a number.
        ArgumentError: `values` has another shape than (m,), or an element is masked, negative, NaN, infinite or too
            great.

    >>> non_negative("weights", [1, 2.5])
    array([1. , 2.5])
    """
    try:
        found = np.asarray(values)
    except ValueError as error:  # lists of different lengths
        raise ArgumentTypeError(f"{name} holds something that is not a number: {error}") from error
    if found.dtype.kind == "O" and found.ndim == 1:
        found = np.array([real_number(f"{name}[{at}]", value) for at, value in enumerate(found.tolist())])
    if found.dtype.kind not in "iuf":
        raise ArgumentTypeError(f"{name} holds something that is not a number: found {found.dtype.name}")
    array = found.astype(np.float64, copy=False)
    if array.ndim != 1:
        raise ArgumentError(f"{name} has shape {array.shape}; expected one dimension")
    if np.ma.is_masked(values):
        raise ArgumentError(f"{name} is masked in places; expected a number everywhere")
    bad = ~(np.isfinite(array) & (array >= 0.0) & (array <= high))
    if bad.any():
        first = int(np.flatnonzero(bad)[0])
        most = f", {high:g} at most" if high < math.inf else ""
        raise ArgumentError(f"{name}[{first}] is {array[first]}; expected finite numbers, zero or more{most}")
    return array


def keys_and_weights(
    keys: Sequence[Any] | npt.NDArray[Any], weights: Sequence[float] | npt.NDArray[Any] | None
) -> tuple[list[Any], Floats | None]:
    """Return keys, as a list, and their weights, checked.

    Raises:
        ArgumentTypeError: `keys` is no sequence of keys, or a weight is no number.
        ArgumentError: `keys` has more than one dimension, a weight is negative, not finite or above 1e300, or there are
            not as many weights as keys.

    >>> keys_and_weights(np.array([3, 4]), [1, 2])
    ([3, 4], array([1., 2.]))
    """
    listed = key_list(keys)
    checked = None if weights is None else non_negative("weights", weights, high=HEAVIEST)
    if checked is not None and checked.size != len(listed):
        raise ArgumentError(f"found {len(listed)} keys and {checked.size} weights; expected one per key")
    return listed, checked
