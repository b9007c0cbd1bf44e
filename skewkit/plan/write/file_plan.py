"""The plan of a write: how many files every partition value gets, and which task writes which of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from skewkit.plan.placement.key_plan import KeyPlan, key_plan
from skewkit.plan.placement.load import HeavyLoad, KeyLoad
from skewkit.plan.profile.key_profile import KeyProfile

ABOVE = 1.25
"""Up to so many times the target is one file: cut in two, each is still half full if rows turn out a fifth smaller."""
_ABOVE_EACH = 1.1
"""Of many files each may have so many times the target, so that they are not too many if rows turn out smaller."""
OPENING = 1 << 20
"""Bytes that a task could have written while it opens, closes and registers a file."""
_MOST_BUCKETS = 1 << 13
_MOST_WHOLE = 512
"""Values that have a place of their own in the route; the others go by bucket."""


@dataclass(frozen=True)
class ValueBytes:
    """A partition value: its text for people, Spark's hash of it, its rows and its bytes in Parquet."""

    value: str
    hash: int
    rows: float
    bytes: float


@dataclass(frozen=True)
class FilePlan:
    """Which files are planned: `files` in all, of `target` bytes at most but for `ABOVE`, and the route to them.

    * A partition value with more bytes than that has `route.heavy` with a part for every file, in different tasks.
    * Every other value is one file. Its bucket says which task writes it.
    * `cut` is the number of partition values with several files, `values` that of all, None where nobody counted.
    * `route` is None where no row needs a place: one task writes everything.
    * `rows_per_file` are the rows of two targets, wherever rows take the fewest bytes (0: unknown). No file needs more,
      so a writer that stops there keeps rows that are not as planned from one huge file.
    * `sized_by` says where the bytes of a row come from, `counted_by` where the rows of the values do.
    * `profile` is that of the partition columns, where this plan counted them. `ProfileHistory.watch` records it.
    """

    keys: tuple[str, ...]
    target: int
    tasks: int
    files: int
    values: int | None
    cut: int
    rows: float
    bytes: float
    route: KeyPlan | None
    rows_per_file: int
    counted_by: str
    sized_by: str
    notes: tuple[str, ...] = ()
    profile: KeyProfile | None = None

    @property
    def title(self) -> str:
        """What is written, in a few words."""
        return f"write by {', '.join(self.keys)}" if self.keys else "write without partition columns"

    @property
    def reason(self) -> str:
        """The files, tasks and target in one line."""
        values = "" if self.values is None or not self.keys else f" of {self.values:,} partition values"
        return f"{self.files:,} files{values} by {self.tasks:,} tasks, target {_size(self.target)}"

    @property
    def lines(self) -> tuple[str, ...]:
        """What the plan rests on, and which values are cut."""
        found = [
            f"  rows       {self.rows:,.0f}, {self.counted_by}",
            f"  bytes      some {_size(self.bytes)} in Parquet, {self.sized_by}",
        ]
        if self.keys and self.route is not None:
            found.append(f"  cut        {self.cut:,} values into several files, each by a task of its own")
            for h in [h for h in self.route.heavy if len(h.parts) > 1][:8]:
                found.append(
                    f"             {h.key[0]}: {len(h.parts)} files, some {_size(h.weight - OPENING * len(h.parts))}"
                )
        return tuple(found)

    def __str__(self) -> str:
        notes = (f"  note       {note}" for note in self.notes)
        return "\n".join([f"{self.title}: {self.reason}", *self.lines, *notes])


def files_for(size: float, target: float) -> int:
    """Return the number of files for so many bytes.

    >>> [files_for(size, 100) for size in (0, 100, 125, 126, 225, 226, 1000, 10_000)]
    [1, 1, 1, 2, 2, 3, 10, 91]
    """
    return max(1, math.ceil(min(size / (target * _ABOVE_EACH), size / target - (ABOVE - 1))))


