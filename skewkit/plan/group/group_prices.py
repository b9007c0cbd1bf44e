"""The stages of a group-by, by plain Spark and with hot keys in parts, in CPU seconds."""

from __future__ import annotations

import math
from dataclasses import dataclass

from skewkit.plan.costs import ARROW, CALLED, COLLECTED, FETCHED, PLANNED, PYTHON, ROUTED, STAGE, WRITTEN, Stage, Step
from skewkit.plan.placement.key_plan import KeyPlan


@dataclass(frozen=True)
class GroupWork:
    """What a group-by does with a row: `step` in a group, after the shuffle; `fixed` seconds until it begins."""

    step: Step
    fixed: float = 0.0


AGGREGATED = GroupWork(COLLECTED)
"""Aggregates whose state grows with the rows."""


def function_work(seconds_per_row: float | None = None) -> GroupWork:
    """Return the work of a Python function of groups. A low figure where nobody knows its seconds per row.

    >>> function_work(1e-3).step.row > function_work().step.row
    True
    """
    called = CALLED.row if seconds_per_row is None else seconds_per_row
    return GroupWork(Step(ARROW.row + called, ARROW.byte + CALLED.byte), PYTHON)


def native_group_stages(work: GroupWork, rows: float, width: float, share: float) -> list[Stage]:
    """Return plain Spark's stages: a shuffle by the key, then whole groups. `share` is the part of the longest task."""
    total = FETCHED.of(rows, width) + work.step.of(rows, width)
    return [Stage(WRITTEN.of(rows, width)), Stage(total, total * share, STAGE + work.fixed, rows * width * share)]


def parted_group_stages(work: GroupWork, plan: KeyPlan, rows: float, width: float) -> list[Stage]:
    """Return the stages with hot groups in parts on the partitions of the plan, and a merge of the parts."""
    share = plan.straggler / plan.partitions
    total = FETCHED.of(rows, width) + work.step.of(rows, width)
    moved = Stage(ROUTED.of(rows) + WRITTEN.of(rows, width), fixed=PLANNED)
    parts = Stage(total, total * share, STAGE + work.fixed, rows * width * share)
    return [moved, parts, Stage(0.0, fixed=STAGE + work.fixed)]


def distinct_of_a_task(rows: float, distinct: float, tasks: float) -> float:
    """Return what part of a group's rows in one task has a value of its own there: what a partial state keeps.

    `distinct` values fall at random into `rows` rows, which are spread over `tasks` tasks. A value is in r rows of one
    task with probability 1 - exp(-r / distinct).

    >>> round(distinct_of_a_task(1e6, 4e4, 1), 2), round(distinct_of_a_task(1e6, 4e4, 32), 2)
    (0.04, 0.69)
    """
    each = rows / tasks
    if each <= 0 or distinct <= 0:
        return 0.0
    return distinct / each * -math.expm1(-each / distinct)
