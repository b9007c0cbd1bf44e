"""The profile of a sample of raw rows: what each row's key hashes to, and whether it can match."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from skewkit.plan.profile.heavy_key import HeavyKey
from skewkit.plan.profile.key_profile import KeyProfile
from skewkit.plan.profile.sample_bounds import Z, bounds

PLAIN, WITH_NULL, UNMATCHED = 0, 1, 2
"""Kinds of rows: one whose key has no null, one whose key has, and one that matches nothing in a join."""
_BUCKETS_PER_PARTITION = 32
_MOST_BUCKETS = 1 << 14

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class FilesTaken:
    """Of a sample of whole files: the number of each row's file, how many were taken, and of how many."""

    numbers: Ints
    taken: int
    of: int


@dataclass(frozen=True)
class SampledRows:
    """Rows of a sample: hashes (m,), kinds (m,), the fraction of all rows that they are, and their files, if some."""

    hashes: Ints
    kinds: Ints
    fraction: float
    files: FilesTaken | None = None


_SURE = 20.0
"""Rows of a key in a sample from which on it is listed though it is not heavy: they tell its share to a half or so."""


def bucket_count(partitions: int) -> int:
    """Return in how many hash buckets the tail is counted: a power of two, 32 or more per partition.

    >>> bucket_count(3), bucket_count(32)
    (128, 1024)
    """
    return min(_MOST_BUCKETS, 1 << math.ceil(math.log2(_BUCKETS_PER_PARTITION * partitions)))


def sampled_profile(
    names: Sequence[str], types: Sequence[str], rows: SampledRows, partitions: int, *, finer: int = 1
) -> KeyProfile:
    """Return the profile of a sample. Its heavy keys have hashes and, instead of values, None.

    * Each row of the frame is in the sample with the same probability, `rows.fraction`, and the bounds are
      those of `sample_bounds`.
    * Of a sample of files the bounds also hold for what differs from file to file. An estimate's standard error is that
      of the sum of k of K files, sqrt(k s^2 (1 - k/K)), with s^2 the variance of a key's rows per file taken.
    * A row that matches nothing counts among the nulls.
    * With `finer`, keys of so many times smaller shares are listed, if the sample has 20 rows of them.

    >>> hashes, kinds = np.array([5, 5, 5, 9, 42]), np.array([0, 0, 0, 0, 1])
    >>> profile = sampled_profile(["k"], ["int"], SampledRows(hashes, kinds, 1.0), 1)
    >>> [(h.hash, h.estimate) for h in profile.heavy], profile.nulls, [h.hash for h in profile.null_heavy]
    ([(5, 3), (9, 1)], 1, [42])
    """
    buckets, theta, fraction = bucket_count(partitions), 1 / (5 * partitions), rows.fraction
    total = rows.hashes.size
    least = max(2.0 if fraction < 1 else 1.0, theta * total)
    if finer > 1:
        least = min(least, max(_SURE, theta * total / finer))
    plain = rows.kinds == PLAIN
    keys, counts = np.unique(rows.hashes[plain], return_counts=True)
    hot = counts >= least
    null_keys, null_counts = np.unique(rows.hashes[rows.kinds == WITH_NULL], return_counts=True)
    null_hot = null_counts >= least
    unlisted = max(counts[~hot].max(initial=0), null_counts[~null_hot].max(initial=0))
    cold, weights = keys[~hot] % buckets, counts[~hot] / fraction
    return KeyProfile(
        tuple(names),
        tuple(types),
        _number(total, fraction),
        _number(total - int(plain.sum()), fraction),
        _listed(keys[hot], counts[hot], rows, len(names)),
        _listed(null_keys[null_hot], null_counts[null_hot], rows, len(names)),
        tuple(np.bincount(cold, weights=weights, minlength=buckets).tolist()),
        tuple(np.bincount(cold, minlength=buckets).tolist()),
        theta,
        bounds(float(unlisted), fraction)[1],
        sampled=fraction < 1,
        fraction=fraction,
        files=(rows.files.taken, rows.files.of) if rows.files is not None else None,
    )


def _listed(keys: Ints, counts: Ints, rows: SampledRows, width: int) -> tuple[HeavyKey, ...]:
    order = np.lexsort((keys, -counts))
    heavy = []
    for key, count in zip(keys[order].tolist(), counts[order].tolist(), strict=True):
        low, high = bounds(count, rows.fraction)
        if rows.files is not None:
            spread = Z * _deviation(rows.hashes == key, rows.files) / rows.fraction
            estimate = count / rows.fraction
            low, high = max(count, min(low, math.floor(estimate - spread))), max(high, math.ceil(estimate + spread))
        heavy.append(HeavyKey((None,) * width, low, _number(count, rows.fraction), high, key))
    return tuple(heavy)


def _deviation(of_key: npt.NDArray[np.bool_], files: FilesTaken) -> float:
    """Return the standard error of a key's rows in the files taken, as one choice of so many files among all."""
    if files.taken < 2:
        return float(of_key.sum())
    per_file = np.zeros(files.taken)
    seen = np.unique(files.numbers[of_key], return_counts=True)[1]
    per_file[: seen.size] = seen
    return math.sqrt(files.taken * float(per_file.var(ddof=1)) * (1 - files.taken / files.of))


def _number(count: float, fraction: float) -> float:
    return round(count / fraction)
