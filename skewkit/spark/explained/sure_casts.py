"""Which casts succeed for every value of a type: an allow-list, by Spark's table of casts that raise (ANSI compliance).

A type is a word here: `decimal_10_2` is decimal(10,2).
"""

from __future__ import annotations

import re
from decimal import Decimal

from skewkit.plan.profile.values import BITS_OF

NUMBERS = ("tinyint", "smallint", "int", "bigint", "float", "double")
"""From the narrowest to the widest: each has room for those before it."""
FRACTIONS = ("float", "double")
"""Their arithmetic ends in infinity or NaN and raises nothing, but where it divides by zero."""
_TIMES = ("date", "timestamp", "timestamp_ntz")
_DECIMAL = re.compile(r"decimal_(\d+)_(\d+)")


def word_of(type_: str) -> str:
    """Return a type as one word.

    >>> word_of("decimal(10,2)"), word_of("decimal(5,-2)"), word_of("int")
    ('decimal_10_2', 'decimal_5_minus2', 'int')
    """
    return re.sub(r"\W+", "_", type_.replace("-", "minus")).strip("_")


def cast_is_sure(source: str, target: str, *, ansi: bool) -> bool:
    """Return whether no value of a type can make its cast raise.

    A date has years that no timestamp has, so its cast to one may raise in any mode.

    >>> [cast_is_sure("int", to, ansi=True) for to in ("bigint", "string", "boolean", "decimal_10_0", "tinyint")]
    [True, True, True, True, False]
    >>> cast_is_sure("string", "int", ansi=True), cast_is_sure("string", "int", ansi=False)
    (False, True)
    >>> cast_is_sure("timestamp", "date", ansi=True), cast_is_sure("date", "timestamp", ansi=False)
    (True, False)
    """
    number = _is_number(source)
    if source == target:
        return True
    if target == "string":
        return number or source in ("boolean", *_TIMES)
    if target == "date" and source in _TIMES:
        return True
    if not ansi and (number or source in ("boolean", "string")):
        return _is_number(target) or target == "boolean"
    if target == "boolean":
        return number
    return _has_room(source, target) if number else source == "boolean" and target in NUMBERS


def literal_is_sure(text: str, target: str) -> bool:
    """Return whether the cast of a number, or of a text that reads so, succeeds.

    >>> [literal_is_sure("300", type_) for type_ in ("int", "tinyint", "decimal_3_0", "decimal_3_1")]
    [True, False, True, False]
    >>> literal_is_sure("1.5", "double"), literal_is_sure("1.5", "bigint")
    (True, False)
    """
    value, (whole, fraction) = Decimal(text), _digits(text)
    if target in BITS_OF:
        return not fraction and -1 << BITS_OF[target] <= value < 1 << BITS_OF[target]
    room = _DECIMAL.fullmatch(target)
    if room is not None:
        return whole <= int(room[1]) - int(room[2]) and fraction <= int(room[2])
    return target in (*FRACTIONS, "string")


def _is_number(type_: str) -> bool:
    return type_ in NUMBERS or _DECIMAL.fullmatch(type_) is not None


def _digits(text: str) -> tuple[int, int]:
    whole, _, fraction = text.lstrip("-").partition(".")
    return len(whole), len(fraction)


def _has_room(source: str, target: str) -> bool:
    """Return whether a type of numbers has room for all of another one."""
    own, room = _DECIMAL.fullmatch(source), _DECIMAL.fullmatch(target)
    if room is None:
        return target in FRACTIONS if own else target in NUMBERS and NUMBERS.index(source) <= NUMBERS.index(target)
    before, after = int(room[1]) - int(room[2]), int(room[2])
    if own is None:
        return source in BITS_OF and before >= len(str(1 << BITS_OF[source]))
    return before >= int(own[1]) - int(own[2]) and after >= int(own[2])
