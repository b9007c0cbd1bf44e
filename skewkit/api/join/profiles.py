"""The profiles that the user gives a join, in the types that its keys are compared in."""

from __future__ import annotations

from skewkit.api.arguments import given_profile
from skewkit.api.join.request import JoinRequest
from skewkit.plan.join.kinds import KINDS
from skewkit.plan.join.pair import Pair
from skewkit.plan.profile.key_profile import KeyProfile
from skewkit.plan.profile.rehash import rehashed
from skewkit.spark.join.join_keys import JoinKeys
from skewkit.spark.session.compat import in_force
from skewkit.spark.session.remembered import known_profile

_ZONE = "spark.sql.session.timeZone"


def given_profiles(request: JoinRequest, keys: JoinKeys) -> Pair[KeyProfile | None]:
    """Return the profiles of both sides that need no job, None where there is none.

    Where the user gives none, they are what the operators knew that made the frames.

    Raises:
        ArgumentError: a profile and heavy keys are given, or a heavy key does not fit.
        ProfileError: a profile is of other key columns.
    """
    zone = in_force(request.frames.left.sparkSession, _ZONE)
    if not request.informed:
        return Pair(known_profile(request.frames.left, keys.left), known_profile(request.frames.right, keys.right))
    known = given_profile(request.profiles.left, request.heavy, keys.left, zone)
    other = given_profile(request.profiles.right, None, keys.right)
    return Pair(
        rehashed(known, keys.left.types, zone) if known else None,
        rehashed(other, keys.right.types, zone) if other else None,
    )


def left_out(given: Pair[KeyProfile | None], used: Pair[KeyProfile | None], *, null_safe: bool) -> tuple[str, ...]:
    """Return notes on the heavy keys of profiles that cannot be told in the types of the join."""
    notes = []
    for side, before in given.items():
        after = used.of(side)
        if before is None or after is None:
            continue
        had, has = (len(each.heavy) + null_safe * len(each.null_heavy) for each in (before, after))
        if has < had:
            types = f"{', '.join(before.types)} cast to {', '.join(after.types)}"
            notes.append(f"{had - has} of the {had} heavy keys of the {side} profile are not known as {types}")
    return tuple(notes)


def result_profile(request: JoinRequest, profiles: Pair[KeyProfile | None]) -> KeyProfile | None:
    """Return what is known of the keys of the joined frame: those of the side that it keeps, or None.

    A join by name has one column of each key. Of keys that are hot on the other side, too, nobody knows how often they
    come out, if not as pairs.
    """
    names = request.on if isinstance(request.on, list) else [request.on]
    if request.kind == "full" or not all(isinstance(name, str) for name in names):
        return None
    kept, other = (profiles.right, profiles.left) if request.kind == "right" else (profiles.left, profiles.right)
    if kept is None or kept.named:
        return None
    once = other is not None and all(heavy.low <= 1 for heavy in (*other.heavy, *other.null_heavy))
    return kept if once or not KINDS[request.kind].pairs else None
