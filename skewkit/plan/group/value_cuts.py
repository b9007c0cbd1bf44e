"""Where the values of hot keys are cut into ranges, so that a percentile asks for the rows of a few ranges only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from skewkit.plan.placement.key_plan import KeyPlan
from skewkit.plan.window.window_plan import Block, Cut, Order, WindowPlan

MOST_RANGES = 64
"""Ranges of one key, of which a percentile asks for one or two."""
_ALL_RANGES = 256
"""Ranges of all keys: the cuts are literals in the query."""


def value_cuts(keys: KeyPlan, order: Order, samples: Mapping[int, Sequence[Cut]]) -> WindowPlan:
    """Cut the values of heavy keys at quantiles of samples, which are sorted. The heavier a key, the more ranges.

    Ranges are blocks without a partition: rows are counted where they are. A key with one value in its sample, or
    without a sample, has no ranges.

    >>> from skewkit.plan.placement.load import HeavyLoad, KeyLoad
    >>> from skewkit.plan.placement.key_plan import key_plan
    >>> keys = key_plan(KeyLoad(("k",), ("int",), (HeavyLoad((7,), 99, 6.0),), (1.0, 1.0)), 2)
    >>> plan = value_cuts(keys, Order("v", "int"), {0: [(str(i),) for i in range(640)]})
    >>> len(plan.blocks), plan.blocks[0].cut, plan.blocks[1].cut, plan.blocks[63].cut
    (64, None, ('10',), ('630',))
    """
    total = sum(keys.heavy[i].weight for i in samples)
    blocks: list[Block] = []
    for i, values in samples.items():
        known = [value for value in values if value[0] is not None]
        wanted = min(MOST_RANGES, max(2, int(_ALL_RANGES * keys.heavy[i].weight / total))) if total else 1
        cuts = dict.fromkeys(known[len(known) * at // wanted] for at in range(1, wanted) if known)
        own = [Block(i, 0), *(Block(i, 0, cut) for cut in cuts if cut != known[0])]
        blocks += own if len(own) > 1 else []
    return WindowPlan(keys, (order,), tuple(blocks))
