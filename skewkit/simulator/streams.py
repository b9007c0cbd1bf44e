"""Seeded streams of integer keys: Zipf, uniform, and Zipf with drift."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from skewkit.partitioners.checks import Floats, real_number, whole_number

Stream = npt.NDArray[np.int64]


def zipf_shares(keys: int, exponent: float) -> Floats:
    """Return the shares of `keys` keys under Zipf's law, heaviest first: proportional to rank**-exponent.

    Source: the ZF data sets of Nasir et al., "When Two Choices Are not Enough", Section V-A.

    Raises:
        ArgumentError: `keys` is below 1, or `exponent` is negative or not finite.

    >>> zipf_shares(2, 1.0).round(3).tolist()
    [0.667, 0.333]
    """
    ranks = np.arange(1, whole_number("keys", keys) + 1, dtype=np.float64)
    raw = ranks ** -real_number("exponent", exponent)
    shares: Floats = raw / raw.sum()
    return shares


def zipf(messages: int, keys: int, exponent: float, seed: int = 0) -> Stream:
    """Return a stream of independent draws from Zipf's law; key 0 is the heaviest, keys - 1 the lightest.

    Returns:
        int64 array (messages,).

    Raises:
        ArgumentError: a number is out of range.

    >>> stream = zipf(1000, keys=100, exponent=1.5, seed=1)
    >>> int(np.bincount(stream).argmax())
    0
    """
    uniform_draws = np.random.default_rng(seed).random(whole_number("messages", messages, least=0))
    shares = np.cumsum(zipf_shares(keys, exponent))
    return np.minimum(np.searchsorted(shares, uniform_draws, side="right"), keys - 1).astype(np.int64)


def uniform(messages: int, keys: int, seed: int = 0) -> Stream:
    """Return a stream of independent draws in which every key is equally likely.

    Raises:
        ArgumentError: a number is out of range.

    >>> uniform(5, keys=1).tolist()
    [0, 0, 0, 0, 0]
    """
    count, size = whole_number("messages", messages, least=0), whole_number("keys", keys)
    return np.random.default_rng(seed).integers(0, size, count, dtype=np.int64)


def drifting_zipf(messages: int, keys: int, exponent: float, periods: int, seed: int = 0) -> Stream:
    """Return a Zipf stream whose heavy keys change: every period ranks the keys anew, at random.

    The stream is cut into `periods` parts of equal length (give or take one message). In the first, key 0 is
    the heaviest; with one period the stream is that of `zipf`.

    Raises:
        ArgumentError: a number is out of range.

    >>> stream = drifting_zipf(2000, keys=100, exponent=2.0, periods=2, seed=1)
    >>> int(np.bincount(stream[:1000]).argmax()) == int(np.bincount(stream[1000:]).argmax())
    False
    """
    ranks = zipf(messages, keys, exponent, seed)
    order = np.random.default_rng([seed, 1])
    parts = np.array_split(ranks, whole_number("periods", periods))
    drifted = [parts[0], *(order.permutation(keys)[part] for part in parts[1:])]
    return np.concatenate(drifted).astype(np.int64)
