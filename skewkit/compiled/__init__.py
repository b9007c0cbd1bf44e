"""Compiled loops for messages in bulk: an extra (`pip install 'skewkit[fast]'`) that changes no route.

Every loop here has a readable twin in plain Python that gives the same routes, sums and counters, bit by bit.
The twin runs where numba is missing, and where there are too few messages to pay for loading or converting.
`skewkit.compiled.jit` alone imports numba, and only when a loop is needed.

A compiled function calls functions of its own file. numba keeps machine code on disk beside the file and compiles it
anew when that file changes, but not when another one does. What loops of several files call is in `mixing` and
`least_heap`, so these never change: what has to be different gets another name, in a file of its own.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from importlib.util import find_spec
from typing import TypeVar

import numpy as np
import numpy.typing as npt

_LOADING = 1 << 16  # messages from which on it pays to load numba (some 0.5 s)
_ENTERING = 1 << 10  # messages from which on it pays to enter a loop, once numba is there
_forced: bool | None = None
Kind = TypeVar("Kind", bound=np.generic)


def worth(messages: int, before: int = 0) -> bool:
    """Tell whether so many messages, after so many before them, are a case for the compiled loops.

    >>> worth(10)
    False
    """
    if _forced is not None:
        return _forced and available()
    if messages < _ENTERING:
        return False
    return ("numba" in sys.modules or messages + before >= _LOADING) and available()


@lru_cache(maxsize=1)
def available() -> bool:
    """Tell whether numba is installed and works with the NumPy that is there."""
    if find_spec("numba") is None:
        return False
    from skewkit.compiled import jit

    return jit.numba() is not None


@contextmanager
def forced(use: bool) -> Iterator[None]:
    """Take the compiled loops for every bulk call (`use=True`), or for none, to test and to compare.

    >>> with forced(False):
    ...     worth(10**9)
    False
    """
    global _forced
    before, _forced = _forced, use
    try:
        yield
    finally:
        _forced = before


def plain(array: npt.NDArray[Kind]) -> npt.NDArray[Kind]:
    """Return the array itself, or a copy if it is not in one piece and writable: loops are compiled for that.

    >>> plain(np.arange(4)[::2]).flags.carray
    True
    """
    return array if array.flags.carray else array.copy()
