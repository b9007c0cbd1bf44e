"""The profile job: heavy keys, tail buckets, nulls and totals of one or two frames in one query."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce

from pyspark.errors import PySparkNotImplementedError, PySparkTypeError
from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F
from pyspark.sql.types import DataType

from skewkit.plan.profile.heavy_key import HeavyKey
from skewkit.plan.profile.key_profile import KeyProfile
from skewkit.plan.profile.sample_bounds import bounds
from skewkit.plan.profile.sampled_profile import bucket_count
from skewkit.spark.expressions.keys import Keys, plain
from skewkit.spark.session.compat import is_too_large_a_result

SEED = 20151
_NO_VALUE = (ValueError, OverflowError, PySparkNotImplementedError, PySparkTypeError)
_DISTINCT, _WIDEST, _MOST_DISTINCT = -2, -3, -4


@dataclass(frozen=True)
class Task:
    """One frame to profile: its keys, the fraction to read (1: all), and what a row weighs."""

    frame: DataFrame
    keys: Keys
    fraction: float
    weight: Column | None = None
    weight_name: str | None = None
    values: tuple[Column, ...] = ()
    """Columns whose distinct values are to be estimated; the largest number counts."""
    inputs: bool = False
    """Whether to look at the partitions that the frame is read in."""
    by_partition: bool = False
    """Whether to see of which keys one partition has all rows, for frames that are only read: a sample has theirs."""
    draw: Callable[[float], DataFrame] | None = None
    """Returns a sample of the frame for a fraction, where it need not run for that as a whole."""

    @property
    def sample(self) -> DataFrame:
        """The rows to read."""
        if self.draw is not None and self.fraction < 1:
            return self.draw(self.fraction)
        return sampled(self.frame, self.fraction)


@dataclass(frozen=True)
class Found:
    """A profile, and what was measured beside it, if it was asked for.

    `distinct`: the distinct values per row of the task's `values`, of those of which there are most.
    `most_distinct`: which of the `values` these are.
    `one_task`: the largest share of a heavy key's rows that one task has, by hash, where that is all that were seen.
    `widest`: the share of the rows that the largest of the partitions holds in which the frame is read.
    """

    profile: KeyProfile
    distinct: float | None = None
    widest: float | None = None
    most_distinct: int = 0
    one_task: Mapping[int, float] = field(default_factory=dict)


def sampled(frame: DataFrame, fraction: float) -> DataFrame:
    """Return a part of a frame's rows, the same ones each time; all of them for a fraction of 1."""
    return frame if fraction >= 1 else frame.sample(fraction=fraction, seed=SEED)


def auto_fraction(rows: float | None, wanted: float) -> float:
    """Return the fraction that makes about `wanted` of `rows` rows; 1.0 where that is most of them, or not known.

    >>> auto_fraction(1000, 10), auto_fraction(1000, 600), auto_fraction(None, 10)
    (0.01, 1.0, 1.0)
    """
    if not rows or wanted >= rows / 2:
        return 1.0
    return wanted / rows


def profile(tasks: Sequence[Task], partitions: int, wanted: float) -> list[Found]:
    """Profile every frame in one query; a sample that came out far too small is taken again, once."""
    buckets = bucket_count(partitions)
    rows = _collect(tasks, partitions, buckets)
    found = [_found(task, rows[i], partitions, buckets) for i, task in enumerate(tasks)]
    again = [i for i, (t, f) in enumerate(zip(tasks, found, strict=True)) if _too_small(t, f.profile, wanted)]
    if again:
        larger = [_resized(tasks[i], found[i].profile, wanted) for i in again]
        rows = _collect(larger, partitions, buckets)
        for j, i in enumerate(again):
            found[i] = _found(larger[j], rows[j], partitions, buckets)
    return found


