"""Where the order of hot keys is cut: quantiles of a sample, for windows and for ordered group functions."""

from __future__ import annotations

from skewkit.options import Settings
from skewkit.plan.placement.key_plan import KeyPlan
from skewkit.plan.window.window_plan import Cut, WindowPlan, uniform_plan, window_plan
from skewkit.spark.explained.plan_facts import PlanFacts
from skewkit.spark.expressions.keys import Keys
from skewkit.spark.sampling.ask import Answer, Question, ask
from skewkit.spark.window.ordering import OrderBy


def cuts_of(answer: Answer, by: OrderBy, plan: KeyPlan) -> tuple[WindowPlan, dict[int, list[Cut]]]:
    """Return where the hot keys of a plan are cut, and the order values that say so; no query.

    The answer is that to a question with this order; without an order hot keys are cut along a hash of the row.
    """
    if not by.columns:
        return uniform_plan(plan), {}
    found = {i: cuts for i, cuts in answer.cuts([h.hash for h in plan.heavy]).items() if len(plan.heavy[i].parts) > 1}
    return window_plan(plan, by.orders[: by.cuttable], found), found


def cut_along(
    facts: PlanFacts, keys: Keys, by: OrderBy, plan: KeyPlan, settings: Settings, *, profiled: bool
) -> tuple[WindowPlan, dict[int, list[Cut]]]:
    """Return the same for a plan of a profile that came without order values; one query if there is an order."""
    if not by.columns:
        return uniform_plan(plan), {}
    why = f"{'cuts' if profiled else 'a given profile'} along {', '.join(map(str, by.orders))}"
    (answer,) = ask([Question(facts, keys, order=by)], plan.partitions, settings, why=why)
    return cuts_of(answer, by, plan)
