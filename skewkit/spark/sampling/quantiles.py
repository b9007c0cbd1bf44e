"""Where the order of hot keys is cut: quantiles of a sample, for windows and for ordered group functions."""

from __future__ import annotations

from skewkit.options import Settings
from skewkit.plan.placement.key_plan import KeyPlan
from skewkit.plan.window.window_plan import Cut, WindowPlan, uniform_plan, window_plan
from skewkit.spark.explained.plan_facts import PlanFacts
from skewkit.spark.expressions.keys import Keys
from skewkit.spark.sampling.profiling import auto_fraction, sampled
from skewkit.spark.window.ordering import OrderBy, samples

_ROWS_PER_BLOCK = 1000
"""Rows to sample per partition for the cuts; blocks then differ by some 3 % from what was planned."""


def cut_along(
    seen: PlanFacts, keys: Keys, by: OrderBy, plan: KeyPlan, settings: Settings, *, profiled: bool
) -> tuple[WindowPlan, dict[int, list[Cut]]]:
    """Return where the hot keys are cut, and the samples that say so, from one query if there is an order.

    `profiled` says whether the plan's weights are those of this very frame.
    """
    if not by.columns:
        return uniform_plan(plan), {}
    wanted = _ROWS_PER_BLOCK * plan.partitions
    hot = sum(h.weight for h in plan.heavy if len(h.parts) > 1)
    fraction = min(1.0, wanted / max(1.0, hot))
    if not profiled:  # the plan is of another time, perhaps of another frame
        fraction = auto_fraction(seen.source_rows, wanted)
    if fraction > 0.5:
        fraction = 1.0
    frame = seen.frame
    if fraction < 1:
        frame = sampled(frame, fraction)
    found = samples(frame, keys, by, plan)
    return window_plan(plan, by.orders[: by.cuttable], found), found
