"""Looks: whether the keys of frames can be had from a small sample in one job, and that job."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import Column

from skewkit.options import Settings
from skewkit.plan.profile import KeyProfile
from skewkit.spark.keys import Keys
from skewkit.spark.looking import Glance, Look, brings_values, look
from skewkit.spark.profiling import auto_fraction
from skewkit.spark.seen import Seen

_MOST = 200_000
"""Rows of a frame that a look brings to the driver: with 32 partitions, what each gets is known to some 1.3 %."""
_LEAST = 200
"""Rows per partition that a look must have; with more partitions than that a frame is profiled where it is."""


@dataclass(frozen=True)
class Looked:
    """A frame to look at, its keys, and which rows match nothing (None: no row)."""

    seen: Seen
    keys: Keys
    unmatched: Column | None = None


def look_at(frames: Sequence[Looked], partitions: int, settings: Settings) -> Look | None:
    """Return profiles of frames that are only read, or None where it takes a profile job."""
    wanted = min(_MOST, settings.sample_rows * partitions)
    rows = [each.seen.rows for each in frames]
    if wanted < _LEAST * partitions or None in rows or not all(each.seen.simple for each in frames):
        return None
    guesses = [float(r or 0) for r in rows]
    for _ in range(2):
        fractions = [auto_fraction(guess, wanted) for guess in guesses]
        glances = [Glance(f.seen.frame, f.keys, part, f.unmatched) for f, part in zip(frames, fractions, strict=True)]
        found = look(glances, partitions, wanted)
        if found is None:
            return None
        if not any(p.sampled and p.rows * p.fraction < wanted / 4 for p in found.profiles):
            return found
        # A filter left far fewer rows than the sources have.
        guesses = [p.rows for p in found.profiles]
    return None


def looked(seen: Seen, keys: Keys, partitions: int, settings: Settings) -> KeyProfile | None:
    """Return the profile of a frame by a look that has the values of all heavy keys, else None."""
    if not brings_values(keys):
        return None
    found = look_at([Looked(seen, keys)], partitions, settings)
    return found.profiles[0] if found is not None and found.named else None
