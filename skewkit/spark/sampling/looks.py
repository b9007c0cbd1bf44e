"""Looks: whether the keys of frames can be had from a small sample in one job, and that job."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import Column

from skewkit.options import Settings
from skewkit.plan.profile.key_profile import KeyProfile
from skewkit.spark.explained.plan_facts import PlanFacts
from skewkit.spark.expressions.keys import Keys
from skewkit.spark.sampling.key_sample import Glance, Look, brings_values, look
from skewkit.spark.sampling.profiling import auto_fraction, sampled

_MOST = 200_000
"""Rows of a frame that a look brings to the driver: with 32 partitions, what each gets is known to some 1.3 %."""
_LEAST = 200
"""Rows per partition that a look must have; with more partitions than that a frame is profiled where it is."""


@dataclass(frozen=True)
class Looked:
    """A frame to look at, its keys, and which rows match nothing (None: no row)."""

    seen: PlanFacts
    keys: Keys
    unmatched: Column | None = None

    @property
    def columns(self) -> list[Column]:
        """All that is asked of the frame."""
        return [*self.keys.columns, *([] if self.unmatched is None else [self.unmatched])]


def look_at(frames: Sequence[Looked], partitions: int, settings: Settings) -> Look | None:
    """Return profiles of frames that are only read; None: it takes a profile job."""
    wanted = min(_MOST, settings.sample_rows * partitions)
    if wanted < _LEAST * partitions:
        return None
    if any(not each.seen.simple or each.seen.source_rows is None for each in frames):
        return None
    guesses: list[float | None] = [each.seen.source_rows for each in frames]
    for _ in range(2):
        glances = [
            Glance(sampled(each.seen.frame, part := auto_fraction(guess, wanted)), each.keys, part, each.unmatched)
            for each, guess in zip(frames, guesses, strict=True)
        ]
        found = look(glances, partitions, wanted)
        if found is None:
            return None
        if not any(p.sampled and p.rows * p.fraction < wanted / 4 for p in found.profiles):
            return found
        # A filter left far fewer rows than the sources have.
        guesses = [p.rows for p in found.profiles]
    return None


def looked(seen: PlanFacts, keys: Keys, partitions: int, settings: Settings) -> KeyProfile | None:
    """Return the profile of a frame by a look that has the values of all heavy keys, else None."""
    if not brings_values(keys):
        return None
    found = look_at([Looked(seen, keys)], partitions, settings)
    return found.profiles[0] if found is not None and found.named else None
