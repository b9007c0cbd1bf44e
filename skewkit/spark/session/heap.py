"""How much memory a session's processes have, as they were configured."""

from __future__ import annotations

import re
from collections.abc import Callable

from skewkit.options import byte_size

_HEAPS = ("spark.driver.memory", "spark.executor.memory")
_DEFAULT = 1 << 30
_ONE_PROCESS = re.compile(r"local(\[.*\])?")


def least_heap(conf: Callable[[str], str | None]) -> int:
    """Return the bytes of the smallest heap of a session, the driver's or an executor's; `conf` looks up a conf.

    >>> least_heap({"spark.driver.memory": "4g", "spark.executor.memory": "512"}.get) >> 20
    512
    >>> least_heap({"spark.driver.memory": "4g", "spark.master": "local[2]"}.get) >> 30
    4
    """
    names = _HEAPS[:1] if _ONE_PROCESS.fullmatch(conf("spark.master") or "") else _HEAPS
    return min(byte_size(conf(name), unit="m") or _DEFAULT for name in names)
