"""What an operator decided to do and why: the data behind `skewkit.explain`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from skewkit.options import Settings
from skewkit.plan.joinplan import Head, JoinPlan
from skewkit.plan.keyplan import KeyPlan
from skewkit.plan.profile import KeyProfile


@dataclass(frozen=True)
class Choice:
    """The chosen strategy with its reason, the profile and plan it rests on, and notes for the reader."""

    operator: str
    strategy: str
    reason: str
    profile: KeyProfile | None = None
    plan: KeyPlan | None = None
    join: JoinPlan | None = None
    head: Head | None = None
    notes: tuple[str, ...] = ()


def cold_reason(plan: KeyPlan, profile: KeyProfile, settings: Settings) -> str | None:
    """Return why the native plan is right, or None where treating the hot keys pays."""
    rows = profile.rows
    if profile.weight is None and rows < settings.min_rows:
        return f"{rows:,.0f} rows are too few to be worth another plan (fewer than {settings.min_rows:,})"
    if not plan.heavy and not plan.spread:
        return f"no key holds {1 / (5 * plan.partitions):.2%} of the rows or more: hashing is level"
    if plan.native_straggler < settings.min_straggler:
        return (
            f"plain Spark's longest task is expected at {plan.native_straggler:.2f} times the mean, "
            f"below {settings.min_straggler:g}: it does not pay to change the plan"
        )
    if plan.straggler > plan.native_straggler * 0.8:
        return (
            f"plain Spark's longest task is expected at {plan.native_straggler:.2f} times the mean and no plan "
            f"here is much better ({plan.straggler:.2f})"
        )
    return None


def hot_reason(plan: KeyPlan) -> str:
    """Return what plain Spark would do to the longest task, and what the plan does."""
    return (
        f"plain Spark's longest task is expected at {plan.native_straggler:.1f} times the mean, "
        f"this plan's at {plan.straggler:.2f} times"
    )


def choose_join(
    plan: JoinPlan, profiles: Sequence[KeyProfile | None], settings: Settings, *, rereading: str | None
) -> tuple[str, str]:
    """Return (strategy, reason) for `auto`; `rereading` says why the sides must not be read twice, or None."""
    larger = max((p for p in profiles if p is not None), key=lambda p: p.rows)
    cold = cold_reason(plan.keys, larger, settings)
    if cold is not None:
        return "native", cold
    why = hot_reason(plan.keys)
    if None in plan.right_most:
        return "salt", f"{why}; the right side was not profiled, so nobody knows what a broadcast would hold"
    head = plan.head(settings.broadcast_rows)
    if not head.all:
        return "salt", f"{why}; the right side's rows of the hot keys may be too many to broadcast"
    if rereading is not None:
        return "salt", f"{why}; a broadcast of the hot keys is out, because {rereading}"
    if head.share < settings.broadcast_share:
        return "salt", f"{why}; too few rows are hot ({head.share:.1%}) for a broadcast to pay"
    native = plan.keys.native_straggler
    return "broadcast_head", f"plain Spark's longest task is expected at {native:.1f} times the mean"
