"""A join condition in SQL, cut at its ANDs and equalities by its tokens. What is not plainly understood stays whole."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

from skewkit.spark.expressions.sql_parts import (
    arguments_of,
    cut,
    cut_at,
    cut_at_ands,
    is_query,
    outermost,
    readable_tokens,
    without_brackets,
    words_of,
)
from skewkit.spark.expressions.sql_text import NotUnderstood, SqlTokens, closing, text_of

_COMPARES = frozenset(("=", "<", ">", "!", "=>"))
_EQUAL = {"=": "=", "==": "=", "<=>": "<=>"}
_UNEQUAL = {"<>": "=", "!=": "="}
_NOT_DISTINCT, _DISTINCT = ["is", "not", "distinct", "from"], ["is", "distinct", "from"]
_NO = (["false"], ["null"], ["cast", "(", "null", "as", "boolean", ")"])
_BOOLEAN = re.compile("and|or|not|!|in|like|is|between")
_PREDICATE = re.compile(
    "and|or|as|not|in|i?like|rlike|regexp|is|between|exists|any|some|all|escape|similar|select|->|[?:]"
)


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
    >>> conjuncts_of("NOT (a.k <> b.k OR (a.x > 1) = true)"), conjuncts_of("if(a.k = b.k, true, false) AND a.x")
    (['NOT (a.k <> b.k)', 'NOT ((a.x > 1) = true)'], ['a.k = b.k', 'a.x'])
    """
    try:
        parts = cut_at_ands(readable_tokens(source))
        wanted = [part for part in parts if not _is_true(source, part)] or parts[:1]
        found = [each for part in wanted for each in _of_one(source, part, tells_case)]
    except NotUnderstood:
        return [source]
    return found


def _of_one(source: str, part: SqlTokens, tells_case: bool) -> list[str]:
    """Return the parts of what is no AND."""
    asked = _asked(without_brackets(part), lambda tokens: text_of(source, tokens))
    if asked is None:
        return [text_of(source, each) for each in _factored(source, part, tells_case)]
    return [each for text in asked for each in conjuncts_of(text, tells_case=tells_case)]


def _asked(tokens: SqlTokens, text: Callable[[SqlTokens], str]) -> list[str] | None:
    """Return what has to be true where a condition is, as `predicate.asked` does it. None where that is all of it."""
    negated = _negated(tokens)
    if negated is not None:
        either, again = cut_at(negated, "or"), _negated(negated)
        if len(either) > 1:
            return [f"NOT ({text(part)})" for part in either if words_of(without_brackets(part)) != ["false"]] or None
        return None if again is None else [text(again)]
    either = cut_at(tokens, "or")
    rest = [part for part in either if words_of(without_brackets(part)) not in _NO]
    if len(rest) == 1 < len(either):
        return [text(rest[0])]
    yes = _compared(tokens, _EQUAL)
    if yes is not None:
        rest = [side for side in yes[:2] if words_of(without_brackets(side)) != ["true"]]
        known = _is_boolean if yes[2] == "=" else _is_equality
        return [text(rest[0])] if len(rest) == 1 and known(rest[0]) else None
    wanted = _if_true(tokens)
    return None if wanted is None else [text(wanted)]


def _negated(tokens: SqlTokens) -> SqlTokens | None:
    """Return what stands in the brackets of `NOT (...)`."""
    if len(tokens) < 4 or tokens[0].word not in ("not", "!") or tokens[1].word != "(":
        return None
    return without_brackets(tokens[1:]) if closing(tokens, 1) == len(tokens) - 1 else None


def _if_true(tokens: SqlTokens) -> SqlTokens | None:
    """Return the equality of an `if`, CASE or `coalesce` that is true where the condition is, and only there."""
    parts = _tested(tokens)
    if len(parts) == 2 and words_of(tokens[:1]) != ["case"]:
        yes_or_no = words_of(parts[1]) == ["false"]
    else:
        yes_or_no = (
            len(parts) > 1 and words_of(parts[1]) == ["true"] and all(words_of(each) in _NO for each in parts[2:])
        )
    return parts[0] if yes_or_no and _is_equality(parts[0]) else None


