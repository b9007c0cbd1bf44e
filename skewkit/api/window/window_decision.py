"""One window of `skew_window`: how each function splits over its blocks, and whether cutting its partitions pays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from pyspark.sql import Column, DataFrame

from skewkit.api.arguments import measured, stale_note
from skewkit.options import Settings
from skewkit.plan.choice import Choice, even_reason, hot_reason
from skewkit.plan.placement.key_plan import key_plan
from skewkit.plan.placement.load import group_load
from skewkit.plan.profile.heavy_key import key_text
from skewkit.plan.profile.key_profile import KeyProfile
from skewkit.plan.window.split_forms import MOST_LISTED, WindowSplit, listed, split_of
from skewkit.plan.window.window_frame import RUNNING, WHOLE, Frame
from skewkit.plan.window.window_plan import WindowPlan, spaced
from skewkit.spark.explained.plan_facts import PlanFacts
from skewkit.spark.expressions.keys import Keys
from skewkit.spark.sampling.looks import looked
from skewkit.spark.sampling.quantiles import cut_along
from skewkit.spark.session.compat import places_by_id
from skewkit.spark.window.ordering import LONGEST, OrderBy, is_text
from skewkit.spark.window.window_calls import Function, read_function

AQE_NOTE = "adaptive execution never splits a window, so it would not help"


@dataclass(frozen=True, eq=False)
class Windowing:
    """A frame with partition keys and an order, what was asked for, and what is known of the partitions' weights."""

    df: DataFrame
    keys: Keys
    by: OrderBy
    strategy: str
    partitions: int
    settings: Settings
    profile: KeyProfile | None = None
    frame: Frame | None = None

    @cached_property
    def seen(self) -> PlanFacts:
        """The frame as EXPLAIN shows it, asked once."""
        return PlanFacts(self.df)

    @property
    def title(self) -> str:
        """How `explain` and errors name the window."""
        order = f" ordered by {', '.join(map(str, self.by.orders))}" if self.by.orders else ""
        frame = f", {self.frame}" if self.frame is not None else ""
        return f"window partitioned by {', '.join(self.keys.names)}{order}{frame}"

    def choice(self, strategy: str, reason: str, profile: KeyProfile | None = None) -> Choice:
        """Return how the window is computed, for `explain`."""
        return Choice(f"{self.title}, {self.partitions} partitions", strategy, reason, profile, kind="window")

    def splits(self, functions: dict[str, Column]) -> list[tuple[Function, WindowSplit | None]] | str:
        """Return every function with how it splits, or the reason why the call is native."""
        frame = self.frame or (RUNNING if self.by.columns else WHOLE)
        if self.by.columns and not self.by.cuttable:
            return f"partitions cannot be cut along {self.by.orders[0].name} of type {self.by.orders[0].type}"
        if not self.by.columns and not frame.whole:
            return "without an order the rows of a frame are any rows"
        bordered = frame.kind == "rows" and any(frame.reach)
        if bordered and not places_by_id():
            return f"the frame {frame} needs rows of other blocks, and those need Spark 4.1 or later"
        found: list[tuple[Function, WindowSplit | None]] = []
        for name, column in functions.items():
            function = read_function(self.df, name, column)
            if isinstance(function, str):
                return function
            if frame.finite:
                found.append((function, None))
                continue
            how = split_of(function.call, frame, ordered=bool(self.by.columns))
            if isinstance(how, str):
                return how
            if self._too_long([carried.near for carried in how.carried], function.arguments):
                return f"{name} would send too many rows between {self.partitions} blocks"
            found.append((function, how))
        handed = [*self.by.columns, *(each for function, _ in found for each in function.arguments)]
        if bordered and self._too_long(frame.reach, handed):
            return f"the frame {frame} would send too many rows between {self.partitions} blocks"
        return found

    def _too_long(self, near: Sequence[int], columns: Sequence[Column]) -> bool:
        """Return whether lists of so many rows of these columns are too long to hand from block to block."""
        if not any(near):
            return False
        width = PlanFacts(self.df.select(*columns)).row_bytes if columns else 0.0
        return listed(near, self.partitions, width) > MOST_LISTED

    def decide(self) -> tuple[Choice, WindowPlan | None]:
        """Profile if need be, plan, and say whether the plan pays; without a plan the call is native."""
        known, n = self.profile, self.partitions
        if known is None:
            known = looked(self.seen, self.keys, n, self.settings)
        if known is None:
            known = measured([(self.seen, self.keys)], n, self.settings)[0].profile
        keys = key_plan(group_load(known), n, "wrap")
        cold = even_reason(keys, known, self.settings) if self.strategy == "auto" else None
        if cold is not None:
            return self.choice("native", cold, known), None
        if not any(len(h.parts) > 1 for h in keys.heavy):
            return self.choice("native", "no partition is so hot that it had to be cut", known), None
        plan, sampled = cut_along(self.seen, self.keys, self.by, keys, self.settings, profiled=self.profile is None)
        if plan.blocks and self.frame is not None and self.frame.kind == "range" and any(self.frame.reach):
            plan = spaced(plan, sampled, self.frame)
            if not plan.blocks:
                reason = f"the frame {self.frame} reaches over most of a hot partition, so blocks would hold it all"
                return self.choice("native", reason, known), None
        if not plan.blocks:
            reason = "no row of a hot partition was found"
            if any(sampled.values()):
                reason = "the hot partitions have one value of the order, so there is nowhere to cut them"
                if any(is_text(order.type) for order in self.by.orders):
                    reason += f" (of long values the first {LONGEST:,} characters or bytes count)"
            if not self.by.orders:
                reason = "what is to be cut off the hot partitions is too small"
            return self.choice("native", reason, known), None
        blocks = [f"{key_text(h.key)} into {last - first + 1} blocks" for h, first, last in _cut_keys(plan)]
        along = ", ".join(map(str, plan.orders[: plan.depth]))
        notes = (f"hot partitions are cut along {along}: {', '.join(blocks[:8])}", AQE_NOTE)
        choice = self.choice("split", hot_reason(keys), known)
        return replace(choice, plan=keys, notes=(*notes, *stale_note(known, n))), plan


def _cut_keys(plan: WindowPlan) -> list[tuple[Any, int, int]]:
    return [(plan.keys.heavy[i], first, last) for i, (first, last) in plan.spans.items()]
