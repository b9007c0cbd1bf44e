"""Settings: the session conf `spark.skewkit.*` where it is set, else the default; read once, before any job."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, fields
from typing import Any

from skewkit.errors import ArgumentError, nearest, shown

PREFIX = "spark.skewkit."
_SIZE = re.compile(r"(\d+)\s*([kmgtp]?)i?b?")


def _setting(conf: str, default: float | int, meaning: str) -> Any:
    return field(default=default, metadata={"conf": PREFIX + conf, "meaning": meaning})


@dataclass(frozen=True)
class Settings:
    """What it takes for `auto` to act, and the sizes that operators keep to.

    >>> Settings().margin
    0.5
    """

    slots: int = _setting("slots", 0, "auto: tasks at a time to plan for; 0: those that the session has")
    margin: float = _setting("margin", 0.5, "auto: seconds that another plan must save; negative: what it may cost")
    storage: float = _setting("storage", 1.0, "auto: how many times slower storage and network are than a local disk")
    broadcast_rows: int = _setting("broadcastRows", 100_000, "broadcast_head: most rows of the broadcast")
    broadcast_bytes: int = _setting("broadcastBytes", 64 << 20, "broadcast_head: most bytes of the broadcast")
    broadcast_side: int = _setting("broadcastSide", 512 << 20, "auto: most bytes in memory of a whole side's broadcast")
    hash_join_rows: int = _setting("hashJoinRows", 2_000_000, "salt: most rows a partition to build a hash table of")
    hash_join_bytes: int = _setting("hashJoinBytes", 128 << 20, "salt: most bytes a partition for a hash table")
    group_rows: int = _setting("groupRows", 1_000_000, "group functions with merge: most rows of a sub-group")
    group_bytes: int = _setting("groupBytes", 1 << 23, "group functions with merge: most Arrow bytes of a sub-group")
    sample_rows: int = _setting("sampleRows", 10_000, "skew_profile: rows to sample per partition of the plan")


def read_settings(conf: Callable[[str], str | None]) -> Settings:
    """Return the settings of a session. `conf` looks up a session conf and returns None where it is not set.

    Raises:
        ArgumentError: a conf's text is no value of its setting's type, or is negative, but for the margin.

    >>> read_settings({"spark.skewkit.margin": "-5"}.get).margin
    -5.0
    """
    values = {}
    for each in fields(Settings):
        text = conf(each.metadata["conf"])
        if text is not None:
            values[each.name] = _parsed(each.metadata, each.default, text)
    return Settings(**values)


def unknown_settings(names: Iterable[str]) -> list[str]:
    """Return a sentence for each conf that begins as skewkit's do and is none of them.

    >>> unknown_settings(["spark.skewkit.marign", "spark.skewkit.slots"])[0].partition(" Valid")[0]
    "spark.skewkit.marign is no setting of skewkit and changes nothing: did you mean 'spark.skewkit.margin'?"
    """
    known = [each.metadata["conf"] for each in fields(Settings)]
    return [
        f"{name} is no setting of skewkit and changes nothing: {nearest(name, known)}"
        for name in names
        if name.startswith(PREFIX) and name not in known
    ]


def byte_size(text: str | None, unit: str = "b") -> int | None:
    """Return the bytes that a setting of Spark's names, None if it names none. A number alone is in `unit`.

    >>> byte_size("4MB"), byte_size("8192", unit="m") == 8 << 30, byte_size("268435456b"), byte_size(None)
    (4194304, True, 268435456, None)
    """
    lower = (text or "").strip().lower()
    found = _SIZE.fullmatch(lower + unit if lower.isdigit() else lower)
    return int(found.group(1)) << 10 * " kmgtp".index(found.group(2) or " ") if found else None


def _parsed(about: Any, default: Any, text: str) -> Any:
    try:
        value = type(default)(text)
        if not math.isfinite(value) or (value < 0 and about["conf"] != PREFIX + "margin"):
            raise ValueError(text)
        return value
    except (ValueError, OverflowError) as error:
        raise ArgumentError(
            f"{about['conf']} is {shown(text)}; expected a {type(default).__name__} such as {default} "
            f"({about['meaning']})"
        ) from error
