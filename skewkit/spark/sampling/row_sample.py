"""A bounded sample of rows, taken in one pass, however many rows there are and whatever a filter leaves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from skewkit.hashing.spark import xxhash64_many
from skewkit.options import byte_size
from skewkit.spark.explained.plan_facts import PlanFacts
from skewkit.spark.sampling.file_sample import FileSample
from skewkit.spark.session.compat import conf_reader, default_partitions, is_connect, tasks_at_a_time

_PLACE = 33
"""The lower bits of `monotonically_increasing_id` are a row's number in its task, the upper ones the task's."""
_UNIT = 2.0**-53
_SPLIT, _OPENING = 128 << 20, 4 << 20
"""Defaults of `spark.sql.files.maxPartitionBytes` and `openCostInBytes`."""
_LEAST_OF_A_TASK = 64
"""Rows that every task may send, so that a small task's rows are in a sample of many tasks at all."""
_SEED = 20151

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Rate:
    """With which probability the i-th row of a task is in a sample: min(1, max(least / i, min(share, most / i))).

    It falls along a task, so that `least` rows or more, and some `most * (1 + ln(rows / most))` at the most, are left
    of every task. On the driver the sample is thinned to the lowest of these probabilities over all tasks. What
    remains has every row of the frame with this one probability, as a Bernoulli sample.
    """

    share: float
    least: float
    most: float

    def wanted(self, place: Column, uniform: Column) -> Column:
        """Return whether a row is in the sample: by its number in its task, and by a uniform number in [0, 1)."""
        scaled = uniform * place
        return (scaled < self.least) | ((uniform < self.share) & (scaled < self.most))

    def lowest(self, last: Ints) -> float:
        """Return the lowest probability of tasks whose last rows have these numbers. 1 where all rows are there."""
        if not last.size:
            return 1.0
        place = float(last.max())
        if self.share >= 1 and place <= max(self.least, self.most):
            return 1.0
        if place < self.least:
            return 1.0
        place = max(place, self.least + 1)
        return min(1.0, max(self.least / place, min(self.share, self.most / place)))


def rate_for(facts: PlanFacts, wanted: float, files: FileSample) -> Rate:
    """Return the rate that leaves about `wanted` rows of what is read of a frame.

    Where a guess says that so few are read, all are sent: of each task twice its part, so that one of two may have all.
    Whatever the guess, a task of `rows` rows sends no more than `most * (1 + ln(rows / most))`.
    """
    each = max(_LEAST_OF_A_TASK, wanted / guessed_tasks(facts, files))
    rows = facts.source_rows
    if rows is None:
        return Rate(1.0, each / 4, each)
    left = rows * files.part * files.thinned
    if left <= 2 * wanted:
        return Rate(1.0, each / 4, 2 * each)
    return Rate(wanted / left, each / 4, each)


def guessed_tasks(facts: PlanFacts, files: FileSample) -> float:
    """Return in about how many tasks a frame is computed. Files are split as Spark's `FilePartition` does it."""
    spark = facts.frame.sparkSession
    conf = conf_reader(spark)
    at_a_time = tasks_at_a_time(spark) if is_connect(spark) else spark.sparkContext.defaultParallelism
    split = byte_size(conf("spark.sql.files.maxPartitionBytes")) or _SPLIT
    opening = byte_size(conf("spark.sql.files.openCostInBytes"))
    opening = _OPENING if opening is None else opening
    read = (facts.source_bytes or 0) * files.part
    if files.read:
        least, cost = conf("spark.sql.files.minPartitionNum") or "", read + files.read * opening
        wanted = float(least) if least.isdigit() and int(least) else float(at_a_time or 1)
        size = min(split, max(opening, cost / wanted, 1.0))
        tasks = max(1.0, min(read / size + files.read, cost / size))
    else:
        tasks = max(float(at_a_time or 1), read / split)
    return max(tasks, float(default_partitions(spark))) if facts.shuffles else tasks


def sampled(frame: DataFrame, columns: Mapping[str, Column], rate: Rate) -> DataFrame:
    """Return `place` (task and number of a row) and the named columns, of the rows that the rate leaves.

    A row's uniform number follows from its place, so a task that runs again takes the same rows.
    """
    named = [column.alias(name) for name, column in columns.items()]
    numbered = frame.select(F.monotonically_increasing_id().alias("place"), *named)
    # As text, which takes one call to Java each.
    place = F.expr(f"place & {(1 << _PLACE) - 1}L")
    uniform = F.expr(f"shiftrightunsigned(xxhash64({_SEED}, place), 11) * {_UNIT}D")
    return numbered.where(rate.wanted(place, uniform))


def uniforms_of(places: Ints) -> Floats:
    """Return the uniform numbers in [0, 1) by which `sampled` took the rows of these places.

    >>> uniforms_of(np.array([0, 1])).round(3).tolist()
    [0.444, 0.631]
    """
    bits = xxhash64_many(_SEED, places).view(np.uint64) >> np.uint64(11)
    return bits.astype(np.float64) * _UNIT


@dataclass(frozen=True)
class Thinned:
    """Which of the collected rows are the sample (indices), its fraction, their tasks (m,), and rows per task."""

    rows: npt.NDArray[np.intp]
    fraction: float
    tasks: Ints
    task_rows: Ints


def thinned(places: Ints, uniforms: Floats, rate: Rate) -> Thinned:
    """Return the rows that make a sample of one fraction."""
    tasks, numbers = places >> _PLACE, places & ((1 << _PLACE) - 1)
    order = np.argsort(places, kind="stable")  # rows come sorted, as a rule, which makes this fast
    last = order[np.flatnonzero(np.r_[np.diff(tasks[order]) != 0, True])] if order.size else order
    fraction = rate.lowest(numbers[last])
    rows = np.flatnonzero(uniforms < fraction)
    return Thinned(rows, fraction, tasks[rows], numbers[last] + 1)


def largest_shares(hashes: Ints, tasks: Ints) -> dict[int, float]:
    """Return which share of a hash's rows is in the task that has most of them.

    >>> largest_shares(np.array([7, 8, 7, 7, 7]), np.array([0, 0, 2, 0, 0]))
    {7: 0.75, 8: 1.0}
    """
    if not hashes.size:
        return {}
    order = np.lexsort((tasks, hashes))
    keys, places = hashes[order], tasks[order]
    starts = np.flatnonzero(np.r_[True, (np.diff(keys) != 0) | (np.diff(places) != 0)])
    counts, keys = np.diff(np.r_[starts, order.size]), keys[starts]
    firsts = np.flatnonzero(np.r_[True, np.diff(keys) != 0])
    shares = np.maximum.reduceat(counts, firsts) / np.add.reduceat(counts, firsts)
    return dict(zip(keys[firsts].tolist(), shares.tolist(), strict=True))


def distinct_values(hashes: Ints, rows: float) -> float:
    """Return how many distinct values `rows` rows have of which these are a sample, (m,) hashes.

    Those in the sample, and f1 (f1 - 1) / (2 (f2 + 1)) beside them, with f1 and f2 the values that are there once and
    twice (Chao 1984, in its bias-corrected form). It is a lower bound, and near the truth where values are alike often.

    >>> distinct_values(np.arange(10), 10.0), distinct_values(np.array([1, 1, 2, 2]), 400.0)
    (10.0, 2.0)
    """
    counts = np.unique(hashes, return_counts=True)[1]
    once, twice = int((counts == 1).sum()), int((counts == 2).sum())
    unseen = once * (once - 1) / (2 * (twice + 1)) if rows > hashes.size else 0.0
    return min(float(rows), counts.size + unseen)