def _found(task: Task, rows: Sequence[Row], partitions: int, buckets: int) -> Found:
    beside = {int(row["h"]): float(row["w"]) for row in rows if row["n"] == 0 and row["w"] is not None}
    profile = _profile(task, [row for row in rows if row["n"] != 0], partitions, buckets)
    seen = profile.rows * task.fraction
    distinct = beside[_DISTINCT] / seen if _DISTINCT in beside and seen else None
    one_task = {int(row["h"]): 1.0 for row in rows if row["n"] is None and row["one"] and not row["null"]}
    return Found(profile, distinct, beside.get(_WIDEST), int(beside.get(_MOST_DISTINCT, 0)), one_task)


def _too_small(task: Task, found: KeyProfile, wanted: float) -> bool:
    return task.fraction < 1 and found.rows * task.fraction < wanted / 16


def _resized(task: Task, found: KeyProfile, wanted: float) -> Task:
    fraction = min(1.0, wanted / max(1.0, found.rows))
    return replace(task, fraction=1.0 if fraction > 0.5 else fraction)


def _collect(tasks: Sequence[Task], partitions: int, buckets: int) -> list[list[Row]]:
    parts = [part for i, task in enumerate(tasks) for part in _queries(task, i, partitions, buckets)]
    result: list[list[Row]] = [[] for _ in tasks]
    found = reduce(DataFrame.unionAll, parts)
    try:
        rows = found.collect()
    except Exception as error:
        # A key that Python cannot have, such as a date of the year 0 in an array, or Connect cannot bring, such as
        # an array of months, or the driver has no room for: its hash must do.
        if not (isinstance(error, _NO_VALUE) or is_too_large_a_result(error)):
            raise
        names = found.schema["key"].dataType.names  # type: ignore[attr-defined]
        nothing = F.struct(*(F.lit(None).cast("string").alias(name) for name in names))
        rows = found.withColumn("key", nothing).collect()
    for row in rows:
        result[row["task"]].append(row)
    return result


def _queries(task: Task, number: int, partitions: int, buckets: int) -> list[DataFrame]:
    """Two branches over one grouped frame, which Spark computes once: the heaviest keys, and the buckets."""
    names = [f"k{i}" for i in range(len(task.keys.columns))]
    weight = F.lit(1).cast("bigint") if task.weight is None else _weight(task.weight)
    sample = task.sample
    place = F.spark_partition_id() if task.by_partition else F.lit(None).cast("int")
    values = (c.alias(n) for c, n in zip(task.keys.columns, names, strict=True))
    rows = sample.select(*values, weight.alias("w"), place.alias("p"))
    total = F.count(F.lit(1)) if task.weight is None else F.sum("w")
    one = F.coalesce(F.min("p") == F.max("p"), F.lit(False)) if task.by_partition else F.lit(False)
    keys = task.keys.selected(names)
    grouped = rows.groupBy(*names).agg(total.alias("w"), one.alias("one"))
    grouped = grouped.select(*names, keys.hash.alias("h"), "w", "one")
    # A key with a share of theta = 1/(5n) is among the 5n heaviest, nulls included.
    head = grouped.orderBy(F.desc("w"), "h").limit(5 * partitions + 1)
    as_python = [shown(F.col(n), field.dataType).alias(n) for n, field in zip(names, rows.schema.fields, strict=False)]
    types = {f.name: f.dataType for f in grouped.select(*as_python).schema.fields}
    bucket = F.when(keys.any_null, -1).otherwise(F.pmod("h", F.lit(buckets))).alias("h")
    # All columns are asked for: else Spark would leave one out here, and not see that both branches are of one frame.
    tail = grouped.groupBy(bucket).agg(
        F.sum("w").alias("w"), F.count(F.lit(1)).alias("n"), F.bool_or("one").alias("one")
    )
    task_number = F.lit(number).alias("task")
    nothing = [F.lit(None).cast(types[name]).alias(name) for name in names]
    no_null, not_one = F.lit(False).alias("null"), F.lit(False).alias("one")
    no_keys = F.lit(0).cast("bigint").alias("n")
    beside = [
        measured.select(
            task_number,
            F.struct(*nothing).alias("key"),
            no_null,
            not_one,
            F.lit(code).cast("bigint").alias("h"),
            "w",
            no_keys,
        )
        for code, measured in _beside(task, sample)
    ]
    number_of_keys = F.lit(None).cast("bigint").alias("n")
    return [
        head.select(
            task_number,
            F.struct(*as_python).alias("key"),
            keys.any_null.alias("null"),
            "one",
            "h",
            F.col("w").cast("double"),
            number_of_keys,
        ),
        tail.select(task_number, F.struct(*nothing).alias("key"), no_null, "one", "h", F.col("w").cast("double"), "n"),
        *beside,
    ]


