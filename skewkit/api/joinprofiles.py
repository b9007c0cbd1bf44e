"""What a join is decided by: what the user asked for, and profiles of its sides, each question once."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from skewkit.api.common import measured
from skewkit.api.joinsides import Sides
from skewkit.api.looks import Looked, look_at
from skewkit.options import Settings
from skewkit.plan.choice import cold_reason
from skewkit.plan.grid import OUTPUT_COST
from skewkit.plan.joinplan import join_plan
from skewkit.plan.joinrules import JoinRules, Side
from skewkit.plan.profile import KeyProfile, every_key_once
from skewkit.spark.joinsides import JoinKeys
from skewkit.spark.keys import Keys
from skewkit.spark.profiling import bucket_count, most_rows
from skewkit.spark.seen import Seen

LOW = 4.0
"""The optimizer's guess of rows goes by compressed bytes and may be so many times too small."""
_GATHERED = (
    "the {} side is repartitioned by the key, so a hot key's rows are in one task before they can be spread; "
    "leave this repartition out to have them spread"
)


@dataclass(frozen=True)
class Asked:
    """What the user asked for: the strategy, the keys, and the profiles that were given, if any."""

    title: str
    strategy: str
    keys: JoinKeys
    rules: JoinRules
    partitions: int
    settings: Settings
    left: KeyProfile | None
    right: KeyProfile | None
    notes: tuple[str, ...] = ()

    @property
    def auto(self) -> bool:
        """Whether skewkit is to decide."""
        return self.strategy == "auto"


def profiles_of(asked: Asked, sides: Sides) -> tuple[KeyProfile, KeyProfile | None]:
    """Return the profiles of both sides, measured where they were not given; the right one only if it is needed."""
    right = (sides.right, asked.keys.right)
    if asked.left is None:
        found = _looked(asked, sides)
        if found is not None:
            return found
        both = measured([(sides.left, asked.keys.left), right], asked.partitions, asked.settings)
        return both[0].profile, both[1].profile
    if asked.right is None and asked.strategy == "broadcast_head":
        return asked.left, measured([right], asked.partitions, asked.settings)[0].profile
    return asked.left, asked.right


def _looked(asked: Asked, sides: Sides, unread: Collection[Side] = ()) -> tuple[KeyProfile, KeyProfile] | None:
    """Return profiles from a look at the sides that are only read; None where it takes a profile job.

    Sides that are `unread`, or grouped by the keys, are taken to have each key once and not read at all.
    """
    n = asked.partitions
    keys = (asked.keys.left, asked.keys.right)
    seen = [each for _, each in sides.named]
    once = [side in unread or _once(each, own) for (side, each), own in zip(sides.named, keys, strict=True)]
    if all(once) or any(each.rows is None for each in seen):
        return None
    read = [
        Looked(each, own, asked.keys.unmatched(own))
        for each, own, unique in zip(seen, keys, once, strict=True)
        if not unique
    ]
    found = look_at(read, n, asked.settings)
    if found is None:
        return None
    profiles = iter(found.profiles)
    left, right = (
        every_key_once(own.names, own.types, LOW * (each.rows or 0), buckets=bucket_count(n))
        if unique
        else next(profiles)
        for each, own, unique in zip(seen, keys, once, strict=True)
    )
    return (left, right) if found.named or _cold(asked, left, right) else None


def _once(seen: Seen, keys: Keys) -> bool:
    return not seen.simple and seen.once(keys.bare)


def _cold(asked: Asked, left: KeyProfile, right: KeyProfile) -> bool:
    """Whether plain Spark is right anyway, so that the names of the heavy keys are of no interest."""
    plan = join_plan(left, right, asked.partitions, asked.rules, null_safe=asked.keys.null_safe)
    larger = max((left, right), key=lambda profile: profile.rows)
    return asked.auto and cold_reason(plan.keys, larger, asked.settings, plan.work) is not None


def gathered_sides(asked: Asked, sides: Sides) -> dict[Side, str]:
    """Return the sides that the user repartitioned by the key, and why their hot rows cannot be spread any more."""
    pairs = zip(sides.named, (asked.keys.left, asked.keys.right), strict=True)
    return {side: _GATHERED.format(side) for (side, seen), own in pairs if seen.gathered(own.bare)}


def gathered_unread(asked: Asked, sides: Sides) -> dict[Side, str]:
    """Return the side that is repartitioned by the key, where nothing could be spread; it need not run then.

    A look at the other side shows whether it has hot keys of its own, or many rows of a key, so that what comes out of
    the join may be skewed, too. Where both sides are repartitioned, nobody knows.
    """
    if not asked.auto or asked.left is not None:
        return {}
    gathered = gathered_sides(asked, sides)
    if len(gathered) != 1:
        return {}
    found = {side: f"{reason} (to profile it would run it twice)" for side, reason in gathered.items()}
    other = "right" if "left" in gathered else "left"
    if _once(getattr(sides, other), getattr(asked.keys, other)):
        return found
    looked = _looked(asked, sides, unread=gathered)
    if looked is None or not _cold(asked, *looked):
        return {}
    return found if few_pairs(asked, [looked[other == "right"]]) else {}


def few_pairs(asked: Asked, profiles: Sequence[KeyProfile | None]) -> bool:
    """Return whether what a row of a hot key meets in the join is less work than the row itself.

    Otherwise what comes out of the join can be spread, though what comes in is in one task. A hot key's row meets the
    other side's, of which there are not more than of its own side.
    """
    met = min((most_rows(profile) for profile in profiles if profile is not None), default=1.0)
    return asked.rules.how in ("semi", "anti") or met * OUTPUT_COST <= 1
