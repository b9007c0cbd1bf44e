"""What the package tells outside its results: the logger `skewkit`, and warnings at the line of the user's call."""

from __future__ import annotations

import inspect
import logging
import warnings

LOG = logging.getLogger("skewkit")
LOG.addHandler(logging.NullHandler())  # silent until the application configures it
_PASSED_OVER = (__name__.partition(".")[0], "pyspark")


def warn_caller(text: str) -> None:
    """Warn (`UserWarning`) at the line that called this package, however deep inside this is.

    PySpark is passed over, too, which calls skewkit in `df.transform(skewkit.skew_join, ...)`.
    """
    frame, level = inspect.currentframe(), 1
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] in _PASSED_OVER:
        frame, level = frame.f_back, level + 1
    warnings.warn(text, UserWarning, stacklevel=level)