def _beside(task: Task, sample: DataFrame) -> list[tuple[int, DataFrame]]:
    """Return one-row frames of what is measured beside the profile, with the codes they are found by."""
    found = []
    if task.values:
        counts = [F.approx_count_distinct(value).cast("double") for value in task.values]
        most = F.greatest(*counts) if len(counts) > 1 else counts[0]
        found.append((_DISTINCT, sample.agg(most.alias("w"))))
        if len(counts) > 1:
            which = F.array_position(F.array(*counts), most) - 1
            found.append((_MOST_DISTINCT, sample.agg(which.cast("double").alias("w"))))
    if task.inputs:
        read = sample.groupBy(F.spark_partition_id().alias("partition")).agg(F.count(F.lit(1)).alias("rows"))
        found.append((_WIDEST, read.agg((F.max("rows") / F.nullif(F.sum("rows"), F.lit(0))).alias("w"))))
    return found


def _weight(weight: Column) -> Column:
    """Nulls, NaN, infinite and negative weights count as nothing."""
    value = weight.cast("double")
    return F.when((value > 0) & (value < float("inf")), value).otherwise(0.0)


def shown(key: Column, type_: DataType) -> Column:
    """Return a key as Python can have it: no year past 9999 (null instead), months as text."""
    name = type_.typeName()
    if name in ("date", "timestamp", "timestamp_ntz"):
        return F.when((F.year(key) >= 1) & (key < F.lit("9999-12-30").cast(type_)), key)
    return key.cast("string") if type_.simpleString().startswith(("interval year", "interval month")) else key


def _profile(task: Task, rows: Sequence[Row], partitions: int, buckets: int) -> KeyProfile:
    tail, tail_keys, nulls = [0.0] * buckets, [0] * buckets, 0.0
    head = []
    for row in rows:
        if row["n"] is None:
            head.append((plain(row["key"]), int(row["h"]), float(row["w"]), bool(row["null"])))
        elif row["h"] < 0:
            nulls = float(row["w"])
        else:
            tail[row["h"]], tail_keys[row["h"]] = float(row["w"]), int(row["n"])
    total = sum(tail) + nulls
    theta = 1 / (5 * partitions)
    listed = [item for item in head if item[2] > 0 and item[2] >= theta * total]
    missing = max((w for _, _, w, _ in head if w < theta * total), default=0.0)
    heavy: list[HeavyKey] = []
    null_heavy: list[HeavyKey] = []
    for key, key_hash, weight, null in sorted(listed, key=lambda item: (-item[2], item[1])):
        low, high = bounds(weight, task.fraction)
        (null_heavy if null else heavy).append(
            HeavyKey(key, low, _number(weight / task.fraction, task), high, key_hash)
        )
        if not null:
            tail[key_hash % buckets] -= weight
            tail_keys[key_hash % buckets] -= 1
    return KeyProfile(
        task.keys.names,
        task.keys.types,
        _number(total / task.fraction, task),
        _number(nulls / task.fraction, task),
        tuple(heavy),
        tuple(null_heavy),
        tuple(max(0.0, w) / task.fraction for w in tail),
        tuple(tail_keys),
        theta,
        bounds(missing, task.fraction)[1],
        task.fraction < 1,
        task.fraction,
        task.weight_name,
    )


def _number(value: float, task: Task) -> float:
    return round(value) if task.weight is None else value
