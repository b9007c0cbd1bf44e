"""Window frames as data: which rows around a row a function sees, and how far that reaches past a block."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import SupportsIndex

from skewkit.errors import ArgumentError, ArgumentTypeError, shown

_UNBOUNDED = (1 << 63) - 1


@dataclass(frozen=True)
class Frame:
    """`rows` counts rows and `range` order values, both relative to the current row. None is an infinite bound."""

    kind: str
    start: int | None
    end: int | None

    @property
    def finite(self) -> bool:
        """Whether both bounds are finite."""
        return self.start is not None and self.end is not None

    @property
    def whole(self) -> bool:
        """Whether neither bound is finite, so that every row of a partition has the same frame."""
        return self.start is None and self.end is None

    @property
    def reach(self) -> tuple[int, int]:
        """How far before and after the current row the finite bounds reach, in rows or in order values.

        >>> Frame("rows", -3, 2).reach, Frame("rows", None, 2).reach, Frame("rows", 2, 5).reach
        ((3, 2), (0, 2), (0, 5))
        """
        return max(0, -(self.start or 0)), max(0, self.end or 0)

    @property
    def sides(self) -> str:
        """Which other blocks lie in the frame as a whole: `before`, `after`, `all` or `none`."""
        if self.whole:
            return "all"
        return "before" if self.start is None else "after" if self.end is None else "none"

    @property
    def holds_current(self) -> bool:
        """Whether the current row is in its own frame.

        >>> Frame("rows", None, 0).holds_current, Frame("rows", None, -1).holds_current
        (True, False)
        """
        return (self.start or 0) <= 0 <= (self.end or 0)

    def cannot_split(self) -> str | None:
        """Return why blocks cannot be corrected under this frame, or None.

        An infinite bound takes in all blocks on its side. That fits if the frame holds the current row, or reaches to
        the very next one. Then what it holds of the row's own block ends, or begins, where other blocks do.

        >>> Frame("rows", None, -1).cannot_split(), Frame("rows", 2, None).cannot_split()
        (None, 'the frame rows between 2 following and unbounded following ends in the midst of another block')
        """
        next_row = self.kind == "rows" and 1 in (-(self.end or 0), self.start)
        if self.finite or self.holds_current or next_row:
            return None
        return f"the frame {self} ends in the midst of another block"

    def __str__(self) -> str:
        return f"{self.kind} between {_bound(self.start, 'preceding')} and {_bound(self.end, 'following')}"


RUNNING = Frame("range", None, 0)
WHOLE = Frame("rows", None, None)


def make_frame(kind: str, start: object, end: object) -> Frame:
    """Return the frame that `rowsBetween` or `rangeBetween` of `pyspark.sql.Window` would make of two bounds.

    Raises:
        ArgumentTypeError: a bound is no whole number.
        ArgumentError: the frame ends before it starts.

    >>> str(make_frame("rows", -(1 << 63), 0))
    'rows between unbounded preceding and current row'
    """
    bounds = []
    for name, bound in (("start", start), ("end", end)):
        if isinstance(bound, bool) or hasattr(bound, "__len__") or not isinstance(bound, SupportsIndex):
            raise ArgumentTypeError(
                f"{kind}Between got {name}={shown(bound)}; a bound is a whole number, Window.currentRow, "
                "Window.unboundedPreceding or Window.unboundedFollowing"
            )
        bounds.append(operator.index(bound))
    first, last = bounds
    if first > last:
        raise ArgumentError(f"{kind}Between({first}, {last}) ends before it starts; swap the bounds")
    if first >= _UNBOUNDED or last <= -_UNBOUNDED:
        raise ArgumentError(
            f"{kind}Between({first}, {last}) starts after all rows or ends before them; start is at most and end at "
            "least the current row where the other bound is infinite"
        )
    return Frame(kind, None if first <= -_UNBOUNDED else first, None if last >= _UNBOUNDED else last)


def _bound(bound: int | None, side: str) -> str:
    if bound is None:
        return f"unbounded {side}"
    if bound == 0:
        return "current row"
    return f"{abs(bound):,} {'preceding' if bound < 0 else 'following'}"
