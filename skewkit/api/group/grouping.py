"""One call of `skew_groupby`: its frame, keys and hints, and the decision whether treating the hot keys pays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from pyspark.sql import Column, DataFrame

from skewkit.api.arguments import measured, stale_note
from skewkit.options import Settings
from skewkit.plan.choice import Choice, even_reason, hot_reason
from skewkit.plan.placement.key_plan import KeyPlan, key_plan
from skewkit.plan.placement.load import group_load
from skewkit.plan.profile.key_profile import KeyProfile
from skewkit.spark.explained.plan_facts import PlanFacts
from skewkit.spark.expressions.keys import Keys, has_fixed_hash
from skewkit.spark.routing.salting import Salting
from skewkit.spark.sampling.profiling import Found
from skewkit.spark.session.compat import is_off

_REUSE = "spark.sql.exchange.reuse"
AQE_NOTE = "adaptive execution never splits a group-by, so it would not help"


@dataclass(frozen=True, eq=False)
class Grouping:
    """A frame with its keys, the strategy that was asked for, and what is known of the keys' weights."""

    df: DataFrame
    keys: Keys
    strategy: str
    partitions: int
    settings: Settings
    profile: KeyProfile | None = None
    native_because: str = "asked for"
    seconds_per_row: float | None = None
    """What a Python function takes for a row, where the caller says so."""

    @cached_property
    def seen(self) -> PlanFacts:
        """The frame as EXPLAIN shows it, asked once."""
        return PlanFacts(self.df)

    def drawn_twice(self, columns: Sequence[Column], *, whole: bool = False) -> str | None:
        """Return why nothing may be cut, as cold and hot rows would be of two draws or readings, or None."""
        again = self.seen.stability() if is_off(self.df.sparkSession, _REUSE) else None
        if again is not None and not again.deterministic:
            why = f"as {_REUSE} is off, and the frame {again.reason}"
            return f"cold and hot rows would be of two readings, {why}; cache() it"
        drawn = self.seen.drawn_per_place([*self.keys.columns, *columns], whole=whole)
        return None if drawn is None else f"cold and hot rows would be of two draws: the frame {drawn}; cache() it"

    def salt(self, first: Sequence[Column] = ()) -> Column:
        """Return a hash that spreads the rows of a hot key: of `first`, and of their content or position."""
        hashed = [column for column in first if has_fixed_hash(self.df.select(column).schema[0].dataType)]
        steady = not hashed or self.seen.stability(hashed).repeatable
        return Salting.of(self.seen, self.keys.names).hash(hashed if steady else ())

    def measured(self, **wanted: Any) -> Found:
        """Return the profile that is known, or else profile the frame, and measure what else is wanted."""
        if self.profile is not None:
            return Found(self.profile)
        return measured([(self.seen, self.keys)], self.partitions, self.settings, **wanted)[0]

    def decide(
        self,
        found: Found,
        *,
        divisible: bool = True,
        most_rows: float = float("inf"),
        most_distinct: float = float("inf"),
    ) -> Choice:
        """Plan, and say whether the plan pays; `divisible` says whether a group may be cut.

        `most_distinct` is how many distinct values per row the aggregates may have, so that parts are smaller.

        A heavy group of more than `most_rows` is cut however level the load is, because a worker would hold it whole.
        """
        known = found.profile
        scheme = self._scheme(divisible, known.named)
        load = group_load(known, divisible=divisible)
        plan = key_plan(load, self.partitions, scheme, theta=0.0 if known.named else None)
        if self.strategy != "auto":
            return self.choice(scheme, "asked for; " + hot_reason(plan, named=known.named), known, plan)
        if known.named:
            return self.choice(scheme, hot_reason(plan, named=True), known, plan)
        cold = even_reason(plan, known, self.settings)
        if cold is None and found.distinct is not None and found.distinct < self.settings.min_distinct:
            cold = (
                f"the values repeat ({found.distinct:.2%} of the rows have a new one), so Spark's own partial sets "
                "are small"
            )
        if cold is None and found.distinct is not None and found.distinct > most_distinct:
            repeat = f"{min(1.0, found.distinct):.0%} of the rows have a new one"
            cold = f"the values hardly repeat ({repeat}), so the parts would be nearly as large as the groups"
        largest = max((h.weight for h in plan.heavy), default=0.0)
        if cold is not None and known.weight is None and largest > most_rows:
            reason = f"a group of {largest:,.0f} rows would be held in one Python worker; parts have {most_rows:,}"
            return self.choice(scheme, reason, known, plan)
        if cold is not None:
            return self.choice("native", cold, known, plan)
        return self.choice(scheme, hot_reason(plan), known, plan)

    def _scheme(self, divisible: bool, named: bool) -> str:
        if self.strategy != "auto":
            return self.strategy
        if not divisible:
            return "dkg"
        return "w_choices" if named else "wrap"

    def choice(
        self, strategy: str, reason: str, profile: KeyProfile | None = None, plan: KeyPlan | None = None
    ) -> Choice:
        """Return a choice about this group-by."""
        title = f"group by {', '.join(self.keys.names)}, {self.partitions} partitions"
        notes = [] if strategy == "native" else [AQE_NOTE]
        if profile is not None:
            notes += stale_note(profile, self.partitions)
        return Choice(title, strategy, reason, profile, plan, notes=tuple(notes), kind="groupby")

    def native(self, reason: str = "") -> Choice:
        """Return the choice of plain Spark, for a reason."""
        return self.choice("native", reason or self.native_because)


def noted(choice: Choice, note: str) -> Choice:
    """Return a choice with one more note."""
    return replace(choice, notes=(*choice.notes, note))
