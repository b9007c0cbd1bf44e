"""What a decision weighs: seconds of a plan for the slots at hand, and whether another plan pays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from skewkit.options import Settings
from skewkit.plan.cost.costs import ASKED, QUERY, SPILLED


@dataclass(frozen=True)
class Slots:
    """How many tasks run at a time, and where that is known from."""

    number: int
    source: str

    def __str__(self) -> str:
        return f"{self.number} slots" if self.number != 1 else "1 slot"


@dataclass(frozen=True)
class Stage:
    """One stage of a plan: CPU seconds of all its tasks and of the longest one, and what it waits for beside them.

    `largest` are the bytes that its largest task must hold at a time.
    """

    total: float
    longest: float = 0.0
    fixed: float = 0.0
    largest: float = 0.0


@dataclass(frozen=True)
class Terms:
    """The slots, the seconds that a plan must save, the factor of slow storage, and the memory of a task in bytes.

    >>> terms = Terms(Slots(4, "given"), margin=0.5)
    >>> terms.seconds([Stage(total=8.0, longest=5.0), Stage(total=8.0, fixed=0.5)])
    7.5
    >>> terms.pays(native=7.5, plan=6.0, deciding=0.5), terms.pays(native=7.5, plan=7.0, deciding=0.5)
    (True, False)
    """

    slots: Slots
    margin: float = 0.5
    storage: float = 1.0
    memory: float = float("inf")

    @classmethod
    def of(cls, settings: Settings, slots: Slots, memory: float = float("inf")) -> Terms:
        """Return the terms of a session."""
        return cls(slots, settings.margin, settings.storage, memory)

    def seconds(self, stages: Sequence[Stage]) -> float:
        """Return when the last task of the last stage ends: each takes its tasks over the slots, or its longest task.

        What a task must hold beyond its memory is written and read once more.
        """
        return sum(map(self._seconds, stages))

    def longest(self, stages: Sequence[Stage]) -> float:
        """Return the seconds of the longest task of all stages."""
        return max((stage.longest + self._spilling(stage) for stage in stages), default=0.0)

    def worth_asking(self, stages: Sequence[Stage], asking: float) -> bool:
        """Return whether any plan could pay, whatever the keys are: all rows may be in one task, or none too many."""
        worst = sum(stage.total + self._spilling(stage) for stage in stages)
        best = sum(stage.total for stage in stages) / self.slots.number
        return self.pays(worst, best, asking)

    def pays(self, native: float, plan: float, deciding: float) -> bool:
        """Return whether the user has the result earlier by a plan than by plain Spark, by the margin."""
        return native - plan - deciding > self.margin

    def asking(self, rows: float, *, shuffles: int, simple: bool) -> float:
        """Return the seconds of a key sample of frames with so many source rows.

        A frame that is only read is sampled where it lies; one that is computed is computed for it.
        """
        computed = 0.0 if simple else rows * (ASKED + ASKED * shuffles) / self.slots.number
        return QUERY + computed * self.storage

    def _seconds(self, stage: Stage) -> float:
        return stage.fixed + max(stage.total / self.slots.number, stage.longest + self._spilling(stage))

    def _spilling(self, stage: Stage) -> float:
        return max(0.0, stage.largest - self.memory) * SPILLED * self.storage
