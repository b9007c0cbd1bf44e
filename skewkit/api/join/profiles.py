"""The profiles that the user gives a join, in the types that its keys are compared in."""

from __future__ import annotations

from skewkit.api.arguments import given_profile
from skewkit.api.join.request import JoinRequest
from skewkit.plan.join.pair import Pair
from skewkit.plan.profile.key_profile import KeyProfile
from skewkit.plan.profile.rehash import rehashed
from skewkit.spark.join.join_keys import JoinKeys
from skewkit.spark.session.compat import in_force

_ZONE = "spark.sql.session.timeZone"


def given_profiles(request: JoinRequest, keys: JoinKeys) -> tuple[Pair[KeyProfile | None], tuple[str, ...]]:
    """Return the profiles of both sides that need no job, None where there is none, and notes on what they lost.

    Raises:
        ArgumentError: a profile and heavy keys are given, or a heavy key does not fit.
        ProfileError: a profile is of other key columns.
    """
    zone = in_force(request.frames.left.sparkSession, _ZONE)
    known = given_profile(request.profiles.left, request.heavy, keys.left, zone)
    other = given_profile(request.profiles.right, None, keys.right)
    found = Pair(
        rehashed(known, keys.left.types, zone) if known else None,
        rehashed(other, keys.right.types, zone) if other else None,
    )
    return found, _left_out(request.profiles, found, null_safe=any(keys.null_safe))


def _left_out(given: Pair[KeyProfile | None], used: Pair[KeyProfile | None], *, null_safe: bool) -> tuple[str, ...]:
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
