"""A profile for the same keys in other types, as a join casts them."""

from __future__ import annotations

import datetime as dt
import decimal
import re
import struct
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any
from zoneinfo import ZoneInfo

from skewkit.hashing.spark import struct_fields, xxhash64
from skewkit.plan.profile.heavy_key import HeavyKey
from skewkit.plan.profile.key_profile import KeyProfile

NO_KEY = (TypeError, ValueError, ArithmeticError, AttributeError, LookupError)
"""What `recast` may raise: a `ValueError`, or what Python makes of a value that is not of its type."""


def rehashed(profile: KeyProfile, types: Sequence[str], zone: str | None = None) -> KeyProfile:
    """Return the profile for key columns cast to other types, as a join casts them. The tail becomes even.

    `zone` is the session's time zone. A heavy key whose cast, or hash as the new type, is not known for sure, or that
    is known by its hash alone, is listed no more and counts as one of the tail. A profile is a hint.
    """
    if profile.types == tuple(types):
        return profile
    hashed = partial(_hashed, old=profile.types, new=tuple(types), zone=zone)
    heavy = [(each, None if None in each.key else hashed(each)) for each in profile.heavy]
    lost = [each for each, now in heavy if now is None]
    even = (sum(profile.tail) + sum(each.estimate for each in lost)) / len(profile.tail)
    return replace(
        profile,
        types=tuple(types),
        heavy=tuple(now for _, now in heavy if now is not None),
        null_heavy=tuple(now for each in profile.null_heavy if (now := hashed(each)) is not None),
        tail=(even,) * len(profile.tail),
        unlisted=max([profile.unlisted, *(each.high for each in lost)]),
    )


def recast(key: Sequence[Any], old: Sequence[str], new: Sequence[str], zone: str | None = None) -> tuple[Any, ...]:
    """Return the values of a key as Spark casts them from the old types to the new ones.

    Raises:
        ValueError: what Spark makes of a value is not known for sure; or another one of `NO_KEY`.

    >>> recast((" 5.0", True), ("string", "boolean"), ("bigint", "string"))
    (5, 'true')
    """
    return tuple(_cast(*each, zone) for each in zip(key, old, new, strict=True))


def _cast(value: Any, old: str, new: str, zone: str | None) -> Any:
    if old == new or value is None:
        return value
    if old.startswith("array<") and new.startswith("array<"):
        return tuple(_cast(item, old[6:-1], new[6:-1], zone) for item in value)
    if old.startswith("struct<") and new.startswith("struct<"):
        pairs = zip(value, struct_fields(old), struct_fields(new), strict=True)
        return tuple(_cast(item, o, n, zone) for item, (_, o), (_, n) in pairs)
    if new.startswith("timestamp") and isinstance(value, dt.date):
        return _time(value, old, new, zone)
    if new == "boolean" and isinstance(value, str):
        return _FLAGS[value.strip().lower()]
    kind = new.partition("(")[0]
    if kind in _CASTS:
        return _CASTS[kind](value, old)
    raise ValueError(f"a cast from {old} to {new} is not known")


def _text(value: Any, _: str) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, decimal.Decimal):
        return format(value, "f")
    if isinstance(value, bytes | bytearray):
        return value.decode()
    if isinstance(value, str | int) or type(value) is dt.date:
        return str(value)
    raise ValueError(f"a {type(value).__name__} has several texts")


def _bytes(value: Any, _: str) -> bytes:
    if isinstance(value, str | bytes | bytearray):
        return value.encode() if isinstance(value, str) else bytes(value)
    raise ValueError(f"a {type(value).__name__} has several forms as bytes")


def _decimal(value: Any, _: str) -> decimal.Decimal:
    if isinstance(value, str) and _NUMBER.fullmatch(value.strip()) is None:
        raise ValueError(f"{value!r} is no number in digits")
    if isinstance(value, str | int | decimal.Decimal):
        return decimal.Decimal(value)
    raise ValueError(f"a {type(value).__name__} has several forms as a decimal number")


def _whole(value: Any, old: str) -> int:
    number = _decimal(value, old)
    if number != number.to_integral_value() or abs(number) >= 1 << 63:
        raise ValueError(f"{value!r} is no whole number of 64 bits")
    return int(number)


def _double(value: Any, old: str) -> float:
    if isinstance(value, float):
        return float(struct.unpack("f", struct.pack("f", value))[0]) if old == "float" else value
    return float(_decimal(value, old))


def _date(value: Any, _: str) -> dt.date:
    if isinstance(value, dt.date) and not isinstance(value, dt.datetime):
        return value
    if isinstance(value, str) and _DAY.fullmatch(value.strip()):
        return dt.date.fromisoformat(value.strip())
    raise ValueError(f"{value!r} is no date, or one in some time zone only")


def _time(value: dt.date, old: str, new: str, zone: str | None) -> dt.datetime:
    local = value if isinstance(value, dt.datetime) else dt.datetime.combine(value, dt.time())
    if new == "timestamp_ntz" or local.tzinfo is not None or old not in ("date", "timestamp_ntz"):
        return local
    if zone is None:
        raise ValueError("a time without a zone is another one in every zone")
    return local.replace(tzinfo=_zone(zone))


def _zone(name: str) -> dt.tzinfo:
    """Return the time zone of a session.

    >>> _zone("+02:00").utcoffset(None), _zone("GMT-8").utcoffset(None) == dt.timedelta(hours=-8)
    (datetime.timedelta(seconds=7200), True)
    """
    offset = _OFFSET.fullmatch(name)
    if offset is None:
        return ZoneInfo(name)
    hours, minutes = int(offset[2] or 0), int(offset[3] or 0)
    return dt.timezone(dt.timedelta(hours=hours, minutes=minutes) * (-1 if offset[1] == "-" else 1))


_NUMBER = re.compile(r"[+-]?\d{1,40}(?:\.\d{0,40})?", re.ASCII)
_DAY = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_OFFSET = re.compile(r"(?:Z|(?:UTC|GMT|UT)?([+-])(\d{1,2})(?::?(\d{2}))?)")
_FLAGS = {**dict.fromkeys(("t", "true", "y", "yes", "1"), True), **dict.fromkeys(("f", "false", "n", "no", "0"), False)}
_CASTS: dict[str, Callable[[Any, str], Any]] = {
    "string": _text,
    "binary": _bytes,
    "date": _date,
    "decimal": _decimal,
    "double": _double,
    **dict.fromkeys(("tinyint", "smallint", "int", "bigint"), _whole),
}


def _hashed(heavy: HeavyKey, old: Sequence[str], new: Sequence[str], zone: str | None) -> HeavyKey | None:
    try:
        key = recast(heavy.key, old, new, zone)
        return replace(heavy, key=key, hash=xxhash64(key, new))
    except NO_KEY:
        return None
