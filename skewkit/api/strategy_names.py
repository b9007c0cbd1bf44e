"""Which strategies there are, and which operator each belongs to."""

from __future__ import annotations

from collections.abc import Sequence

from skewkit.api.join.strategies import STRATEGIES
from skewkit.errors import ArgumentError, nearest, shown
from skewkit.plan.placement.schemes import SCHEMES

WINDOW_STRATEGIES = ("auto", "native", "split")
_OWNERS = {
    **dict.fromkeys(SCHEMES, "skew_groupby"),
    **dict.fromkeys(WINDOW_STRATEGIES, "skew_window"),
    **dict.fromkeys(STRATEGIES, "skew_join"),
}
"""Which operator a strategy's name belongs to."""


def check_strategy(strategy: object, valid: Sequence[str]) -> None:
    """Refuse a strategy that is none of `valid`: the error names the nearest, or the operator it belongs to."""
    if isinstance(strategy, str) and strategy in valid:
        return
    word = strategy.lower() if isinstance(strategy, str) else ""
    owner = None if word in valid else _OWNERS.get(word)
    belongs = f"; {shown(strategy)} is a strategy of {owner}" if owner else ""
    raise ArgumentError(f"unknown strategy {shown(strategy)}: {nearest(word, valid)}{belongs}")
