"""Remembers why a frame that skewkit returned looks as it does; the frame itself is not touched."""

from __future__ import annotations

import weakref
from collections import deque

from pyspark.sql import DataFrame

from skewkit.errors import ArgumentError
from skewkit.logs import LOG
from skewkit.plan.choice import Choice
from skewkit.plan.decision import Decision
from skewkit.spark.session.jobs import Used, used_so_far

_CHOICES: weakref.WeakKeyDictionary[DataFrame, Choice] = weakref.WeakKeyDictionary()
_DECISIONS: deque[Decision] = deque(maxlen=1000)


def remember(frame: DataFrame, choice: Choice, used: Used | None = None) -> DataFrame:
    """Attach a choice to a frame, list it among the decisions, and return the frame.

    `used` is what it took to decide.
    """
    _CHOICES[frame] = choice
    used = used or used_so_far()
    _DECISIONS.append(Decision(choice, used.seconds, used.jobs))
    LOG.info("%s: %s (%s)", choice.operator, choice.strategy, choice.reason)
    return frame


def decisions() -> list[Decision]:
    """Return what skewkit decided in this process, oldest first, the last 1,000.

    >>> frame = skew_groupby(spark.range(9), "id").count()
    >>> decisions()[-1].operator, decisions()[-1].strategy, decisions()[-1].jobs
    ('groupby', 'native', 0)
    """
    return list(_DECISIONS)


def choice_of(frame: DataFrame) -> Choice:
    """Return the choice behind a frame.

    Raises:
        ArgumentError: skewkit did not return this frame.
    """
    if frame not in _CHOICES:
        raise ArgumentError(
            "this frame was not returned by skewkit, so there is no plan to explain; pass the very frame that "
            "skew_join or skew_groupby gave, before further select() or filter()"
        )
    return _CHOICES[frame]
