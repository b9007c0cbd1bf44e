"""A join condition in SQL, cut at its ANDs and equalities by its tokens; what is not plainly understood stays whole."""

from __future__ import annotations

import re
from itertools import groupby, pairwise

from skewkit.spark.expressions.keys import quoted
from skewkit.spark.expressions.sql_text import NotUnderstood, Token, Tokens, closing, deeper, text_of, tokens_of

_COMPARES = frozenset(("=", "<", ">", "!", "=>"))
_EQUAL = {"=": "=", "==": "=", "<=>": "<=>"}
_PREDICATE = re.compile(
    "and|or|as|not|in|i?like|rlike|regexp|is|between|exists|any|some|all|escape|similar|select|->|[?:]"
)
_UNREADABLE = ("\\'", '\\"', "/*", "--")
"""Where these stand, a text may end elsewhere than the tokens say."""


def conjuncts_of(source: str) -> list[str]:
    """Return the parts of a SQL condition `a AND b AND ...`; their AND is the condition, in the same order.

    >>> conjuncts_of("a.k = b.k and (a.t BETWEEN 1 AND 2 AND a.s = 'x AND y')")
    ['a.k = b.k', 'a.t BETWEEN 1 AND 2', "a.s = 'x AND y'"]
    >>> conjuncts_of("a.k = b.k AND a.x = 1 OR a.y = 2"), conjuncts_of("CASE WHEN a AND b THEN c END")
    (['a.k = b.k AND a.x = 1 OR a.y = 2'], ['CASE WHEN a AND b THEN c END'])
    """
    try:
        return [text_of(source, part) for part in _conjuncts(_readable(source))]
    except NotUnderstood:
        return [source]


def equality_of(source: str) -> tuple[str, str, str] | None:
    """Return both sides of a SQL equality and its sign, `=` or `<=>`, or None where it is anything else.

    >>> equality_of("(a.k + 1 == b.`k`)"), equality_of("a.k <=> upper(b.k)")
    (('a.k + 1', 'b.`k`', '='), ('a.k', 'upper(b.k)', '<=>'))
    >>> [equality_of(text) for text in ("NOT a = b", "a >= b", "a = b = c", "a = b IS NULL", "f(a = b)")]
    [None, None, None, None, None]
    """
    try:
        tokens = _bare(_readable(source))
        flat = _flat(tokens)
    except NotUnderstood:
        return None
    if any(_PREDICATE.fullmatch(token.word) for token in flat):
        return None
    at = [i for i, token in enumerate(tokens) if token in flat and token.word in _COMPARES]
    sign = "".join(tokens[i].word for i in at)
    if sign not in _EQUAL or at != list(range(at[0], at[0] + len(at))) or at[0] == 0 or at[-1] == len(tokens) - 1:
        return None
    return text_of(source, tokens[: at[0]]), text_of(source, tokens[at[-1] + 1 :]), _EQUAL[sign]


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
        tokens = _readable(source)
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


def _no_names(tokens: Tokens) -> set[Token]:
    """Return words that are no columns: AS, those behind an operand, and CASE and END where they pair up."""
    found = {token for token in tokens if token.word == "as"}
    for before, token in pairwise(tokens):
        operand = before.kind in ("number", "text", "quoted") or before.word in (")", "]")
        if operand and token.kind == "word":
            found.add(token)
    bare = [token for i, token in enumerate(tokens) if i == 0 or tokens[i - 1].word != "."]
    cases, ends = ([token for token in bare if token.word == word] for word in ("case", "end"))
    whens = [before for before, token in pairwise(tokens) if (before.word, token.word) == ("case", "when")]
    return found.union(cases, ends) if len(cases) == len(ends) == len(whens) else found


def _is_name(tokens: Tokens, at: int) -> bool:
    """Return whether a token may be a name, or a part of one."""
    if at >= len(tokens):
        return False
    token = tokens[at]
    return (
        token.kind in ("word", "quoted") or token.word.startswith('"') or re.match(r"\d+[a-z_]", token.word) is not None
    )


def _name(source: str, token: Token) -> str:
    text = source[token.start : token.end]
    return quoted(text[1:-1]) if text.startswith('"') else text


def _readable(source: str) -> Tokens:
    tokens = tokens_of(source)
    if not tokens or any(sign in source for sign in _UNREADABLE):
        raise NotUnderstood(source)
    return tokens


def _conjuncts(tokens: Tokens) -> list[Tokens]:
    tokens = _bare(tokens)
    flat = _flat(tokens)
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
    parts = [list(part) for is_cut, part in groupby(tokens, lambda token: token in cuts) if not is_cut]
    return [conjunct for part in parts for conjunct in _conjuncts(part)]


def _bare(tokens: Tokens) -> Tokens:
    """Return the tokens without the brackets around all of them."""
    while len(tokens) > 2 and tokens[0].word == "(" and closing(tokens, 0) == len(tokens) - 1:
        tokens = tokens[1:-1]
    return tokens


def _flat(tokens: Tokens) -> list[Token]:
    """Return the tokens outside of brackets and of CASE ... END; names behind a dot are left out."""
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
