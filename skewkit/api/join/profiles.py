"""The profiles that the user gives a join, in the types that its keys are compared in."""

from __future__ import annotations

from dataclasses import replace
from numbers import Number

from skewkit.api.arguments import given_profile
from skewkit.api.join.request import JoinRequest
from skewkit.plan.join.kinds import KINDS
from skewkit.plan.join.pair import Pair, opposite
from skewkit.plan.profile.heavy_key import HeavyKey, key_text
from skewkit.plan.profile.key_profile import KeyProfile
from skewkit.plan.profile.rehash import rehashed
from skewkit.plan.profile.values import BITS_OF, is_value_of
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
    if known is not None and request.heavy is not None:
        known, unmatched = _that_match(known, keys, request.kind)
        return Pair(known, None), unmatched
    other = given_profile(request.profiles.right, None, keys.right)
    found = Pair(
        rehashed(known, keys.left.types, zone) if known else None,
        rehashed(other, keys.right.types, zone) if other else None,
    )
    return found, _left_out(request.profiles, found, null_safe=any(keys.null_safe))


def _that_match(named: KeyProfile, keys: JoinKeys, kind: str) -> tuple[KeyProfile, tuple[str, ...]]:
    """Return the profile without the named keys that a side's own type has no room for, and notes on these.

    They match nothing. Where the join returns the other side's rows all the same, they stay.
    """
    notes = dict[HeavyKey, str]()
    for side, own in Pair(keys.left, keys.right).items():
        types = own.given or own.types
        exact = [type_ if compared in BITS_OF else compared for type_, compared in zip(types, own.types, strict=True)]
        if opposite(side) in KINDS[kind].returns_unmatched:
            continue
        for heavy in named.heavy:
            if not all(map(_may_have, heavy.key, exact)):
                said = f"{key_text(heavy.key)} is no value of the {side} key, which is {', '.join(types)}"
                notes[heavy] = f"{said}: it matches nothing, and is not spread"
    return replace(named, heavy=tuple(h for h in named.heavy if h not in notes)), tuple(notes.values())


def _may_have(value: object, type_: str) -> bool:
    """Return whether a column of a type may have a value that it is compared with: whole numbers alone are told."""
    return type_ not in BITS_OF or not isinstance(value, Number) or is_value_of(value, type_)


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
