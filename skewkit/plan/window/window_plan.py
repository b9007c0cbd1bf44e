"""The plan of a window: where the order of every hot partition is cut, and which block goes to which partition."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from skewkit.plan.placement.key_plan import KeyPlan
from skewkit.plan.window.window_frame import Frame

MOST_COPIES = 1.5
"""Blocks that a row may be in, on average, before cutting farther apart is better."""

Cut = tuple[str | None, ...]
"""One value per compared order column, as text; None is a null."""


@dataclass(frozen=True)
class Order:
    """One order column: its name and Spark type, its direction, and where nulls go."""

    name: str
    type: str
    descending: bool = False
    nulls_first: bool = True

    def __str__(self) -> str:
        default = self.nulls_first != self.descending
        nulls = "" if default else " nulls first" if self.nulls_first else " nulls last"
        return f"{self.name}{' desc' if self.descending else ''}{nulls}"


@dataclass(frozen=True)
class Block:
    """A consecutive range of one heavy key's order: from `cut` on (None: from the start) up to the next block."""

    heavy: int
    partition: int
    cut: Cut | None = None


@dataclass(frozen=True)
class WindowPlan:
    """A key plan, and for every heavy key that it spreads the blocks of its order.

    * Rows of one key that are equal in the order are in one block.
    * Blocks of a key are numbered in its order, and a block is on one partition.
    * Keys without blocks are whole, on the partition that the key plan names.
    * `opposite` is the plan whose blocks these are, in the opposite order and numbering (`turned`).
    """

    keys: KeyPlan
    orders: tuple[Order, ...]
    blocks: tuple[Block, ...]
    opposite: WindowPlan | None = None

    @property
    def depth(self) -> int:
        """How many leading order columns the cuts compare."""
        return max((len(block.cut) for block in self.blocks if block.cut is not None), default=0)

    @cached_property
    def spans(self) -> dict[int, tuple[int, int]]:
        """First and last block of every heavy key that is cut."""
        spans: dict[int, tuple[int, int]] = {}
        for number, block in enumerate(self.blocks):
            spans[block.heavy] = (spans.get(block.heavy, (number, 0))[0], number)
        return spans

    @property
    def sorts_twice(self) -> bool:
        """Whether blocks are to be sorted by their first order column alone before the window sorts them.

        Numbers and times of one column are sorted by radix. The window's own sort, which compares rows, then finds its
        rows in order. It pays where a partition holds the rows of one block for the most part. Memory is needed twice.
        """
        cut = sum(self.keys.heavy[i].weight for i in self.spans)
        few = 2 * len(self.spans) <= self.keys.partitions
        return few and 2 * cut >= sum(self.keys.loads) and _by_radix(self.orders[0].type)

    @property
    def most(self) -> int:
        """The most blocks that a key is cut into."""
        return max((last - first + 1 for first, last in self.spans.values()), default=1)


def window_plan(keys: KeyPlan, orders: Sequence[Order], samples: Mapping[int, Sequence[Cut]]) -> WindowPlan:
    """Cut the heavy keys that `keys` spreads over several partitions, at quantiles of samples of their order.

    `samples` has for each such key order values at even distances, in order. A part that gets a share of the key gets
    that share of the order. As few leading order columns are compared as tell the cuts apart. Cuts that remain equal
    are one, and a key whose sample has a single value stays whole.

    >>> from skewkit.plan.placement.load import HeavyLoad, KeyLoad
    >>> from skewkit.plan.placement.key_plan import key_plan
    >>> keys = key_plan(KeyLoad(("k",), ("int",), (HeavyLoad((7,), 99, 6.0),), (1.0, 1.0)), 2)
    >>> plan = window_plan(keys, [Order("t", "int")], {0: [(str(i),) for i in range(100)]})
    >>> [(block.partition, block.cut) for block in plan.blocks]
    [(0, None), (1, ('50',))]
    """
    wanted = {
        i: [samples[i][min(len(samples[i]) - 1, int(at * len(samples[i])))] for at in _cumulative(heavy.parts)]
        for i, heavy in enumerate(keys.heavy)
        if len(heavy.parts) > 1 and samples.get(i)
    }
    depth = _depth(wanted, len(orders))
    blocks: list[Block] = []
    for i, cuts in wanted.items():
        parts = [partition for partition, _ in keys.heavy[i].parts]
        own = [Block(i, parts[0])]
        last: Cut | None = samples[i][0][:depth]
        for partition, cut in zip(parts[1:], cuts, strict=True):
            if cut[:depth] != last:
                last = cut[:depth]
                own.append(Block(i, partition, last))
        blocks += own if len(own) > 1 else []
    return WindowPlan(keys, tuple(orders), tuple(blocks))


def uniform_plan(keys: KeyPlan) -> WindowPlan:
    """Return a plan that cuts along a 64-bit hash of the row, for windows without an order. Nothing is sampled."""
    cuts = [(str(-(1 << 63) + (i << 54)),) for i in range(1 << 10)]
    return window_plan(keys, [Order("the row's hash", "bigint")], dict.fromkeys(range(len(keys.heavy)), cuts))


