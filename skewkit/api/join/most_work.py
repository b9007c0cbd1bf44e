"""The most work that plain Spark's join may have, by what the optimizer knows before any key was read."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from skewkit.api.join.request import JoinRequest
from skewkit.api.join.sides import JoinSide
from skewkit.plan.costs import Stage, Terms
from skewkit.plan.join.kinds import KINDS
from skewkit.plan.join.pair import Pair
from skewkit.plan.join.prices import joined_work
from skewkit.spark.explained.plan_facts import PlanFacts

_BOTH = 0.01
"""The share of a key on both sides whose pairs are expected at the most, before any key was read."""


@dataclass(frozen=True, eq=False)
class MostWork:
    """Bounds of a join's work, each from another source of rows. None: nobody knows how many."""

    request: JoinRequest
    sides: Pair[JoinSide]
    native: PlanFacts
    terms: Terms

    @cached_property
    def of_sides(self) -> list[Stage]:
        """By the rows of both sides."""
        return self._stage(self._rows, unique=self._unique)

    @cached_property
    def of_made(self) -> list[Stage] | None:
        """By sources, where skewkit made one of the sides: its plan is long, and its sources are known without it."""
        facts = self.sides.map(lambda side: side.facts)
        if not any(each.made for each in facts) or any(each.source_rows is None for each in facts):
            return None
        return self._stage(facts.map(lambda each: each.most_source_rows), unique=False)

    @cached_property
    def of_sources(self) -> list[Stage] | None:
        """By the sources of both sides in plain Spark's plan."""
        if self.native.source_rows is None:
            return None
        half = self.native.most_source_rows / 2
        return self._stage(Pair(half, half), unique=False)

    @cached_property
    def of_named(self) -> list[Stage] | None:
        """By the rows of both sides, all of which a named key may have. None: nobody knows how many, or no limit.

        What was joined, exploded or the like may have any number of rows. A negative margin sets no limit: the user
        wants named keys treated, whatever that costs.
        """
        facts = self.sides.map(lambda side: side.facts)
        if self.terms.margin < 0 or any(each.rows is None or not each.simple for each in facts):
            return None
        return self._stage(self._rows, unique=self._unique, both=1.0)

    @property
    def small_but_for_pairs(self) -> bool:
        """Whether only pairs of a named key could make a plan pay, of frames that are soon asked for them."""
        return self.of_named is not None and not self.terms.worth_asking(self.of_sides, 0.0)

    @property
    def pairs(self) -> bool:
        """Whether a key on both sides may have many pairs, as far as the kind of join tells."""
        return KINDS[self.request.kind].pairs

    @property
    def _rows(self) -> Pair[float]:
        return self.sides.map(lambda side: side.most_rows)

    @property
    def _unique(self) -> bool:
        return any(side.unique for side in self.sides)

    def _stage(self, rows: Pair[float], *, unique: bool, both: float = _BOTH) -> list[Stage]:
        """Return the stage of a join of so many rows, in which no key has more than a share `both` on both sides."""
        pairs = KINDS[self.request.kind].pairs and not unique
        returned = rows.left * rows.right * both**2 if pairs else 0.0
        return [Stage(joined_work(rows, self.sides.map(lambda side: side.width), returned))]
