"""What a join may do with its sides: read them again, copy their rows, broadcast some of them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property

from skewkit.errors import UnsupportedError
from skewkit.plan.join.kinds import SIDES, JoinRules, Side, opposite
from skewkit.plan.join.price import Widths
from skewkit.plan.profile.key_profile import KeyProfile
from skewkit.spark.explained.plan_facts import COMPUTED, PlanFacts
from skewkit.spark.explained.row_counts import has_fixed_width, row_bytes
from skewkit.spark.join.join_keys import JoinKeys
from skewkit.spark.session.compat import is_connect


@dataclass(frozen=True)
class Sides:
    """Both frames of a join, as the optimizer sees them.

    Nobody sees what makes an RDD, what a database answers, or whether malformed texts are dropped: frames of these are
    read twice only if they are `trusted`, as by who asks for a strategy.
    """

    left: PlanFacts
    right: PlanFacts
    keys: JoinKeys
    trusted: bool = False

    @property
    def named(self) -> tuple[tuple[Side, PlanFacts], tuple[Side, PlanFacts]]:
        """Both sides with their names."""
        return ("left", self.left), ("right", self.right)

    @cached_property
    def unsafe(self) -> dict[Side, str]:
        """The sides whose keys may have other values when they are read again, and why."""
        found = {
            side: seen.stability(own.columns, trust_sources=self.trusted).reason
            for (side, seen), own in zip(self.named, (self.keys.left, self.keys.right), strict=True)
        }
        return {side: reason for side, reason in found.items() if reason is not None}

    def _unsafe_to_look_up(self, how: str) -> dict[Side, str]:
        """Return the sides whose keys, read alone, may be others, and why.

        A semi or anti join reads nothing but the keys of its right side in any case.
        """
        if self.trusted or how in ("semi", "anti"):
            return self.unsafe
        return {
            side: seen.rows_depend_on_columns for side, seen in self.named if seen.rows_depend_on_columns is not None
        } | self.unsafe

    def rules(self, how: str, *, residual: bool) -> JoinRules:
        """Return the rules of the join; the optimizer is asked about the sides only where the rules depend on it."""
        if how == "inner" or residual:
            return JoinRules(how, residual)
        unsafe = self._unsafe_to_look_up(how)
        return JoinRules(how, residual, tuple(side for side in SIDES if side not in unsafe))

    def kept_whole(self, rules: JoinRules, hot: Collection[Side]) -> list[str]:
        """Return which of the sides with `hot` keys have these left whole, and why."""
        whole = [side for side in SIDES if side in hot and rules.copies(opposite(side)) == "never"]
        if rules.residual:
            return [
                f"the {side} side's hot keys stay whole: a {rules.how} join keeps the {opposite(side)} side's rows, "
                "and the condition is more than an equality of keys"
                for side in whole
            ]
        unsafe = self._unsafe_to_look_up(rules.how) if whole else {}
        return [
            f"the {side} side's hot keys stay whole: it {unsafe[side]}: cache() it to have them spread"
            for side in whole
        ]

    @property
    def may_be_free(self) -> bool:
        """Whether there may be rows that match nothing because of a null."""
        pairs = zip(self.named, (self.keys.left, self.keys.right), strict=True)
        fields = [
            zip(seen.frame.select(*own.columns).schema, self.keys.null_safe, strict=True) for (_, seen), own in pairs
        ]
        return any(field.nullable and not safe for side in fields for field, safe in side)

    def closed_reason(self, how: str, *, residual: bool) -> str:
        """Return why no hot key of this join can be split."""
        if residual:
            return f"a {how} join keeps both sides' rows, and the condition is more than an equality of keys"
        unsafe = [f"the {side} side {reason}" for side, reason in self._unsafe_to_look_up(how).items()]
        return (
            f"a {how} join keeps both sides' rows, so hot keys have to be looked up on the other side, "
            f"and {' and '.join(unsafe)}: cache() it to have them treated"
        )

    @cached_property
    def widths(self) -> Widths:
        """Bytes of a row of each side, as its types suggest."""
        return Widths(*(row_bytes(seen.frame.schema) for _, seen in self.named))

    @cached_property
    def unmeasured(self) -> Widths:
        """Bytes more that a row of each side may take, because texts, arrays or the like in it are computed."""
        sides = (seen for _, seen in self.named)
        return Widths(*(COMPUTED * seen.computed_widths for seen in sides))

    def memory(self, left: KeyProfile | None, right: KeyProfile | None) -> Widths:
        """Return the bytes that a row of each side may take: more than its types suggest where it is larger files."""
        pairs = zip(self.named, (left, right), strict=True)
        times = (self.widths.of(side) * _times_larger(seen, profile) for (side, seen), profile in pairs)
        return Widths(*(width + self.unmeasured.of(side) for width, side in zip(times, SIDES, strict=True)))

    @cached_property
    def costly(self) -> dict[Side, float]:
        """The sides that cost about as much to read again as the first time, with the joins that this is worth."""
        return {side: max(1.0, seen.shuffles / 2) for side, seen in self.named if _against_again(seen)}

    @cached_property
    def no_broadcast(self) -> str | None:
        """Why the sides should not be read twice for a broadcast of hot rows, or None."""
        if is_connect(self.left.frame):
            return "on Connect the union of the two branches would hide the frames' columns from left['x'] and the like"
        costly = [f"the {side} side {_against_again(seen)}" for side, seen in self.named if side in self.costly]
        varying = [f"the {side} side {reason}" for side, reason in self.unsafe.items()]
        return next(iter((*costly, *varying)), None)

    def check_broadcast(self, how: str) -> None:
        """Refuse a broadcast that cannot be, or that reads a side twice which may have other rows the second time.

        Raises:
            UnsupportedError: one of these.
        """
        if how == "full":
            raise UnsupportedError("broadcast_head is not possible in a full join, which keeps both sides; use 'salt'")
        for side, reason in self.unsafe.items():
            raise UnsupportedError(
                f"broadcast_head reads both sides twice, and the {side} side {reason}; cache() it first, or use 'salt'"
            )


def _times_larger(seen: PlanFacts, profile: KeyProfile | None) -> float:
    """Return how many more rows the bytes of a frame's sources suggest than it has; 1 at least.

    Long texts make the bytes many. So does a filter, which nobody can tell from them: better to sort what a hash table
    could have held than to fail for want of memory.
    """
    rows = seen.source_rows_by_bytes
    if profile is None or profile.named or rows is None or has_fixed_width(seen.frame.schema):
        return 1.0
    return max(1.0, rows / max(1.0, profile.rows))


def _against_again(seen: PlanFacts) -> str | None:
    """Return why a frame should not be read again, as it may be another one then, or as it is costly, or None."""
    return seen.stability().reason or seen.cost_again
