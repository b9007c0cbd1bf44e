"""A look at the keys of large frames: the hashes and values of a small sample, in one job that groups nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from skewkit.errors import SkewkitError
from skewkit.hashing.spark import xxhash64
from skewkit.plan.profile.heavy_key import HeavyKey
from skewkit.plan.profile.key_profile import KeyProfile
from skewkit.plan.profile.sample_bounds import bounds
from skewkit.plan.profile.sampled_profile import bucket_count
from skewkit.spark.expressions.keys import Keys, plain
from skewkit.spark.session.compat import collected, collects_values, is_too_large_a_result

_SIMPLE = ("tinyint", "smallint", "int", "bigint", "string", "boolean", "date", "float", "double", "binary", "decimal")
_LONGEST = 256
"""Bytes of the longest key that a sample brings along."""
_ROW = (1 << 33) - 1
_MOST = 8
"""A task sends so many times the rows that are wanted of all tasks together before the sample is given up."""


@dataclass(frozen=True)
class Glance:
    """The sample of one frame: its keys, the fraction that it is, and which rows match nothing (None: no row)."""

    frame: DataFrame
    keys: Keys
    fraction: float
    unmatched: Column | None


@dataclass(frozen=True)
class Look:
    """What a look found: a profile per frame, and whether all of their heavy keys have their values.

    Where they have not, a heavy key's value is None and its hash and weight are right. `one_task` has, for each frame,
    the largest share of a heavy key's rows that one task reads, by the key's hash.
    """

    profiles: tuple[KeyProfile, ...]
    named: bool
    one_task: tuple[Mapping[int, float], ...]


def look(glances: Sequence[Glance], partitions: int, wanted: int) -> Look | None:
    """Return profiles from a sample of some `wanted` rows of each frame, or None if a task alone had far more.

    Keys of simple types come with the sample; a value counts as a hash's if Spark's hash of it is this one.
    """
    named = all(brings_values(glance.keys) for glance in glances)
    parts = [_sample(number, glance, wanted, named=named) for number, glance in enumerate(glances)]
    try:
        number_of, tasks, hashes, free, more, *values = collected(reduce(DataFrame.unionAll, parts))
    except Exception as error:
        if is_too_large_a_result(error):
            return None
        raise
    number_of, tasks, hashes, free = (np.asarray(column) for column in (number_of, tasks, hashes, free))
    if np.asarray(more).any():
        return None
    profiles, one_task = [], []
    for number, glance in enumerate(glances):
        mine = number_of == number
        rows = np.flatnonzero(mine & ~free)
        found = _profile(glance, hashes[rows], int((mine & free).sum()), partitions)
        keys = _values(glance.keys, hashes, rows, values, found) if named else {}
        named = named and len(keys) == len(found.heavy)
        profiles.append(_with_values(found, keys))
        hot = rows[np.isin(hashes[rows], [heavy.hash for heavy in found.heavy])]
        one_task.append(largest_shares(hashes[hot], tasks[hot]))
    return Look(tuple(profiles), named, tuple(one_task))


def largest_shares(hashes: npt.NDArray[np.int64], tasks: npt.NDArray[np.int64]) -> dict[int, float]:
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


def brings_values(keys: Keys) -> bool:
    """Return whether a look has the values of such keys, and not only their hashes."""
    return collects_values() and all(type_.partition("(")[0] in _SIMPLE for type_ in keys.types)


def _sample(number: int, glance: Glance, wanted: int, *, named: bool) -> DataFrame:
    """Return frame number, task, hash, whether it matches nothing, whether there are too many rows, and the key."""
    keys, rows = glance.keys, glance.frame
    key_hash = keys.hash if glance.unmatched is None else F.when(~glance.unmatched, keys.hash)
    row = F.monotonically_increasing_id().bitwiseAND(F.lit(_ROW))
    most = _MOST * wanted
    values = [
        (F.when(F.octet_length(c) <= _LONGEST, c) if t in ("string", "binary") else c).alias(f"k{i}")
        for i, (c, t) in enumerate(zip(keys.columns, keys.types, strict=True))
        if named
    ]
    return rows.where(row < most).select(
        F.lit(number).alias("number"),
        F.spark_partition_id().alias("task"),
        F.coalesce(key_hash, F.lit(0)).alias("h"),
        key_hash.isNull().alias("free"),
        (F.monotonically_increasing_id().bitwiseAND(F.lit(_ROW)) == most - 1).alias("more"),
        *values,
    )


def _values(
    keys: Keys, hashes: npt.NDArray[np.int64], rows: npt.NDArray[np.intp], values: Sequence[Any], found: KeyProfile
) -> dict[int, tuple[Any, ...]]:
    """Return the values of heavy keys by hash, as far as the sample has them."""
    named: dict[int, tuple[Any, ...]] = {}
    for heavy in found.heavy:
        row = int(rows[np.argmax(hashes[rows] == heavy.hash)])
        try:
            key = tuple(plain(column[row].as_py()) for column in values)
            if xxhash64(key, keys.types) == heavy.hash:
                named[heavy.hash] = key
        except (SkewkitError, ValueError, OverflowError):
            continue
    return named


def _with_values(profile: KeyProfile, keys: dict[int, tuple[Any, ...]]) -> KeyProfile:
    """Return the profile with the values of its heavy keys; those with a null are listed, and counted, as nulls."""
    heavy = [replace(h, key=keys.get(h.hash, h.key)) for h in profile.heavy]
    null_heavy = tuple(h for h in heavy if h.hash in keys and None in h.key)
    return replace(
        profile,
        heavy=tuple(h for h in heavy if h not in null_heavy),
        null_heavy=null_heavy,
        nulls=profile.nulls + sum(h.estimate for h in null_heavy),
    )


def _profile(glance: Glance, hashes: npt.NDArray[np.int64], nulls: int, partitions: int) -> KeyProfile:
    buckets, fraction = bucket_count(partitions), glance.fraction
    keys, counts = np.unique(hashes, return_counts=True)
    theta = 1 / (5 * partitions)
    hot = counts >= max(2.0 if fraction < 1 else 1.0, theta * (hashes.size + nulls))
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
        bounds(float(counts[~hot].max(initial=0)), fraction)[1],
        sampled=fraction < 1,
        fraction=fraction,
    )