def _tested(tokens: SqlTokens) -> Sequence[SqlTokens]:
    """Return the parts of an `if`, of a CASE of one branch, or of a `coalesce` of two values."""
    for name, count in (("if", 3), ("coalesce", 2), ("nvl", 2), ("ifnull", 2)):
        called = arguments_of(tokens, name)
        if called is not None:
            return called if len(called) == count else ()
    if words_of(tokens[:2]) != ["case", "when"] or tokens[-1].word != "end" or outermost(tokens):
        return ()
    inner = tokens[2:-1]
    cuts = [token for token in outermost(inner) if token.word in ("when", "then", "else")]
    parts = cut(inner, cuts)
    return parts if words_of(cuts) in (["then"], ["then", "else"]) and len(parts) == len(cuts) + 1 else ()


def _is_equality(tokens: SqlTokens) -> bool:
    """Return whether a part is an equality, of which no more is taken off."""
    found = _compared(without_brackets(tokens), _EQUAL)
    return found is not None and all(words_of(without_brackets(side)) != ["true"] for side in found[:2])


def _is_boolean(tokens: SqlTokens) -> bool:
    """Return whether a part is true, false or null, by a comparison or the like outside of its inner brackets."""
    flat = [token.word for token in outermost(without_brackets(tokens))]
    shifted = any(pair in (("<", "<"), (">", ">")) for pair in pairwise(flat))
    known = any(word in _COMPARES or _BOOLEAN.fullmatch(word) for word in flat)
    return known and not shifted and not {"->", "::"} & set(flat)  # a type has brackets such as <int>


