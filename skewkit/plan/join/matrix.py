"""The 1-Bucket matrix of one hot key in a join: every pair of a left and a right row meets in exactly one cell.

It is that of Okcan and Riedewald, Processing Theta-Joins using MapReduce, SIGMOD 2011 (1-Bucket-Theta). With one column
it is the redistribution and duplication of PRPD (Xu et al., Handling Data Skew in Parallel Joins in Shared-Nothing
Systems, SIGMOD 2008). Flow-Join (Roediger et al., ICDE 2016) broadcasts the other side's rows of such keys. SharesSkew
(Afrati et al.) sizes the matrix by the rows of both sides.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from skewkit.plan.costs import FETCHED, MERGED, RETURNED, SORTED, WRITTEN
from skewkit.plan.join.pair import Pair, Side

Parts = tuple[tuple[int, float], ...]

OUTPUT_COST = RETURNED.row / (WRITTEN.row + FETCHED.row + SORTED.row + MERGED.row)
"""Work of a row that a join returns, in rows that it shuffles, sorts and merges."""
_CELLS_PER_MEAN = 2
_WORTH = 0.005
"""A matrix of both sides is taken if it saves this share of the work of a key in copies, else one side is split."""
_REPEATED = 8
"""Pairs per row from which on its key is compared once, before the join."""


@dataclass(frozen=True)
class Slice:
    """A share of one side's rows of a key, with the partitions that each of these rows is sent to."""

    targets: tuple[int, ...]
    share: float


@dataclass(frozen=True)
class Matrix:
    """How the rows of one hot key meet.

    * A row of a side is in one of the side's slices, chosen by its content, and goes to all targets of it.
    * Every left slice shares exactly one partition with every right slice: each pair of rows meets once.
    * `rows` is what the sides are expected to have, `most` what they have at the most (None: nobody measured it).
    * `checked`: a side whose rows the join keeps is copied, so copies that met nobody are checked again.
    * `answered`: a semi or anti join takes the look-up for the answer and does not shuffle the right side's rows.
    """

    slices: Pair[tuple[Slice, ...]]
    rows: Pair[float]
    most: Pair[float | None]
    checked: bool = False
    answered: bool = False

    @property
    def shape(self) -> Pair[int]:
        """Number of left and right slices."""
        return self.slices.map(len)

    @property
    def repeated(self) -> bool:
        """Whether rows meet so many others that comparing the key once before the join pays."""
        if self.checked or self.answered:
            return False
        return self.rows.left * self.rows.right > _REPEATED * (self.rows.left + self.rows.right)

    @property
    def copied(self) -> tuple[Side, ...]:
        """Sides whose rows are sent to several partitions."""
        replicas = self.replicas
        return tuple(side for side, number in replicas.items() if number)

    @property
    def replicas(self) -> Pair[int]:
        """How many more partitions than one a row of each side is sent to."""
        return Pair(0, 0) if self.answered else Pair(self.shape.right - 1, self.shape.left - 1)

    @property
    def copies(self) -> float:
        """Rows that are sent again, beyond the first time."""
        return self.rows.left * self.replicas.left + self.rows.right * self.replicas.right


@dataclass(frozen=True)
class Shape:
    """How a hot key is to be cut: into `lefts` by `rights` cells, or, where both are 0, along one side by the plan."""

    split: Literal["left", "right", "both", "none"]
    lefts: int = 0
    rights: int = 0


def work(left_rows: float, right_rows: float, *, pairs: bool = True) -> float:
    """Return the work of a key: the rows it brings in, and those that come out, weighted by `OUTPUT_COST`.

    >>> round(work(100, 100))
    937
    """
    return left_rows + right_rows + (OUTPUT_COST * left_rows * right_rows if pairs else 0.0)


def shape_of(left_rows: float, right_rows: float, mean: float, partitions: int, splits: tuple[str, ...]) -> Shape:
    """Return how to cut a key of so many rows, where a partition has `mean` work and `splits` may be split.

    Cutting one side alone copies the other side's rows to every piece. A matrix copies both sides' rows, to a row or
    a column of its cells. The shape that copies fewer rows is taken. A matrix's cells are half a mean each, so that
    they can be placed evenly, and at most one per partition.

    >>> shape_of(1e6, 1, 1e5, 32, ("left", "right"))
    Shape(split='left', lefts=0, rights=0)
    >>> shape_of(2e4, 2e4, 1e6, 32, ("left", "right"))
    Shape(split='both', lefts=4, rights=8)
    """
    if not splits:
        return Shape("none")
    total = work(left_rows, right_rows)
    pieces = min(partitions, math.ceil(total / mean) + 1 if mean else 1)
    copied = {"left": right_rows * (pieces - 1), "right": left_rows * (pieces - 1)}
    side = min(splits, key=lambda s: (copied[s], s))
    one = Shape("left" if side == "left" else "right")
    if len(splits) < 2 or pieces < 4:
        return one
    cells = min(partitions, math.ceil(_CELLS_PER_MEAN * total / mean))
    shapes = [(lefts, math.ceil(cells / lefts)) for lefts in range(2, cells // 2 + 1)]
    fitting = [(a, b) for a, b in shapes if b >= 2 and a * b <= partitions]
    if not fitting:
        return one
    lefts, rights = min(fitting, key=lambda ab: (left_rows * (ab[1] - 1) + right_rows * (ab[0] - 1), ab))
    saved = copied[side] - left_rows * (rights - 1) - right_rows * (lefts - 1)
    return Shape("both", lefts, rights) if saved > _WORTH * total else one


def cells_of(lefts: int, rights: int, partitions: tuple[int, ...]) -> Pair[tuple[Slice, ...]]:
    """Return left and right slices of a matrix whose cells are these partitions, row by row.

    >>> slices = cells_of(2, 2, (4, 5, 6, 7))
    >>> [s.targets for s in slices.left], [s.targets for s in slices.right]
    ([(4, 5), (6, 7)], [(4, 6), (5, 7)])
    """
    left = tuple(Slice(partitions[a * rights : (a + 1) * rights], 1 / lefts) for a in range(lefts))
    right = tuple(Slice(partitions[b::rights], 1 / rights) for b in range(rights))
    return Pair(left, right)


def along(side: Side, parts: Parts) -> Pair[tuple[Slice, ...]]:
    """Return the slices of a `side` that is split along `parts`, and those of the other, which is copied to all.

    >>> along("left", ((3, 0.25), (1, 0.75))).right
    (Slice(targets=(3, 1), share=1.0),)
    """
    split = tuple(Slice((p,), s) for p, s in parts)
    copied = (Slice(tuple(p for p, _ in parts), 1.0),)
    return Pair(split, copied) if side == "left" else Pair(copied, split)
