"""What a row costs in each step of a plan: CPU seconds on one slot, as `python -m benchmarks costs` measures them.

The table is a model of a few terms that a reader can hold in the head, and no fit. A cell that is wrong by less than a
factor of two is left alone. Storage and network slower than a local disk are a factor (`spark.skewkit.storage`).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Step:
    """Seconds per row of a step, and seconds per byte of a row beside that.

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
"""A row fetched and read behind a shuffle, by the task of its partition."""
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
ASKED = 5.0e-7
"""Seconds per source row to compute a frame for a key sample, and so much again for every shuffle in it."""

STAGE = 0.08
"""Seconds of one more stage: planning, code generation, its start."""
PLANNED = 0.25
"""Seconds of building and analysing a plan of several branches or routes."""
QUERY = 0.3
"""Seconds of one query for a key sample, defining included."""
PYTHON = 0.15
"""Seconds until a Python worker has started."""
