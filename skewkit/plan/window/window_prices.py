"""The stages of a window, by plain Spark and cut into blocks, in CPU seconds."""

from __future__ import annotations

from skewkit.plan.costs import FETCHED, PLANNED, READ, ROUTED, STAGE, WINDOWED, WRITTEN, Stage
from skewkit.plan.placement.key_plan import KeyPlan

_BRANCHES = 3
"""Exchanges beside the one of the rows: totals of blocks, what they carry, and hot and cold rows apart."""


def native_window_stages(rows: float, width: float, share: float) -> list[Stage]:
    """Return plain Spark's stages: a shuffle by the key, then a sort and the functions. `share` is the longest task's.

    >>> [round(stage.longest, 2) for stage in native_window_stages(1e6, 0.0, 0.5)]
    [0.0, 0.5]
    """
    total = FETCHED.of(rows, width) + WINDOWED.of(rows, width)
    return [Stage(WRITTEN.of(rows, width)), Stage(total, total * share, STAGE, rows * width * share)]


def cut_window_stages(plan: KeyPlan, rows: float, width: float) -> list[Stage]:
    """Return the stages of a window whose hot partitions are cut: hot rows are read once more and corrected.

    The plan's loads may be weights; a row has the mean of them.
    """
    share = plan.straggler / plan.partitions
    weight = sum(heavy.weight for heavy in plan.heavy if len(heavy.parts) > 1)
    hot = rows * weight / max(sum(plan.loads), 1.0)
    total = FETCHED.of(rows, width) + WINDOWED.of(rows, width) + READ.of(hot, width) + (READ.row + WINDOWED.row) * hot
    moved = ROUTED.of(rows) + WRITTEN.of(rows, width)
    return [Stage(moved, fixed=PLANNED), Stage(total, total * share, STAGE * (1 + _BRANCHES), rows * width * share)]
