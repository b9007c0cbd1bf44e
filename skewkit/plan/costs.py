"""What a row costs in each step of a plan, and what a decision weighs: seconds on the slots at hand.

The table is CPU seconds on one slot. `python -m benchmarks costs` times plans that take most of these steps. It is a
model of a few terms that a reader can hold in the head, and no fit: a cell that is wrong by less than a factor of two
is left alone. For storage slower than a local disk a key sample and spilling have a factor (`spark.skewkit.storage`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from skewkit.options import Settings


@dataclass(frozen=True)
class Step:
    """Seconds per row of a step, and seconds per byte of a row on top.

    >>> Step(row=2e-7, byte=1e-9).of(1e6, 100.0)
    0.3
    """

    row: float
    byte: float = 0.0

    def of(self, rows: float, width: float = 0.0) -> float:
        """Return the seconds for so many rows of `width` bytes."""
        return rows * (self.row + self.byte * width)


READ = Step(4.0e-7)
"""Reading a row once more, and a filter of it."""
WRITTEN = Step(4.0e-7, 3e-9)
"""A row written to a shuffle, by the task that has read it."""
FETCHED = Step(4.0e-7, 3e-9)
"""A row fetched and read after a shuffle, by the task of its partition."""
SORTED = Step(1.0e-7, 1e-9)
"""Sorting by one long key."""
MERGED = Step(5.0e-8)
"""A row of either side in a sort-merge join."""
BUILT = Step(2.0e-7, 1e-9)
"""A row put into a hash table of a shuffled hash join."""
PROBED = Step(5.0e-8)
"""A row that is looked up in a hash table."""
RETURNED = Step(7.0e-8)
"""A row that a join returns."""
ROUTED = Step(1.5e-7)
"""Finding the partition of a row by a plan: its hash, a look-up, a salt."""
SENT = Step(1.0e-6, 5e-9)
"""A row of a broadcast: brought to the driver, hashed there, sent to the executors, while nobody else works."""
WINDOWED = Step(6.0e-7, 7e-9)
"""A row in a window function of an ordered partition, its second sort key included."""
COLLECTED = Step(1.0e-6)
"""A row in an aggregate whose state grows with the rows, such as `collect_set`."""
ARROW = Step(3.0e-7, 2.5e-8)
"""A row's way to a Python worker and back."""
CALLED = Step(1.0e-6, 2.5e-8)
"""A row in a Python function of groups of which nobody knows what it costs: a low figure."""
SPILLED = 1.0e-8
"""Seconds per byte that a task holds beyond its memory: written, merged and read."""
SAMPLED = Step(2.0e-7)
"""A source row that a key sample reads: its key alone."""
MOST_SAMPLED = 2.0e7
"""Source rows from which on a key sample reads no more of them: it skips files."""
ODDS = 8.0
"""A key sample must promise to save its own cost so many times: most frames are balanced and gain nothing by it. On two
slots no plan saves more than plain Spark takes for balanced keys, so these lose an eighth of that time at the most."""
ASKED = 5.0e-7
"""Seconds per source row to compute a frame for a key sample. Each shuffle in it adds as much again."""

STAGE = 0.08
"""Seconds of one more stage: planning, code generation, its start."""
PLANNED = 0.25
"""Seconds of building and analysing a plan of several branches or routes."""
QUERY = 0.3
"""Seconds of one query for a key sample, defining included."""
PYTHON = 0.15
"""Seconds until a Python worker has started."""


UNKNOWN_SLOTS = "the partitions, as nobody knows"


@dataclass(frozen=True)
class Slots:
    """How many tasks run at a time, and where that is known from."""

    number: int
    source: str

    def __str__(self) -> str:
        guessed = " (as many as partitions, as nobody knows)" if self.source == UNKNOWN_SLOTS else ""
        return (f"{self.number} slots" if self.number != 1 else "1 slot") + guessed


@dataclass(frozen=True)
class Stage:
    """One stage of a plan: CPU seconds of all its tasks and of the longest one, and what it waits for besides.

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
        """Return the seconds of stages in a row, each all tasks over the slots, or the longest task, if that is more.

        What a task must hold beyond its memory is written and read once more.
        """
        return sum(map(self._seconds, stages))

    def longest(self, stages: Sequence[Stage]) -> float:
        """Return the seconds of the longest task of all stages."""
        return max((stage.longest + self._spilling(stage) for stage in stages), default=0.0)

    def worth_asking(self, stages: Sequence[Stage], asking: float) -> bool:
        """Return whether the most that a plan can save is worth the key sample's seconds (`asking`), `ODDS` times over.

        At worst one task has all rows, at best the slots share them evenly.
        """
        worst = sum(stage.total + self._spilling(stage) for stage in stages)
        best = sum(stage.total for stage in stages) / self.slots.number
        return self.pays(worst, best, ODDS * asking)

    def worth_weighing(self, stages: Sequence[Stage], asking: float) -> bool:
        """Return whether choosing among several plans is worth a key sample. `stages` are those of one plan.

        No other plan can save more than their seconds.
        """
        return self.seconds(stages) > ODDS * asking

    def remedy(self, stages: Sequence[Stage], partitions: int) -> str:
        """Return what a reader may change where plain Spark's stages stay: as many slots as partitions may pay, or ''.

        >>> Terms(Slots(2, "given")).remedy([Stage(total=40.0, longest=18.0)], 32)
        '; on 32 slots a plan may pay (spark.skewkit.slots)'
        >>> Terms(Slots(2, "given")).remedy([Stage(total=40.0, longest=1.5)], 32)
        ''
        """
        more = self.on_more_slots(partitions)
        best = sum(stage.total for stage in stages) / partitions
        pays = more is not None and more.pays(more.seconds(stages), best, QUERY)
        return f"; on {partitions} slots a plan may pay (spark.skewkit.slots)" if pays else ""

    def on_more_slots(self, partitions: int) -> Terms | None:
        """Return the same with a slot for each partition, or None if there are so many."""
        return replace(self, slots=Slots(partitions, "partitions")) if partitions > self.slots.number else None

    def pays(self, native: float, plan: float, deciding: float) -> bool:
        """Return whether the user has the result earlier by a plan than by plain Spark, by the margin."""
        return native - plan - deciding > self.margin

    def asking(self, rows: float, shuffles: int | None) -> float:
        """Return the seconds of a key sample of frames with so many source rows.

        `shuffles` is None for a frame that is only read. Any other is computed first, with so many shuffles.
        """
        seconds = SAMPLED.of(min(rows, MOST_SAMPLED)) if shuffles is None else rows * (ASKED + ASKED * shuffles)
        return QUERY + seconds / self.slots.number * self.storage

    def _seconds(self, stage: Stage) -> float:
        return stage.fixed + max(stage.total / self.slots.number, stage.longest + self._spilling(stage))

    def _spilling(self, stage: Stage) -> float:
        return max(0.0, stage.largest - self.memory) * SPILLED * self.storage
