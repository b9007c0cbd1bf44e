"""`salt`: hot rows are spread over several tasks, and the other side's rows of their keys are copied to these."""

from __future__ import annotations

from typing import ClassVar

from pyspark.sql import DataFrame

from skewkit.api.join.strategies.join_strategy import JoinStrategy
from skewkit.plan.explanation import many, matrix_lines, plan_lines
from skewkit.plan.join.prices import salt_stages
from skewkit.spark.join.joining import salted


class Salt(JoinStrategy):
    """A join on one packed key, with a 1-Bucket matrix for every hot key.

    The matrix is that of 1-Bucket-Theta (Okcan and Riedewald, SIGMOD 2011). Its size follows from the rows of both
    sides, as in SharesSkew (Afrati et al.).
    """

    name: ClassVar[str] = "salt"

    def impossible(self) -> str | None:
        """Return None: hot keys that cannot be split stay whole, which is no reason against the others."""
        return None

    def price(self) -> float:
        """Return the seconds of a shuffle by the plan and a hash join, or a sort-merge join of one int."""
        decision = self.decision
        stages = salt_stages(
            decision.plan,
            decision.widths,
            hashed=decision.hashed,
            costly={side: each.costly for side, each in decision.sides.items() if each.costly is not None},
            pre_partitioned=[side for side, each in decision.sides.items() if each.pre_partitioned],
        )
        return decision.terms.seconds(stages)

    def build(self) -> DataFrame:
        """Return the salted join."""
        decision = self.decision
        facts = decision.sides.map(lambda side: side.facts)
        return salted(facts, decision.keys, decision.plan, shuffle_hash=decision.hashed)

    def explain(self) -> tuple[str, ...]:
        """Return where the hot keys go, and what is copied and looked up for it."""
        plan, counted = self.decision.plan, not self.decision.evidence.main.named
        lines = plan_lines(plan.keys, counted=counted)
        nulls = plan.totals.left.null_keys + plan.totals.right.null_keys
        if plan.keys.spread and nulls:
            rows = f"{many(nulls, 'row')} of the key null " if counted else ""
            lines.append(
                f"  nulls      {rows}match nothing, so they are spread over {len(plan.keys.spread)} partitions"
            )
        if plan.matrices:
            lines += matrix_lines(plan, counted=counted)
        return tuple(lines)

    def notes(self) -> tuple[str, ...]:
        """Return which sides a look-up computes once more."""
        decision = self.decision
        twice = [side for side in decision.plan.looked_up if decision.sides.of(side).costly is not None]
        return (
            *(f"the {side} side's shuffles run twice, once for the look-up: cache() it to save that" for side in twice),
            *super().notes(),
            *decision.kept_together(),
        )
