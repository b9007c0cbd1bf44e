"""Whether rows and values come out the same when they are computed again: one scale, and an answer on it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum


class Stability(IntEnum):
    """How far rows and values are the same when they are computed again, from the best to the worst."""

    STABLE = 0
    """Always the same."""
    BY_ROW_ORDER = 1
    """The rows are the same, and values depend on the order in which a task gets its rows."""
    RANDOM = 2
    """Values are drawn, or which rows there are depends on their order."""
    UNKNOWN = 3
    """Nobody sees what makes them. Never read twice, nor cut along an order."""


@dataclass(frozen=True)
class Verdict:
    """An answer to how stable something is, and why it is not. `reason` is a verb phrase such as `holds ...`.

    >>> Verdict(Stability.BY_ROW_ORDER, "holds the first of several values").repeatable
    False
    """

    level: Stability = Stability.STABLE
    reason: str | None = None

    def __bool__(self) -> bool:
        """Refuse: ask `repeatable`, `deterministic` or `reason`."""
        raise TypeError("a Verdict is neither true nor false; ask for .repeatable, .deterministic or .reason")

    @property
    def repeatable(self) -> bool:
        """Whether all is the same each time."""
        return self.level is Stability.STABLE

    @property
    def deterministic(self) -> bool:
        """Whether rows are the same each time, and values too but for the order of rows."""
        return self.level <= Stability.BY_ROW_ORDER

    @classmethod
    def of(cls, level: Stability, reason: str | None) -> Verdict:
        """Return a verdict of this level if there is a reason, else that all is stable."""
        return cls() if reason is None else cls(level, reason)

    def worse(self, other: Verdict) -> Verdict:
        """Return the worse of two verdicts, this one where they are equal.

        >>> Verdict().worse(Verdict(Stability.UNKNOWN, "calls Java")).reason
        'calls Java'
        """
        return other if other.level > self.level else self
