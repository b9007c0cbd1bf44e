"""How a join is decided: what was asked, both sides, the evidence and the plan, each worked out once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from skewkit.api.arguments import coalesced_partitions, stale_note
from skewkit.api.join.evidence import Evidence, evidence_of, unknown_sides
from skewkit.api.join.most_work import MostWork
from skewkit.api.join.request import JoinRequest
from skewkit.api.join.sides import JoinSide
from skewkit.plan.choice import native_reason
from skewkit.plan.costs import QUERY, Stage, Terms
from skewkit.plan.join.adaptive import OneTask, adaptive_note, threshold_of, unshuffled
from skewkit.plan.join.join_plan import JoinPlan, join_plan
from skewkit.plan.join.kinds import KINDS, JoinRules
from skewkit.plan.join.pair import SIDES, Pair, Side, opposite
from skewkit.plan.join.prices import joined_work, native_stages
from skewkit.plan.profile.heavy_key import key_text
from skewkit.plan.profile.key_profile import KeyProfile
from skewkit.spark.explained.plan_facts import PlanFacts
from skewkit.spark.join.join_keys import JoinKeys
from skewkit.spark.routing.salting import Salting
from skewkit.spark.session.compat import conf_reader, is_off
from skewkit.spark.session.slots import terms_of

_SURELY = 10
"""A guess of rows is right within a factor of ten or so (`guess_rows`), so less does not say which side is larger."""
_ADAPTIVE = ("spark.sql.adaptive.enabled", "spark.sql.adaptive.skewJoin.enabled")


@dataclass(frozen=True, eq=False)
class JoinDecision:
    """One join to be decided: the request, the keys in their common types, both sides, and what follows."""

    request: JoinRequest
    keys: JoinKeys
    sides: Pair[JoinSide]
    lost: tuple[str, ...] = ()
    """Notes on heavy keys of given profiles that are not known in the types of the join."""

    @cached_property
    def terms(self) -> Terms:
        """What the decision weighs: slots, margin, memory."""
        return terms_of(self.request.native.sparkSession, self.request.settings, self.request.partitions)

    @cached_property
    def native_facts(self) -> PlanFacts:
        """Plain Spark's join as EXPLAIN shows it: its sources are those of both sides."""
        return PlanFacts(self.request.native)

    @property
    def physical(self) -> str:
        """The plan that plain Spark would run."""
        return self.native_facts.physical

    @cached_property
    def rules(self) -> JoinRules:
        """What may be copied. The optimizer is asked about the sides only where the rules depend on it."""
        kind, residual = self.request.kind, self.keys.residual is not None
        if kind == "inner" or residual:
            return JoinRules(kind, residual)
        pairs = JoinRules(kind).kind.pairs
        # A semi or anti join reads nothing but the keys of its right side in any case.
        unsafe = self.sides.map(lambda side: side.unsafe_to_look_up if pairs else side.unsafe)
        return JoinRules(kind, residual, tuple(side for side, why in unsafe.items() if why is None))

    @cached_property
    def partitions(self) -> int:
        """The number of partitions of a plan."""
        if self.request.fixed or not self.request.auto:
            return self.request.partitions
        return coalesced_partitions(self.request.partitions, [side.facts for side in self.sides])

    @cached_property
    def asking(self) -> float:
        """Expected seconds of the key sample of the sides that have no profile."""
        each = [
            self.terms.asking(side.most_rows, side.facts.shuffles_for_sample) - QUERY
            for side in unknown_sides(self.sides)
        ]
        return QUERY + sum(each) if each else 0.0  # it is one query

    def is_unknown(self, side: JoinSide) -> bool:
        """Return whether nobody knows how many rows a side has, or how many a sample of it would compute."""
        if side.given is not None:
            return False
        return side.facts.source_rows is None or (side.facts.rows is None and side in unknown_sides(self.sides))

    @cached_property
    def most_work(self) -> MostWork:
        """The most work that plain Spark's plan may have, before any key was read."""
        return MostWork(self.request, self.sides, self.native_facts, self.terms)

    @cached_property
    def unnamed(self) -> JoinDecision:
        """This join without the keys that the user names: a query says which are hot."""
        sides = self.sides.map(lambda side: replace(side, given=None))
        return JoinDecision(replace(self.request, heavy=None), self.keys, sides, self.lost)

    @cached_property
    def evidence(self) -> Evidence:
        """What is known of the keys; it may take one query."""
        return evidence_of(self.request, self.sides, self.keys)

    @cached_property
    def weighed(self) -> JoinDecision | None:
        """This join by what a query says of the keys that the user names, or None.

        A sample that does not find every named key to be hot says nothing: the user may know better.
        """
        found = self._sampled
        return None if found is None or self.doubted or not found.plan.keys.is_more_balanced else found

    @cached_property
    def doubted(self) -> tuple[str, ...]:
        """The named keys that a query, where one is asked, does not find to be hot."""
        if self._sampled is None:
            return ()
        hot = {heavy.hash for heavy in self._sampled.plan.keys.heavy}
        return tuple(key_text(heavy.key) for heavy in self.plan.keys.heavy if heavy.hash not in hot)

    @cached_property
    def _sampled(self) -> JoinDecision | None:
        """This join with a query in place of the named keys, where the shuffle of `salt` takes `ODDS` times as long."""
        if any(side.facts.rows is None for side in self.sides):
            return None
        shuffle = [Stage(joined_work(self.sides.map(lambda side: side.most_rows), self.widths, 0.0))]
        return self.unnamed if self.terms.worth_weighing(shuffle, self.unnamed.asking) else None

    @property
    def deciding(self) -> float:
        """Seconds that the evidence is expected to take; none where the user gave it."""
        return 0.0 if self.request.informed else self.asking

    @cached_property
    def plan(self) -> JoinPlan:
        """Where the rows of both sides go."""
        profiles, named = self.evidence.profiles, self.evidence.main.named
        return join_plan(
            self.evidence.main,
            profiles.right,
            self.partitions,
            self.rules,
            null_safe=self.keys.null_safe,
            scheme="w_choices" if named else "wrap",
            hot=self._larger if named else None,
            dated=self.request.informed,
        )

    @cached_property
    def widths(self) -> Pair[float]:
        """Bytes of a row of each side, as its types suggest."""
        return self.sides.map(lambda side: side.width)

    @cached_property
    def memory(self) -> Pair[float]:
        """Bytes that a row of each side may take in memory."""
        profiles = self.evidence.profiles
        return Pair(self.sides.left.memory(profiles.left), self.sides.right.memory(profiles.right))

    @cached_property
    def unshuffled(self) -> tuple[Side, ...]:
        """The sides that plain Spark does not shuffle for the join."""
        return unshuffled(self.physical)

    @cached_property
    def native_stages(self) -> list[Stage]:
        """Plain Spark's stages, by the keys that are known."""
        return native_stages(self.plan, self.widths, self.unshuffled)

    @cached_property
    def hashed(self) -> bool:
        """Whether a shuffled hash join is faster than sorting, and its build side small enough: it cannot spill.

        In a full join Spark also has to remember which rows of a hash table were met, and takes no map of single ints.
        """
        rows, build, settings = self.plan.build_rows, self.plan.build, self.request.settings
        if self.rules.how == "full" or rows is None:
            return False
        side = self.sides.of(build)
        times = side.times_profile()
        # A profile of a part of the rows makes rows look wider, so these bytes are spread over all.
        width = max(side.width, (self.memory.of(build) - side.unmeasured) / times) + side.unmeasured
        return rows * times <= settings.hash_join_rows and rows * times * width <= settings.hash_join_bytes

    @property
    def hot_sides(self) -> tuple[Side, ...]:
        """The sides on which keys are hot."""
        return tuple(s for s in SIDES if any(m.rows.of(s) >= m.rows.of(opposite(s)) for m in self.plan.matrices))

    @property
    def _larger(self) -> Side | None:
        """The side that surely holds more rows, as far as the optimizer knows. Named keys are hot there."""
        rows = self.sides.map(lambda side: 1 if side.unique else side.facts.source_rows)
        left, right = rows
        if left is None or right is None or left == right:
            return None
        counted = all(side.facts.source_rows_counted for side in self.sides)
        if not counted and max(left, right) < _SURELY * min(left, right):
            return None
        return "left" if left > right else "right"

    @property
    def may_have_null_keys(self) -> bool:
        """Whether rows that the join returns may match nothing because of a null in their key."""
        returned = KINDS[self.rules.how].returns_unmatched
        return any(self.sides.of(side).may_have_null_keys(self.keys.null_safe) for side in returned)

    def closed_reason(self) -> str | None:
        """Return why no hot key of this join can be split on any side, or None.

        Where a residual condition keeps every hot key whole, `auto` may still spread null keys.
        """
        if not self.rules.closed:
            return None
        if self.rules.residual:
            safe = all(side.unsafe is None for side in self.sides)
            if self.may_have_null_keys and safe and self.request.auto and self.request.heavy is None:
                return None
            return f"a {self.rules.how} join keeps both sides' rows, and the condition is more than an equality of keys"
        unsafe = [f"the {side.side} side {side.unsafe_to_look_up}" for side in self.sides if side.unsafe_to_look_up]
        return (
            f"a {self.rules.how} join keeps both sides' rows, so hot keys have to be looked up on the other side, "
            f"and {' and '.join(unsafe)}: cache() it to have them treated"
        )

    def kept_whole(self) -> tuple[str, ...]:
        """Return which sides with hot keys have these left whole by a plan that shuffles both sides, and why."""
        more = [s for s in SIDES if any(m.rows.of(s) > m.rows.of(opposite(s)) for m in self.plan.matrices)]
        notes = []
        for side in more:
            if self.rules.copies(opposite(side)) != "never":
                continue
            why = f"it {self.sides.of(side).unsafe_to_look_up}: cache() it to have them spread"
            if self.rules.residual:
                why = (
                    f"a {self.rules.how} join keeps the {opposite(side)} side's rows, and the condition is more than "
                    "an equality of keys"
                )
            notes.append(f"the {side} side's hot keys stay whole: {why}")
        return tuple(notes)

    def kept_together(self) -> tuple[str, ...]:
        """Return notes on sides whose rows of a hot key have nothing by which they could be told apart."""
        cut = [s for s in SIDES if any(matrix.shape.of(s) > 1 for matrix in self.plan.matrices)]
        return tuple(
            f"nothing that comes out the same again tells the {side} side's rows of a hot key apart, so those of one "
            "input partition stay together: cache() it, or store it if it comes out of a shuffle, to have them spread"
            for side in cut
            if not Salting.of(self.sides.of(side).facts, self.sides.of(side).keys.names).tells_rows
        )

    def pre_partitioned_reason(self) -> str | None:
        """Return why hot rows cannot be spread, as the user repartitioned their side by the key, or None."""
        hot = self.hot_sides
        if self.evidence.main.named:  # nobody knows where they are hot, but the plan says where they are split
            hot = tuple(s for s in SIDES if any(matrix.shape.of(s) > 1 for matrix in self.plan.matrices))
        side = next((side for side in hot if self.sides.of(side).pre_partitioned), None)
        if side is None:
            return None
        return (
            f"the {side} side is repartitioned by the key, so the rows of a hot key are in one task before they can be "
            "spread; leave this repartition out to have them spread"
        )

    def adaptive(self) -> str:
        """Return the note on what adaptive execution would do."""
        spark = self.request.native.sparkSession
        threshold = threshold_of(conf_reader(spark)("spark.sql.adaptive.skewJoin.skewedPartitionThresholdInBytes"))
        enabled = not any(is_off(spark, name) for name in _ADAPTIVE)
        return adaptive_note(
            self.rules.how,
            self.hot_sides,
            self.physical,
            self._most_bytes,
            enabled=enabled,
            threshold=threshold,
            one_task=self._one_task,
        )

    def notes(self) -> tuple[str, ...]:
        """Return the notes of every strategy."""
        evidence = self.evidence
        return (*self.lost, self.adaptive(), *evidence.notes, *stale_note(evidence.main, self.partitions))

    @property
    def shown(self) -> Pair[KeyProfile | None]:
        """The profiles to show. A sample may know heavy keys by their hashes only; then there are none."""
        profiles = self.evidence.profiles.map(lambda profile: None if profile is None else profile.only_heavy())
        nameless = any(None in h.key for profile in profiles if profile is not None for h in profile.heavy)
        return Pair(None, None) if nameless else profiles

    def native_reason(self) -> str:
        """Return how long plain Spark's longest task is."""
        return native_reason(self.plan.keys)

    @property
    def _most_bytes(self) -> float:
        """The bytes of the hottest key's rows on either side. 0 where the user has named the keys."""
        if self.evidence.main.named:
            return 0.0
        rows = (max((m.rows.of(s) for m in self.plan.matrices), default=0.0) * self.widths.of(s) for s in SIDES)
        return max(rows)

    @property
    def _one_task(self) -> OneTask | None:
        """How many of the hottest key's rows come from one task, on its larger side, or None where nobody knows.

        What other keys have in one task is no reason for adaptive execution not to cut this one.
        """
        pairs = [
            (heavy, matrix, side)
            for heavy, matrix in zip(self.plan.keys.heavy, self.plan.matrices, strict=True)
            for side in self.hot_sides
        ]
        if not pairs:
            return None
        heavy, _, side = max(pairs, key=lambda each: each[1].rows.of(each[2]))
        share = self.evidence.one_task.of(side).get(heavy.hash)
        return None if share is None else OneTask(side, _name(heavy.key), share)


def _name(key: tuple[Any, ...]) -> str:
    return "its hottest key" if None in key else key_text(key)
