"""What each way to answer a join costs: rows and bytes, as total work and as the longest task."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from skewkit.plan.join.join_plan import Head, JoinPlan
from skewkit.plan.join.kinds import SIDES, Side, opposite
from skewkit.plan.join.matrix import OUTPUT_COST

# Work per row, in narrow rows that are shuffled, sorted and merged: CPU seconds over tasks of 20 M rows of two longs
# joined to 3 M on Spark 4.2.0, where plain Spark takes 1, a hash join 0.78, the salted one 0.93, the broadcast 0.76.
_HASHED = 0.8  # shuffled, and joined by a hash table instead of a sort
_ROUTED = 0.15  # finding the partition of a row
_SHUFFLED = 0.3  # a row's way to another task, an estimate from the stages in docs/speed.md
_READ = 0.15  # reading a row once more and filtering it
_AGAIN = 1.0  # computing a row once more that comes out of a shuffle
_PROBED = 0.25  # joining a row to a broadcast table
_BYTES = 100.0  # so many bytes weigh as much as a row does by itself: an estimate
_SENT = 1.0  # bringing a row to the driver, which hashes it and sends the table to the executors, all alone
_ENTRY = 72.0  # bytes of a row in a hash table beside its own: 53 to 168 in all, for rows of 16 to 28 bytes


@dataclass(frozen=True)
class Price:
    """Work of a strategy, in narrow rows: all of it, and that of its longest task."""

    total: float
    longest: float

    def of(self, partitions: int) -> float:
        """Return what the strategies are compared by: the longest task, plus what each of n tasks does at the mean.

        The first counts where there are slots enough, the second where there are few.
        """
        return self.longest + self.total / partitions


@dataclass(frozen=True)
class Widths:
    """Bytes of a row of each side, as its types suggest."""

    left: float = 16.0
    right: float = 16.0

    def rows(self, left: float, right: float) -> float:
        """Return the work to shuffle so many rows of both sides, before sorting is told from hashing."""
        return left * (1 + self.left / _BYTES) + right * (1 + self.right / _BYTES)

    def of(self, side: Side) -> float:
        """Return the bytes of one side's row."""
        return self.left if side == "left" else self.right


def native_price(plan: JoinPlan, widths: Widths, unshuffled: Collection[Side] = ()) -> Price:
    """Return the price of plain Spark: a shuffle by the key, but of sides that are `unshuffled`, and a sort-merge join.

    >>> Price(320.0, 100.0).of(32)
    110.0
    """
    moved = [plan.totals(side).rows * (0.0 if side in unshuffled else 1.0) for side in SIDES]
    joined = widths.rows(plan.left.rows, plan.right.rows) * (1 - _SHUFFLED)
    total = joined + widths.rows(*moved) * _SHUFFLED + OUTPUT_COST * plan.output
    return Price(total, total / plan.keys.partitions * plan.keys.native_straggler)


def salt_price(plan: JoinPlan, widths: Widths, *, hashed: bool, costly: Mapping[Side, float] | None = None) -> Price:
    """Return the price of the salted join; `hashed` says whether its build side is small enough for a hash join.

    Where the query looks up hot keys on a side that is `costly`, as it comes out of shuffles, all of these, so many
    times the work of one join or group-by, are done once more.
    """
    times = costly or {}
    left = plan.left.rows + sum(g.left_rows * (len(g.right) - 1) for g in plan.grids if not g.answered)
    right = plan.right.rows + sum(g.right_rows * (len(g.left) - 1) for g in plan.grids if not g.answered)
    shuffled = widths.rows(left, right) * (_HASHED if hashed else 1.0)
    again = sum(plan.totals(s).rows * (_AGAIN * times[s] if s in times else _READ) for s in plan.looked_up)
    total = shuffled + (left + right) * _ROUTED + again + OUTPUT_COST * plan.output
    return Price(total, total / plan.keys.partitions * plan.keys.straggler)


def broadcast_price(plan: JoinPlan, head: Head, widths: Widths, *, hashed: bool) -> Price:
    """Return the price of the join in two branches, which read both sides twice."""
    hot = plan.totals(head.side).rows * head.share
    other = plan.totals(opposite(head.side)).rows
    rest = plan.totals(head.side).rows - hot
    left, right = (rest, other) if head.side == "left" else (other, rest)
    cold = widths.rows(left, right) * (_HASHED if hashed else 1.0)
    total = cold + (plan.left.rows + plan.right.rows) * _READ + hot * _PROBED + OUTPUT_COST * plan.output
    return Price(total, total / plan.keys.partitions)


def whole_price(plan: JoinPlan, side: Side, widths: Widths) -> Price:
    """Return the price of a broadcast of one whole side: no row of the other side is shuffled, hot or not.

    The driver makes the hash table, alone; the other side's rows are joined where they are read.
    """
    alone = plan.totals(side).rows * (1 + widths.of(side) / _BYTES) * _SENT
    total = plan.totals(opposite(side)).rows * _PROBED + OUTPUT_COST * plan.output
    return Price(total, alone + total / plan.keys.partitions)


def table_bytes(rows: float, width: float) -> float:
    """Return what a broadcast hash table of so many rows takes in memory, in the driver and in every executor.

    >>> table_bytes(1e6, 16.0)
    88000000.0
    """
    return rows * (width + _ENTRY)


def makes_many_pairs(plan: JoinPlan, unlisted: tuple[float, float] = (1.0, 1.0)) -> bool:
    """Return whether the pairs of a heavy key are more work than the rows of its larger side.

    A key that the profile of a side does not list has one row there, or as many as `unlisted` says of left and right.
    """
    rows = (min(max(g.left_rows, unlisted[0]), max(g.right_rows, unlisted[1])) for g in plan.grids)
    return plan.rules.how not in ("semi", "anti") and OUTPUT_COST * max(rows, default=0.0) > 1


def broadcast_fits(head: Head, widths: Widths, most_bytes: float) -> bool:
    """Return whether the broadcast rows of a head keep to a budget of bytes."""
    return head.rows * widths.of(opposite(head.side)) <= most_bytes