def thinned(plan: WindowPlan, step: int) -> WindowPlan:
    """Return the plan with every `step`-th cut of a key only."""
    kept: list[Block] = []
    for first, last in plan.spans.values():
        own = plan.blocks[first : last + 1 : step]
        kept += own if len(own) > 1 else []
    return replace(plan, blocks=tuple(kept))


def turned(plan: WindowPlan) -> WindowPlan:
    """Return the plan of the opposite order with the very same blocks, numbered in that order.

    >>> from skewkit.plan.placement.load import HeavyLoad, KeyLoad
    >>> from skewkit.plan.placement.key_plan import key_plan
    >>> keys = key_plan(KeyLoad(("k",), ("int",), (HeavyLoad((7,), 99, 6.0),), (1.0, 1.0)), 2)
    >>> plan = turned(window_plan(keys, [Order("t", "int")], {0: [(str(i),) for i in range(100)]}))
    >>> str(plan.orders[0]), [(block.partition, block.cut) for block in plan.blocks]
    ('t desc', [(1, None), (0, ('50',))])
    """
    if plan.opposite is not None:
        return plan.opposite
    blocks: list[Block] = []
    for first, last in plan.spans.values():
        own = plan.blocks[first : last + 1][::-1]
        cuts = (None, *(block.cut for block in own[:-1]))
        blocks += [replace(block, cut=cut) for block, cut in zip(own, cuts, strict=True)]
    orders = (replace(o, descending=not o.descending, nulls_first=not o.nulls_first) for o in plan.orders)
    return replace(plan, orders=tuple(orders), blocks=tuple(blocks), opposite=plan)


def shifted(plan: WindowPlan, by: int) -> WindowPlan:
    """Return the plan with its cuts moved `by` in the direction of the order, as doubles, and a little farther.

    A row is at or after a moved cut if the row `by` before it is at or after the cut. The margin is larger than what
    rounding can do, here or in Spark's own comparison of a range frame.
    """
    order = plan.orders[0]
    relative = 1e-6 if order.type == "float" else 1e-12

    def moved(text: str) -> str:
        value = float(text)
        step = by + math.copysign(relative * (abs(value) + abs(by)), by) if math.isfinite(value) else 0.0
        return repr(value - step if order.descending else value + step)

    blocks = (
        block if block.cut is None or block.cut[0] is None else replace(block, cut=(moved(block.cut[0]),))
        for block in plan.blocks
    )
    return replace(plan, orders=(replace(order, type="double"),), blocks=tuple(blocks))


def copies(plan: WindowPlan, samples: Mapping[int, Sequence[Cut]], start: int | None, end: int | None) -> float:
    """Return in how many blocks a row of a cut key is expected to be under a range frame with these finite bounds."""
    lows = shifted(plan, end) if end is not None else None
    highs = shifted(plan, start) if start is not None else None
    total = found = 0
    for heavy in plan.spans:
        for value in samples[heavy]:
            if value[0] is None:
                continue
            number, own = float(value[0]), _numeric_block(plan, heavy, float(value[0]))
            low = min(own, _numeric_block(lows, heavy, number)) if lows else own
            high = max(own, _numeric_block(highs, heavy, number)) if highs else own
            total, found = total + 1 + high - low, found + 1
    return total / found if found else 1.0


def spaced(
    plan: WindowPlan, samples: Mapping[int, Sequence[Cut]], frame: Frame, most: float = MOST_COPIES
) -> WindowPlan:
    """Return the plan with so few cuts that a row is in at most `most` blocks, on average, under a range frame."""
    step = 1
    while plan.blocks and copies(found := thinned(plan, step), samples, frame.start, frame.end) > most:
        step *= 2
        if step > plan.most:
            return replace(plan, blocks=())
    return found if plan.blocks else plan


def _numeric_block(plan: WindowPlan, heavy: int, number: float) -> int:
    """Return the block of a number, by the same comparisons as the Spark columns."""
    order = plan.orders[0]
    first, last = plan.spans[heavy]
    passed = 0
    for block in plan.blocks[first + 1 : last + 1]:
        text = block.cut[0] if block.cut else None
        if text is None:
            passed += order.nulls_first
        else:
            passed += number <= float(text) if order.descending else number >= float(text)
    return first + passed


def _by_radix(type_: str) -> bool:
    return type_ in ("tinyint", "smallint", "int", "bigint", "float", "double", "date", "timestamp", "timestamp_ntz")


def _cumulative(parts: Sequence[tuple[int, float]]) -> list[float]:
    """Return the shares at which a key is cut: one fewer than its parts."""
    total, cuts = 0.0, []
    for _, share in parts[:-1]:
        total += share
        cuts.append(total)
    return cuts


def _depth(wanted: Mapping[int, Sequence[Cut]], most: int) -> int:
    """Return how many leading order columns tell as many cuts apart as all of them do."""
    counts = [sum(len({cut[:depth] for cut in cuts}) for cuts in wanted.values()) for depth in range(1, most + 1)]
    return 1 + counts.index(max(counts)) if counts else 1
