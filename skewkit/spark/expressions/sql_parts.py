"""A SQL text cut at its words and signs outside of brackets, by its tokens."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from skewkit.spark.expressions.sql_text import NotUnderstood, SqlToken, SqlTokens, closing, deeper, tokens_of

_UNREADABLE = ("\\'", '\\"', "/*", "--", "${")
"""Where these stand, a text may end elsewhere than the tokens say, or a session fills something in."""
_QUERIES = ("select", "with", "from", "values", "table")
"""Words that a query in brackets begins with."""


def readable_tokens(source: str) -> SqlTokens:
    """Return the tokens of a text that ends where they say.

    Raises:
        NotUnderstood: it may end elsewhere, or says nothing.
    """
    tokens = tokens_of(source)
    outside = list(source)
    for token in tokens:
        if token.kind == "quoted":
            outside[token.start : token.end] = "q" * (token.end - token.start)
    if not tokens or any(sign in "".join(outside) for sign in _UNREADABLE):
        raise NotUnderstood(source)
    return tokens


def cut_at_ands(tokens: SqlTokens) -> list[SqlTokens]:
    """Return the parts of `a AND b AND ...`, in whatever brackets. That of BETWEEN is none."""
    tokens = without_brackets(tokens)
    flat = outermost(tokens)
    if any(token.word == "or" for token in flat):
        return [tokens]
    cuts, ranges = [], 0
    for token in flat:
        ranges += token.word == "between"
        if token.word == "and" and ranges:
            ranges -= 1
        elif token.word == "and":
            cuts.append(token)
    if not cuts:
        return [tokens]
    return [conjunct for part in cut(tokens, cuts) for conjunct in cut_at_ands(part)]


def cut_at(tokens: SqlTokens, word: str) -> list[SqlTokens]:
    """Return what is between these words outside of brackets. Commas and OR bind least."""
    return cut(tokens, [token for token in outermost(tokens) if token.word == word])


def cut(tokens: SqlTokens, cuts: Sequence[SqlToken]) -> list[SqlTokens]:
    """Return what is between these tokens."""
    return [list(part) for is_cut, part in groupby(tokens, lambda token: token in cuts) if not is_cut]


def without_brackets(tokens: SqlTokens) -> SqlTokens:
    """Return the tokens without the brackets around all of them. Those of a query are part of it."""
    while len(tokens) > 2 and tokens[0].word == "(" and closing(tokens, 0) == len(tokens) - 1:
        if is_query(tokens):
            break
        tokens = tokens[1:-1]
    return tokens


def is_query(tokens: SqlTokens) -> bool:
    """Return whether tokens may be a query, in whatever brackets."""
    return next((token.word for token in tokens if token.word != "("), "") in _QUERIES


def outermost(tokens: SqlTokens) -> list[SqlToken]:
    """Return the tokens outside of brackets and of CASE ... END; names after a dot are left out."""
    depth, found = 0, []
    for i, token in enumerate(tokens):
        if i and tokens[i - 1].word == ".":
            continue
        step = deeper(token) + (token.word == "case") - (token.word == "end")
        depth += step
        if depth < 0:
            raise NotUnderstood(token.word)
        if depth == 0 and step == 0:
            found.append(token)
    if depth:
        raise NotUnderstood("a bracket is not closed")
    return found


def arguments_of(tokens: SqlTokens, name: str) -> list[SqlTokens] | None:
    """Return the arguments, if the tokens are a call of this function."""
    if len(tokens) < 4 or tokens[0].word != name or tokens[1].word != "(" or closing(tokens, 1) != len(tokens) - 1:
        return None
    return cut_at(tokens[2:-1], ",")


def words_of(tokens: SqlTokens) -> list[str]:
    """Return the tokens as words in lower case."""
    return [token.word for token in tokens]
