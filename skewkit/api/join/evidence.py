"""What a join is decided by: what the user asked for, and what is known of the keys of its sides."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from math import inf

from skewkit.api.arguments import measured
from skewkit.api.join.sides import Sides
from skewkit.options import Settings
from skewkit.plan.choice import cold_reason
from skewkit.plan.join.join_plan import join_plan
from skewkit.plan.join.kinds import SIDES, JoinRules, Side, opposite
from skewkit.plan.join.matrix import OUTPUT_COST
from skewkit.plan.profile.key_profile import KeyProfile, every_key_once
from skewkit.plan.profile.sample_bounds import most_rows, surely_unlisted
from skewkit.plan.profile.sampled_profile import bucket_count
from skewkit.spark.explained.plan_facts import PlanFacts
from skewkit.spark.expressions.keys import Keys
from skewkit.spark.join.join_keys import JoinKeys
from skewkit.spark.sampling.looks import Looked, look_at

TIMES_TOO_LOW = 4.0
"""The optimizer's guess of rows goes by compressed bytes and may be so many times too small."""
_GATHERED = (
    "the {} side is repartitioned by the key, so the rows of a hot key, if it has one, are in one task before they can "
    "be spread"
)
_LEAVE_OUT = "; leave this repartition out to have them spread"


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


@dataclass(frozen=True)
class Known:
    """What is known of the keys of both sides.

    `one_task` has, of a side that is only read, the largest share of a heavy key's rows that one task reads, by the
    key's hash. Where the heavy keys are not `named`, their hashes are right, and their values None.
    """

    left: KeyProfile
    right: KeyProfile | None
    one_task: Mapping[Side, Mapping[int, float]] = field(default_factory=dict)
    named: bool = True

    @property
    def profiles(self) -> tuple[KeyProfile, KeyProfile | None]:
        """Both profiles."""
        return self.left, self.right


def known_of(asked: Asked, sides: Sides) -> Known:
    """Return the profiles of both sides, measured where they were not given; the right one only if it is needed."""
    right = (sides.right, asked.keys.right)
    if asked.left is None:
        found = _looked(asked, sides)
        if found is not None and (found.named or _cold(asked, found)):
            return found
        keys = [(sides.left, asked.keys.left), right]
        both = measured(keys, asked.partitions, asked.settings, by_partition=found is None)
        seen = {side: each.one_task for side, each in zip(SIDES, both, strict=True)}
        return Known(both[0].profile, both[1].profile, seen if found is None else found.one_task)
    if asked.right is None and asked.strategy == "broadcast_head":
        return Known(asked.left, measured([right], asked.partitions, asked.settings)[0].profile)
    return Known(asked.left, asked.right)


def _looked(asked: Asked, sides: Sides, unread: Collection[Side] = ()) -> Known | None:
    """Return what a look at the sides that are only read finds; None where it takes a profile job.

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
    looked_at = [each for each, unique in zip(sides.named, once, strict=True) if not unique]
    left, right = (
        every_key_once(own.names, own.types, TIMES_TOO_LOW * (each.rows or 0), buckets=bucket_count(n))
        if unique
        else next(profiles)
        for each, own, unique in zip(seen, keys, once, strict=True)
    )
    # A sample that is drawn before a join has other tasks than the join.
    one_task = {side: each for (side, seen), each in zip(looked_at, found.one_task, strict=True) if seen.simple}
    return Known(left, right, one_task, found.named)


def _once(seen: PlanFacts, keys: Keys) -> bool:
    return not seen.simple and seen.unique_by(keys.bare)


def _cold(asked: Asked, known: Known) -> bool:
    """Whether plain Spark is right anyway, so that the names of the heavy keys are of no interest."""
    plan = join_plan(*known.profiles, asked.partitions, asked.rules, null_safe=asked.keys.null_safe)
    larger = max((p for p in known.profiles if p is not None), key=lambda profile: profile.rows)
    return asked.auto and cold_reason(plan.keys, larger, asked.settings, plan.work) is not None


def gathered_sides(asked: Asked, sides: Sides) -> dict[Side, str]:
    """Return the sides that the user repartitioned by the key, and why their hot rows cannot be spread any more."""
    pairs = zip(sides.named, (asked.keys.left, asked.keys.right), strict=True)
    return {
        side: _GATHERED.format(side) + (_LEAVE_OUT if asked.rules.copies(opposite(side)) != "never" else "")
        for (side, seen), own in pairs
        if seen.pre_partitioned(own.bare)
    }


@dataclass(frozen=True)
class Unread:
    """A side that need not run to be left as it is, and why; and how many rows a key has at most on either side."""

    side: Side
    reason: str
    most_rows: tuple[float, float]


def gathered_unread(asked: Asked, sides: Sides) -> Unread | None:
    """Return the side that is repartitioned by the key, where nothing could be spread; it need not run then.

    A look at the other side shows whether it has hot keys of its own, or surely many rows of a key, so that what comes
    out of the join may be skewed, too. Where both sides are repartitioned, nobody knows.
    """
    gathered = gathered_sides(asked, sides) if asked.auto and asked.left is None else {}
    if len(gathered) != 1:
        return None
    ((side, reason),) = gathered.items()
    other = sides.right, asked.keys.right
    if side == "right":
        other = sides.left, asked.keys.left
    most = 1.0
    if not _once(*other):
        looked = _looked(asked, sides, unread=gathered)
        if looked is None or not _cold(asked, looked):
            return None
        surely = max(_surely(asked, each) for each in looked.profiles if each is not None)
        if asked.rules.how not in ("semi", "anti") and OUTPUT_COST * surely > 1:
            return None
        most = max(most_rows(each) for each in looked.profiles if each is not None)
    return Unread(side, reason, (inf, most) if side == "left" else (most, inf))


def _surely(asked: Asked, profile: KeyProfile) -> float:
    """Return how many rows some key surely has that may match."""
    heavy = (*profile.heavy, *(profile.null_heavy if any(asked.keys.null_safe) else ()))
    return max((h.low for h in heavy), default=surely_unlisted(profile))