def equality_of(source: str, *, tells_case: bool = False) -> tuple[str, str, str] | None:
    """Return both sides of a SQL equality and its sign, `=`, `<=>` or `in`, or None where it is anything else.

    What Spark's optimizer makes an equality of is one. `a IN (b)` is only for sides of one type: others it does not
    compare as `=` does. `tells_case` says that names differ by upper and lower case.

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
        found = _equality(source, without_brackets(readable_tokens(source)), tells_case)
    except NotUnderstood:
        return None
    return None if found is None else (text_of(source, found[0]), text_of(source, found[1]), found[2])


_Equality = tuple[SqlTokens, SqlTokens, str]


def _equality(source: str, tokens: SqlTokens, tells_case: bool) -> _Equality | None:
    """Return both sides of an equality and its sign."""
    null_safe = arguments_of(tokens, "equal_null")
    if null_safe is not None and len(null_safe) == 2:
        return null_safe[0], null_safe[1], "<=>"
    if tokens[0].word in ("not", "!") and len(tokens) > 1:
        inner = without_brackets(tokens[1:])
        return _compared(inner, _UNEQUAL) or _distinct(inner, _DISTINCT)
    either = cut_at(tokens, "or")
    if len(either) == 2:
        return _or_both_null(source, tells_case, *either)
    return _compared(tokens, _EQUAL) or _distinct(tokens, _NOT_DISTINCT) or _in_one(tokens)


def _compared(tokens: SqlTokens, signs: Mapping[str, str]) -> _Equality | None:
    """Return both sides of a comparison by one of these signs."""
    flat = outermost(tokens)
    if any(_PREDICATE.fullmatch(token.word) for token in flat):
        return None
    at = [i for i, token in enumerate(tokens) if token in flat and token.word in _COMPARES]
    sign = "".join(tokens[i].word for i in at)
    if sign not in signs or at != list(range(at[0], at[0] + len(at))) or at[0] == 0 or at[-1] == len(tokens) - 1:
        return None
    return tokens[: at[0]], tokens[at[-1] + 1 :], signs[sign]


def _distinct(tokens: SqlTokens, sign: Sequence[str]) -> _Equality | None:
    """Return both sides of `a IS NOT DISTINCT FROM b`, or of `a IS DISTINCT FROM b`, by the words between them."""
    flat = outermost(tokens)
    words = [token.word for token in flat if _PREDICATE.fullmatch(token.word) or token.word in _COMPARES]
    at = next((i for i in range(len(tokens)) if words_of(tokens[i : i + len(sign)]) == sign), 0)
    end = at + len(sign)
    if words != sign[:-2] or at == 0 or tokens[at] not in flat or end == len(tokens):
        return None
    return tokens[:at], tokens[end:], "<=>"


def _in_one(tokens: SqlTokens) -> _Equality | None:
    """Return both sides of `a IN (b)`."""
    flat = outermost(tokens)
    words = [token.word for token in flat if _PREDICATE.fullmatch(token.word) or token.word in _COMPARES]
    at = next((i for i, token in enumerate(tokens) if token.word == "in" and token in flat), 0)
    if words != ["in"] or at == 0 or at + 3 >= len(tokens) or closing(tokens, at + 1) != len(tokens) - 1:
        return None
    listed = tokens[at + 2 : -1]
    one = all(token.word != "," for token in outermost(listed)) and "select" not in words_of(listed)
    one = one and not is_query(listed)
    return (tokens[:at], listed, "in") if one else None


def _or_both_null(source: str, tells_case: bool, one: SqlTokens, other: SqlTokens) -> _Equality | None:
    """Return both sides of `a = b OR (a IS NULL AND b IS NULL)`, in any order: null equals null."""
    for equal, nulls in ((one, other), (other, one)):
        found = _compared(without_brackets(equal), _EQUAL)
        names = [_tested_for_null(part) for part in cut_at_ands(nulls)]
        if found is None or found[2] != "=" or len(names) != 2 or None in names:
            continue
        tested = {_key(source, name, tells_case) for name in names if name is not None}
        if tested == {_key(source, found[0], tells_case), _key(source, found[1], tells_case)}:
            return found[0], found[1], "<=>"
    return None


def _tested_for_null(tokens: SqlTokens) -> SqlTokens | None:
    called = arguments_of(tokens, "isnull")
    if called is not None and len(called) == 1:
        return called[0]
    tested = tokens[:-2] if words_of(tokens[-2:]) == ["is", "null"] else ()
    if not tested or any(_PREDICATE.fullmatch(token.word) or token.word in _COMPARES for token in outermost(tested)):
        return None
    return tested


def _is_true(source: str, tokens: SqlTokens) -> bool:
    """Return whether a part is `true`, or compares a number or text with itself."""
    found = _compared(tokens, _EQUAL)
    if found is None:
        return words_of(tokens) == ["true"]
    (a, b), kinds = found[:2], ("number", "text")
    return (
        len(a) == len(b) == 1
        and _key(source, a, True) == _key(source, b, True)
        and a[0].kind in kinds
        and not a[0].word.startswith('"')
    )


def _factored(source: str, tokens: SqlTokens, tells_case: bool) -> list[SqlTokens]:
    """Return the parts that all sides of an OR have, and the OR itself, unless a side has no other part."""
    sides = [cut_at_ands(side) for side in cut_at(without_brackets(tokens), "or")]
    if len(sides) < 2:
        return [tokens]
    keys = [[_key(source, part, tells_case) for part in side] for side in sides]
    common = [part for part, key in zip(sides[0], keys[0], strict=True) if all(key in each for each in keys)]
    alone = any(len(set(each)) == len({_key(source, part, tells_case) for part in common}) for each in keys)
    return common if common and alone else [*common, tokens]


def _key(source: str, tokens: SqlTokens, tells_case: bool) -> tuple[str, ...]:
    """Return what is the same for two texts that say the same: texts, and names that differ by case, as they are."""
    bare = without_brackets(tokens)
    return tuple(source[t.start : t.end] if tells_case or t.kind == "text" else t.word for t in bare)
