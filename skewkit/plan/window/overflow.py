"""Frames of values whose bounds overflow the type of the order, where Spark's sums wrap around.

Spark adds a bound to the order value of a row in the type of the order. With ANSI mode on a sum that overflows fails.
With it off the sum wraps around to the other end. Spark moves the ends of a frame forward from row to row, never back,
so rows that a wrapped bound has passed are lost to all later frames.
"""

from __future__ import annotations

from dataclasses import replace

from skewkit.plan.window.window_frame import Frame
from skewkit.plan.window.window_plan import Block, WindowPlan

_BITS = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}


def wraps_around(frame: Frame, order_type: str, ansi: bool) -> str | None:
    """Return why blocks may have other frames of values than plain Spark, wherever an order is cut, or None.

    * A bound may have no place in the type of the order.
    * With ANSI mode off, the frame start of a first row may wrap around to the other end. Later frames lose all rows up
      to there: few if the frame holds the current row, else maybe all.

    >>> wraps_around(Frame("range", None, 200), "tinyint", ansi=True)
    'a bound of range between unbounded preceding and 200 following has no place in tinyint, the type of the order'
    >>> wraps_around(Frame("range", -60, -1), "bigint", ansi=True) is None
    True
    >>> wraps_around(Frame("range", -60, 0), "bigint", ansi=False) is None
    True
    """
    bits = _BITS.get(order_type)
    if frame.kind != "range" or bits is None:
        return None
    if any(abs(bound or 0) >= 1 << bits - 1 for bound in (frame.start, frame.end)):
        return f"a bound of {frame} has no place in {order_type}, the type of the order"
    if not ansi and (frame.start or 0) < 0 and (frame.end is None or frame.end < 0):
        return (
            f"with ANSI mode off {frame} may wrap around in {order_type}, the type of the order: cast the order to "
            "double, or turn ANSI mode on"
        )
    return None


def clear_of_overflow(plan: WindowPlan, frame: Frame) -> WindowPlan:
    """Return the plan without the cuts that are so near an end of the order's type that frames overflow about there.

    * Rows whose frame end overflows are then all in the last block, after a row whose end does not: that row has moved
      the frame for them.
    * Rows whose frame start overflows are in the first block, and so are all rows that they lose to later frames.

    >>> from skewkit.plan.placement.load import HeavyLoad, KeyLoad
    >>> from skewkit.plan.placement.key_plan import key_plan
    >>> from skewkit.plan.window.window_plan import Order, window_plan
    >>> keys = key_plan(KeyLoad(("k",), ("int",), (HeavyLoad((7,), 99, 1e6),), (1.0, 1.0)), 4)
    >>> plan = window_plan(keys, [Order("t", "tinyint")], {0: [(str(i),) for i in range(-120, 120)]})
    >>> [block.cut for block in plan.blocks]
    [None, ('-61',), ('-1',), ('59',)]
    >>> [block.cut for block in clear_of_overflow(plan, Frame("range", -20, 80)).blocks]
    [None, ('-1',)]
    """
    order = plan.orders[0]
    bits = _BITS.get(order.type)
    if bits is None:
        return plan
    least, greatest = -(1 << bits - 1), (1 << bits - 1) - 1
    before, after = frame.reach
    near = 1 + (1 << bits) // 10**11  # rows this much farther away may be copied, as moved cuts are doubles

    def clear(block: Block) -> bool:
        text = block.cut[0] if block.cut else None
        if text is None:
            return True
        below, above = int(text) - least, greatest - int(text)
        if order.descending:
            below, above = above, below
        return (not before or below > 2 * before + after + near) and above >= after

    kept: list[Block] = []
    for first, last in plan.spans.values():
        own = [block for block in plan.blocks[first : last + 1] if clear(block)]
        kept += own if len(own) > 1 else []
    return replace(plan, blocks=tuple(kept))
