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
from skewkit.plan.join.kinds import Side
from skewkit.spark.explained.plan_facts import PlanFacts
from skewkit.spark.join.join_keys import JoinKeys
from skewkit.spark.join.origin import Origin, OriginSide
from skewkit.spark.sampling.profiling import auto_fraction, sampled
from skewkit.spark.session.compat import is_off
from skewkit.spark.session.remembered import origin_of

_ADAPTIVE = "spark.sql.adaptive.enabled"
_ENOUGH = 30.0
"""Rows that a sample must have of a key from a share of 1/(5n) on, of the frame that it is drawn from."""


@dataclass(frozen=True)
class Sampling:
    """How many rows a sample should have, for so many partitions, and the settings."""

    wanted: float
    partitions: int
    settings: Settings

    @property
    def most_met(self) -> float:
        """How many rows a sampled row may bring: a key of share 1/(5n) has enough of them among those wanted then."""
        return self.wanted / (5 * self.partitions) / _ENOUGH


@dataclass(frozen=True)
class Draw:
    """How a sample of a frame is drawn for a fraction, and how many rows the frame has (None: nobody knows).

    `simple` says that what is sampled is only read, selected and filtered, `before` that it is joined then, and `met`
    how many rows each of its rows brings at most.
    """

    rows: float | None
    at: Callable[[float], DataFrame]
    simple: bool = False
    before: bool = False
    met: float = 1.0


def draw(seen: PlanFacts, columns: Sequence[Column], sampling: Sampling) -> Draw | None:
    """Return how to draw a sample of a frame of rows that are only read, selected and filtered; None: not possible.

    Of a frame that `skew_join` returned, and that has the `columns`, a part of one side is joined with the other.
    """
    if seen.simple:
        return _sample(seen)
    found = draw_before_join(seen, columns, sampling)
    return found if found is not None and found.simple else None


def draw_before_join(seen: PlanFacts, columns: Sequence[Column], sampling: Sampling) -> Draw | None:
    """Return how to draw a sample of a join before it runs; None where the whole is to run."""
    if origin_of(seen.frame) is None:
        return None
    found = _draw(seen, sampling)
    fraction = auto_fraction(found.rows, sampling.wanted)
    if not found.before or fraction >= 1:
        return None
    try:
        found.at(fraction).select(*columns).schema  # noqa: B018 - on Connect the schema is what triggers the analysis
    except PySparkException:
        return None
    return found


def joined_from(
    left: DataFrame, right: DataFrame, on: Any, how: str, keys: JoinKeys | str, choice: Choice
) -> Origin | None:
    """Return what a join was made of, or None where nobody knows enough of its sides."""
    if isinstance(keys, str):
        return None
    most = choice.most_rows
    if choice.streamed is not None or choice.unread:
        l_most, r_most = most or (None, None)
        sides = OriginSide(left, keys.left, most=l_most), OriginSide(right, keys.right, most=r_most)
        return Origin(*sides, on, how, streamed=choice.streamed)
    plan, memory = choice.join, choice.memory
    if plan is None or memory is None or most is None:
        return None
    rows = (totals.rows if totals.counted else 0.0 for totals in (plan.left, plan.right))
    own, other = (
        OriginSide(*each)
        for each in zip((left, right), (keys.left, keys.right), rows, (memory.left, memory.right), most, strict=True)
    )
    return Origin(own, other, on, how, plan.output)


def _draw(seen: PlanFacts, sampling: Sampling) -> Draw:
    origin = None if seen.simple else origin_of(seen.frame)
    found = None if origin is None else _draw_of_side(origin, sampling)
    return found or _sample(seen)


def _sample(seen: PlanFacts) -> Draw:
    return Draw(seen.source_rows, partial(sampled, seen.frame), simple=seen.simple)


def _draw_of_side(origin: Origin, sampling: Sampling) -> Draw | None:
    """Return the draw of a join's larger side, or of the other one; None where few rows of it may decide."""
    draws = [(side, _draw(PlanFacts(origin.side(side).frame), sampling)) for side in origin.divisible]
    rows = {side: origin.side(side).rows or drawn.rows or 0.0 for side, drawn in draws}
    for side, drawn in sorted(draws, key=lambda each: -rows[each[0]]):
        of_join = max(rows[side], origin.output)
        if auto_fraction(of_join, sampling.wanted) >= 1:
            continue
        met = drawn.met * origin.met_by(side)
        if met <= sampling.most_met:
            at = partial(_joined, origin, side, drawn, float(sampling.settings.broadcast_bytes))
            return Draw(of_join, at, simple=drawn.simple, before=True, met=met)
    return None


def _joined(origin: Origin, side: Side, drawn: Draw, most_bytes: float, fraction: float) -> DataFrame:
    own = origin.side(side)
    few = 0.0 < own.rows * own.width * fraction <= most_bytes
    # With adaptive execution off a broadcast that takes long fails.
    broadcast = few and not is_off(own.frame.sparkSession, _ADAPTIVE)
    return origin.joined(side, drawn.at(fraction), broadcast=broadcast)
