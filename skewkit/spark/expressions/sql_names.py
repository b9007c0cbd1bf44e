"""The names by which a SQL text may read columns."""

from __future__ import annotations

import re
from itertools import pairwise

from skewkit.spark.expressions.keys import quoted
from skewkit.spark.expressions.sql_parts import readable_tokens
from skewkit.spark.expressions.sql_text import NotUnderstood, SqlToken, SqlTokens


def names_in(source: str) -> list[str] | None:
    r"""Return the names that a SQL text may read columns by, some words more, or None where it may read others.

    >>> names_in("a.k + 1 = upper(`my b`.C[0].d) AND author = user")
    ['a.k', '`my b`.C', 'author', 'user']
    >>> names_in("CASE WHEN CAST(a.ts AS date) > date '2024-01-01' THEN (b) + INTERVAL 1 DAY END")
    ['WHEN', 'a.ts', 'b', 'INTERVAL']
    >>> names_in(r"a RLIKE '\d+'"), names_in("struct(a.*)"), names_in("a -- why")
    (['a'], None, None)
    >>> names_in("concat(a, identifier('user'))"), names_in("a.k + 1st_col")
    (None, None)
    """
    try:
        tokens = readable_tokens(source)
    except NotUnderstood:
        return None
    found, at, no_names = [], 0, _no_names(tokens)
    while at < len(tokens):
        token, before = tokens[at], tokens[at - 1].word if at else ""
        star = token.word == "*" and before in ("", "(", ",", ".")
        # `1st_col` is a name that the tokens cut in two.
        cut = token.kind == "number" and _is_name(tokens, at + 1) and tokens[at + 1].start == token.end
        if star or cut or token.word == "identifier" or not token.word[0].isascii():
            return None
        parts = [token]
        while _is_name(tokens, at + 2) and tokens[at + 1].word == ".":
            at += 2
            parts.append(tokens[at])
        at += 1
        # A word before a bracket is called, and one before a text is a keyword, or says what the text is.
        called = at < len(tokens) and tokens[at].word[0] in "('"
        if _is_name([token], 0) and not (called or before in (".", "as", "::") or token in no_names):
            found.append(".".join(_name(source, part) for part in parts))
    return found


def _no_names(tokens: SqlTokens) -> set[SqlToken]:
    """Return words that are no columns: AS, those after an operand, and CASE and END where they pair up."""
    found = {token for token in tokens if token.word == "as"}
    for before, token in pairwise(tokens):
        operand = before.kind in ("number", "text", "quoted") or before.word in (")", "]")
        if operand and token.kind == "word":
            found.add(token)
    bare = [token for i, token in enumerate(tokens) if i == 0 or tokens[i - 1].word != "."]
    cases, ends = ([token for token in bare if token.word == word] for word in ("case", "end"))
    whens = [before for before, token in pairwise(tokens) if (before.word, token.word) == ("case", "when")]
    return found.union(cases, ends) if len(cases) == len(ends) == len(whens) else found


def _is_name(tokens: SqlTokens, at: int) -> bool:
    """Return whether a token may be a name, or a part of one."""
    if at >= len(tokens):
        return False
    token = tokens[at]
    return (
        token.kind in ("word", "quoted") or token.word.startswith('"') or re.match(r"\d+[a-z_]", token.word) is not None
    )


def _name(source: str, token: SqlToken) -> str:
    text = source[token.start : token.end]
    return quoted(text[1:-1]) if text.startswith('"') else text
