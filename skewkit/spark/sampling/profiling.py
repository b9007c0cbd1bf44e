"""The job of `skew_profile`: the heavy keys, tail buckets, nulls and totals of a frame, grouped in one query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

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
from skewkit.spark.session.jobs import described

SEED = 20151
_NO_VALUE = (ValueError, OverflowError, PySparkNotImplementedError, PySparkTypeError)


@dataclass(frozen=True)
class Task:
    """One frame to profile: its keys, the fraction to read (1: all), and what a row weighs."""

    frame: DataFrame
    keys: Keys
    fraction: float
    weight: Column | None = None
    weight_name: str | None = None


@dataclass(frozen=True)
class Found:
    """A profile, and what an answer says beside it (`skewkit.spark.sampling.ask.Answer`)."""

    profile: KeyProfile
    distinct: float | None = None
    widest: float | None = None
    most_distinct: int = 0
    one_task: Mapping[int, float] = field(default_factory=dict)


def sampled(frame: DataFrame, fraction: float) -> DataFrame:
    """Return a part of a frame's rows, the same ones each time; all of them for a fraction of 1."""
    return frame if fraction >= 1 else frame.sample(fraction=fraction, seed=SEED)


def auto_fraction(rows: float | None, wanted: float) -> float:
    """Return the fraction that makes about `wanted` of `rows` rows. 1.0 where that is most of them, or not known.

    >>> auto_fraction(1000, 10), auto_fraction(1000, 600), auto_fraction(None, 10)
    (0.01, 1.0, 1.0)
    """
    if not rows or wanted >= rows / 2:
        return 1.0
    return wanted / rows


def profile(task: Task, partitions: int, wanted: float) -> KeyProfile:
    """Profile a frame in one query. A sample that came out far too small, as of a filtered frame, is taken again, once.

    Unlike `skewkit.spark.sampling.ask` it may read all rows, weigh them, and have as many heavy keys as there are.
    """
    found = _profiled(task, partitions)
    if task.fraction == 1 or found.rows * task.fraction >= wanted / 16:
        return found
    fraction = min(1.0, wanted / max(1.0, found.rows))
    return _profiled(replace(task, fraction=1.0 if fraction > 0.5 else fraction), partitions)


def _profiled(task: Task, partitions: int) -> KeyProfile:
    buckets = bucket_count(partitions)
    query = grouped(task, partitions, buckets)
    with described(task.frame.sparkSession, f"skewkit: skew_profile on {', '.join(task.keys.names)}"[:200]):
        rows = _collect(query)
    return _profile(task, rows, partitions, buckets)


def _collect(query: DataFrame) -> list[Row]:
    try:
        return query.collect()
    except Exception as error:
        if not is_without_value(error):
            raise
        names = query.schema["key"].dataType.names  # type: ignore[attr-defined]
        nothing = F.struct(*(F.lit(None).cast("string").alias(name) for name in names))
        return query.withColumn("key", nothing).collect()


def is_without_value(error: Exception) -> bool:
    """Return whether a query failed because of the values of keys, so that their hashes must do.

    Of a key that Python cannot have, such as a date of the year 0 in an array. Of one that Connect cannot bring, such
    as an array of months. Of one that the driver has no room for.
    """
    return isinstance(error, _NO_VALUE) or is_too_large_a_result(error)


def grouped(task: Task, partitions: int, buckets: int) -> DataFrame:
    """Two branches over one grouped frame, which Spark computes once: the heaviest keys, and the buckets."""
    names = [f"k{i}" for i in range(len(task.keys.columns))]
    weight = F.lit(1).cast("bigint") if task.weight is None else _weight(task.weight)
    values = (c.alias(n) for c, n in zip(task.keys.columns, names, strict=True))
    rows = sampled(task.frame, task.fraction).select(*values, weight.alias("w"))
    total = F.count(F.lit(1)) if task.weight is None else F.sum("w")
    keys = task.keys.selected(names)
    # Aggregates too, as a session may leave the columns of groups out (spark.sql.retainGroupColumns=false).
    by_key = rows.groupBy(*names).agg(*(F.col(name).alias(f"{name}_") for name in names), total.alias("w"))
    by_key = by_key.select(*(F.col(f"{name}_").alias(name) for name in names), "w")
    by_key = by_key.select(*names, keys.hash.alias("h"), "w")
    # A key with a share of theta = 1/(5n) is among the 5n heaviest, nulls included.
    head = by_key.orderBy(F.desc("w"), "h").limit(5 * partitions + 1)
    as_python = [shown(F.col(n), field.dataType).alias(n) for n, field in zip(names, rows.schema.fields, strict=False)]
    types = {f.name: f.dataType for f in by_key.select(*as_python).schema.fields}
    bucket = F.when(keys.any_null, -1).otherwise(F.pmod("h", F.lit(buckets)))
    # All columns are asked for: else Spark would leave one out here, and not see that both branches are of one frame.
    tail = by_key.groupBy(bucket).agg(bucket.alias("bucket"), F.sum("w").alias("w"), F.count(F.lit(1)).alias("n"))
    tail = tail.select(F.col("bucket").alias("h"), "w", "n")
    nothing = [F.lit(None).cast(types[name]).alias(name) for name in names]
    number_of_keys = F.lit(None).cast("bigint").alias("n")
    weighed = F.col("w").cast("double")
    return head.select(
        F.struct(*as_python).alias("key"), keys.any_null.alias("null"), "h", weighed, number_of_keys
    ).unionAll(tail.select(F.struct(*nothing).alias("key"), F.lit(False).alias("null"), "h", weighed, "n"))


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
