"""The one module that knows numba."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from types import ModuleType
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


@lru_cache(maxsize=1)
def numba() -> ModuleType | None:
    """Return numba, or None where it is missing, switched off, or refuses the NumPy that is installed."""
    try:
        import numba
    except ImportError:
        return None
    return None if getattr(numba.config, "DISABLE_JIT", False) else numba


def compiled(function: F) -> F:
    """Compile a function at its first call, and keep the machine code on disk where that is possible.

    Floating point stays strict: sums have the order that the source gives them, as in Python.

    >>> compiled(lambda x: x) is not None
    True
    """
    module = numba()
    if module is None:
        return function
    try:
        made: F = module.njit(cache=True, nogil=True)(function)
    except RuntimeError:  # neither the folder of the file nor the user's cache can be written
        made = module.njit(nogil=True)(function)
    return made
