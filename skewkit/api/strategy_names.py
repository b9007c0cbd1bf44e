"""Which strategies there are, and which operator each belongs to."""

from __future__ import annotations

from collections.abc import Sequence

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


def unknown_strategy(strategy: str, valid: Sequence[str]) -> ArgumentError:
    """Return the error of a strategy that is none of `valid`: the nearest of them, or the operator it belongs to."""
    word = str(strategy).lower()
    owner = None if word in valid else _OWNERS.get(word)
    belongs = f"; {strategy!r} is a strategy of {owner}" if owner else ""
    return ArgumentError(f"unknown strategy {strategy!r}: {nearest(str(strategy), valid)}{belongs}")
