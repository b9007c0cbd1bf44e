"""Remembers why a frame that skewkit returned looks as it does. The frame itself is not touched."""

from __future__ import annotations

import weakref
from collections import deque

from pyspark.sql import DataFrame

from skewkit.errors import ArgumentError
from skewkit.logs import LOG
from skewkit.plan.choice import Choice
from skewkit.plan.decision import Decision
from skewkit.plan.profile.key_profile import KeyProfile
from skewkit.spark.explained.within import frames_within, selected_from
from skewkit.spark.expressions.keys import Keys
from skewkit.spark.session.jobs import Used, used_so_far

_CHOICES: weakref.WeakKeyDictionary[DataFrame, Choice] = weakref.WeakKeyDictionary()
_LAST: deque[DataFrame] = deque(maxlen=20)
"""The last frames: their plans are found again in those of frames that the user derived from them."""
_DECISIONS: deque[Decision] = deque(maxlen=1000)


def remember(frame: DataFrame, choice: Choice, used: Used | None = None) -> DataFrame:
    """Attach a choice to a frame, list it among the decisions, and return the frame.

    `used` is what it took to decide.
    """
    _CHOICES[frame] = choice
    _LAST.append(frame)
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


def known_profile(frame: DataFrame, keys: Keys, *, with_nulls: bool = False) -> KeyProfile | None:
    """Return what the operator that returned a frame knew of these keys of it, or None.

    A frame that was made of that frame by selects alone has its rows, and so its profile. It is looked for among the
    last 20 that skewkit returned. `with_nulls` asks for null keys one by one, as keys like any other. A join has only
    counted them.
    """
    known = _profile(frame, keys)
    others = [each for each in reversed(_LAST) if _profile(each, keys)] if frame not in _CHOICES else []
    if others:
        made = selected_from(frame, others, keys.bare)
        known = _profile(made, keys) if made is not None else None
    if known is None:
        return None
    uncounted = known.nulls - sum(heavy.estimate for heavy in known.null_heavy)
    return None if with_nulls and uncounted > known.theta * known.rows else known


def _profile(frame: DataFrame, keys: Keys) -> KeyProfile | None:
    """Return what is remembered of these keys of a frame."""
    choice = _CHOICES.get(frame)
    known = choice.result if choice is not None else None
    return known if known is not None and tuple(keys.bare) == known.keys and keys.types == known.types else None


def choice_of(frame: DataFrame) -> Choice:
    """Return the choice behind a frame that skewkit returned.

    Raises:
        ArgumentError: skewkit did not return this frame.
    """
    if frame not in _CHOICES:
        raise ArgumentError("this frame was not returned by skewkit; pass the very frame that an operator gave")
    return _CHOICES[frame]


def choices_of(frame: DataFrame) -> list[Choice]:
    """Return the choice behind a frame, else those behind the frames that it was made of, the last one first.

    No job is started. Frames that it was made of are looked for among the last 20 that skewkit returned.

    Raises:
        ArgumentError: there is none.
    """
    if frame in _CHOICES:
        return [_CHOICES[frame]]
    found = frames_within(frame, list(_LAST)[::-1])
    if not found:
        raise ArgumentError(
            f"this frame was not returned by skewkit, nor made of one of the last {_LAST.maxlen} that were, so there "
            "is no plan to explain; skewkit.decisions() lists what was decided"
        )
    return [_CHOICES[each] for each in found]
