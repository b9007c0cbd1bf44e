"""Samples of frames: of a join's result, drawn of what was joined, so that a chain of joins need not run to be seen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame

from skewkit.options import Settings
from skewkit.plan.choice import Choice
from skewkit.plan.joinrules import Side
from skewkit.spark.frames import origin_of
from skewkit.spark.origin import Origin, OriginSide
from skewkit.spark.profiling import auto_fraction, sampled
from skewkit.spark.seen import Seen

_ENOUGH = 30.0
"""Rows of a hot key that a sample must have of the side it is drawn from: each brings all that it meets."""


@dataclass(frozen=True)
class Draw:
    """How a sample of a frame is drawn for a fraction, and how many rows the frame has (None: nobody knows).

    `simple` says that what is sampled is only read, selected and filtered, `before` that it is joined then: a row of it
    brings all that it meets, so that bounds of the rows of a key are no longer certain.
    """

    rows: float | None
    at: Callable[[float], DataFrame]
    simple: bool = False
    before: bool = False


def draw(seen: Seen, columns: Sequence[Column], wanted: float, settings: Settings) -> Draw | None:
    """Return how to draw some `wanted` rows of a frame of which no source must be computed; None: not possible.

    Of a frame that `skew_join` returned, and that has the `columns`, a part of one side is joined.
    """
    if seen.simple:
        return _sample(seen)
    found = draw_before_join(seen, columns, wanted, settings)
    return found if found is not None and found.simple else None


def draw_before_join(seen: Seen, columns: Sequence[Column], wanted: float, settings: Settings) -> Draw | None:
    """Return how to draw some `wanted` rows of a join before it runs; None where the whole is to run."""
    if origin_of(seen.frame) is None:
        return None
    found = _draw(seen, wanted, settings)
    fraction = auto_fraction(found.rows, wanted)
    if not found.before or fraction >= 1:
        return None
    try:
        found.at(fraction).select(*columns).schema  # noqa: B018 - on Connect the schema is what triggers the analysis
    except PySparkException:
        return None
    return found


def joined_from(left: DataFrame, right: DataFrame, on: Any, how: str, choice: Choice) -> Origin | None:
    """Return what a join was made of, or None where nobody has looked at its hot keys on both sides."""
    if choice.streamed is not None:
        return Origin(OriginSide(left), OriginSide(right), on, how, streamed=choice.streamed)
    plan, memory = choice.join, choice.memory
    if plan is None or memory is None or not (plan.left.measured and plan.right.measured):
        return None
    own, other = (
        OriginSide(frame, totals.rows if totals.counted else 0.0, width)
        for frame, totals, width in ((left, plan.left, memory.left), (right, plan.right, memory.right))
    )
    hot = tuple((grid.left_rows, grid.right_rows) for grid in plan.grids)
    return Origin(own, other, on, how, hot, plan.output)


def _draw(seen: Seen, wanted: float, settings: Settings) -> Draw:
    origin = None if seen.simple else origin_of(seen.frame)
    found = None if origin is None else _draw_of_side(origin, wanted, settings)
    return found or _sample(seen)


def _sample(seen: Seen) -> Draw:
    return Draw(seen.rows, partial(sampled, seen.frame), simple=seen.simple)


def _draw_of_side(origin: Origin, wanted: float, settings: Settings) -> Draw | None:
    """Return the draw of a join's larger side, or of the other one; None where few rows of a hot key would decide."""
    draws = [(side, _draw(Seen(origin.side(side).frame), wanted, settings)) for side in origin.divisible]
    rows = {side: origin.side(side).rows or drawn.rows or 0.0 for side, drawn in draws}
    for side, drawn in sorted(draws, key=lambda each: -rows[each[0]]):
        of_join = max(rows[side], origin.output)
        fraction = auto_fraction(of_join, wanted)
        if fraction < 1 and all(own * fraction >= _ENOUGH for own in origin.rows_of_hot(side)):
            at = partial(_joined, origin, side, drawn, float(settings.broadcast_bytes))
            return Draw(of_join, at, simple=drawn.simple, before=True)
    return None


def _joined(origin: Origin, side: Side, drawn: Draw, most_bytes: float, fraction: float) -> DataFrame:
    own = origin.side(side)
    broadcast = 0.0 < own.rows * own.width * fraction <= most_bytes
    return origin.joined(side, drawn.at(fraction), broadcast=broadcast)