def plan_files(
    keys: Sequence[str],
    values: Sequence[ValueBytes],
    target: int,
    *,
    slots: int = 1,
    tail: Sequence[float] = (),
    counted_by: str = "counted",
    sized_by: str = "measured",
    rows: float | None = None,
    notes: Sequence[str] = (),
) -> FilePlan:
    """Plan the files of a write: large partition values in several files, small ones packed into tasks by LPT.

    * A value has `files_for(bytes, target)` files, whatever the number of tasks that its rows come from.
    * A task has at most about `target` bytes, where opening a file counts as 1 MiB of them (`OPENING`). So the number
      of files that a task writes one after another is bounded, too.
    * There are at least as many tasks as `slots`, as far as there are files, so that small writes run side by side.

    Args:
        keys: names of the partition columns. Without any, `values` holds one value with all rows.
        values: the partition values that are known one by one.
        target: bytes of a file, 1 or more.
        slots: tasks that run at a time.
        tail: bytes of values that are not known one by one, per hash bucket.
        counted_by: how the rows were counted, in words.
        sized_by: how the bytes of a row were found, in words.
        rows: rows of everything; those of `values` if None.
        notes: what else the reader should know.

    >>> hot, cold = ValueBytes("hot", 5, 90, 900.0), ValueBytes("cold", 6, 10, 100.0)
    >>> plan = plan_files(("day",), [hot, cold], 300, slots=4)
    >>> plan.files, plan.cut, sorted(len(h.parts) for h in plan.route.heavy)
    (4, 1, [1, 3])
    """
    pieces = [files_for(v.bytes, target) for v in values]
    several = [i for i, count in enumerate(pieces) if count > 1]
    small = sorted(
        (i for i, count in enumerate(pieces) if count == 1), key=lambda i: (-values[i].bytes, values[i].hash)
    )
    whole, bucketed = small[:_MOST_WHOLE], small[_MOST_WHOLE:]
    files = sum(pieces) + sum(1 for weight in tail if weight > 0)
    size = sum(v.bytes for v in values) + sum(tail)
    work = size + OPENING * files
    unit = max(target, OPENING)
    tasks = max(math.ceil(work / (unit + OPENING)), max(pieces, default=1), min(slots, files), 1)
    tasks = min(tasks, max(1, files))
    count = len(tail) or min(_MOST_BUCKETS, 1 << (8 * max(1, min(len(bucketed), tasks))).bit_length())
    buckets = np.asarray(tail if tail else np.zeros(count), dtype=np.float64) + 0.0
    buckets[buckets > 0] += OPENING
    for i in bucketed:
        buckets[values[i].hash % count] += values[i].bytes + OPENING
    route = None
    if tasks > 1:
        heavy = [
            HeavyLoad((values[i].value,), values[i].hash, values[i].bytes + OPENING * pieces[i], pieces=pieces[i])
            for i in several + whole
        ]
        load = KeyLoad(tuple(keys), ("string",) * len(keys), tuple(_merged(heavy)), tuple(buckets.tolist()))
        route = key_plan(load, tasks, "dkg", theta=0.0)
    known = sum(v.rows for v in values) if rows is None else rows
    per_row = [v.bytes / v.rows for v in values if v.rows and v.bytes]
    per_row += [size / known] if known and size else []
    return FilePlan(
        tuple(keys),
        target,
        tasks,
        files,
        None if len(tail) else len(values),
        len(several),
        known,
        size,
        route,
        math.ceil(2 * target / min(per_row)) if per_row else 0,
        counted_by,
        sized_by,
        tuple(notes),
    )


def _merged(heavy: list[HeavyLoad]) -> list[HeavyLoad]:
    """Return the largest of values of one hash, as composite ones with a null in different places have.

    A route tells none apart, so the smaller ones go where it goes.
    """
    by_hash: dict[int, HeavyLoad] = {}
    for h in heavy:
        twin = by_hash.get(h.hash)
        by_hash[h.hash] = h if twin is None or h.weight > twin.weight else twin
    return list(by_hash.values())


def _size(number: float) -> str:
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if number < 1024:
            return f"{number:,.0f} {unit}" if unit == "bytes" else f"{number:,.1f} {unit}"
        number /= 1024
    return f"{number:,.1f} TiB"
