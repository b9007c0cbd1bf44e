"""Hash buckets for the keys of the tail: which bucket a key is in, and how much each bucket will get."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from skewkit.checks import Floats
from skewkit.hashing.mix import Hashes, mix, mix_many, to_range, to_range_many

_SALT = 0x6A09_E667_F3BC_C909  # keeps buckets apart from the candidates F_1, F_2, ... of the same key


def bucket(hashed: int, size: int) -> int:
    """Return the bucket (0..size-1) of a key by its hash.

    >>> bucket(7, 50) == int(bucket_many(np.array([7], dtype=np.uint64), 50)[0])
    True
    """
    return to_range(mix(hashed ^ _SALT), size)


def bucket_many(hashes: Hashes, size: int) -> npt.NDArray[np.int64]:
    """Return the bucket of every key, as an array (keys,)."""
    return to_range_many(mix_many(hashes ^ np.uint64(_SALT)), size)


def expected_weights(seen: Floats, unit: float) -> Floats:
    """Return the weight to expect in every bucket, from the weight seen: empty buckets expect some, too.

    A bucket that got nothing in a short learning phase will still get messages. With weight zero a plain
    longest-first placement gives all such buckets to one worker, and chance decides the rest (a weakness of
    DKG as published). Here what was seen is shrunk towards the mean, by as much as the spread of the buckets
    looks like chance: the empirical Bayes estimate for counts that follow a gamma distribution.

    * The sum stays.
    * Buckets that differ no more than chance makes them differ get the same weight.
    * The more messages were seen, the less is changed. `unit=0` says that `seen` is the truth.

    Args:
        seen: (buckets,) weight seen.
        unit: weight of one message.

    >>> expected_weights(np.array([2.0, 0.0, 1.0, 1.0]), unit=1.0).tolist()
    [1.0, 1.0, 1.0, 1.0]
    >>> expected_weights(np.array([12.0, 0.0, 0.0]), unit=1.0).round(2).tolist()
    [11.0, 0.5, 0.5]
    """
    if unit <= 0.0:
        return seen.copy()
    with np.errstate(over="ignore", invalid="ignore"):
        messages = seen / unit  # a square of huge weights themselves would be beyond all floats
        mean, variance = float(messages.mean()), float(messages.var())
    if not math.isfinite(variance):  # so many messages that chance plays no part
        return seen.copy()
    if variance <= mean:  # counts that differ by chance only have a variance equal to their mean
        return np.full(seen.size, mean * unit)
    prior = mean * mean / (variance - mean)  # shape of the gamma distribution, in messages
    return (seen + prior * unit) * (mean / (mean + prior)) if mean > 0.0 else seen.copy()
