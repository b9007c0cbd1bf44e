"""Stars of a SELECT: they see a view's helper columns, so they are spelled out."""

from __future__ import annotations

from skewkit.hints.text.query_block import QueryBlock
from skewkit.hints.text.tokens import NotCut, Token, closing, is_word

_BEFORE = ("select", "distinct", "all", ",", "(")
_QUERIES = ("select", "with", "from", "values")


def stars_of(block: QueryBlock) -> tuple[Token, ...]:
    """Return the stars that stand for all columns of the FROM, alone and inside calls, but for those of sub-queries.

    Raises:
        NotCut: a star with EXCEPT or REPLACE, or one in a join's condition.

    >>> from skewkit.hints.text.query_block import block_at
    >>> text = "SELECT /*+ SKEW('a') */ *, count(*), a * b, a.*, hash(*), (SELECT * FROM b) FROM a ORDER BY hash(*)"
    >>> block = block_at(text, 1)
    >>> [block.source[star.start - 1 : star.end + 1] for star in stars_of(block)]
    [' *,', '(*)', '(*)']
    """
    found = []
    joined = block.clauses.get("from", range(0))
    at, stop = block.clauses["select"].start, block.end
    while at < stop:
        if is_word(block.tokens, at, "(") and at + 1 < stop and block.tokens[at + 1].name in _QUERIES:
            at = closing(block.tokens, at)
        elif is_word(block.tokens, at, "*") and _is_of_all(block, at):
            if at in joined:
                raise NotCut("a star in its FROM is left to plain Spark")
            if at + 1 < stop and block.tokens[at + 1].name in ("except", "replace"):
                raise NotCut("a star with EXCEPT is left to plain Spark")
            found.append(block.tokens[at])
        at += 1
    return tuple(found)


def _is_of_all(block: QueryBlock, at: int) -> bool:
    before = block.tokens[at - 1]
    counted = is_word(block.tokens, at - 2, "count", "(") and is_word(block.tokens, at + 1, ")")
    return not counted and (before.kind == "hint" or (before.kind != "quoted" and before.name in _BEFORE))
