"""An expression of a plan, with a type in place of each part that cannot fail: `‹int›` stands for such a part."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from functools import partial

from skewkit.spark.explained.sure_casts import FRACTIONS, NUMBERS, cast_is_sure, literal_is_sure, word_of

INTS = "length|year|quarter|month|weekofyear|dayofyear|dayofmonth|dayofweek|weekday|hour|minute|second|datediff"
"""Functions that return an int."""
_NUMBER = r"-?[0-9]{1,38}(?:\.[0-9]{1,38})?"
_VALUE = rf"(?:‹\w+›|{_NUMBER})"
"""‹int› stands for what cannot fail and is of this type."""
_DAY = r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?: (?:[01][0-9]|2[0-3]):[0-9]{2}:[0-9]{2})?"
_CAST = re.compile(rf"(?<!\w)(try_)?(?:ansi_)?cast\(({_VALUE}) as (\w+(?:\(\d+,\d+\))?)\)")
_DAY_CAST = re.compile(rf"cast\(({_DAY}) as (?:date|timestamp|timestamp_ntz)\)")
_ZONE = re.compile(r"(?:, |(?<=current_date\())Some\([\w/+:-]+\)")
_NOW = r"(?:current_timestamp|now)\(\)"
_MOMENT = re.compile(rf"cast\({_NOW} [-+] INTERVAL '\d{{1,4}}' [A-Z]+ as timestamp\)|{_NOW}")
_EXACT = 7
"""Digits, point and sign that a float holds exactly enough: a whole number of them is cast back to itself."""
NOT_ZERO = rf"(?=-?[\d.]*[1-9]){_NUMBER}"
_ARITHMETIC = re.compile(rf"\(({_VALUE}) ([-+*/%]|div) ({_VALUE})\)")
_SIGN = re.compile(r"(?<=[( ,])-‹(\w+)›|\babs\(‹(\w+)›\)")
_BETWEEN = re.compile(rf"\bbetween\(‹(\w+)›, ({_DAY}|{_NUMBER}), ({_DAY}|{_NUMBER})\)")
_COALESCE = re.compile(rf"\bcoalesce\((‹\w+›)(?:, (?:\1|{_NUMBER}))*\)")
_TEXT = re.compile(rf"\b(?:upper|ucase|lower|lcase|trim|substring)\(‹string›(?:, (?:None|{_VALUE}))*\)")
_INT = re.compile(rf"\b(?:{INTS})\({_VALUE}(?:, {_VALUE})?\)")


def typed_text(listed: str, dtypes: Sequence[tuple[str, str]]) -> str | None:
    """Return the last expression of a list that begins with a frame's columns, each with its type in its place.

    Another column, such as one that a join by name hides, stays. None where the list does not begin so.

    >>> typed_text("k#1, x#12, (X#12 + hidden#3L)", [("k", "int"), ("x", "decimal(9,2)")])
    '(‹decimal_9_2› + hidden#3L)'
    """
    types = dict[str, str]()
    for name, type_ in dtypes:
        shown = re.match(re.escape(name) + r"(#\d+L?), ", listed)
        if shown is None:
            return None
        types[re.escape(name) + shown[1]] = word_of(type_)
        listed = listed[shown.end() :]
    if "‹" in listed:
        return None
    numbers = set(re.findall(r"#\d+L?", listed))
    for column, word in types.items():
        if column[column.rindex("#") :] in numbers:  # the name may be written in other letters beside its number
            listed = re.sub(rf"{column}(?!\w)", f"‹{word}›", listed, flags=re.IGNORECASE)
    return listed


def reduced(text: str, *, ansi: bool) -> str:
    """Return an expression with the type in place of each part that cannot fail, from the innermost ones on.

    >>> reduced("(cast(‹int› as double) + cast(1 as double)) > ‹double›", ansi=True)
    '‹double› > ‹double›'
    >>> reduced("(‹int› + 1) > abs(‹int›)", ansi=True), reduced("(‹int› + 1) > abs(‹int›)", ansi=False)
    ('(‹int› + 1) > abs(‹int›)', '‹int› > ‹int›')
    """
    text = _MOMENT.sub("‹timestamp›", _ZONE.sub("", text).replace("current_date()", "‹date›"))
    text = _DAY_CAST.sub(lambda found: found[1] if _is_day(found[1]) else found[0], text)
    before = None
    while text != before:
        before = text
        text = _INT.sub("‹int›", _TEXT.sub("‹string›", _COALESCE.sub(r"\1", text)))
        for pattern, typed in _RULES:
            text = pattern.sub(partial(typed, ansi=ansi), text)
    return text


def _cast(found: re.Match[str], *, ansi: bool) -> str:
    value, to = found[2], word_of(found[3])
    if value[0] == "‹":
        return f"‹{to}›" if cast_is_sure(value[1:-1], to, ansi=ansi and not found[1]) else found[0]
    if not literal_is_sure(value, to):
        return found[0]
    exact = to in NUMBERS and (to not in FRACTIONS or len(value) <= _EXACT)
    return value if exact else f"‹{to}›"


def _arithmetic(found: re.Match[str], *, ansi: bool) -> str:
    """Return the type of a sum or the like, whose operands Spark has cast to one type, or it as it is."""
    types = [operand[1:-1] for operand in (found[1], found[3]) if operand[0] == "‹"]
    if not types or not set(types) <= set(NUMBERS):
        return found[0]
    divides = found[2] in ("/", "%")
    defined = re.fullmatch(NOT_ZERO, found[3]) is not None if divides else types[0] in FRACTIONS
    if ansi and not defined:
        return found[0]
    return "‹bigint›" if found[2] == "div" else f"‹{types[0]}›"


def _sign(found: re.Match[str], *, ansi: bool) -> str:
    type_ = found[1] or found[2]
    return f"‹{type_}›" if type_ in (FRACTIONS if ansi else NUMBERS) else found[0]


def _between(found: re.Match[str], *, ansi: bool) -> str:
    """Return the type of a comparison whose limits, the casts of which are not shown, surely fit the column's type."""
    type_, *limits = found.groups()
    if type_ in NUMBERS:
        widest = "double" if type_ in FRACTIONS else "bigint"
        sure = all(re.fullmatch(_NUMBER, limit) and literal_is_sure(limit, widest) for limit in limits)
    else:
        longest = {"date": 10, "timestamp": 19}.get(type_, 0)
        sure = all(len(limit) <= longest and _is_day(limit) for limit in limits)
    return "‹boolean›" if sure else found[0]


_RULES = ((_BETWEEN, _between), (_CAST, _cast), (_ARITHMETIC, _arithmetic), (_SIGN, _sign))


def _is_day(text: str) -> bool:
    try:
        return datetime.fromisoformat(text).year > 0
    except ValueError:
        return False
