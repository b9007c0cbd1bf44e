"""How far the frames of one call reach past a block, and which copies of other blocks' rows each of them may see."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from skewkit.plan.window.window_frame import Frame


@dataclass(frozen=True)
class Reach:
    """What all blocks of a call get of the rows of other blocks, as copies.

    `rows` is how many rows before and after a block. `values` are the bounds, in order values, in which rows before
    and after a block are wanted (None: none on that side). At most one of the two is there. `only` is the frame that
    asks for it, where all that reach past a block are the same.
    """

    rows: tuple[int, int] | None = None
    values: tuple[int | None, int | None] | None = None
    only: Frame | None = None

    @property
    def frame(self) -> Frame | None:
        """The frame of values that holds all others, None where none reaches past a block."""
        return Frame("range", *self.values) if self.values else None

    def sees(self, frame: Frame | None) -> str:
        """Return which rows a function may see: `all`, its `own` block's, or those `not before` or `not after` it.

        An infinite bound takes in whole blocks on its side, which are carried in, and not as copies.

        >>> wide = reach_of([Frame("rows", -3, 2), Frame("rows", None, 2), None])
        >>> [wide.sees(each) for each in (Frame("rows", -3, 2), Frame("rows", None, 2), None)]
        ['all', 'not before', 'own']
        """
        if (self.rows or self.values) is None or (frame is not None and frame == self.only):
            return "all"
        if frame is None or (frame.kind == "rows") != (self.rows is not None):
            return "own"
        if frame.finite:
            return "all"
        if frame.start is None and (frame.end or 0) > 0:
            return "not before"
        return "not after" if frame.end is None and (frame.start or 0) < 0 else "own"


def reach_of(frames: Iterable[Frame | None]) -> Reach | str:
    """Return the reach of the frames of one call, or the reason why blocks cannot serve them all.

    >>> reach_of([Frame("range", None, 0), None])
    Reach(rows=None, values=None, only=None)
    >>> reach_of([Frame("rows", -3, 0), Frame("rows", None, 2)]).rows
    (3, 2)
    """
    known = list(dict.fromkeys(frame for frame in frames if frame is not None))
    by_row = [frame for frame in known if frame.kind == "rows" and any(frame.reach)]
    by_value = [frame for frame in known if frame.kind == "range" and (frame.start or frame.end)]
    if by_row and by_value:
        return f"the frames {by_row[0]} and {by_value[0]} need other copies of rows; give them in two calls"
    only = (by_row or by_value)[0] if len(by_row or by_value) == 1 else None
    if by_row:
        return Reach(rows=(max(f.reach[0] for f in by_row), max(f.reach[1] for f in by_row)), only=only)
    if by_value:
        starts = [frame.start for frame in by_value if frame.start is not None]
        ends = [frame.end for frame in by_value if frame.end is not None]
        return Reach(values=(min(starts, default=None), max(ends, default=None)), only=only)
    return Reach()
