"""What is known of the keys of both sides of a join: given by the user, or asked in one query."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from skewkit.api.join.request import JoinRequest
from skewkit.api.join.sides import JoinSide
from skewkit.plan.join.kinds import KINDS
from skewkit.plan.join.pair import Pair
from skewkit.plan.profile.key_profile import KeyProfile
from skewkit.plan.profile.sampled_profile import bucket_count
from skewkit.plan.profile.unread_profiles import every_key_once
from skewkit.spark.explained.plan_facts import TIMES_TOO_LOW
from skewkit.spark.join.join_keys import JoinKeys
from skewkit.spark.sampling.ask import Question, ask

_FINER = 8
"""A key with an eighth of a heavy key's share on both sides may return more rows than all others together."""


@dataclass(frozen=True)
class Evidence:
    """The profiles of both sides, None of one that nobody needs.

    `one_task` has the largest share of a heavy key's rows that one task reads, by the key's hash. `asked` says whether
    a query was run for it.
    """

    profiles: Pair[KeyProfile | None]
    one_task: Pair[Mapping[int, float]]
    asked: bool
    notes: tuple[str, ...] = ()

    @property
    def main(self) -> KeyProfile:
        """The profile that heavy keys are named by: the left one."""
        if self.profiles.left is None:
            raise ValueError("a join has a left profile")
        return self.profiles.left


def evidence_of(request: JoinRequest, sides: Pair[JoinSide], keys: JoinKeys) -> Evidence:
    """Return what is known of both sides' keys. Without a profile one query asks both at once.

    With a left profile alone the right side is asked only for `broadcast_head`, which must know what it broadcasts.
    """
    given = sides.map(lambda side: side.given)
    if not request.informed:
        wanted = unknown_sides(sides)
    elif given.right is None and request.strategy == "broadcast_head":
        wanted = [sides.right]
    else:
        wanted = []
    if request.informed and not wanted:
        return Evidence(given, Pair({}, {}), asked=False)
    finer = _FINER if KINDS[request.kind].pairs and len(wanted) > 1 else 1
    questions = [Question(side.facts, side.keys, keys.unmatched(side.keys), finer=finer) for side in wanted]
    why = f"skew_join on {', '.join(sides.left.keys.names)}"
    found = ask(questions, request.partitions, request.settings, why=why) if wanted else []
    answers = {side.side: answer for side, answer in zip(wanted, found, strict=True)}

    def profile(side: JoinSide) -> KeyProfile | None:
        if side.side in answers:
            return answers[side.side].profile
        return side.given if request.informed or side.given is not None else _once(side, request.partitions)

    one_task = sides.map(lambda side: answers[side.side].one_task if side.side in answers else {})
    notes = tuple(note for answer in found for note in answer.notes)
    return Evidence(sides.map(profile), one_task, asked=bool(wanted), notes=notes)


def unknown_sides(sides: Pair[JoinSide]) -> list[JoinSide]:
    """Return the sides whose keys a query is to read, where the user has given nothing.

    A side that is grouped by the keys has each once and is not read, but where both sides are so.
    """
    if all(side.unique for side in sides):
        return list(sides)
    return [side for side in sides if side.given is None and not side.unique]


def _once(side: JoinSide, partitions: int) -> KeyProfile:
    rows = TIMES_TOO_LOW * (side.facts.source_rows or 0)
    return every_key_once(side.keys.names, side.keys.types, rows, buckets=bucket_count(partitions))
