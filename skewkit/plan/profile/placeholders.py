"""Values that often stand for "no value": a hot key of this kind may be a defect of the data, not a busy customer."""

from __future__ import annotations

import datetime
import decimal
import math
from collections.abc import Iterable

_WORDS = frozenset(
    [
        "unknown",
        "undefined",
        "unspecified",
        "none",
        "null",
        "nil",
        "nan",
        "na",
        "n/a",
        "n.a.",
        "missing",
        "empty",
        "blank",
        "default",
        "dummy",
        "other",
        "anonymous",
        "guest",
        "-",
        "--",
        "?",
        ".",
        "0",
        "-1",
        "999",
        "9999",
        "99999",
        "999999",
    ]
) | {"", "not available", "not set", "no value"}
_SHOWN = 8
_NUMBERS = frozenset({0, -1, 999, 9999, 99999, 999999, -999, -9999})
_DATES = frozenset(datetime.date(*day) for day in ((1, 1, 1), (1900, 1, 1), (1970, 1, 1), (9999, 12, 31)))


def is_placeholder(value: object) -> bool:
    """Return whether a key value looks like one that stands for no value.

    >>> [is_placeholder(v) for v in ("", " Unknown ", 0, -1, "ACME", 17, True)]
    [True, True, True, True, False, False, False]
    """
    if isinstance(value, bool):
        return False
    if isinstance(value, str):
        return value.strip().lower() in _WORDS
    if isinstance(value, bytes):
        return not value.strip(b"\0 ")
    if isinstance(value, int | float | decimal.Decimal):
        return math.isnan(value) or value in _NUMBERS
    if isinstance(value, datetime.datetime):
        return value.date() in _DATES
    return isinstance(value, datetime.date) and value in _DATES


def placeholder_note(keys: Iterable[tuple[object, ...]], *, join: bool) -> tuple[str, ...]:
    """Return a note on those of the hot keys that look as if they stood for no value, or none.

    >>> placeholder_note([("",), ("ACME",), (0,)], join=True)
    ("'' and 0 may stand for no value: made null before the join (nullif), they would match nothing (unless by <=>)",)
    >>> placeholder_note([("ACME",)], join=True)
    ()
    """
    found = list(dict.fromkeys(repr(value) for key in keys for value in key if is_placeholder(value)))
    if not found:
        return ()
    shown = " and ".join(filter(None, (", ".join(found[:-1][:_SHOWN]), found[-1])))
    cure = "made null before the join (nullif), they would match nothing (unless by <=>)"
    return (f"{shown} may stand for no value: {cure if join else 'are these rows wanted at all?'}",)
