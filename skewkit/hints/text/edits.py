"""Edits of a text: parts of it that are replaced."""

from __future__ import annotations

from collections.abc import Sequence

Edit = tuple[int, int, str]


def edited(source: str, edits: Sequence[Edit]) -> str:
    """Return a text with some parts replaced; they do not overlap.

    >>> edited("a b c", [(0, 1, "x"), (4, 5, "yz")])
    'x b yz'
    """
    for start, end, text in sorted(edits, reverse=True):
        source = source[:start] + text + source[end:]
    return source
