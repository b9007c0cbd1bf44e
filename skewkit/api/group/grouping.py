"""One call of `skew_groupby`: its frame, keys and hints, and the decision whether treating the hot keys pays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from pyspark.sql import Column, DataFrame
from pyspark.sql.types import DataType

from skewkit.api.arguments import stale_note
from skewkit.options import Settings
from skewkit.plan.choice import Choice, Weighed, cold_reason, hot_reason, small_reason
from skewkit.plan.costs import QUERY, Terms
from skewkit.plan.group.group_prices import (
    AGGREGATED,
    GroupWork,
    distinct_of_a_task,
    native_group_stages,
    parted_group_stages,
)
from skewkit.plan.placement.key_plan import KeyPlan, key_plan
from skewkit.plan.placement.load import group_load
from skewkit.plan.profile.key_profile import KeyProfile
from skewkit.spark.explained.plan_facts import PlanFacts
from skewkit.spark.explained.row_counts import row_bytes
from skewkit.spark.expressions.keys import Keys, has_fixed_hash
from skewkit.spark.routing.salting import Salting
from skewkit.spark.sampling.ask import Answer, Question, ask
from skewkit.spark.session.remembered import known_profile
from skewkit.spark.session.slots import terms_of
from skewkit.spark.window.ordering import OrderBy

_FEW_DISTINCT = 0.05
"""Distinct values per row of a task below which Spark's own partial sets are small: one row in twenty is new."""
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
    work: GroupWork = AGGREGATED
    """What a row costs: that of an aggregate, or of a Python function."""
    read: tuple[DataType, ...] | None = None
    """The types of what is shuffled beside the keys. None: whole rows."""

    @cached_property
    def facts(self) -> PlanFacts:
        """The frame as EXPLAIN shows it, asked once."""
        return PlanFacts(self.df)

    def drawn_twice(self, columns: Sequence[Column], *, whole: bool = False) -> str | None:
        """Return why nothing may be cut, as cold and hot rows would be computed twice, with other values, or None."""
        if not self.facts.shares_shuffles:
            again = self.facts.stability([*self.keys.columns, *columns])
            # Whole rows are read once each, by their key; what an aggregate reads of a hot row is read several times.
            rest = self.facts.stability() if whole else again
            if not again.repeatable or not rest.deterministic:
                why = rest.reason if again.repeatable else again.reason
                return f"cold and hot rows would be of two readings, and the frame {why}; cache() it"
        drawn = self.facts.drawn_per_place([*self.keys.columns, *columns], whole=whole)
        return None if drawn is None else f"cold and hot rows would have other values: the frame {drawn}; cache() it"

    def salt(self, first: Sequence[Column] = ()) -> Column:
        """Return a hash that spreads the rows of a hot key: of `first`, and of their content or position."""
        hashed = [column for column in first if has_fixed_hash(self.df.select(column).schema[0].dataType)]
        repeatable = not hashed or self.facts.stability(hashed).repeatable
        return Salting.of(self.facts, self.keys.names).hash(hashed if repeatable else ())

    @cached_property
    def terms(self) -> Terms:
        """What the decision weighs: slots, margin, memory."""
        return terms_of(self.df.sparkSession, self.settings, self.partitions)

    @cached_property
    def width(self) -> float:
        """Bytes of a row that are shuffled, as the types suggest."""
        if self.read is None:
            return row_bytes(self.df.schema)
        return row_bytes(self.df.select(*self.keys.columns).schema) + sum(map(row_bytes, self.read))

    @property
    def deciding(self) -> float:
        """Expected seconds of the key sample; none where the user gave a profile or keys."""
        if self.profile is not None:
            return 0.0
        return self.terms.asking(self.facts.most_source_rows, self.facts.shuffles_for_sample)

    def unread(self, most_rows: float = float("inf")) -> str | None:
        """Return why plain Spark is right before any key is read, or None.

        A group of more than `most_rows` would be held whole by one worker, which is a reason to ask by itself.
        """
        if self.strategy != "auto" or self.profile is not None or self.terms.margin < 0:
            return None
        carried = self._carried(most_rows)
        if carried is not None:
            return carried
        if self.facts.source_rows is None:
            return (
                "nobody knows how many rows the frame has, so nothing can be weighed; name hot keys (heavy=) or give a "
                "profile to have them treated"
            )
        return self._small(self.deciding, most_rows)

    def _carried(self, most_rows: float) -> str | None:
        """Return why plain Spark is right by what the operator that made the frame knew of the keys, or None."""
        known = known_profile(self.df, self.keys, with_nulls=True)
        if known is None:
            return None
        plan = key_plan(group_load(known), self.partitions, "wrap")
        largest = max((heavy.weight for heavy in plan.heavy), default=0.0)
        cold = None if largest > most_rows else cold_reason(plan, self._weighed(plan, known))
        return None if cold is None else f"{cold}, by what the operator before knew of the keys"

    def small(self) -> str | None:
        """Return why plain Spark is right where skewkit made the frame, so that its long plan is not read, or None."""
        asks = self.strategy == "auto" and self.profile is None and self.terms.margin >= 0
        return self._small(QUERY) if asks and self.facts.made and self.facts.source_rows is not None else None

    def _small(self, asking: float, most_rows: float = float("inf")) -> str | None:
        rows = self.facts.most_source_rows
        stages = native_group_stages(self.work, rows, self.width, 1.0)
        worth = rows > most_rows or self.terms.worth_asking(stages, asking)
        return None if worth else small_reason(self.terms, stages, self.partitions, asking)

    def asked(self, *, values: tuple[Column, ...] = (), order: OrderBy | None = None) -> Answer:
        """Return what is known of the keys: the given profile, or the answer of one query."""
        if self.profile is not None:
            return Answer(self.profile, {})
        question = Question(self.facts, self.keys, order=order, values=values)
        why = f"skew_groupby on {', '.join(self.keys.names)}"
        return ask([question], self.partitions, self.settings, why=why)[0]

    def decide(
        self,
        found: Answer,
        *,
        divisible: bool = True,
        most_rows: float = float("inf"),
        most_distinct: float = float("inf"),
    ) -> Choice:
        """Plan, and say whether the plan pays, and how much was read for that. `divisible`: a group may be cut.

        `most_distinct` is how many distinct values per row the aggregates may have, so that parts are smaller.

        A heavy group of more than `most_rows` is cut however balanced the load is, as a worker would hold it whole.
        """
        choice = self._decided(found, divisible, most_rows, most_distinct)
        return replace(choice, notes=(*choice.notes, *found.notes))

    def _decided(self, found: Answer, divisible: bool, most_rows: float, most_distinct: float) -> Choice:
        known = found.profile
        scheme = self._scheme(divisible, known.named)
        load = group_load(known, divisible=divisible)
        plan = key_plan(load, self.partitions, scheme, theta=0.0 if known.named else None)
        if known.named and self.strategy == "auto":
            if not plan.heavy:
                return self.choice("native", "no key was named as hot", known, plan)
            # What a Python function costs is not known, nor how many rows an exploded or joined frame has.
            counted = most_rows == float("inf") and self.facts.rows is not None and self.facts.simple
            small = self._small(0.0) if counted else None
            if small is not None:
                return self.choice("native", small, known, plan)
            return self.choice(scheme, hot_reason(plan, named=True), known, plan)
        if self.strategy != "auto":
            return self.choice(scheme, "asked for; " + hot_reason(plan, named=known.named), known, plan)
        weighed = self._weighed(plan, known)
        cold = by_seconds = cold_reason(plan, weighed)
        largest = max((h.weight for h in plan.heavy), default=0.0)
        if cold is None and found.distinct is not None:
            new = distinct_of_a_task(largest, largest * found.distinct, found.tasks)
            if new < _FEW_DISTINCT:
                said = f"the values repeat ({new:.2%} of a task's rows have a new one)"
                cold = f"{said}, so Spark's own partial sets are small"
        if cold is None and found.distinct is not None and found.distinct > most_distinct:
            repeat = f"{min(1.0, found.distinct):.0%} of the rows have a new one"
            cold = f"the values hardly repeat ({repeat}), so the parts would be nearly as large as the groups"
        if cold is not None and known.weight is None and largest > most_rows:
            reason = f"a group of {largest:,.0f} rows would be held in one Python worker; parts have {most_rows:,}"
            return self.choice(scheme, reason, known, plan)
        said = weighed.opening(plan, scheme, taken=cold is None, of="rows" if known.weight is None else "weight")
        if cold is not None:
            return replace(self.choice("native", cold, known, plan), opening=said if cold == by_seconds else "")
        return replace(self.choice(scheme, hot_reason(plan, weighed), known, plan), opening=said)

    def _weighed(self, plan: KeyPlan, known: KeyProfile) -> Weighed:
        rows = known.rows if known.weight is None else self.facts.most_source_rows
        native = native_group_stages(self.work, rows, self.width, plan.native_straggler / plan.partitions)
        treated = parted_group_stages(self.work, plan, rows, self.width)
        return Weighed(self.terms, native, treated, self.deciding)

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
