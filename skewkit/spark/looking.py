"""A first look at the keys of large frames: the hashes of a small sample, in one job without a shuffle."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
import numpy.typing as npt
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from skewkit.plan.profile import HeavyKey, KeyProfile
from skewkit.spark.compat import collected
from skewkit.spark.keys import Keys
from skewkit.spark.profiling import SEED, bounds, bucket_count


@dataclass(frozen=True)
class Glance:
    """One frame to look at: its keys, the fraction to read, and which rows match nothing (None: no row)."""

    frame: DataFrame
    keys: Keys
    fraction: float
    unmatched: Column | None


def look(glances: Sequence[Glance], partitions: int) -> list[KeyProfile]:
    """Return a profile of every frame in which heavy keys have a hash and a weight, but no value.

    It is meant for one question, whether any key is hot at all: to name the keys, profile the frame.
    """
    parts = []
    for number, glance in enumerate(glances):
        key_hash = glance.keys.hash if glance.unmatched is None else F.when(~glance.unmatched, glance.keys.hash)
        rows = glance.frame.sample(fraction=glance.fraction, seed=SEED)
        parts.append(rows.select(F.lit(number).alias("task"), key_hash.alias("h"), key_hash.isNull().alias("free")))
    task, hashes, free = collected(reduce(DataFrame.unionAll, parts).select("task", F.coalesce("h", F.lit(0)), "free"))
    return [
        _profile(glance, hashes[(task == number) & ~free], int(free[task == number].sum()), partitions)
        for number, glance in enumerate(glances)
    ]


def _profile(glance: Glance, hashes: npt.NDArray[np.int64], nulls: int, partitions: int) -> KeyProfile:
    buckets, fraction = bucket_count(partitions), glance.fraction
    keys, counts = np.unique(hashes, return_counts=True)
    theta = 1 / (5 * partitions)
    hot = counts >= max(2.0, theta * (hashes.size + nulls))
    tail = np.bincount(keys[~hot] % buckets, weights=counts[~hot], minlength=buckets) / fraction
    order = np.argsort(-counts[hot], kind="stable")
    heavy = []
    for key_hash, count in zip(keys[hot][order].tolist(), counts[hot][order].tolist(), strict=True):
        low, high = bounds(count, fraction)
        heavy.append(HeavyKey((None,) * len(glance.keys.names), low, count / fraction, high, key_hash))
    return KeyProfile(
        glance.keys.names,
        glance.keys.types,
        (hashes.size + nulls) / fraction,
        nulls / fraction,
        tuple(heavy),
        (),
        tuple(tail.tolist()),
        tuple(np.bincount(keys[~hot] % buckets, minlength=buckets).tolist()),
        theta,
        sampled=True,
        fraction=fraction,
    )
