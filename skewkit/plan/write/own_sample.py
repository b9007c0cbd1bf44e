"""Bytes of a partition value that is cut into files, by how its own sampled rows compress beside those of all.

Columns may say much of each other: an author's commits compress better among themselves than among those of others. A
file of a value that is cut has one row in so many of it, chosen by hash: neighbours in the sample are none there. So
the value's sample is thinned out as a file is, as far as its rows allow, and is compared with as many rows of all.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from skewkit.plan.write.file_plan import ABOVE, files_for
from skewkit.plan.write.row_bytes import mean_lengths, sampled_rows

_FEWEST = 64
"""Sampled rows below which a value has no estimate of its own."""
_LEAST = 0.5
"""Bytes by the sample of all rows that remain at least: a few rows that were neighbours look too much alike."""
_MOST_VALUES = 256
"""Values, the largest ones, that get an estimate of their own; each takes some hundredths of a second."""


def own_bytes(
    found: npt.NDArray[np.float64],
    table: Any,
    value_of: npt.NDArray[np.int64],
    rows: npt.NDArray[Any],
    lengths: npt.NDArray[np.float64],
    varying: Sequence[int],
    target: float,
    codec: str,
) -> npt.NDArray[np.float64]:
    """Return the bytes (values,) of every partition value, those of large ones by their own sampled rows.

    Args:
        found: bytes (values,) by the sample of all rows.
        table: the sampled rows, an Arrow table.
        value_of: the value (sampled rows,) that each of them has, as a position in `found`.
        rows: rows (values,) of each value.
        lengths: bytes (values, varying) of its columns of varying length, summed up.
        varying: which columns of the table those are.
        target: bytes of a file.
        codec: the writer's codec.
    """
    result = found.copy()
    sampled = np.bincount(value_of, minlength=found.size)
    large = np.flatnonzero((found > ABOVE / 2 * target) & (sampled >= _FEWEST))
    for value in large[np.argsort(-found[large], kind="stable")][:_MOST_VALUES].tolist():
        count = int(rows[value])
        own = table.take(_thinned(np.flatnonzero(value_of == value), files_for(found[value], target)))
        others = table.take(np.linspace(0, table.num_rows - 1, own.num_rows).astype(np.int64))
        means = (lengths[value] / max(1, count)).tolist()
        ours, theirs = (
            sampled_rows(part, varying, mean_lengths(part, varying), codec).bytes_of(count, means, target)
            for part in (own, others)
        )
        result[value] = found[value] * max(_LEAST, ours / theirs)
    return result


def _thinned(rows: npt.NDArray[np.int64], pieces: int) -> npt.NDArray[np.int64]:
    """Return one row in so many as there are pieces, or in fewer where those would be too few."""
    step = 1
    while 2 * step <= pieces and rows.size >= 2 * step * _FEWEST:
        step *= 2
    return rows[::step]
