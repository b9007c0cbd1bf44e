"""Remembers why a frame that skewkit returned looks as it does; the frame itself is not touched."""

from __future__ import annotations

import weakref

from pyspark.sql import DataFrame

from skewkit.errors import ArgumentError
from skewkit.logs import LOG
from skewkit.plan.choice import Choice

_CHOICES: weakref.WeakKeyDictionary[DataFrame, Choice] = weakref.WeakKeyDictionary()


def remember(frame: DataFrame, choice: Choice) -> DataFrame:
    """Attach a choice to a frame and return the frame."""
    _CHOICES[frame] = choice
    LOG.info("%s: %s (%s)", choice.operator, choice.strategy, choice.reason)
    return frame


def choice_of(frame: DataFrame) -> Choice:
    """Return the choice behind a frame.

    Raises:
        ArgumentError: skewkit did not return this frame.
    """
    try:
        return _CHOICES[frame]
    except (KeyError, TypeError) as error:
        raise ArgumentError(
            "this frame was not returned by skewkit, so there is no plan to explain; pass the very frame that "
            "skew_join or skew_groupby gave, before further select() or filter()"
        ) from error
