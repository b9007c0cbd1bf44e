"""What the package tells outside its results: the logger `skewkit`, and warnings at the line of the user's call."""

from __future__ import annotations

import inspect
import logging
import warnings

LOG = logging.getLogger("skewkit")
LOG.addHandler(logging.NullHandler())  # silent until the application configures it


def warn_caller(text: str) -> None:
    """Warn (`UserWarning`) at the line outside this package that called it, however deep inside this is."""
    frame, level = inspect.currentframe(), 1
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == __name__.partition(".")[0]:
        frame, level = frame.f_back, level + 1
    warnings.warn(text, UserWarning, stacklevel=level)
