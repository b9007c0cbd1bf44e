"""Samples of frames: of a join's result, drawn of what was joined, so that a chain of joins need not run to be seen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame

from skewkit.plan.choice import Choice
from skewkit.plan.joinrules import Side
from skewkit.spark.frames import origin_of
from skewkit.spark.origin import Origin
from skewkit.spark.profiling import auto_fraction, sampled
from skewkit.spark.seen import Seen

_ENOUGH = 30.0
"""Rows of a hot key that a sample must have of the side it is drawn from: each brings all that it meets."""


@dataclass(frozen=True)
class Draw:
    """How a sample of a frame is drawn for a fraction, and how many rows the frame has (None: nobody knows)."""

    rows: float | None
    at: Callable[[float], DataFrame]
    before: bool = False
    """Whether it is drawn before a join, which does not run as a whole."""


def draw(seen: Seen, columns: Sequence[Column], wanted: float) -> Draw | None:
    """Return how to draw some `wanted` rows of a frame without running a join, window or group-by; None: not possible.

    Of a frame that `skew_join` returned, and that has the `columns`, a part of one side is joined. That has the rows
    of a sample of the join, but for those of the other side that met nothing.
    """
    if seen.simple:
        return _draw(seen.frame, wanted)
    return draw_before_join(seen.frame, columns, wanted)


def draw_before_join(frame: DataFrame, columns: Sequence[Column], wanted: float) -> Draw | None:
    """Return how to draw some `wanted` rows of a join before it runs; None where the whole is to run."""
    if origin_of(frame) is None:
        return None
    found = _draw(frame, wanted)
    fraction = auto_fraction(found.rows, wanted)
    if not found.before or fraction >= 1:
        return None
    try:
        found.at(fraction).select(*columns).schema  # noqa: B018 - on Connect the schema is what triggers the analysis
    except PySparkException:
        return None
    return found


def joined_from(
    left: DataFrame, right: DataFrame, on: Any, how: str, choice: Choice, *, measured: bool
) -> Origin | None:
    """Return what a join was made of, or None where nobody has looked how many rows its hot keys have.

    `measured` says that the profiles of the choice are of these frames, and not of another day.
    """
    plan = choice.join
    if choice.broadcast:
        return Origin(left, right, on, how)
    if plan is None or (choice.profile is not None and choice.profile.named):
        return None
    hot = tuple((grid.left_rows, grid.right_rows) for grid in plan.grids)
    rows = (plan.left.rows, plan.right.rows) if measured else (0.0, 0.0)
    return Origin(left, right, on, how, hot, rows, plan.output)


def _draw(frame: DataFrame, wanted: float) -> Draw:
    origin = origin_of(frame)
    found = None if origin is None else _draw_of_side(origin, wanted)
    return found or Draw(Seen(frame).rows, partial(sampled, frame))


def _draw_of_side(origin: Origin, wanted: float) -> Draw | None:
    """Return the draw of a join's larger side, or of the other one; None where few rows of a hot key would decide."""
    draws = [(side, _draw(frame, wanted)) for side, frame in origin.sides]
    for side, drawn in sorted(draws, key=lambda each: -(each[1].rows or 0)):
        rows = max(drawn.rows or 0.0, origin.rows_of(side), origin.output)
        fraction = auto_fraction(rows, wanted)
        if drawn.rows and fraction < 1 and all(own * fraction >= _ENOUGH for own in origin.rows_of_hot(side)):
            return Draw(rows, partial(_joined, origin, side, drawn), before=True)
    return None


def _joined(origin: Origin, side: Side, drawn: Draw, fraction: float) -> DataFrame:
    return origin.joined(side, drawn.at(fraction))
