"""A profile for the same keys in other types, as a join casts them."""

from __future__ import annotations

import datetime as dt
import decimal
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any
from zoneinfo import ZoneInfo

from skewkit.hashing.spark import xxhash64
from skewkit.plan.profile import HeavyKey, KeyProfile

_WHOLE = ("tinyint", "smallint", "int", "bigint")
_NO_KEY = (TypeError, ValueError, ArithmeticError, AttributeError, LookupError)


def rehashed(profile: KeyProfile, types: Sequence[str], zone: str | None = None) -> KeyProfile:
    """Return the profile for key columns cast to other types, as a join casts them; the tail becomes even.

    `zone` is the session's time zone. A heavy key whose cast, or hash as the new type, is not known for sure, or that
    is known by its hash alone, is left out: a profile is a hint.
    """
    if profile.types == tuple(types):
        return profile
    even = sum(profile.tail) / len(profile.tail)
    hashed = partial(_hashed, old=profile.types, new=tuple(types), zone=zone)
    heavy, null_heavy = hashed(h for h in profile.heavy if None not in h.key), hashed(profile.null_heavy)
    return replace(profile, types=tuple(types), heavy=heavy, null_heavy=null_heavy, tail=(even,) * len(profile.tail))


def recast(key: Sequence[Any], old: Sequence[str], new: Sequence[str], zone: str | None = None) -> tuple[Any, ...]:
    """Return the values of a key as Spark casts them from the old types to the new ones; the others as they are.

    Raises:
        ValueError: what Spark makes of a value is not known for sure.

    >>> recast((" 5.0", True), ("string", "boolean"), ("bigint", "string"))
    (5, 'true')
    """
    return tuple(_cast(*each, zone) for each in zip(key, old, new, strict=True))


def _cast(value: Any, old: str, new: str, zone: str | None) -> Any:
    if old == new or value is None:
        return value
    if new == "string":
        return _text(value)
    if new == "binary" and isinstance(value, str):
        return value.encode()
    if isinstance(value, str) and new in _WHOLE:
        number = decimal.Decimal(value.strip())
        if number != number.to_integral_value():
            raise ValueError(f"{value!r} is no whole number")
        return int(number)
    if new.startswith("timestamp") and isinstance(value, dt.date):
        local = value if isinstance(value, dt.datetime) else dt.datetime.combine(value, dt.time())
        if new == "timestamp_ntz" or old == "timestamp":
            return local
        if zone is None:
            raise ValueError("a time without a zone is another one in every zone")
        return local.replace(tzinfo=ZoneInfo(zone))
    return value


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, decimal.Decimal):
        return format(value, "f")
    if isinstance(value, bytes | bytearray):
        return value.decode()
    if isinstance(value, str | int) or type(value) is dt.date:
        return str(value)
    raise ValueError(f"a {type(value).__name__} has several texts")


def _hashed(keys: Iterable[HeavyKey], old: Sequence[str], new: Sequence[str], zone: str | None) -> tuple[HeavyKey, ...]:
    found = []
    for each in keys:
        try:
            key = recast(each.key, old, new, zone)
            found.append(replace(each, key=key, hash=xxhash64(key, new)))
        except _NO_KEY:
            continue
    return tuple(found)
