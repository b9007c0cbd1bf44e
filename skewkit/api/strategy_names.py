"""Which strategies there are, and which operator each belongs to."""

from __future__ import annotations

from collections.abc import Iterable

from skewkit.api.join.strategies import STRATEGIES
from skewkit.errors import ArgumentError, nearest
from skewkit.plan.placement.schemes import SCHEMES

WINDOW_STRATEGIES = ("auto", "native", "split")
_OWNERS = {
    **dict.fromkeys(SCHEMES, "skew_groupby"),
    **dict.fromkeys(WINDOW_STRATEGIES, "skew_window"),
    **dict.fromkeys(STRATEGIES, "skew_join"),
}
"""Which operator a strategy's name belongs to."""


def check_strategy(strategy: str, valid: Iterable[str]) -> str:
    """Return the strategy if it is one of `valid`."""
    if strategy in (names := list(valid)):
        return strategy
    word = str(strategy).lower()
    owner = None if word in names else _OWNERS.get(word)
    belongs = f"; {strategy!r} is a strategy of {owner}" if owner else ""
    raise ArgumentError(f"unknown strategy {strategy!r}: {nearest(str(strategy), names)}{belongs}")
