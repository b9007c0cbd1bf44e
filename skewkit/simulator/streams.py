"""Streams of integer keys: seeded Zipf, uniform and drifting ones, and traces from Parquet files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt

from skewkit.checks import Floats, real_number, whole_number
from skewkit.errors import (
    ArgumentError,
    ArgumentTypeError,
    ColumnNotFoundError,
    EnvironmentProblem,
    KeyTypeError,
    nearest,
)

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
    """Return a stream of independent draws from Zipf's law. Key 0 is the heaviest, keys - 1 the lightest.

    Returns:
        int64 array (messages,).

    Raises:
        ArgumentError, ArgumentTypeError: a number, or the seed, is out of range or no number.

    >>> stream = zipf(1000, keys=100, exponent=1.5, seed=1)
    >>> int(np.bincount(stream).argmax())
    0
    """
    uniform_draws = _draws(seed).random(whole_number("messages", messages, least=0))
    shares = np.cumsum(zipf_shares(keys, exponent))
    return np.minimum(np.searchsorted(shares, uniform_draws, side="right"), keys - 1).astype(np.int64)


def uniform(messages: int, keys: int, seed: int = 0) -> Stream:
    """Return a stream of independent draws in which every key is equally likely.

    Raises:
        ArgumentError, ArgumentTypeError: a number, or the seed, is out of range or no number.

    >>> uniform(5, keys=1).tolist()
    [0, 0, 0, 0, 0]
    """
    count, size = whole_number("messages", messages, least=0), whole_number("keys", keys)
    return _draws(seed).integers(0, size, count, dtype=np.int64)


def drifting_zipf(messages: int, keys: int, exponent: float, periods: int, seed: int = 0) -> Stream:
    """Return a Zipf stream whose heavy keys change: every period ranks the keys anew, at random.

    The stream is cut into `periods` parts of equal length (give or take one message). In the first, key 0 is
    the heaviest. With one period the stream is that of `zipf`.

    Raises:
        ArgumentError, ArgumentTypeError: a number, or the seed, is out of range or no number.

    >>> stream = drifting_zipf(2000, keys=100, exponent=2.0, periods=2, seed=1)
    >>> int(np.bincount(stream[:1000]).argmax()) == int(np.bincount(stream[1000:]).argmax())
    False
    """
    ranks = zipf(messages, keys, exponent, seed)
    order = np.random.default_rng([seed, 1])
    parts = np.array_split(ranks, whole_number("periods", periods))
    drifted = [parts[0], *(order.permutation(keys)[part] for part in parts[1:])]
    return np.concatenate(drifted).astype(np.int64)


def turning_zipf(
    messages: int, keys: int, exponent: float, before: float = 0.8, turns: int = 1, seed: int = 0
) -> Stream:
    """Return a Zipf stream in which the ranks turn round: the lightest key becomes the heaviest.

    Source: the time-evolving ZF data set of Huang, "Efficient Time-Evolving Stream Processing at Scale",
    Section 6.1: of every N messages the first 0.8 N draw key i with a probability proportional to rank**-z, the
    last 0.2 N with another ranking. How the ranks change is lost in the text at hand. Here they are reversed.

    Args:
        messages: length of the stream.
        keys: number of keys; key 0 is the heaviest at first.
        exponent: Zipf's exponent z.
        before: share of every part that comes before its turn.
        turns: number of equal parts (N is messages / turns), each with a turn of its own.
        seed: seed of the draws.

    Raises:
        ArgumentError, ArgumentTypeError: a number, or the seed, is out of range or no number.

    >>> stream = turning_zipf(1000, keys=50, exponent=2.0, seed=1)
    >>> int(np.bincount(stream[:800]).argmax()), int(np.bincount(stream[800:]).argmax())
    (0, 49)
    """
    share, parts = real_number("before", before, high=1.0), whole_number("turns", turns)
    ranks = zipf(messages, keys, exponent, seed)
    place = np.arange(messages) * parts / max(messages, 1) % 1.0  # of a message in its part, 0..1
    return np.where(place < share, ranks, keys - 1 - ranks)


def _draws(seed: int) -> np.random.Generator:
    return np.random.default_rng(whole_number("seed", seed, least=0))


def from_parquet(path: str | Path, column: str, messages: int | None = None) -> Stream:
    """Return a column of a Parquet file as a stream: one number per distinct value, in the order of the file.

    Values are numbered in the order in which they come first. Rows with a null are left out. It needs pyarrow.

    Args:
        path: the file.
        column: name of the column of keys.
        messages: take so many rows from the beginning; None takes all.

    Raises:
        EnvironmentProblem: pyarrow is not installed.
        ArgumentTypeError: `path` is no path.
        ArgumentError: there is no such file, or it is no Parquet file.
        ColumnNotFoundError: the file has no such column.
        KeyTypeError: the column holds lists, structs or maps.
    """
    try:
        import pyarrow
        import pyarrow.parquet as parquet
    except ImportError as error:
        raise EnvironmentProblem("Parquet files need pyarrow: pip install 'skewkit[spark]'") from error
    if not isinstance(path, (str, Path)):
        raise ArgumentTypeError(f"path is {path!r}; expected the path of a Parquet file")
    if not Path(path).is_file():
        raise ArgumentError(f"there is no file {str(path)!r}; expected a Parquet file")
    try:
        names = parquet.read_schema(path).names
    except pyarrow.ArrowInvalid as error:
        raise ArgumentError(f"{str(path)!r} is no Parquet file: {error}") from error
    if column not in names:
        raise ColumnNotFoundError(f"{str(path)!r} has no column {column!r}; {nearest(str(column), names)}")
    values = parquet.read_table(path, columns=[column]).column(column).drop_null()
    if messages is not None:
        values = values.slice(0, whole_number("messages", messages, least=0))
    if pyarrow.types.is_nested(values.type):
        raise KeyTypeError(f"column {column!r} holds {values.type}; expected one value per row")
    if pyarrow.types.is_dictionary(values.type):  # numbered as whoever wrote it saw the values
        values = values.cast(values.type.value_type)
    if pyarrow.types.is_floating(values.type):
        values = pyarrow.compute.add(values, pyarrow.scalar(0.0, values.type))  # -0.0 is 0.0
    encoded = values.combine_chunks().dictionary_encode()
    chunks = getattr(encoded, "chunks", [encoded])
    return np.concatenate([np.zeros(0, np.int64), *(chunk.indices.to_numpy() for chunk in chunks)]).astype(np.int64)
