"""Remembers why a frame that skewkit returned looks as it does; the frame itself is not touched."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from threading import Lock

from pyspark.sql import DataFrame

from skewkit.errors import ArgumentError
from skewkit.logs import LOG
from skewkit.plan.choice import Choice
from skewkit.spark.join.origin import Origin

_CHOICES: weakref.WeakKeyDictionary[DataFrame, Choice] = weakref.WeakKeyDictionary()
_ORIGINS: weakref.WeakKeyDictionary[DataFrame, Origin] = weakref.WeakKeyDictionary()
_TOLD: weakref.WeakKeyDictionary[DataFrame, Callable[[], Choice]] = weakref.WeakKeyDictionary()
_ASKING = Lock()


def remember(
    frame: DataFrame, choice: Choice, origin: Origin | None = None, told: Callable[[], Choice] | None = None
) -> DataFrame:
    """Attach a choice to a frame, and what the frame was made of, and return the frame.

    Where it takes a job to know the choice in full, `told` does it, when somebody asks; it must not refer to the frame.
    """
    _CHOICES[frame] = choice
    if told is not None:
        _TOLD[frame] = told
    if origin is not None:
        _ORIGINS[frame] = origin
    LOG.info("%s: %s (%s)", choice.operator, choice.strategy, choice.reason)
    return frame


def origin_of(frame: DataFrame) -> Origin | None:
    """Return the join that this very frame is, or None where nobody knows."""
    return _ORIGINS.get(frame)


def choice_of(frame: DataFrame) -> Choice:
    """Return the choice behind a frame; it may take a job, until one has succeeded.

    Raises:
        ArgumentError: skewkit did not return this frame.
    """
    if frame not in _CHOICES:
        raise ArgumentError(
            "this frame was not returned by skewkit, so there is no plan to explain; pass the very frame that "
            "skew_join or skew_groupby gave, before further select() or filter()"
        )
    if _TOLD.get(frame) is not None:
        with _ASKING:  # who asks at the same time waits for the one job
            told = _TOLD.get(frame)
            if told is not None:
                _CHOICES[frame] = told()
                _TOLD.pop(frame, None)
    return _CHOICES[frame]
