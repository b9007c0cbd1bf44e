"""Settings: an argument, else the session conf `spark.skewkit.*`, else the default."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from skewkit.errors import ArgumentError, nearest

PREFIX = "spark.skewkit."


@dataclass(frozen=True)
class Setting:
    """A setting's default and what it means; its type is the default's."""

    default: float | int | bool
    meaning: str


SETTINGS: Mapping[str, Setting] = MappingProxyType(
    {
        "minStraggler": Setting(1.5, "auto: least expected longest task of plain Spark, in mean tasks, to act"),
        "minRows": Setting(20_000, "auto: frames with fewer rows stay native"),
        "broadcastRows": Setting(100_000, "auto: most rows of the other side's hot keys that are broadcast"),
        "broadcastShare": Setting(0.12, "auto: least share of hot rows for broadcast_head"),
        "hashJoinRows": Setting(2_000_000, "salt: most rows of a build partition for a shuffled hash join"),
        "groupRows": Setting(1_000_000, "applyInPandas with merge: most rows of one sub-group"),
        "sampleRows": Setting(10_000, "skew_profile: rows to sample per partition of the plan"),
        "checkFunctions": Setting(True, "group functions: try them on two made-up rows before a job starts"),
    }
)


def setting(name: str, conf: Callable[[str], str | None], argument: float | int | bool | None = None) -> float:
    """Return the value of a setting; `conf` looks up a session conf and returns None where it is not set.

    Raises:
        ArgumentError: the setting is unknown, or the conf's text is no value of its type, or is negative.

    >>> setting("minRows", {"spark.skewkit.minRows": "5"}.get)
    5
    """
    if name not in SETTINGS:
        raise ArgumentError(f"unknown setting {name!r}: {nearest(name, SETTINGS)}")
    default = SETTINGS[name].default
    if argument is not None:
        return argument
    text = conf(PREFIX + name)
    if text is None:
        return default
    try:
        if isinstance(default, bool):
            return {"true": True, "false": False}[text.strip().lower()]
        value = type(default)(text)
        if value < 0:
            raise ValueError(text)
        return value
    except (KeyError, ValueError) as error:
        raise ArgumentError(
            f"{PREFIX}{name} is {text!r}; expected a {type(default).__name__} such as {default} "
            f"({SETTINGS[name].meaning})"
        ) from error
