"""`broadcast_head`: the hot rows of one side meet a broadcast of the other side's rows of these keys."""

from __future__ import annotations

from functools import cached_property
from typing import ClassVar

from pyspark.sql import DataFrame

from skewkit.api.join.strategies.join_strategy import JoinStrategy
from skewkit.plan.explanation import keys_text, many
from skewkit.plan.join.join_plan import Head
from skewkit.plan.join.pair import opposite
from skewkit.plan.join.prices import broadcast_head_stages, makes_many_pairs
from skewkit.spark.join.branches import lost_by_union
from skewkit.spark.join.joining import broadcast_head, rows_of


class BroadcastHead(JoinStrategy):
    """A join in two branches: hot rows stay where they are and meet a broadcast, all others are shuffled.

    It is PRPD, partial redistribution and partial duplication (Xu et al., Handling Data Skew in Parallel Joins in
    Shared-Nothing Systems, SIGMOD 2008). As in Flow-Join (Roediger et al., ICDE 2016) the hot keys need no statistics
    kept beforehand: a sample of this very call finds them.
    """

    name: ClassVar[str] = "broadcast_head"

    def impossible(self) -> str | None:
        """Return why no hot rows can be broadcast, or None. Who asks for it by name is told what it costs instead."""
        decision, auto = self.decision, self.decision.request.auto
        if not decision.rules.kind.streams:
            return f"it is not possible in a {decision.rules.how} join, which keeps the rows of both sides"
        for each in decision.sides:
            if each.unsafe is not None:
                return f"it reads both sides twice, and the {each.side} side {each.unsafe}; cache() it first"
        head = self._head
        if head is None:
            return f"a {decision.rules.how} join keeps the rows of both sides"
        side = opposite(head.side)
        if auto and not decision.plan.totals.of(side).measured:
            return f"the {side} side was not profiled, so nobody knows what a broadcast would hold"
        if auto and not head.all:
            return f"the {side} side's rows of the hot keys may be too many"
        if auto and makes_many_pairs(decision.plan):
            return "their pairs are many, and would come out where the hot rows lie, which may be one file"
        if auto and (self._costly or self._lost):
            return self._costly or self._lost
        return self._nothing_named or self._too_large

    def price(self) -> float:
        """Return the seconds of both branches, which read both sides twice."""
        decision = self.decision
        stages = broadcast_head_stages(decision.plan, self.head, decision.widths, hashed=decision.hashed)
        return decision.terms.seconds(stages)

    def build(self) -> DataFrame:
        """Return the union of both branches."""
        decision = self.decision
        frames = decision.sides.map(lambda side: side.facts.frame)
        return broadcast_head(frames, decision.keys, decision.plan, self.head, shuffle_hash=decision.hashed)

    def explain(self) -> tuple[str, ...]:
        """Return which keys are broadcast, and what is not shuffled for it."""
        head, counted = self.head, not self.decision.evidence.main.named
        side, other = head.side, opposite(head.side)
        share = f"{head.share:.1%} of the" if counted else "their"
        rows = f"some {many(head.rows, f'{other} row')}" if counted else f"their {other} rows"
        return (
            f"  heavy      {keys_text(head.keys, self.decision.plan.totals.of(side).null_keys)}",
            f"             {share} {side} rows (kept nulls included) are not shuffled at all,",
            f"             but joined to a broadcast of {rows}",
            "  cost       both frames are read twice",
        )

    def notes(self) -> tuple[str, ...]:
        """Return why it may be dear to read a frame twice, and which references are lost."""
        costly = () if self._costly is None else (f"a frame is read twice, though {self._costly}",)
        lost = () if self._lost is None else (f"not every reference is found after it: {self._lost}",)
        return *costly, *lost, *super().notes()

    @property
    def head(self) -> Head:
        """The heavy keys that are broadcast. There must be a side that can be."""
        if self._head is None:
            raise ValueError("no side of this join can be broadcast")
        return self._head

    @cached_property
    def _head(self) -> Head | None:
        return self.decision.plan.head(self.decision.request.settings.broadcast_rows)

    @cached_property
    def _costly(self) -> str | None:
        """Why it is dear to read both sides twice, or None."""
        for side in self.decision.sides:
            if side.costly is not None:
                return f"the {side.side} side {side.facts.cost_again}"
        return None

    @cached_property
    def _lost(self) -> str | None:
        """Which references to the result the union of both branches loses, or None."""
        decision = self.decision
        return lost_by_union(decision.sides.map(lambda side: side.facts.frame), decision.keys, decision.rules.how)

    @cached_property
    def _nothing_named(self) -> str | None:
        """Why no key that the user has named can be broadcast, or None."""
        main, head = self.decision.evidence.main, self.head
        if not main.named or not main.heavy or head.keys.heavy:
            return None
        if head.side == "right":
            return (
                "the left side would be broadcast, and nobody knows how many rows the keys that were named have there"
            )
        return "the keys that were named have too many rows on the right side, where they may be hot"

    @cached_property
    def _too_large(self) -> str | None:
        """Why the broadcast would be too large, or None. Rows are counted where a given profile bounds them."""
        request, head = self.decision.request, self.head
        side = self.decision.sides.of(opposite(head.side))
        # Who asks for a broadcast says that texts that are computed are short enough.
        width = self.decision.memory.of(side.side) - (0.0 if request.auto else side.unmeasured)
        most = min(request.settings.broadcast_rows, int(request.settings.broadcast_bytes / width))
        asked = side.given is None
        if asked:
            if head.rows <= most:
                return None
            why = f"of some {width:,.0f} bytes each"
        else:
            if request.auto or rows_of(side.facts.frame, side.keys, head, most + 1) <= most:
                return "nobody has counted the other side's rows of the hot keys" if request.auto else None
            why = "which is not what its profile says"
        return f"the {side.side} side has more than {most:,} rows of the hot keys, {why}"
