"""A join condition in SQL, cut at its ANDs and equalities by its tokens. What is not plainly understood stays whole."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import groupby, pairwise

from skewkit.spark.expressions.keys import quoted
from skewkit.spark.expressions.sql_text import NotUnderstood, SqlToken, SqlTokens, closing, deeper, text_of, tokens_of

_COMPARES = frozenset(("=", "<", ">", "!", "=>"))
_EQUAL = {"=": "=", "==": "=", "<=>": "<=>"}
_UNEQUAL = {"<>": "=", "!=": "="}
_NOT_DISTINCT = ["is", "not", "distinct", "from"]
_PREDICATE = re.compile(
    "and|or|as|not|in|i?like|rlike|regexp|is|between|exists|any|some|all|escape|similar|select|->|[?:]"
)
_UNREADABLE = ("\\'", '\\"', "/*", "--")
"""Where these stand, a text may end elsewhere than the tokens say."""


def conjuncts_of(source: str, *, tells_case: bool = False) -> list[str]:
    """Return the parts of a SQL condition `a AND b AND ...`. Their AND is the condition, in the same order.

    Parts that are always true are left out, if there are others. A part that all sides of an OR have stands before
    it, as Spark's optimizer takes it out, too. `tells_case` says that names differ by upper and lower case.

    >>> conjuncts_of("a.k = b.k and (a.t BETWEEN 1 AND 2 AND a.s = 'x AND y')")
    ['a.k = b.k', 'a.t BETWEEN 1 AND 2', "a.s = 'x AND y'"]
    >>> conjuncts_of("a.k = b.k AND a.x = 1 OR a.y = 2"), conjuncts_of("CASE WHEN a AND b THEN c END")
    (['a.k = b.k AND a.x = 1 OR a.y = 2'], ['CASE WHEN a AND b THEN c END'])
    >>> conjuncts_of("1 = 1 AND a.k = b.k AND true"), conjuncts_of("a.k = b.k AND a.x OR a.k = b.k AND b.y")
    (['a.k = b.k'], ['a.k = b.k', 'a.k = b.k AND a.x OR a.k = b.k AND b.y'])
    """
    try:
        parts = _conjuncts(_readable(source))
        wanted = [part for part in parts if not _is_true(source, part)] or parts[:1]
        found = [text_of(source, each) for part in wanted for each in _factored(source, part, tells_case)]
    except NotUnderstood:
        return [source]
    return found


def equality_of(source: str, *, tells_case: bool = False) -> tuple[str, str, str] | None:
    """Return both sides of a SQL equality and its sign, `=` or `<=>`, or None where it is anything else.

    What Spark's optimizer makes an equality of is one. `tells_case` says that names differ by upper and lower case.

    >>> equality_of("(a.k + 1 == b.`k`)"), equality_of("a.k <=> upper(b.k)")
    (('a.k + 1', 'b.`k`', '='), ('a.k', 'upper(b.k)', '<=>'))
    >>> equality_of("a.k IS NOT DISTINCT FROM b.k") == equality_of("equal_null(a.k, b.k)")
    True
    >>> equality_of("a.k = b.k OR (b.k IS NULL AND isnull(a.k))"), equality_of("NOT (a.k <> b.k)")
    (('a.k', 'b.k', '<=>'), ('a.k', 'b.k', '='))
    >>> [equality_of(text) for text in ("NOT a = b", "a >= b", "a = b = c", "a = b IS NULL", "f(a = b)")]
    [None, None, None, None, None]
    """
    try:
        found = _equality(source, _bare(_readable(source)), tells_case)
    except NotUnderstood:
        return None
    return None if found is None else (text_of(source, found[0]), text_of(source, found[1]), found[2])


_Equality = tuple[SqlTokens, SqlTokens, str]


def _equality(source: str, tokens: SqlTokens, tells_case: bool) -> _Equality | None:
    """Return both sides of an equality and its sign."""
    null_safe = _called(tokens, "equal_null")
    if null_safe is not None and len(null_safe) == 2:
        return null_safe[0], null_safe[1], "<=>"
    if tokens[0].word in ("not", "!") and len(tokens) > 1:
        return _compared(_bare(tokens[1:]), _UNEQUAL)
    either = _parts(tokens, "or")
    if len(either) == 2:
        return _or_both_null(source, tells_case, *either)
    return _compared(tokens, _EQUAL) or _not_distinct(tokens) or _in_one(tokens)


def _compared(tokens: SqlTokens, signs: Mapping[str, str]) -> _Equality | None:
    """Return both sides of a comparison by one of these signs."""
    flat = _flat(tokens)
    if any(_PREDICATE.fullmatch(token.word) for token in flat):
        return None
    at = [i for i, token in enumerate(tokens) if token in flat and token.word in _COMPARES]
    sign = "".join(tokens[i].word for i in at)
    if sign not in signs or at != list(range(at[0], at[0] + len(at))) or at[0] == 0 or at[-1] == len(tokens) - 1:
        return None
    return tokens[: at[0]], tokens[at[-1] + 1 :], signs[sign]


def _not_distinct(tokens: SqlTokens) -> _Equality | None:
    """Return both sides of `a IS NOT DISTINCT FROM b`."""
    flat = _flat(tokens)
    words = [token.word for token in flat if _PREDICATE.fullmatch(token.word) or token.word in _COMPARES]
    at = next((i for i in range(len(tokens)) if _words(tokens[i : i + 4]) == _NOT_DISTINCT), 0)
    if words != ["is", "not"] or at == 0 or tokens[at] not in flat or at + 4 == len(tokens):
        return None
    return tokens[:at], tokens[at + 4 :], "<=>"


def _in_one(tokens: SqlTokens) -> _Equality | None:
    """Return both sides of `a IN (b)`."""
    flat = _flat(tokens)
    words = [token.word for token in flat if _PREDICATE.fullmatch(token.word) or token.word in _COMPARES]
    at = next((i for i, token in enumerate(tokens) if token.word == "in" and token in flat), 0)
    if words != ["in"] or at == 0 or at + 3 >= len(tokens) or closing(tokens, at + 1) != len(tokens) - 1:
        return None
    listed = tokens[at + 2 : -1]
    one = all(token.word != "," for token in _flat(listed)) and "select" not in _words(listed)
    return (tokens[:at], listed, "=") if one else None


def _or_both_null(source: str, tells_case: bool, one: SqlTokens, other: SqlTokens) -> _Equality | None:
    """Return both sides of `a = b OR (a IS NULL AND b IS NULL)`, in any order: null equals null."""
    for equal, nulls in ((one, other), (other, one)):
        found = _compared(_bare(equal), _EQUAL)
        names = [_tested_for_null(part) for part in _conjuncts(nulls)]
        if found is None or found[2] != "=" or len(names) != 2 or None in names:
            continue
        tested = {_key(source, name, tells_case) for name in names if name is not None}
        if tested == {_key(source, found[0], tells_case), _key(source, found[1], tells_case)}:
            return found[0], found[1], "<=>"
    return None


def _tested_for_null(tokens: SqlTokens) -> SqlTokens | None:
    called = _called(tokens, "isnull")
    if called is not None and len(called) == 1:
        return called[0]
    tested = tokens[:-2] if _words(tokens[-2:]) == ["is", "null"] else ()
    if not tested or any(_PREDICATE.fullmatch(token.word) or token.word in _COMPARES for token in _flat(tested)):
        return None
    return tested


def _called(tokens: SqlTokens, name: str) -> list[SqlTokens] | None:
    """Return the arguments, if the tokens are a call of this function."""
    if len(tokens) < 4 or tokens[0].word != name or tokens[1].word != "(" or closing(tokens, 1) != len(tokens) - 1:
        return None
    return _parts(tokens[2:-1], ",")


def _is_true(source: str, tokens: SqlTokens) -> bool:
    """Return whether a part is `true`, or compares a number or text with itself."""
    found = _compared(tokens, _EQUAL)
    if found is None:
        return _words(tokens) == ["true"]
    (a, b), kinds = found[:2], ("number", "text")
    return (
        len(a) == len(b) == 1
        and _key(source, a, True) == _key(source, b, True)
        and a[0].kind in kinds
        and not a[0].word.startswith('"')
    )


def _factored(source: str, tokens: SqlTokens, tells_case: bool) -> list[SqlTokens]:
    """Return the parts that all sides of an OR have, and the OR itself, unless a side has no other part."""
    sides = [_conjuncts(side) for side in _parts(_bare(tokens), "or")]
    if len(sides) < 2:
        return [tokens]
    keys = [[_key(source, part, tells_case) for part in side] for side in sides]
    common = [part for part, key in zip(sides[0], keys[0], strict=True) if all(key in each for each in keys)]
    alone = any(len(set(each)) == len({_key(source, part, tells_case) for part in common}) for each in keys)
    return common if common and alone else [*common, tokens]


def _key(source: str, tokens: SqlTokens, tells_case: bool) -> tuple[str, ...]:
    """Return what is the same for two texts that say the same: texts, and names that differ by case, as they are."""
    bare = _bare(tokens)
    return tuple(source[t.start : t.end] if tells_case or t.kind == "text" else t.word for t in bare)


def _words(tokens: SqlTokens) -> list[str]:
    return [token.word for token in tokens]


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


def _readable(source: str) -> SqlTokens:
    tokens = tokens_of(source)
    outside = list(source)
    for token in tokens:
        if token.kind == "quoted":
            outside[token.start : token.end] = "q" * (token.end - token.start)
    if not tokens or any(sign in "".join(outside) for sign in _UNREADABLE):
        raise NotUnderstood(source)
    return tokens


def _conjuncts(tokens: SqlTokens) -> list[SqlTokens]:
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
    return [conjunct for part in _cut(tokens, cuts) for conjunct in _conjuncts(part)]


def _parts(tokens: SqlTokens, word: str) -> list[SqlTokens]:
    """Return what is between these words outside of brackets. Commas and OR bind least."""
    return _cut(tokens, [token for token in _flat(tokens) if token.word == word])


def _cut(tokens: SqlTokens, cuts: Sequence[SqlToken]) -> list[SqlTokens]:
    return [list(part) for is_cut, part in groupby(tokens, lambda token: token in cuts) if not is_cut]


def _bare(tokens: SqlTokens) -> SqlTokens:
    """Return the tokens without the brackets around all of them."""
    while len(tokens) > 2 and tokens[0].word == "(" and closing(tokens, 0) == len(tokens) - 1:
        tokens = tokens[1:-1]
    return tokens


def _flat(tokens: SqlTokens) -> list[SqlToken]:
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
