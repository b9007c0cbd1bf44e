"""What an operator decided to do and why: the data behind `skewkit.explain`."""

from __future__ import annotations

from dataclasses import dataclass

from skewkit.plan.joinplan import Head, JoinPlan
from skewkit.plan.keyplan import KeyPlan
from skewkit.plan.profile import KeyProfile


@dataclass(frozen=True)
class Limits:
    """What it takes for `auto` to change a plan.

    * `min_straggler`: expected greatest load over the mean under plain Spark; below it, native.
    * `min_rows`: frames with fewer rows stay native, whatever their skew.
    * `broadcast_rows`: hot rows of the other side that a broadcast may hold.
    * `broadcast_share`: share of the left rows that must be hot for `broadcast_head` to pay for reading twice.
    """

    min_straggler: float = 1.5
    min_rows: int = 20_000
    broadcast_rows: int = 100_000
    broadcast_share: float = 0.12


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

    def __str__(self) -> str:
        from skewkit.plan.explain import choice_text

        return choice_text(self)


def cold_reason(plan: KeyPlan, rows: float, limits: Limits) -> str | None:
    """Return why the native plan is right, or None where treating the hot keys pays."""
    if rows < limits.min_rows:
        return f"{rows:,.0f} rows are too few to be worth another plan (fewer than {limits.min_rows:,})"
    if not plan.heavy and not plan.spread:
        return f"no key holds {1 / (5 * plan.partitions):.2%} of the rows or more: hashing is level"
    if plan.native_straggler < limits.min_straggler:
        return (
            f"plain Spark's longest task is expected at {plan.native_straggler:.2f} times the mean, "
            f"below {limits.min_straggler:g}: it does not pay to change the plan"
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


def choose_join(plan: JoinPlan, rows: float, limits: Limits, *, reads_twice: str | None) -> tuple[str, str]:
    """Return (strategy, reason) for `auto`; `reads_twice` says why the left side must not be read twice, or None."""
    cold = cold_reason(plan.keys, rows, limits)
    if cold is not None:
        return "native", cold
    why = hot_reason(plan.keys)
    head = plan.head(limits.broadcast_rows)
    if not head.all:
        return "salt", f"{why}; the right side's rows of the hot keys are too many to broadcast"
    if reads_twice is not None:
        return "salt", f"{why}; broadcasting hot keys would read the left side twice, but {reads_twice}"
    if head.share < limits.broadcast_share:
        return "salt", f"{why}; too few rows are hot ({head.share:.1%}) for a broadcast to pay"
    return (
        "broadcast_head",
        f"plain Spark's longest task is expected at {plan.keys.native_straggler:.1f} times the mean",
    )
