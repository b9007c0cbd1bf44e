"""What an operator decided to do and why: the data behind `skewkit.explain`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from skewkit.plan.costs import Stage, Terms
from skewkit.plan.placement.key_plan import KeyPlan
from skewkit.plan.profile.heavy_key import key_text
from skewkit.plan.profile.key_profile import KeyProfile

_HASH_OF_NULL = 42
"""Spark's seed, which is the hash of a null; other keys of which nobody has brought the value have none either."""


@dataclass(frozen=True)
class Choice:
    """The chosen strategy with its reason, the profile and plan it rests on, and notes for the reader.

    `operator` is the title of the call and `kind` the operator's name. A join rests on two profiles, of its left side
    and, in `other`, of its right side. `lines` are what a strategy says of its plan. Without them the plan is shown.
    `result` is what is known of the keys of the frame that the operator returns. `opening` is a sentence that says it
    all, where seconds were compared.
    """

    operator: str
    strategy: str
    reason: str
    profile: KeyProfile | None = None
    plan: KeyPlan | None = None
    notes: tuple[str, ...] = ()
    other: KeyProfile | None = None
    kind: str = ""
    lines: tuple[str, ...] = ()
    result: KeyProfile | None = None
    opening: str = ""


@dataclass(frozen=True)
class Weighed:
    """Stages of plain Spark and of another plan, with the seconds of deciding and the session's terms."""

    terms: Terms
    native: Sequence[Stage]
    treated: Sequence[Stage]
    deciding: float = 0.0

    @property
    def pays(self) -> bool:
        """Whether the other plan pays."""
        return self.terms.pays(self.terms.seconds(self.native), self.terms.seconds(self.treated), self.deciding)

    def opening(self, plan: KeyPlan, strategy: str, *, taken: bool, of: str = "rows") -> str:
        """Return the sentence that `explain` begins with."""
        terms = self.terms
        seconds = terms.seconds(self.native), terms.longest(self.native), terms.seconds(self.treated)
        return opening_of(plan, terms, seconds, strategy, taken=taken, of=of)

    def __str__(self) -> str:
        native, longest = self.terms.seconds(self.native), self.terms.longest(self.native)
        return (
            f"plain Spark is expected to take {native:,.1f} s on {self.terms.slots}, its longest task {longest:,.1f} "
            f"s, and this plan {self.terms.seconds(self.treated):,.1f} s"
        )


def opening_of(
    plan: KeyPlan, terms: Terms, seconds: tuple[float, float, float], strategy: str, *, taken: bool, of: str = "rows"
) -> str:
    """Return cause, what plain Spark is expected to do, what was chosen and its seconds, in one sentence.

    `seconds` are those of plain Spark, of its longest task, and of `strategy`. Small partitions that adaptive execution
    coalesces change none of them: a task more or less, on as many slots.
    """
    native, longest, other = seconds
    hottest, total = max(plan.heavy, key=lambda heavy: heavy.weight, default=None), sum(plan.loads)
    cause = "Rows of null keys pile up" if plan.spread else "No key is hot"
    if hottest is not None and total:
        key = "A key" if None in hottest.key and hottest.hash != _HASH_OF_NULL else f"Key {key_text(hottest.key)}"
        cause = f"{key} has {hottest.weight / total:.0%} of the {of}"
    less = other < native
    choice = (
        ("so it is taken" if less else "and it is taken, as the margin allows")
        if taken
        else (f"which does not save {terms.margin:g} s" if less else "so plain Spark's plan stays")
    )
    return (
        f"{cause}: plain Spark is expected to take {native:,.1f} s on {terms.slots}, its longest task {longest:,.1f} "
        f"s, and {strategy} {other:,.1f} s, {choice}."
    )


def small_reason(terms: Terms, stages: Sequence[Stage], partitions: int, asking: float, *, pairs: bool = False) -> str:
    """Return why plain Spark is right before any key was read, and whether more slots would change that.

    `asking` are the seconds of the query for the keys.

    `pairs` says that keys on both sides make rows of their own, and that at most 1 % of both are expected to be of one.
    """
    total = sum(stage.total for stage in stages)
    but = " and if no key has more than 1 % of both sides" if pairs else ""
    return (
        f"some {total:,.1f} s of work on {terms.slots} at the most, by the rows of its sources{but}: no plan would "
        f"save enough to ask which keys are hot, with a margin of {terms.margin:g} s (spark.skewkit.margin)"
        f"{_on_more_slots(terms, stages, partitions, asking)}"
    )


def _on_more_slots(terms: Terms, stages: Sequence[Stage], partitions: int, asking: float) -> str:
    more = terms.on_more_slots(partitions)
    asked = more is not None and more.worth_asking(stages, asking)
    return f"; on {partitions} slots they would be asked for (spark.skewkit.slots)" if asked else ""


def cold_reason(plan: KeyPlan, weighed: Weighed) -> str | None:
    """Return why the native plan is right, or None where treating the hot keys pays."""
    if not plan.heavy and not plan.spread:
        return f"no key holds {1 / (5 * plan.partitions):.2%} of the rows or more: hashing is balanced"
    if not plan.is_more_balanced:
        return unbalanced_reason(plan)
    if not weighed.pays:
        remedy = weighed.terms.remedy(weighed.native, plan.partitions)
        return f"{native_reason(plan)}: {weighed}, which does not save {weighed.terms.margin:g} s{remedy}"
    return None


def unbalanced_reason(plan: KeyPlan) -> str:
    """Return the reason where no plan is more balanced than plain Spark's."""
    return (
        f"plain Spark's longest task is expected at {plan.native_straggler:.2f} times the mean and no plan "
        f"here is much better ({plan.straggler:.2f})"
    )


def hot_reason(plan: KeyPlan, weighed: Weighed | None = None, *, named: bool = False) -> str:
    """Return how long the longest task is by plain Spark and by the plan; not for keys that are only `named`."""
    if named:
        return "these keys were given as hot"
    seconds = "" if weighed is None else f"; {weighed}"
    return f"{native_reason(plan)}, this plan's at {plan.straggler:.2f} times{seconds}"


def native_reason(plan: KeyPlan) -> str:
    """Return how long plain Spark's longest task is expected to be, and for which key."""
    hottest = max(plan.heavy, key=lambda heavy: heavy.weight, default=None)
    key = "" if hottest is None or None in hottest.key else f" (key {key_text(hottest.key)})"
    return f"plain Spark's longest task{key} is expected at {plan.native_straggler:.1f} times the mean"
