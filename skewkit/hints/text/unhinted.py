"""SKEW hints found in a query, and the query without them."""

from __future__ import annotations

from collections.abc import Iterator

from skewkit.hints.text.edits import edited
from skewkit.hints.text.hint_grammar import NAMES, HintToken, read_hint
from skewkit.hints.text.tokens import is_word, tokens_of


def skew_hints(source: str) -> Iterator[tuple[int, HintToken]]:
    """Return the hint tokens of SELECTs that have SKEW hints, as (which token, the hint).

    >>> [at for at, hint in skew_hints("SELECT /*+ SKEW('a') */ 1 UNION SELECT /*+ COALESCE(1) */ 1")]
    [1]
    """
    tokens = tokens_of(source)
    for at, token in enumerate(tokens):
        named = token.kind == "hint" and any(name in token.name.lower() for name in NAMES)
        if named and is_word(tokens, at - 1, "select"):
            hint = read_hint(token.name)
            if hint.hints:
                yield at, hint


def unhinted(source: str) -> str:
    """Return the text without SKEW hints, all else in its place. Plain Spark knows only some of their forms.

    >>> unhinted("SELECT /*+ SKEW('a'), BROADCAST(b) */ 1").split()
    ['SELECT', '/*+', 'BROADCAST(b)', '*/', '1']
    """
    tokens = tokens_of(source)
    return edited(source, [(tokens[at].start, tokens[at].end, hint.rest) for at, hint in skew_hints(source)])
