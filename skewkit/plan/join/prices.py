"""The stages of each way to answer a join, in CPU seconds: what a strategy's price is made of."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from skewkit.plan.costs import (
    BUILT,
    FETCHED,
    MERGED,
    PLANNED,
    PROBED,
    READ,
    RETURNED,
    ROUTED,
    SENT,
    SORTED,
    STAGE,
    WRITTEN,
    Stage,
    Step,
)
from skewkit.plan.join.join_plan import Head, JoinPlan
from skewkit.plan.join.matrix import OUTPUT_COST
from skewkit.plan.join.pair import SIDES, Pair, Side, opposite

_ENTRY = 72.0
"""Bytes of a row in a hash table beside its own: 53 to 168 in all, for rows of 16 to 28 bytes."""


def table_bytes(rows: float, width: float) -> float:
    """Return what a broadcast hash table of so many rows takes in memory, in the driver and in every executor.

    >>> table_bytes(1e6, 16.0)
    88000000.0
    """
    return rows * (width + _ENTRY)


def joined_work(rows: Pair[float], widths: Pair[float], returned_rows: float) -> float:
    """Return the seconds of a shuffle and a sort-merge join of so many rows, of which so many come out."""
    steps = (rows_of_all(step, rows, widths) for step in (WRITTEN, FETCHED, SORTED, MERGED))
    return sum(steps) + RETURNED.of(returned_rows, widths.left + widths.right)


def native_stages(plan: JoinPlan, widths: Pair[float], unshuffled: Collection[Side] = ()) -> list[Stage]:
    """Return plain Spark's stages: a shuffle by the key, but of sides that are `unshuffled`, and a sort-merge join."""
    moved = Pair(*(0.0 if side in unshuffled else rows for side, rows in plan.rows.items()))
    joined = joined_stage(plan, plan.rows, moved, widths, plan.keys.native_straggler)
    return [Stage(rows_of_all(WRITTEN, moved, widths)), joined]


def joined_stage(plan: JoinPlan, rows: Pair[float], moved: Pair[float], widths: Pair[float], straggler: float) -> Stage:
    """Return the stage of a sort-merge join whose longest task has `straggler` times the mean.

    `moved` are the rows that come from a shuffle made for it.
    """
    fetched, merged = rows_of_all(FETCHED, moved, widths), MERGED.of(rows.left + rows.right)
    total = fetched + rows_of_all(SORTED, rows, widths) + merged + returned(plan, widths)
    share = straggler / plan.keys.partitions
    held = share * (rows.left * widths.left + rows.right * widths.right)
    return Stage(total, total * share, STAGE, held)


def salt_stages(
    plan: JoinPlan,
    widths: Pair[float],
    *,
    hashed: bool,
    costly: Mapping[Side, float],
    pre_partitioned: Collection[Side],
) -> list[Stage]:
    """Return the stages of the salted join. `hashed` says whether its build side is small enough for a hash join.

    `costly` has the sides that come out of shuffles, each with their work in joins or group-bys. It is done again where
    the query looks up hot keys there. The rows of a hot key on a `pre_partitioned` side begin in one task.
    """
    copied = (sum(m.rows.of(side) * m.replicas.of(side) for m in plan.matrices) for side in SIDES)
    rows = Pair(*(own + again for own, again in zip(plan.rows, copied, strict=True)))
    again = sum(
        (costly[side] * (WRITTEN.row + FETCHED.row) * plan.rows.of(side) if side in costly else 0.0)
        + READ.of(plan.rows.of(side))
        for side in plan.looked_up
    )
    whole = Step(ROUTED.row + WRITTEN.row, WRITTEN.byte)
    one = max((whole.of(m.rows.of(s), widths.of(s)) for s in pre_partitioned for m in plan.matrices), default=0.0)
    moved = Stage(ROUTED.of(rows.left + rows.right) + rows_of_all(WRITTEN, rows, widths), one, PLANNED)
    looked_up = [Stage(again, fixed=STAGE)] if plan.looked_up else []
    if not hashed:
        return [*looked_up, moved, joined_stage(plan, rows, rows, widths, plan.keys.straggler)]
    total = _hash_joined(plan, rows, widths)
    return [*looked_up, moved, Stage(total, total * plan.keys.straggler / plan.keys.partitions, STAGE)]


def broadcast_head_stages(plan: JoinPlan, head: Head, widths: Pair[float], *, hashed: bool) -> list[Stage]:
    """Return the stages of the join in two branches, which read both sides twice."""
    hot = plan.rows.of(head.side) * head.share
    other = plan.rows.of(opposite(head.side))
    rest = plan.rows.of(head.side) - hot
    cold = Pair(rest, other) if head.side == "left" else Pair(other, rest)
    read = rows_of_all(READ, plan.rows, widths)
    sent = SENT.of(head.rows, widths.of(opposite(head.side)))
    probed = PROBED.of(hot) + returned(plan, widths)
    moved = Stage(rows_of_all(WRITTEN, cold, widths))
    joined = Stage(_hash_joined(plan, cold, widths) - returned(plan, widths)) if hashed else _sorted(cold, widths)
    return [Stage(read + probed, fixed=PLANNED + STAGE + sent), moved, joined]


def broadcast_side_stages(plan: JoinPlan, side: Side, widths: Pair[float]) -> list[Stage]:
    """Return the stages of a broadcast of one whole side: no row of the other side is shuffled, hot or not.

    The driver makes the hash table, alone. The other side's rows are joined where they are read.
    """
    alone = SENT.of(plan.rows.of(side), widths.of(side))
    total = PROBED.of(plan.rows.of(opposite(side))) + returned(plan, widths)
    return [Stage(total, fixed=STAGE + alone)]


def returned(plan: JoinPlan, widths: Pair[float]) -> float:
    """Return the seconds of the rows that come out."""
    return RETURNED.of(plan.output, widths.left + widths.right)


def rows_of_all(step: Step, rows: Pair[float], widths: Pair[float]) -> float:
    """Return the seconds of a step for the rows of both sides."""
    return step.of(rows.left, widths.left) + step.of(rows.right, widths.right)


def _sorted(rows: Pair[float], widths: Pair[float]) -> Stage:
    fetched = rows_of_all(FETCHED, rows, widths)
    return Stage(fetched + rows_of_all(SORTED, rows, widths) + MERGED.of(rows.left + rows.right))


def _hash_joined(plan: JoinPlan, rows: Pair[float], widths: Pair[float]) -> float:
    fetched = rows_of_all(FETCHED, rows, widths)
    built = BUILT.of(rows.of(plan.build), widths.of(plan.build))
    return fetched + built + PROBED.of(rows.of(opposite(plan.build))) + returned(plan, widths)


def makes_many_pairs(plan: JoinPlan) -> bool:
    """Return whether the pairs of a heavy key are more work than the rows of its larger side."""
    rows = (min(matrix.rows) for matrix in plan.matrices)
    return plan.rules.kind.pairs and OUTPUT_COST * max(rows, default=0.0) > 1
